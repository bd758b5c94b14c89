//! Guards against a real-time loop that runs away with the machine.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::ClockId;
use crate::thread::{Policy, current_tid, set_policy};
use crate::{cpus, sys};

/// A thread that uses more than this share of a CPU over the whole limit has run away.
const RUNAWAY: f64 = 0.97;

/// Why a CPU must not be occupied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsafe {
    /// The machine has no other CPU.
    #[error(
        "this machine has one CPU: a loop that spins on it at real-time priority would stop everything else (use a method that sleeps)"
    )]
    OnlyCpu,
}

/// Refuses the machine's only CPU to a loop that spins.
pub fn may_occupy(cpus_online: usize) -> Result<(), Unsafe> {
    if cpus_online > 1 { Ok(()) } else { Err(Unsafe::OnlyCpu) }
}

/// Watches threads from beside, and demotes one to normal scheduling that has kept its CPU busy for
/// longer than the limit. It needs no help from the thread: it reads how much CPU time that used.
pub struct Watchdog {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    demoted: Arc<AtomicBool>,
}

impl Watchdog {
    /// Watches the calling thread; ends with the returned value. The watching thread takes FIFO priority 99
    /// where it may and keeps off the CPUs that only the watched thread uses.
    pub fn watch_this_thread(limit: Duration) -> io::Result<Self> {
        let (watched, own_cpus) = (current_tid(), cpus::allowed());
        let demoted = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("ontick-watchdog".into()).spawn({
            let demoted = demoted.clone();
            move || {
                let elsewhere: Vec<u32> = cpus::online().into_iter().filter(|cpu| !own_cpus.contains(cpu)).collect();
                if !elsewhere.is_empty() {
                    // Not allowed everywhere, and not needed where it is not.
                    let _ = crate::thread::set_affinity(&elsewhere);
                    let _ = set_policy(0, Policy::Fifo(99));
                }
                let mut window = Window::new(limit);
                while stopped.recv_timeout(limit / 8) == Err(RecvTimeoutError::Timeout) {
                    let Some(used_ns) = sys::thread_cpu_ns(watched) else { return };
                    if window.runaway(ClockId::Monotonic.now_ns(), used_ns)
                        && set_policy(watched, Policy::Other).is_ok()
                    {
                        demoted.store(true, Ordering::Relaxed);
                    }
                }
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread), demoted })
    }

    /// Whether the thread was demoted.
    pub fn demoted(&self) -> bool {
        self.demoted.load(Ordering::Relaxed)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The CPU time used over the last `limit`.
struct Window {
    limit_ns: u64,
    readings: std::collections::VecDeque<(u64, u64)>,
}

impl Window {
    fn new(limit: Duration) -> Self {
        Self { limit_ns: limit.as_nanos() as u64, readings: Default::default() }
    }

    /// Takes a reading (time, CPU time used) and tells whether the last `limit` was used up.
    fn runaway(&mut self, now_ns: u64, used_ns: u64) -> bool {
        self.readings.push_back((now_ns, used_ns));
        // Keep the newest reading that is at least the limit old, to measure from.
        while self.readings.len() > 1 && now_ns - self.readings[1].0 >= self.limit_ns {
            self.readings.pop_front();
        }
        let (then_ns, then_used_ns) = self.readings[0];
        let elapsed_ns = now_ns - then_ns;
        elapsed_ns >= self.limit_ns && (used_ns - then_used_ns) as f64 >= elapsed_ns as f64 * RUNAWAY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_cpu_is_refused() {
        assert_eq!(may_occupy(1), Err(Unsafe::OnlyCpu));
        assert_eq!(may_occupy(2), Ok(()));
    }

    #[test]
    fn only_a_full_window_of_use_counts() {
        let mut window = Window::new(Duration::from_secs(1));
        let mut seen = Vec::new();
        for eighth in 0..40u64 {
            let now = eighth * 125_000_000;
            // Idle for a second, then busy.
            seen.push(window.runaway(now, now.saturating_sub(1_000_000_000)));
        }
        assert_eq!(seen.iter().position(|runaway| *runaway), Some(16));
    }

    #[test]
    fn a_loop_that_rests_a_tenth_is_left_alone() {
        let mut window = Window::new(Duration::from_secs(1));
        assert!((0..100u64).all(|n| !window.runaway(n * 125_000_000, n * 125_000_000 * 9 / 10)));
    }
}
