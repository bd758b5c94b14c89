//! When nothing more will come.

use std::time::{Duration, Instant};

/// When nothing has come for so long after the last was sent, nothing will.
const QUIET: Duration = Duration::from_millis(300);
/// A core that does not get its CPU is waited for so long: by then it has been given another priority.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time since something came, as far as what carries frames was at work in it.
pub(super) struct Silence {
    came: Instant,
    since: Instant,
    turns: Option<u64>,
}

impl Silence {
    pub fn begin(now: Instant) -> Self {
        Self { came: now, since: now, turns: None }
    }

    /// Whether frames `came` since this was last asked, and how often the core has looked around by now, if one carries them.
    pub fn look(&mut self, now: Instant, came: bool, turns: Option<u64>) {
        let is_held_up = turns.is_some() && turns == self.turns;
        self.turns = turns;
        if came {
            self.came = now;
        }
        if came || is_held_up {
            self.since = now;
        }
    }

    pub fn is_end(&self, now: Instant) -> bool {
        now - self.since >= QUIET || now - self.came >= PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at it every 40 ms for at most so long; after how many ms it ends.
    fn ends_after(ms: u64, mut at: impl FnMut(u64) -> (bool, Option<u64>)) -> Option<u64> {
        let begun = Instant::now();
        let mut silence = Silence::begin(begun);
        (0..ms).step_by(40).find(|ms| {
            let now = begun + Duration::from_millis(*ms);
            let (came, turns) = at(*ms);
            silence.look(now, came, turns);
            silence.is_end(now)
        })
    }

    #[test]
    fn it_lasts_while_the_core_is_at_work_and_nothing_comes() {
        assert_eq!(ends_after(1_000, |ms| (ms < 200, Some(ms))), Some(480));
        assert_eq!(ends_after(1_000, |ms| (ms < 200, None)), Some(480));
        // It gets no CPU from 80 to 600 ms, and what waits for it comes then.
        assert_eq!(ends_after(2_000, |ms| (ms == 640, Some(if ms < 600 { ms.min(80) } else { ms }))), Some(960));
        assert_eq!(ends_after(20_000, |_| (false, Some(7))), Some(10_000));
    }
}
