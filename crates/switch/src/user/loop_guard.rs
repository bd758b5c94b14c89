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
/// Waits by chance are so many of these at most: in one, a probe has come back, and the port is closed.
const SLOTS: u64 = 8;
/// See above.
const SLOT: Duration = Duration::from_millis(250);

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
    /// When it is closed, if a probe still comes in then.
    due: Option<Duration>,
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
            () if self.ports.iter().any(|port| port.due.is_some()) => Duration::ZERO,
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
        if came && self.due.is_none() {
            self.due = Some(if again { now + wait } else { now });
        }
        self.due.filter(|due| now >= *due)?;
        self.due = None;
        if came {
            self.closed = Some(now);
        }
        came.then_some(Action::Close)
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
        let mut guard = LoopGuard::new(3, outside.now, 7);
        outside.run(&mut guard, Duration::from_secs(60));
        assert_eq!(outside.closed, [false; 3]);
        outside.segments[2] = 1;
        outside.run(&mut guard, Duration::from_millis(800));
        assert_eq!(outside.closed, [false, false, true], "within a second");
        outside.run(&mut guard, Duration::from_secs(600));
        assert_eq!(outside.closed, [false, false, true], "for as long as the loop is there");
        outside.segments[2] = 3;
        outside.run(&mut guard, QUIET + SLOT * SLOTS as u32 + Duration::from_secs(1));
        assert_eq!(outside.closed, [false; 3], "and opened soon after");
    }

    #[test]
    fn of_several_ports_at_one_network_the_first_is_kept() {
        let mut outside = Outside::new(&[1, 1, 2, 1]);
        let mut guard = LoopGuard::new(4, outside.now, 7);
        outside.run(&mut guard, Duration::from_secs(2));
        assert_eq!(outside.closed, [false, true, false, true]);
        // Its cable is pulled: the next takes its place.
        outside.segments[0] = 9;
        assert!(!guard.link_changed(0));
        outside.run(&mut guard, QUIET + SLOT * SLOTS as u32 + Duration::from_secs(3));
        assert!(outside.closed.iter().zip(&outside.segments).any(|(closed, segment)| *segment == 1 && !closed));
        assert!(!outside.storms());
    }

    #[test]
    fn a_link_that_changed_is_tried_and_probed_at_once() {
        let mut outside = Outside::new(&[1, 1]);
        let mut guard = LoopGuard::new(2, outside.now, 7);
        outside.run(&mut guard, Duration::from_secs(2));
        assert!(guard.is_closed(1) && !guard.is_closed(0));
        assert!(guard.link_changed(1));
        outside.closed[1] = false;
        assert!(outside.turn(&mut guard).contains(&Action::Probe));
        outside.turn(&mut guard);
        assert!(guard.is_closed(1) && outside.closed[1]);
    }

    /// Two switches and the cables between them: the port of the one, and of the other.
    struct Two {
        guards: [LoopGuard; 2],
        cables: Vec<[usize; 2]>,
        looped: [Vec<u64>; 2],
        closed: [Vec<bool>; 2],
        moved: u64,
        now: Duration,
    }

    impl Two {
        fn new(cables: &[[usize; 2]], seed: u64) -> Self {
            let (ports, now) = (cables.len(), TURN);
            Self {
                guards: [0, 1].map(|n| LoopGuard::new(ports, now, 2 * seed + n)),
                cables: cables.into(),
                looped: [vec![0; ports], vec![0; ports]],
                closed: [vec![false; ports], vec![false; ports]],
                moved: 0,
                now,
            }
        }

        /// Cables that carry frames.
        fn carry(&self) -> usize {
            self.cables.iter().filter(|cable| (0..2).all(|side| !self.closed[side][cable[side]])).count()
        }

        /// A probe of one goes over each cable, through the other, and back over each further one; a closed port hears it.
        fn probe(&mut self, side: usize) {
            let other = 1 - side;
            for there in
                self.cables.iter().filter(|cable| !self.closed[side][cable[side]] && !self.closed[other][cable[other]])
            {
                for back in self.cables.iter().filter(|cable| *cable != there && !self.closed[other][cable[other]]) {
                    self.looped[side][there[side].max(back[side])] += 1;
                }
            }
        }

        /// A tenth of a second, half of which lies between their looks.
        fn turn(&mut self) {
            for side in 0..2 {
                self.now += TURN / 2;
                self.moved += if self.carry() > 1 { 1_000 } else { 0 };
                for action in self.guards[side].poll(self.now, &self.looped[side], self.moved) {
                    match action {
                        Action::Probe => self.probe(side),
                        Action::Close(port) => self.closed[side][port] = true,
                        Action::Reopen(port) => self.closed[side][port] = false,
                    }
                }
            }
        }

        /// For how many tenths of a second nothing passed, and frames went round.
        fn run(&mut self, time: Duration) -> (u32, u32) {
            let (mut none, mut round) = (0, 0);
            for _ in 0..time.as_millis() / TURN.as_millis() {
                self.turn();
                match self.carry() {
                    0 => none += 1,
                    1 => {}
                    _ => round += 1,
                }
            }
            (none, round)
        }
    }

    #[test]
    fn two_switches_come_to_leave_one_of_their_cables() {
        let (mut most_none, mut most_round) = (0, 0);
        for cables in [&[[0, 0], [1, 1]][..], &[[0, 1], [1, 0]], &[[0, 0], [1, 1], [2, 2]], &[[0, 2], [1, 1], [2, 0]]] {
            for seed in 0..200 {
                let mut two = Two::new(cables, seed);
                let (none, round) = two.run(Duration::from_secs(120));
                assert_eq!(two.run(Duration::from_secs(600)), (0, 0), "{cables:?} {seed}: {:?}", two.closed);
                (most_none, most_round) = (most_none.max(none), most_round.max(round));
            }
        }
        assert!(
            most_none < 200 && most_round < 30,
            "{most_none} tenths of a second without, {most_round} with a storm"
        );
    }
}
