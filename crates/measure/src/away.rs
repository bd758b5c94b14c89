//! Looking on, and reading what was traced, away from the CPU that is timed.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps the calling thread off a CPU until it is dropped.
pub struct Away {
    before: CpuSet,
}

impl Away {
    /// From this CPU, if there is another one for the thread.
    pub fn from(cpu: u32) -> Option<Self> {
        let before = sched_getaffinity(None).ok()?;
        let mut others = before;
        others.unset(cpu as usize);
        (others.count() > 0 && sched_setaffinity(None, &others).is_ok()).then_some(Self { before })
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_rt::cpus;

    #[test]
    fn the_thread_comes_back() {
        std::thread::spawn(|| {
            let before = cpus::allowed();
            let cpu = *before.last().expect("a CPU");
            let away = Away::from(cpu);
            assert_eq!(away.is_some(), before.len() > 1);
            assert!(away.is_none() || !cpus::allowed().contains(&cpu));
            drop(away);
            assert_eq!(cpus::allowed(), before);
        })
        .join()
        .unwrap();
    }
}
