//! Looks now and then whether the machine's clock is still in time with the network's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ontick_switch::ports::Ptp;
use ontick_switch::ports::sync::Synchronisation;

use super::file;

/// Asked so often.
const EVERY: Duration = Duration::from_secs(5);
const TURN: Duration = Duration::from_millis(100);

/// A thread that asks, until this is dropped.
pub struct Synchronised {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Synchronised {
    /// Begins. Without a thread to be had, nobody asks.
    pub fn watch() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let watch = {
            let stop = stop.clone();
            move || watch(&stop)
        };
        let thread = std::thread::Builder::new().name("ontick-ptp".into()).spawn(watch).ok();
        Self { stop, thread }
    }
}

fn watch(stop: &AtomicBool) {
    let mut sync = Synchronisation::default();
    while !stop.load(Relaxed) {
        if let Some(changed) = sync.poll(&Ptp::now()) {
            file::note(&changed);
        }
        let asked = Instant::now();
        while asked.elapsed() < EVERY && !stop.load(Relaxed) {
            std::thread::sleep(TURN);
        }
    }
}

impl Drop for Synchronised {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
