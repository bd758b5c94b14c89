//! Looking on, and reading what was traced, away from the CPU that is timed.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that this process may use but for one: a thread that a timed thread starts has only that one's.
pub(crate) fn others(cpu: Option<u32>) -> Option<CpuSet> {
    let mut others = sched_getaffinity(Some(rustix::process::getpid())).ok()?;
    cpu.into_iter().for_each(|cpu| others.unset(cpu as usize));
    (others.count() > 0).then_some(others)
}

/// Keeps the calling thread off CPUs until it is dropped.
pub struct AvoidCpu {
    before: CpuSet,
}

impl AvoidCpu {
    /// From this CPU, if there is another one for the thread.
    pub fn from(cpu: u32) -> Option<Self> {
        Self::from_all(&[cpu])
    }

    /// From all of these, if there is another one for the thread.
    pub fn from_all(cpus: &[u32]) -> Option<Self> {
        let before = sched_getaffinity(None).ok()?;
        let mut others = before;
        cpus.iter().for_each(|cpu| others.unset(*cpu as usize));
        (others.count() > 0 && sched_setaffinity(None, &others).is_ok()).then_some(Self { before })
    }

    /// From as many of these as leave it another one, the first of them first.
    pub fn from_most(cpus: &[u32]) -> Option<Self> {
        (1..=cpus.len()).rev().find_map(|count| Self::from_all(&cpus[..count]))
    }
}

impl Drop for AvoidCpu {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_rt::cpus;

    #[test]
    fn a_thread_on_one_cpu_knows_the_others() {
        let all = cpus::allowed();
        std::thread::spawn(move || {
            let mut one = CpuSet::new();
            one.set(all[0] as usize);
            sched_setaffinity(None, &one).unwrap();
            assert_eq!(others(Some(all[0])).is_some(), all.len() > 1);
            assert!(others(Some(all[0])).is_none_or(|others| !others.is_set(all[0] as usize)));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn where_all_are_to_be_avoided_the_last_is_left() {
        std::thread::spawn(|| {
            let before = cpus::allowed();
            let avoided = AvoidCpu::from_most(&before);
            assert_eq!(avoided.is_some(), before.len() > 1);
            assert!(avoided.is_none() || cpus::allowed() == before[before.len() - 1..]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn the_thread_comes_back() {
        std::thread::spawn(|| {
            let before = cpus::allowed();
            let cpu = *before.last().expect("a CPU");
            let avoided = AvoidCpu::from(cpu);
            assert_eq!(avoided.is_some(), before.len() > 1);
            assert!(avoided.is_none() || !cpus::allowed().contains(&cpu));
            drop(avoided);
            assert_eq!(cpus::allowed(), before);
        })
        .join()
        .unwrap();
    }
}
