//! Which wake-up belongs to which sample.

use std::collections::VecDeque;

use crate::explain::events::{Event, Kind};
use crate::tap::Observed;

/// Timers of the thread that are remembered: a wait has one, and those of one kind are at one place.
const TIMERS: usize = 8;

/// The thread's timer fired, and the thread was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wake {
    fired_ns: u64,
    woken_ns: u64,
}

/// Wake-ups that no sample was held against yet.
#[derive(Debug, Default)]
pub struct Wakes {
    /// Armed by the thread, the newest last.
    timers: VecDeque<u64>,
    fired_ns: Option<u64>,
    wakes: VecDeque<Wake>,
}

impl Wakes {
    /// Events in the order of time, of the CPUs on which the thread's timers fire.
    pub fn meet(&mut self, event: &Event, tid: i32) {
        match event.kind {
            Kind::TimerStart { timer, .. } if event.pid == tid => {
                self.timers.retain(|other| *other != timer);
                self.timers.push_back(timer);
                if self.timers.len() > TIMERS {
                    self.timers.pop_front();
                }
            }
            Kind::TimerFires { timer, .. } if self.timers.contains(&timer) => self.fired_ns = Some(event.at_ns),
            Kind::Wakeup(pid) if pid == tid => {
                let wake = self.fired_ns.take().map(|fired_ns| Wake { fired_ns, woken_ns: event.at_ns });
                self.wakes.extend(wake);
            }
            // What fired before may have woken it since.
            Kind::Lost => self.fired_ns = None,
            _ => {}
        }
    }

    /// The parts of a sample, in ns: from when it was due until the timer fired, until the thread was woken, until it ran.
    /// None where no wake-up lies between; samples are asked about in their order.
    pub fn parts(&mut self, observed: Observed) -> Option<[u64; 3]> {
        let (due_ns, now_ns) = (observed.due_ns, observed.due_ns.saturating_add(observed.latency_ns));
        let mut last = None;
        while let Some(wake) = self.wakes.front().copied().filter(|wake| wake.woken_ns <= now_ns) {
            self.wakes.pop_front();
            last = Some(wake);
        }
        let Wake { fired_ns, woken_ns } = last?;
        Some([fired_ns.checked_sub(due_ns)?, woken_ns.checked_sub(fired_ns)?, now_ns.checked_sub(woken_ns)?])
    }
}
