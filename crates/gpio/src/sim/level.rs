//! What a line reads: its own level, what comes along its wire, or what holds it.

use std::sync::atomic::Ordering::Relaxed;

use super::page::Chip;
use super::track::{Mark, Track};
use super::wire::{self, Wire};

/// Where a line's level comes from, and the word that says what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Driven, through a wire or not: the line that is, and its newest edge.
    Driven(u32, Wire, Mark),
    /// Driven by nobody.
    Held(bool),
}

impl View {
    /// Whether the level depends on the time too.
    pub fn takes_time(self) -> bool {
        matches!(self, View::Driven(_, wire, _) if wire.takes_time())
    }
}

impl Chip {
    /// The level of a line now. `now_ns` is asked where a wire takes time.
    #[inline]
    pub fn level(&self, line: u32, now_ns: impl FnOnce() -> u64) -> bool {
        self.level_of(self.view(line), now_ns)
    }

    /// What decides on a line's level.
    #[inline]
    pub fn view(&self, line: u32) -> View {
        match self.heard(line) {
            Some((source, wire)) => View::Driven(source, wire, self.tracks[source as usize].newest()),
            None => View::Held(self.setup[line as usize].pulled_up.load(Relaxed) != 0),
        }
    }

    /// The level that was seen.
    #[inline]
    pub fn level_of(&self, view: View, now_ns: impl FnOnce() -> u64) -> bool {
        match view {
            View::Driven(source, wire, newest) if wire.takes_time() => {
                arrived(&self.tracks[source as usize], newest, wire, now_ns())
            }
            View::Driven(_, wire, newest) => wire.level(newest),
            View::Held(level) => level,
        }
    }

    /// The line whose edges this one sees, if one drives it: itself, or its wire's other end.
    #[inline]
    pub fn heard(&self, line: u32) -> Option<(u32, Wire)> {
        let is_driven = |line: u32| self.setup[line as usize].is_driven();
        if is_driven(line) {
            return Some((line, Wire::default()));
        }
        wire::of(self, line).filter(|(source, _)| is_driven(*source))
    }
}

/// The level that has come through a slow wire by now.
fn arrived(track: &Track, newest: Mark, wire: Wire, now_ns: u64) -> bool {
    // Back to an edge that has arrived for certain, then on to the last that has.
    let mut mark = newest;
    while !mark.is_none() && mark.time_ns(now_ns) + wire.latest_ns() > now_ns {
        let Some(before) = track.edge(mark.before()) else { break };
        mark = before;
    }
    while mark != newest {
        // An edge waits for those before it.
        match track.edge(mark.after()) {
            Some(next) if wire.arrival_ns(next, now_ns) <= now_ns => mark = next,
            _ => break,
        }
    }
    wire.level(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_wire_shows_every_level_for_as_long_as_it_was_driven() {
        let track = Box::<Track>::default();
        for (n, time_ns) in [1_000u64, 1_100, 5_000].into_iter().enumerate() {
            track.set(n % 2 == 0, || time_ns);
        }
        let wire = Wire { delay_ns: 500, ..Wire::default() };
        let at = |now_ns| arrived(&track, track.newest(), wire, now_ns);
        let levels = [(1_499, false), (1_500, true), (1_599, true), (1_600, false), (5_499, false), (5_500, true)];
        for (now_ns, level) in levels {
            assert_eq!(at(now_ns), level, "at {now_ns}");
        }
    }

    #[test]
    fn a_swallowed_pulse_never_shows() {
        let track = Box::<Track>::default();
        for n in 0..1_000u64 {
            track.set(n % 2 == 0, || n * 1_000);
        }
        for delay_ns in [0, 500] {
            let wire = Wire { delay_ns, loss_ppm: 200_000, ..Wire::default() };
            let level = |now_ns| arrived(&track, track.newest(), wire, now_ns);
            let middle = |pulse: u64| (2 * pulse) * 1_000 + 900;
            let shown: Vec<bool> = (0..500).map(|pulse| level(middle(pulse))).collect();
            let passed: Vec<bool> = (0..500).map(|pulse| !wire.swallows(2 * pulse + 1)).collect();
            assert_eq!(shown, passed);
            assert!((50..150).contains(&shown.iter().filter(|shown| !**shown).count()));
        }
    }

    #[test]
    fn edges_that_jitter_keep_their_order() {
        let track = Box::<Track>::default();
        for n in 0..100u64 {
            track.set(n % 2 == 0, || 1_000_000 + n * 10);
        }
        let wire = Wire { delay_ns: 100, jitter_ns: 1_000, ..Wire::default() };
        let (mut level, mut changes) = (false, 0);
        for now_ns in 1_000_000..1_003_000 {
            let seen = arrived(&track, track.newest(), wire, now_ns);
            changes += u32::from(seen != level);
            level = seen;
        }
        assert!(!level, "a hundred edges end low");
        assert!((2..=100).contains(&changes) && changes % 2 == 0, "{changes} changes");
    }
}
