//! The thread that makes edges, and what it tells of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use ontick_gpio::{Gone, Line};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::block_signals;
use ontick_rt::wait::{Sleep, Wait};

use crate::{Error, Placement};

/// Edges whose time is remembered: a power of two.
const REMEMBERED: usize = 4096;

/// When each edge was made. Edges are numbered from 1; odd ones rise.
pub struct Causes {
    newest: AtomicU64,
    /// Time of an edge in ns, by its number.
    at_ns: Box<[AtomicU64]>,
    go: AtomicBool,
    stop: AtomicBool,
    gone: AtomicBool,
}

/// An edge that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause {
    pub number: u64,
    pub at_ns: u64,
}

impl Causes {
    pub fn new() -> Self {
        Self {
            newest: AtomicU64::new(0),
            at_ns: (0..REMEMBERED).map(|_| AtomicU64::new(0)).collect(),
            go: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        }
    }

    /// Announced just before the line is driven, so that whoever sees the edge finds its cause.
    fn publish(&self, number: u64, at_ns: u64) {
        self.at_ns[number as usize % REMEMBERED].store(at_ns, Ordering::Relaxed);
        self.newest.store(number, Ordering::Release);
    }

    /// The newest edge to this level that was made by `until_ns` and after number `after`.
    pub fn of(&self, level: bool, until_ns: u64, after: u64) -> Option<Cause> {
        let newest = self.newest.load(Ordering::Acquire);
        let oldest = newest.saturating_sub(REMEMBERED as u64 / 2).max(after);
        (oldest + 1..=newest)
            .rev()
            .filter(|number| (number % 2 == 1) == level)
            .map(|number| Cause { number, at_ns: self.at_ns[number as usize % REMEMBERED].load(Ordering::Relaxed) })
            .find(|cause| cause.at_ns <= until_ns)
    }

    /// Whether the driven line stopped answering.
    pub fn gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

/// The thread, which ends with this.
pub struct Driver {
    pub causes: Arc<Causes>,
    thread: Option<JoinHandle<()>>,
}

impl Driver {
    /// Drives the line every `interval_ns`, beginning when it is asked to [`go`](Self::go).
    pub fn start(line: Line, interval_ns: u64, placement: Placement) -> Result<Self, Error> {
        let causes = Arc::new(Causes::new());
        let thread = std::thread::Builder::new().name("ontick-driver".into()).spawn({
            let causes = causes.clone();
            move || drive(line, &causes, interval_ns, placement)
        });
        let thread = thread.map_err(Error::system("starting the driving thread"))?;
        Ok(Self { causes, thread: Some(thread) })
    }

    /// Lets the edges begin.
    pub fn go(&self) {
        self.causes.go.store(true, Ordering::Release);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.causes.stop.store(true, Ordering::Release);
        self.thread.take().map(JoinHandle::join);
    }
}

fn drive(mut line: Line, causes: &Causes, interval_ns: u64, placement: Placement) {
    block_signals();
    let _ready = placement.take_and_settle();
    let mut clock = Clock::new(ClockId::Monotonic);
    let (mut due_ns, mut number) = (clock.now_ns(), 0);
    while !causes.stop.load(Ordering::Acquire) {
        // Always in the future: one that is behind must still sleep.
        due_ns = (due_ns + interval_ns).max(clock.now_ns() + interval_ns / 2);
        Sleep.until(&mut clock, due_ns);
        if !causes.go.load(Ordering::Acquire) {
            continue;
        }
        number += 1;
        causes.publish(number, clock.now_ns());
        if let Err(Gone(_)) = line.write(number % 2 == 1) {
            causes.gone.store(true, Ordering::Release);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_that_of_its_level_made_before_it_was_seen() {
        let causes = Causes::new();
        for number in 1..=4 {
            causes.publish(number, number * 1000);
        }
        let of = |level, until_ns, after| causes.of(level, until_ns, after).map(|cause| cause.number);
        assert_eq!(of(false, 9_999, 0), Some(4));
        assert_eq!(of(true, 9_999, 0), Some(3));
        assert_eq!(of(true, 2_500, 0), Some(1), "the third was not made yet");
        assert_eq!(of(true, 9_999, 3), None, "seen before");
        assert_eq!(Causes::new().of(true, 9_999, 0), None);
    }

    #[test]
    fn one_far_behind_finds_a_recent_edge() {
        let causes = Causes::new();
        for number in 1..=3 * REMEMBERED as u64 {
            causes.publish(number, number * 1000);
        }
        let newest = 3 * REMEMBERED as u64;
        assert_eq!(causes.of(false, u64::MAX, 5), Some(Cause { number: newest, at_ns: newest * 1000 }));
        assert_eq!(causes.of(false, 1_000, 0), None, "forgotten");
    }
}
