//! The thread that makes edges.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use ontick_gpio::{Gone, Line};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::block_signals;
use ontick_rt::wait::{Sleep, Wait};

use super::causes::Causes;
use crate::{Error, Placement};

/// What an edge needs lies far from the CPU after a millisecond: fetched within the write, it would count as time that the
/// edge took to be seen. The driver spins so long before an edge, at most a fifth of the interval, and touches it; in ns.
const WARM_NS: u64 = 100_000;

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
    let warm_ns = WARM_NS.min(interval_ns / 5);
    let (mut due_ns, mut number) = (clock.now_ns(), 0);
    while !causes.stop.load(Ordering::Acquire) {
        // Always in the future: one that is behind must still sleep.
        due_ns = (due_ns + interval_ns).max(clock.now_ns() + interval_ns / 2);
        Sleep.until(&mut clock, due_ns - warm_ns);
        if !causes.go.load(Ordering::Acquire) {
            continue;
        }
        number += 1;
        if let Err(Gone(_)) = edge(&mut line, causes, &mut clock, due_ns, number) {
            causes.gone.store(true, Ordering::Release);
            return;
        }
    }
}

/// Makes the edge with this number when it is due.
fn edge(line: &mut Line, causes: &Causes, clock: &mut Clock, due_ns: u64, number: u64) -> Result<(), Gone> {
    let level = number % 2 == 1;
    while clock.now_ns() < due_ns {
        causes.touch(number);
        line.write(!level)?;
    }
    causes.publish(number, clock.now_ns());
    line.write(level)
}
