//! Which ports a running switch closes because they make a loop, and when it opens them again.
//!
//! A probe that left by one port and came in at another shows that the two are joined outside. Of two such ports the one
//! of the higher number is closed: what is left has no loop, and every network stays connected. A closed port still
//! listens for probes; when none has come for a while, it is opened again.
//!
//! Two switches that are joined by several cables both find the loop, and may close different ones, or both ends of the same:
//! then no probe comes back to either, and both would open and close in step for ever. So ports wait a while by chance
//! before they are opened, and also before they are closed once more: whoever comes first has broken the loop for the other.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// Probes are sent so often while nothing is closed.
const PROBE: Duration = Duration::from_secs(5);
/// And so often while a port is, or addresses move between ports: what a loop does to them.
const PROBE_SOON: Duration = Duration::from_millis(500);
/// Addresses that moved since the last look are a sign of a loop from this number on.
const MOVED: u64 = 2;
/// A port is opened again when no probe has come in for so long: several were sent meanwhile.
pub const QUIET: Duration = Duration::from_secs(5);

/// Who makes a loop so soon after it was opened may have done so together with another switch.
const AGAIN: Duration = Duration::from_secs(30);
/// Waits by chance are fewer than so many of these: in one, a probe has come back, and the port is closed.
const SLOTS: u64 = 6;
/// See above.
const SLOT: Duration = Duration::from_millis(400);
/// So often ports that are to be closed are probed: a probe that takes longer is not known any more.
const PROBE_WAITING: Duration = Duration::from_millis(200);
/// Where no probe has come in for so long, another has broken the loop.
const BROKEN: Duration = Duration::from_secs(2);

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Probe every port.
    Probe,
    /// Nothing leaves by this port, and what comes in goes no further.
    Close(usize),
    /// It is a port as any other again.
    Reopen(usize),
}

/// Decides by what the core counts. Times are those of any clock that goes on evenly.
#[derive(Debug)]
pub struct LoopGuard {
    ports: Vec<Watched>,
    moved: u64,
    probed: Option<Duration>,
    seed: u64,
    /// How often ports were opened again.
    reopened: u64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Watched {
    looped: u64,
    /// Since when it is closed, or when a probe came in last.
    closed: Option<Duration>,
    /// When it was opened again.
    reopened: Option<Duration>,
    /// From when on the next probe that comes in closes it, and when one came last.
    due: Option<(Duration, Duration)>,
}

impl LoopGuard {
    /// For so many ports, all open. They were probed a moment ago. `seed` decides what is by chance.
    pub fn new(ports: usize, now: Duration, seed: u64) -> Self {
        Self { ports: vec![Watched::default(); ports], moved: 0, probed: Some(now), seed, reopened: 0 }
    }

    /// Whether a port is closed.
    pub fn is_closed(&self, port: usize) -> bool {
        self.ports.get(port).is_some_and(|port| port.closed.is_some())
    }

    /// A port's link changed: the cable that made the loop may be gone, or have come. True if the port was closed.
    pub fn link_changed(&mut self, port: usize) -> bool {
        self.probed = None;
        let Some(port) = self.ports.get_mut(port) else { return false };
        let was_closed = port.closed.is_some();
        *port = Watched { looped: port.looped, ..Watched::default() };
        was_closed
    }

    /// Looks at the counters: how many probes came that make this port the one to close, by port, and how many addresses
    /// moved.
    pub fn poll(&mut self, now: Duration, looped: &[u64], moved: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        let (quiet, wait) = (QUIET + self.by_chance("open"), self.by_chance("close"));
        for (at, (port, looped)) in self.ports.iter_mut().zip(looped).enumerate() {
            let came = std::mem::replace(&mut port.looped, *looped) != *looped;
            actions.extend(port.poll(now, came, quiet, wait).map(|to_do| to_do(at)));
        }
        if actions.iter().any(|action| matches!(action, Action::Reopen(_))) {
            self.reopened += 1;
        }
        let restless = moved.wrapping_sub(std::mem::replace(&mut self.moved, moved)) >= MOVED;
        let every = match () {
            () if self.ports.iter().any(|port| port.due.is_some()) => PROBE_WAITING,
            () if restless || self.ports.iter().any(|port| port.closed.is_some()) => PROBE_SOON,
            () => PROBE,
        };
        if self.probed.is_none_or(|last| now.saturating_sub(last) >= every) {
            self.probed = Some(now);
            actions.push(Action::Probe);
        }
        actions
    }

    /// How long ports wait before this is done, until they have been opened once more.
    fn by_chance(&self, what: &str) -> Duration {
        let mut hasher = DefaultHasher::new();
        (self.seed, self.reopened, what).hash(&mut hasher);
        SLOT * (hasher.finish() % SLOTS) as u32
    }
}

impl Watched {
    /// What is to be done with the port, if a probe came in or not.
    fn poll(&mut self, now: Duration, came: bool, quiet: Duration, wait: Duration) -> Option<fn(usize) -> Action> {
        if let Some(last) = &mut self.closed {
            if came {
                *last = now;
            } else if now.saturating_sub(*last) >= quiet {
                *self = Self { looped: self.looped, reopened: Some(now), ..Self::default() };
                return Some(Action::Reopen);
            }
            return None;
        }
        let again = self.reopened.is_some_and(|reopened| now.saturating_sub(reopened) < AGAIN);
        if !came {
            self.due = self.due.filter(|(_, last)| now.saturating_sub(*last) < BROKEN);
            return None;
        }
        let (due, _) = self.due.unwrap_or((if again { now + wait } else { now }, now));
        self.due = Some((due, now));
        (now >= due).then(|| {
            (self.closed, self.due) = (Some(now), None);
            Action::Close as fn(usize) -> Action
        })
    }
}

#[cfg(test)]
mod tests;
