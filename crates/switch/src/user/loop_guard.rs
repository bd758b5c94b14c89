//! Which ports a running switch closes because they make a loop, and when it opens them again.
//!
//! A probe that left by one port and came in at another shows that the two are joined outside. Of two such ports the one
//! of the higher number is closed: what is left has no loop, and every network stays connected. A closed port still
//! listens for probes; when none has come for a while, it is opened again.

use std::time::Duration;

/// Probes are sent so often while nothing is closed.
const PROBE: Duration = Duration::from_secs(5);
/// And so often while a port is, or addresses move between ports: what a loop does to them.
const PROBE_SOON: Duration = Duration::from_millis(500);
/// Addresses that moved since the last look are a sign of a loop from this number on.
const MOVED: u64 = 2;
/// A port is opened again when no probe has come in for so long: several were sent meanwhile.
pub const QUIET: Duration = Duration::from_secs(5);

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
}

#[derive(Debug, Default, Clone, Copy)]
struct Watched {
    looped: u64,
    /// Since when it is closed, or when a probe came in last.
    closed: Option<Duration>,
}

impl LoopGuard {
    /// For so many ports, all open. They were probed a moment ago.
    pub fn new(ports: usize, now: Duration) -> Self {
        Self { ports: vec![Watched::default(); ports], moved: 0, probed: Some(now) }
    }

    /// Whether a port is closed.
    pub fn is_closed(&self, port: usize) -> bool {
        self.ports.get(port).is_some_and(|port| port.closed.is_some())
    }

    /// A port's link changed: the cable that made the loop may be gone, or have come. True if the port was closed.
    pub fn link_changed(&mut self, port: usize) -> bool {
        self.probed = None;
        self.ports.get_mut(port).is_some_and(|port| port.closed.take().is_some())
    }

    /// Looks at the counters: how many probes came that make this port the one to close, by port, and how many addresses
    /// moved.
    pub fn poll(&mut self, now: Duration, looped: &[u64], moved: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        for (at, (port, looped)) in self.ports.iter_mut().zip(looped).enumerate() {
            let came = std::mem::replace(&mut port.looped, *looped) != *looped;
            match port.closed {
                None if came => actions.push(Action::Close(at)),
                Some(last) if !came && now.saturating_sub(last) >= QUIET => actions.push(Action::Reopen(at)),
                _ => {}
            }
            if came {
                port.closed = Some(now);
            } else if actions.last() == Some(&Action::Reopen(at)) {
                port.closed = None;
            }
        }
        let restless = moved.wrapping_sub(std::mem::replace(&mut self.moved, moved)) >= MOVED;
        let suspicious = restless || self.ports.iter().any(|port| port.closed.is_some());
        let every = if suspicious { PROBE_SOON } else { PROBE };
        if self.probed.is_none_or(|last| now.saturating_sub(last) >= every) {
            self.probed = Some(now);
            actions.push(Action::Probe);
        }
        actions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_millis(100);

    /// Ports at segments of a network; those at the same one are joined.
    struct Outside {
        segments: Vec<u32>,
        looped: Vec<u64>,
        moved: u64,
        closed: Vec<bool>,
        now: Duration,
    }

    impl Outside {
        fn new(segments: &[u32]) -> Self {
            let ports = segments.len();
            Self { segments: segments.into(), looped: vec![0; ports], moved: 0, closed: vec![false; ports], now: TURN }
        }

        /// Whether broadcasts go round: two open ports at one segment.
        fn storms(&self) -> bool {
            let open = |at: &usize| !self.closed[*at];
            let ports: Vec<usize> = (0..self.segments.len()).filter(open).collect();
            ports.iter().any(|a| ports.iter().any(|b| a < b && self.segments[*a] == self.segments[*b]))
        }

        /// As the core counts: a probe leaves by open ports, and the higher of the two has made the loop.
        fn probe(&mut self) {
            for out in (0..self.segments.len()).filter(|out| !self.closed[*out]) {
                for into in (0..self.segments.len()).filter(|into| *into != out) {
                    if self.segments[into] == self.segments[out] {
                        self.looped[into.max(out)] += 1;
                    }
                }
            }
        }

        /// A tenth of a second; what was done.
        fn turn(&mut self, guard: &mut LoopGuard) -> Vec<Action> {
            self.now += TURN;
            if self.storms() {
                self.moved += 1_000;
            }
            let actions = guard.poll(self.now, &self.looped, self.moved);
            for action in &actions {
                match *action {
                    Action::Probe => self.probe(),
                    Action::Close(port) => self.closed[port] = true,
                    Action::Reopen(port) => self.closed[port] = false,
                }
            }
            actions
        }

        fn run(&mut self, guard: &mut LoopGuard, time: Duration) {
            (0..time.as_millis() / TURN.as_millis()).for_each(|_| drop(self.turn(guard)));
        }
    }

    #[test]
    fn of_a_loop_one_port_is_closed_at_once_and_the_other_kept() {
        let mut outside = Outside::new(&[1, 2, 3]);
        let mut guard = LoopGuard::new(3, outside.now);
        outside.run(&mut guard, Duration::from_secs(60));
        assert_eq!(outside.closed, [false; 3]);
        outside.segments[2] = 1;
        outside.run(&mut guard, Duration::from_millis(800));
        assert_eq!(outside.closed, [false, false, true], "within a second");
        outside.run(&mut guard, Duration::from_secs(600));
        assert_eq!(outside.closed, [false, false, true], "for as long as the loop is there");
        outside.segments[2] = 3;
        outside.run(&mut guard, QUIET + Duration::from_secs(1));
        assert_eq!(outside.closed, [false; 3], "and opened soon after");
    }

    #[test]
    fn of_several_ports_at_one_network_the_first_is_kept() {
        let mut outside = Outside::new(&[1, 1, 2, 1]);
        let mut guard = LoopGuard::new(4, outside.now);
        outside.run(&mut guard, Duration::from_secs(2));
        assert_eq!(outside.closed, [false, true, false, true]);
        // Its cable is pulled: the next takes its place.
        outside.segments[0] = 9;
        assert!(!guard.link_changed(0));
        outside.run(&mut guard, QUIET + Duration::from_secs(3));
        assert!(outside.closed.iter().zip(&outside.segments).any(|(closed, segment)| *segment == 1 && !closed));
        assert!(!outside.storms());
    }

    #[test]
    fn a_link_that_changed_is_tried_and_probed_at_once() {
        let mut outside = Outside::new(&[1, 1]);
        let mut guard = LoopGuard::new(2, outside.now);
        outside.run(&mut guard, Duration::from_secs(2));
        assert!(guard.is_closed(1) && !guard.is_closed(0));
        assert!(guard.link_changed(1));
        outside.closed[1] = false;
        assert!(outside.turn(&mut guard).contains(&Action::Probe));
        outside.turn(&mut guard);
        assert!(guard.is_closed(1) && outside.closed[1]);
    }
}
