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

    #[test]
    fn a_first_touch_is_a_fault() {
        let before = Usage::now();
        let mut pages = vec![0u8; 4 << 20];
        pages.chunks_mut(4096).for_each(|page| page[0] = 1);
        std::hint::black_box(&pages);
        assert!(Usage::now().since(before).minor_faults > 0);
    }
}
