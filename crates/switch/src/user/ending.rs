//! How the thread of a core ends, even where it is kept from its CPU.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ontick_rt::cpus;
use ontick_rt::thread::{Policy, set_affinity_of, set_policy};

/// How the thread ended, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Without help.
    ByItself,
    /// It was given ordinary scheduling and all CPUs first.
    Moved,
    /// It did not end in time, and still runs.
    LeftBehind,
}

/// How long the end of a thread is waited for.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// One that runs ends within this time.
    pub by_itself: Duration,
    /// Nobody waits longer.
    pub at_most: Duration,
}

impl Patience {
    /// As it is where nobody tests.
    pub const USUAL: Self = Self { by_itself: Duration::from_millis(500), at_most: Duration::from_secs(10) };
}

/// Waits for a thread that was asked to end. One that is kept from its CPU is moved to another.
pub fn wait_for_end(thread: JoinHandle<()>, tid: i32, patience: Patience) -> Ending {
    let began = Instant::now();
    let mut ending = Ending::ByItself;
    while !thread.is_finished() {
        if began.elapsed() >= patience.at_most {
            return Ending::LeftBehind;
        }
        if ending == Ending::ByItself && began.elapsed() > patience.by_itself {
            step_down(tid);
            ending = Ending::Moved;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // A panic in the core was reported by the thread itself; nothing is left to be done about it.
    let _ = thread.join();
    ending
}

/// Lets a thread (0: the calling one) run wherever there is room, at no priority.
pub fn step_down(tid: i32) {
    // Neither needs privileges; within a cpuset the kernel leaves out what the thread may not have.
    let _ = set_policy(tid, Policy::Other);
    let _ = set_affinity_of(tid, &cpus::online());
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::{Sender, channel};

    use ontick_rt::thread::{current_tid, set_affinity};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// A thread that does `work` on these CPUs, and its number.
    fn start(cpus: Vec<u32>, work: impl FnOnce() + Send + 'static) -> (JoinHandle<()>, i32) {
        let (ready, begun): (Sender<i32>, _) = channel();
        let thread = std::thread::spawn(move || {
            set_affinity(&cpus).unwrap();
            ready.send(current_tid()).unwrap();
            work();
        });
        (thread, begun.recv().unwrap())
    }

    fn is_there(tid: i32) -> bool {
        Path::new(&format!("/proc/self/task/{tid}")).exists()
    }

    fn wait_until_gone(tid: i32) {
        let began = Instant::now();
        // A thread that was joined is taken off the list by the kernel a little later.
        while is_there(tid) {
            assert!(began.elapsed() < LONG, "thread {tid} is still there");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_thread_that_runs_ends_by_itself() {
        let (thread, tid) = start(cpus::allowed(), || {});
        assert_eq!(wait_for_end(thread, tid, Patience { by_itself: LONG, at_most: LONG }), Ending::ByItself);
        wait_until_gone(tid);
    }

    /// As a core on a CPU that another real-time thread does not leave: it goes on once it may run elsewhere.
    #[test]
    fn a_thread_that_is_kept_from_its_cpu_is_moved_and_ends_long_before_the_last_resort() {
        let [first, _, ..] = cpus::allowed()[..] else { return ontick_skip::skipped!("this needs two CPUs") };
        let (thread, tid) = start(vec![first], || {
            while cpus::allowed().len() == 1 {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert_eq!(wait_for_end(thread, tid, Patience { by_itself: Duration::ZERO, at_most: LONG }), Ending::Moved);
        wait_until_gone(tid);
    }

    #[test]
    fn a_thread_that_does_not_end_is_left_behind_and_that_is_reported() {
        let (free, held) = channel::<()>();
        let (thread, tid) = start(cpus::allowed(), move || _ = held.recv());
        let patience = Patience { by_itself: Duration::ZERO, at_most: Duration::from_millis(20) };
        assert_eq!(wait_for_end(thread, tid, patience), Ending::LeftBehind);
        assert!(is_there(tid));
        drop(free);
        wait_until_gone(tid);
    }
}
