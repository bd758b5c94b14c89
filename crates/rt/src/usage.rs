//! What happened to the calling thread: page faults and context switches.

use crate::sys;

/// Counts since the thread began (getrusage(2), `RUSAGE_THREAD`); subtract two to get a section's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Times the thread gave up the CPU itself.
    pub voluntary_switches: u64,
    /// Times the scheduler took the CPU away.
    pub involuntary_switches: u64,
}

impl Usage {
    /// The calling thread's counts now.
    pub fn now() -> Self {
        let usage = sys::thread_usage();
        Self {
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
        }
    }

    /// What came since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            minor_faults: self.minor_faults - earlier.minor_faults,
            major_faults: self.major_faults - earlier.major_faults,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faults seen while a fresh page is touched. Tests beside this one lock the memory of the whole process, which
    /// touches every page beforehand; so this one is let go again first.
    #[allow(unsafe_code)]
    fn faults_of_a_fresh_page() -> u64 {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munlock, munmap};
        let length = 1 << 16;
        // SAFETY: a new mapping that nothing else knows of, gone before this function ends.
        unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let page = mmap_anonymous(std::ptr::null_mut(), length, protection, MapFlags::PRIVATE).unwrap();
            let _ = munlock(page, length);
            let _ = madvise(page, length, Advice::LinuxDontNeed);
            let before = Usage::now();
            page.cast::<u8>().write_volatile(1);
            let faults = Usage::now().since(before).minor_faults;
            munmap(page, length).unwrap();
            faults
        }
    }

    #[test]
    fn a_first_touch_is_a_fault() {
        // Memory may be locked between letting go and touching: once is enough.
        assert!((0..1000).any(|_| faults_of_a_fresh_page() > 0));
    }
}
