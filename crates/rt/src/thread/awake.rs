//! A CPU that is kept awake: it runs a thread of the lowest policy where it would idle.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};

use super::{Policy, Refusal, current_tid, set_affinity_of, set_policy};
use crate::sys::{self, SchedAttr};

/// Locked memory is whole: two megabytes of stack, as others have, would be occupied for a loop.
const STACK: usize = 128 * 1024;

/// Keeps one CPU from idling until it is dropped: a thread of `SCHED_IDLE` (sched(7)) spins there whenever nobody else runs.
///
/// A CPU that idles enters a power state, and that of a virtual machine is given to others; both are late to come back when
/// a timer fires. All other policies come before `SCHED_IDLE`, at once where they are of real time. The CPU uses the power of
/// one that works, and the thread counts in the load average and in the CPU time of this process.
#[derive(Debug)]
pub struct KeptAwake {
    over: Arc<AtomicBool>,
}

impl KeptAwake {
    /// Keeps `cpu` awake.
    pub fn hold(cpu: u32) -> Result<Self, Refusal> {
        let over = Arc::new(AtomicBool::new(false));
        let (ready, heard) = channel();
        let seen = Arc::clone(&over);
        std::thread::Builder::new()
            .name(format!("awake-{cpu}"))
            .stack_size(STACK)
            .spawn(move || stay(&seen, &ready))
            .map_err(|error| refused(cpu, &error))?;
        let held = Self { over };
        // Set from here: a thread of the lowest policy may not get to say for long how it went.
        let placed = heard.recv().map_err(io::Error::other).and_then(|begun| begun).and_then(|tid| {
            set_affinity_of(tid, &[cpu])?;
            sys::sched_setattr(tid, &mut SchedAttr { policy: libc::SCHED_IDLE as u32, ..SchedAttr::default() })
        });
        placed.map(|()| held).map_err(|error| refused(cpu, &error))
    }
}

fn refused(cpu: u32, error: &io::Error) -> Refusal {
    Refusal::new(
        format!("CPU {cpu} kept awake"),
        error.to_string(),
        "nothing: timers wake the loop all the same, only later",
    )
}

fn stay(over: &AtomicBool, ready: &Sender<io::Result<i32>>) {
    sys::block_signals();
    // A real-time policy that is inherited would keep who asked from the CPU that both are on.
    let begun = set_policy(0, Policy::Other).map(|()| current_tid());
    let stays = begun.is_ok();
    // Who asked waits for it.
    let _ = ready.send(begun);
    while stays && !over.load(Relaxed) {
        std::hint::spin_loop();
    }
}

impl Drop for KeptAwake {
    /// The thread ends when it has the CPU the next time, which is not waited for: a real-time thread may have it for long.
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus;
    use crate::thread::Setup;
    use std::fs;
    use std::process::Command;
    use std::time::{Duration, Instant};

    /// Policy and CPUs of this process's threads of a name.
    fn threads(name: &str) -> Vec<(u32, String)> {
        let mut found = Vec::new();
        for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
            let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
            if read("comm").trim() != name {
                continue;
            }
            let tid = task.file_name().to_string_lossy().parse().unwrap();
            let status = read("status");
            let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t")).unwrap_or_default();
            found.extend(sys::sched_getattr(tid).map(|attr| (attr.policy, cpus.to_owned())));
        }
        found
    }

    /// The CPU counts as idle for no time at all while nobody else runs there, and others have it when they want it.
    #[test]
    fn a_thread_of_the_lowest_policy_works_until_the_end() {
        let cpu = *cpus::allowed().last().unwrap();
        let name = format!("awake-{cpu}");
        let idle_ticks = || {
            let text = fs::read_to_string("/proc/stat").unwrap();
            let line = text.lines().find(|line| line.starts_with(&format!("cpu{cpu} "))).unwrap();
            line.split_whitespace().nth(4).unwrap().parse::<u64>().unwrap()
        };
        let held = KeptAwake::hold(cpu).unwrap();
        assert_eq!(threads(&name), [(libc::SCHED_IDLE as u32, cpu.to_string())]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                set_affinity_of(0, &[cpu]).unwrap();
                // Each nap leaves the CPU, and needs it again to end.
                let (began, before, mut naps) = (Instant::now(), idle_ticks(), 0);
                while began.elapsed() < Duration::from_millis(300) {
                    std::thread::sleep(Duration::from_millis(1));
                    naps += 1;
                }
                assert!(naps >= 3, "{naps} naps of 1 ms in 300 ms");
                // A tick is 10 ms: thirty would have been idle.
                assert!(idle_ticks() - before <= 3, "{} ticks idle", idle_ticks() - before);
            });
        });
        drop(held);
        let began = Instant::now();
        while !threads(&name).is_empty() {
            assert!(began.elapsed() < Duration::from_secs(30), "it is still there");
            std::thread::yield_now();
        }
    }

    /// It would hang for good, and its CPU with it: so a process of its own does it, which can be killed.
    #[test]
    fn a_real_time_thread_gets_its_cpu_kept_awake() {
        const NAME: &str = "thread::awake::tests::a_real_time_thread_gets_its_cpu_kept_awake";
        if std::env::var_os(NAME).is_some() {
            let held = KeptAwake::hold(cpus::preferred()).unwrap();
            assert_eq!(threads(&format!("awake-{}", cpus::preferred()))[0].0, libc::SCHED_IDLE as u32);
            return drop(held);
        }
        // What a thread starts inherits its policy and CPU.
        let start = || {
            Setup::new().cpu(cpus::preferred()).policy(Policy::Fifo(1)).strict()?;
            Ok(Command::new(std::env::current_exe().unwrap()).args(["--exact", NAME]).env(NAME, "").spawn().unwrap())
        };
        let mut child = match std::thread::spawn(start).join().unwrap() {
            Ok(child) => child,
            Err::<_, Refusal>(refusal) => return ontick_skip::skipped!("{refusal}"),
        };
        let began = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if began.elapsed() > Duration::from_secs(20) => break None,
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let _ = child.kill();
        child.wait().unwrap();
        assert!(status.is_some_and(|status| status.success()), "{status:?}");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused() {
        let refusal = KeptAwake::hold(1023).unwrap_err();
        assert!(refusal.to_string().contains("CPU 1023"), "{refusal}");
    }
}
