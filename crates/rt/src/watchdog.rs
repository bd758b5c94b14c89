//! Guards against a real-time loop that runs away with the machine.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::ClockId;
use crate::thread::{Policy, current_tid, in_force, set_policy};
use crate::{cpus, sys};

/// A thread that used this share of a CPU over the whole limit without once sleeping has run away. Not
/// nearly all of it: throttling, the fair server and a hypervisor take their part unasked.
const BUSY: f64 = 0.25;

/// Why a CPU must not be occupied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WouldStarve {
    /// The machine has no other CPU.
    #[error(
        "this machine has one CPU: a loop that spins on it at real-time priority would stop everything else (use a method that sleeps)"
    )]
    OnlyCpu,
    /// None is left.
    #[error(
        "no CPU is left: a loop that spins on each of them at real-time priority would stop everything else (leave one out, or use a method that sleeps)"
    )]
    EveryCpu,
}

/// Refuses the machine's only CPU to a loop that spins.
pub fn may_occupy(cpus_online: usize) -> Result<(), WouldStarve> {
    if cpus_online > 1 { Ok(()) } else { Err(WouldStarve::OnlyCpu) }
}

/// Refuses every CPU of the machine to loops that spin.
pub fn may_occupy_together(cpus: &[u32], online: &[u32]) -> Result<(), WouldStarve> {
    may_occupy(online.len())?;
    if online.iter().all(|cpu| cpus.contains(cpu)) { Err(WouldStarve::EveryCpu) } else { Ok(()) }
}

/// Watches threads from beside, and demotes one to normal scheduling that has kept its CPU busy for
/// longer than the limit without ever sleeping. It needs no help from the thread: it reads how much CPU
/// time that used and how often it gave up the CPU.
pub struct Watchdog {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    demoted: Arc<AtomicBool>,
    lowered: Option<Policy>,
}

impl Watchdog {
    /// Watches the calling thread; ends with the returned value. The watching thread takes FIFO priority 99
    /// where it may and keeps off the CPUs that only the watched thread uses. Where it may run nowhere else (a cpuset of
    /// one CPU) it takes one priority more than the watched thread, which for that may be [`lowered`](Self::lowered).
    pub fn watch_this_thread(limit: Duration) -> io::Result<Self> {
        Self::watch_this_thread_beside(limit, &[])
    }

    /// The same where other loops, which may run away too, have these CPUs: the watching thread keeps off them.
    pub fn watch_this_thread_beside(limit: Duration, timed: &[u32]) -> io::Result<Self> {
        Self::watch(limit, without(without(cpus::online(), &cpus::allowed()), timed))
    }

    fn watch(limit: Duration, elsewhere: Vec<u32>) -> io::Result<Self> {
        let (watched, policy) = (current_tid(), in_force(0)?);
        let mut record = Record::of(watched)?;
        let demoted = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = channel();
        let (ready, begun) = channel();
        let thread = std::thread::Builder::new().name("ontick-watchdog".into()).spawn({
            let demoted = demoted.clone();
            move || {
                let _ = ready.send(take_post(watched, policy, &elsewhere));
                let mut window = Window::new(limit);
                while stopped.recv_timeout(limit / 8) == Err(RecvTimeoutError::Timeout) {
                    let Some(reading) = record.read() else { return };
                    if window.runaway(reading) && set_policy(watched, Policy::Other).is_ok() {
                        demoted.store(true, Ordering::Relaxed);
                    }
                }
            }
        })?;
        // The new thread has inherited CPU and policy: until it has moved away, a loop that never sleeps would
        // keep it from ever running.
        let lowered = begun.recv().unwrap_or(None);
        Ok(Self { stop: Some(stop), thread: Some(thread), demoted, lowered })
    }

    /// What the watched thread was lowered to, so that a watchdog on the same CPU can still run.
    pub fn lowered(&self) -> Option<Policy> {
        self.lowered
    }

    /// Whether the thread was demoted.
    pub fn demoted(&self) -> bool {
        self.demoted.load(Ordering::Relaxed)
    }
}

/// The CPUs that a watched thread, which may run on its own, leaves to others.
fn without(mut online: Vec<u32>, own: &[u32]) -> Vec<u32> {
    online.retain(|cpu| !own.contains(cpu));
    online
}

/// Takes the calling thread to where a loop of this policy cannot keep it from running: to another CPU, else above the
/// loop. Returns what the loop was lowered to, where there was nothing above it.
fn take_post(watched: i32, policy: Policy, elsewhere: &[u32]) -> Option<Policy> {
    if !elsewhere.is_empty() && crate::thread::set_affinity(elsewhere).is_ok() {
        // Not allowed everywhere, and not needed where it is not.
        let _ = set_policy(0, Policy::Fifo(99));
        return None;
    }
    let (priority, lower) = match policy {
        Policy::Fifo(priority) => (priority, Policy::Fifo(priority.saturating_sub(1))),
        Policy::RoundRobin(priority) => (priority, Policy::RoundRobin(priority.saturating_sub(1))),
        // These leave time for others.
        Policy::Other | Policy::Deadline { .. } => return None,
    };
    if priority < 99 && set_policy(0, Policy::Fifo(priority + 1)).is_ok() {
        return None;
    }
    // A priority may be given up without privileges. There is none below 1.
    (priority > 1 && set_policy(watched, lower).is_ok()).then(|| {
        let _ = set_policy(0, Policy::Fifo(priority));
        lower
    })
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What a thread had done by a moment.
#[derive(Debug, Clone, Copy)]
struct Reading {
    now_ns: u64,
    used_ns: u64,
    /// Times that the thread gave up the CPU itself.
    rests: u64,
}

/// What the kernel tells of a thread. Its file is open from the start: where no descriptor is left later, the thread is
/// watched all the same.
struct Record {
    tid: i32,
    status: File,
    text: Vec<u8>,
    rests: u64,
}

impl Record {
    fn of(tid: i32) -> io::Result<Self> {
        let status = File::open(format!("/proc/self/task/{tid}/status"))?;
        Ok(Self { tid, status, text: Vec::new(), rests: 0 })
    }

    /// Nothing once the thread is gone. Rests that cannot be read count as none.
    fn read(&mut self) -> Option<Reading> {
        self.rests = self.rests().unwrap_or(self.rests);
        Some(Reading { now_ns: ClockId::Monotonic.now_ns(), used_ns: sys::thread_cpu_ns(self.tid)?, rests: self.rests })
    }

    fn rests(&mut self) -> Option<u64> {
        self.text.clear();
        let mut part = [0; 4096];
        loop {
            match self.status.read_at(&mut part, self.text.len() as u64).ok()? {
                0 => break,
                read => self.text.extend_from_slice(&part[..read]),
            }
        }
        let status = String::from_utf8_lossy(&self.text);
        status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()
    }
}

/// The readings of the last `limit`.
struct Window {
    limit_ns: u64,
    readings: VecDeque<Reading>,
}

impl Window {
    fn new(limit: Duration) -> Self {
        Self { limit_ns: limit.as_nanos() as u64, readings: VecDeque::new() }
    }

    /// Takes a reading and tells whether the thread has been busy without a rest for the last `limit`.
    fn runaway(&mut self, now: Reading) -> bool {
        if self.readings.back().is_some_and(|last| last.rests != now.rests) {
            self.readings.clear();
        }
        self.readings.push_back(now);
        // Keep the newest reading that is at least the limit old, to measure from.
        while self.readings.len() > 1 && now.now_ns - self.readings[1].now_ns >= self.limit_ns {
            self.readings.pop_front();
        }
        let then = self.readings[0];
        let elapsed_ns = now.now_ns - then.now_ns;
        elapsed_ns >= self.limit_ns && (now.used_ns - then.used_ns) as f64 >= elapsed_ns as f64 * BUSY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::Setup;

    /// Eight readings to the limit of one second.
    fn window() -> Window {
        Window::new(Duration::from_secs(1))
    }

    fn reading(eighth: u64, used_eighths: u64, rests: u64) -> Reading {
        Reading { now_ns: eighth * 125_000_000, used_ns: used_eighths * 125_000_000, rests }
    }

    #[test]
    fn the_only_cpu_is_refused() {
        assert_eq!(may_occupy(1), Err(WouldStarve::OnlyCpu));
        assert_eq!(may_occupy(2), Ok(()));
    }

    #[test]
    fn the_watch_is_kept_from_the_cpus_of_the_watched() {
        assert_eq!(without(vec![0, 1, 2, 3], &[1, 3, 7]), [0, 2]);
        assert_eq!(without(vec![0, 1], &[0, 1]), []);
    }

    /// As in a cpuset of one CPU: the loop and its watchdog have the same one, and nowhere else to go.
    #[test]
    fn a_runaway_loop_is_demoted_from_its_own_cpu() {
        for (asked, lowered) in [(Policy::Fifo(99), Some(Policy::Fifo(98))), (Policy::RoundRobin(50), None)] {
            std::thread::spawn(move || {
                let ready = Setup::new().cpu(cpus::preferred()).policy(asked).best_effort();
                if let Some(refusal) = ready.refused().first() {
                    return ontick_skip::skipped!("{refusal}");
                }
                let watchdog = Watchdog::watch(Duration::from_millis(300), Vec::new()).unwrap();
                assert_eq!(watchdog.lowered(), lowered);
                assert_eq!(in_force(0).unwrap(), lowered.unwrap_or(asked));
                let end = ClockId::Monotonic.now_ns() + 30_000_000_000;
                while !watchdog.demoted() && ClockId::Monotonic.now_ns() < end {
                    std::hint::spin_loop();
                }
                assert!(watchdog.demoted());
                assert_eq!(in_force(0).unwrap(), Policy::Other);
            })
            .join()
            .unwrap();
        }
    }

    /// A thread without a real-time policy leaves time to others: its watchdog takes no post of its own.
    #[test]
    fn the_watch_ends_with_its_watchdog() {
        let watchdog = Watchdog::watch(Duration::from_millis(80), Vec::new()).unwrap();
        assert_eq!((watchdog.lowered(), watchdog.demoted()), (None, false));
        let shared = watchdog.demoted.clone();
        drop(watchdog);
        assert_eq!(Arc::strong_count(&shared), 1, "the watching thread has let go of it");
    }

    #[test]
    fn only_a_full_window_of_use_counts() {
        let mut window = window();
        // Idle for two seconds, then busy.
        let seen: Vec<bool> = (0..40).map(|n| window.runaway(reading(n, n.saturating_sub(16), 0))).collect();
        assert_eq!(seen.iter().position(|runaway| *runaway), Some(18));
    }

    #[test]
    fn the_limit_and_a_quarter_of_it_are_enough_and_less_is_not() {
        // A whole limit less 1 ns; a whole limit; a quarter of it used, and 1 ns less.
        for (elapsed_ns, used_ns, runaway) in [
            (999_999_999, 999_999_999, false),
            (1_000_000_000, 1_000_000_000, true),
            (1_000_000_000, 250_000_000, true),
            (1_000_000_000, 249_999_999, false),
        ] {
            let mut window = window();
            // What was used before the first reading does not count.
            assert!(!window.runaway(Reading { now_ns: 5, used_ns: 700, rests: 3 }));
            let now = Reading { now_ns: 5 + elapsed_ns, used_ns: 700 + used_ns, rests: 3 };
            assert_eq!(window.runaway(now), runaway, "{used_ns} of {elapsed_ns}");
        }
    }

    #[test]
    fn a_loop_that_rests_is_left_alone_however_busy() {
        let mut window = window();
        assert!((0..100).all(|n| !window.runaway(reading(n, n, n / 4))));
    }

    #[test]
    fn a_loop_that_never_rests_is_found_although_half_of_its_time_is_taken() {
        let mut window = window();
        assert!((0..10).any(|n| window.runaway(reading(n, n / 2, 0))));
    }
}
