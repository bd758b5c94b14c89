//! A responder on a thread of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use ontick_rt::thread::{Policy, Setup, block_signals};
use ontick_rt::watchdog::Watchdog;
use ontick_switch::user::ending::step_down;
use ontick_undo::privilege::settle_timed_thread;

use super::port::Port;
use super::responder::{Responder, ResponderStats};
use super::timebase::Monotonic;
use super::waiting::Waiting;

/// A responder that keeps its CPU for itself this long has run away.
const RUNAWAY_AFTER: Duration = Duration::from_secs(10);

/// Where it runs, and how it waits.
#[derive(Debug, Clone)]
pub struct ThreadPlacement {
    /// What its thread asks for.
    pub setup: Setup,
    /// The policy among that.
    pub policy: Policy,
    /// How it waits.
    pub waiting: Waiting,
}

/// A responder at work.
#[derive(Debug)]
pub struct ResponderThread {
    thread: JoinHandle<io::Result<(ResponderStats, Vec<String>)>>,
    stop: Arc<AtomicBool>,
}

impl ResponderThread {
    /// Starts it.
    pub fn start<P: Port + Send + 'static>(port: P, place: ThreadPlacement) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let work = {
            let stop = stop.clone();
            move || respond(port, place, &stop)
        };
        let thread = std::thread::Builder::new().name("ontick-responder".into()).spawn(work)?;
        Ok(Self { thread, stop })
    }

    /// Whether it has ended by itself, as it does where it cannot be watched.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it; what it did, and what was asked of the system for its thread and refused.
    pub fn stop(self) -> io::Result<(ResponderStats, Vec<String>)> {
        self.stop.store(true, Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn respond<P: Port>(port: P, place: ThreadPlacement, stop: &AtomicBool) -> io::Result<(ResponderStats, Vec<String>)> {
    block_signals();
    let held = place.setup.best_effort();
    let refused = held.refused().iter().map(ToString::to_string).collect();
    let _watchdog = match place.policy.is_real_time() {
        true => Some(Watchdog::watch_this_thread(RUNAWAY_AFTER)?),
        false => None,
    };
    settle_timed_thread();
    // It waits for frames, and for no deadline of its own.
    let mut responder = Responder::new(port, Monotonic::new(Waiting::Block, 1), place.waiting);
    while !stop.load(Relaxed) {
        responder.turn();
    }
    let stats = responder.stats();
    // Closing sockets waits for every CPU to have been in the kernel (RCU): not at a priority that would hold that up.
    step_down(0);
    drop(responder);
    Ok((stats, refused))
}
