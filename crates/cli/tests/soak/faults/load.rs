//! CPUs that are kept busy: two threads, each nine tenths of the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// They end when this goes.
pub struct Busy {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    pub fn begin() -> Self {
        let ended: Arc<AtomicBool> = Arc::default();
        let thread = |ended: Arc<AtomicBool>| {
            std::thread::spawn(move || {
                while !ended.load(Relaxed) {
                    let began = Instant::now();
                    while began.elapsed() < Duration::from_millis(90) {
                        std::hint::spin_loop();
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
            })
        };
        Self { threads: (0..2).map(|_| thread(ended.clone())).collect(), ended }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}
