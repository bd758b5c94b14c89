//! Demand as the kernel sees it.

use std::io;
use std::os::fd::OwnedFd;

use ontick_bpf::map::Shared;
use ontick_bpf::tracepoint::attach;

use super::programs::{self, CAME, WAITING};
use super::{Demand, Kernel, NotCounted};

/// Counted by programs in the kernel, which end with this.
#[derive(Debug)]
pub struct Counted {
    shared: Shared,
    _attached: Vec<OwnedFd>,
}

impl Counted {
    /// Counts who wants the CPU that the calling thread is pinned to.
    pub fn here(kernel: &Kernel) -> Result<Self, NotCounted> {
        match *crate::cpus::allowed() {
            _ if kernel.throttles => Err(NotCounted::Throttled),
            [cpu] => Ok(Self::on(kernel, cpu)?),
            _ => Err(NotCounted::NotPinned),
        }
    }

    fn on(kernel: &Kernel, cpu: u32) -> io::Result<Self> {
        let shared = programs::shared()?;
        let woken = programs::woken(kernel, cpu, &shared);
        let attached = [
            (kernel.wakeup, &woken),
            (kernel.wakeup_new, &woken),
            (kernel.migrate, &programs::moved(kernel, cpu, &shared)),
            (kernel.switch, &programs::switched(kernel, cpu, &shared)),
        ];
        let attached = attached.map(|(tracepoint, program)| attach(tracepoint, program));
        Ok(Self { shared, _attached: attached.into_iter().collect::<io::Result<_>>()? })
    }
}

impl Demand for Counted {
    #[inline]
    fn came(&self) -> u64 {
        self.shared.read(CAME)
    }

    #[inline]
    fn is_waiting(&self) -> bool {
        self.shared.read(WAITING) as i64 > 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::cpus;
    use crate::thread::{Policy, Setup, set_affinity};

    /// Looks until it is so, without a system call; not for ever.
    fn spin_until(is_so: impl Fn() -> bool) -> bool {
        let began = Instant::now();
        while !is_so() && began.elapsed() < Duration::from_secs(1) {
            std::hint::spin_loop();
        }
        is_so()
    }

    /// After a while, so that it may come to sleep.
    fn sleeps(tid: i32) -> bool {
        std::thread::sleep(Duration::from_millis(1));
        let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
    }

    /// How long a CPU was idle so far, in hundredths of a second.
    fn idle(cpu: u32) -> u64 {
        let times = std::fs::read_to_string("/proc/stat").unwrap();
        let line = times.lines().find(|line| line.starts_with(&format!("cpu{cpu} "))).unwrap();
        line.split_whitespace().nth(4).unwrap().parse().unwrap()
    }

    /// Of a machine with several CPUs, on one that a loop keeps to itself.
    #[test]
    fn who_is_kept_from_its_cpu_is_counted_until_it_had_it() {
        let kernel = match Kernel::find() {
            Ok(kernel) => kernel,
            Err(why) => return ontick_skip::skipped!("{why}"),
        };
        let cpu = cpus::preferred();
        let timed = move || {
            let ready = Setup::new().cpu(cpu).policy(Policy::Fifo(40)).best_effort();
            if let Some(refusal) = ready.refused().first() {
                return ontick_skip::skipped!("{refusal}");
            }
            let counted = match Counted::on(&kernel, cpu) {
                Ok(counted) => counted,
                Err(error) => return ontick_skip::skipped!("no programs of bpf(2): {error}"),
            };
            let (wake, woken) = mpsc::channel::<()>();
            let (ran, has_run) = mpsc::channel();
            let other = std::thread::spawn(move || {
                crate::thread::set_policy(0, Policy::Other).unwrap();
                set_affinity(&[cpu]).unwrap();
                ran.send(crate::thread::current_tid()).unwrap();
                while woken.recv().is_ok() {
                    ran.send(0).unwrap();
                }
            });
            let tid = has_run.recv().unwrap();
            let mut seen_waiting = 0;
            for _ in 0..20 {
                assert!((0..5_000).any(|_| sleeps(tid)), "it waits to be woken up");
                let came = counted.came();
                wake.send(()).unwrap();
                assert!(spin_until(|| counted.came() > came), "a thread that is woken up has come");
                seen_waiting += u32::from(counted.is_waiting());
                assert!(has_run.try_recv().is_err(), "it is kept from the CPU");
                has_run.recv().unwrap();
            }
            // Where others are moved from one CPU to another meanwhile, a count may be wrong.
            assert!(seen_waiting > 10, "{seen_waiting} of 20");
            // Not on a machine where others always want it.
            let idle_before = idle(cpu);
            let is_wanted_by_nobody = (0..5_000).any(|_| {
                std::thread::sleep(Duration::from_millis(1));
                !counted.is_waiting()
            });
            assert!(is_wanted_by_nobody || idle(cpu) - idle_before < 100, "an idle CPU is wanted by nobody");
            drop(wake);
            other.join().unwrap();
        };
        std::thread::spawn(timed).join().unwrap();
    }
}
