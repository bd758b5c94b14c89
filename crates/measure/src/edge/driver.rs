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
