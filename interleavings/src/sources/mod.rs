//! The sources that are explored, as the product has them. Beside each is what it finds in place of the module next to it.

/// Two buckets: as many as make a difference.
pub mod buckets {
    pub const COUNT: usize = 2;

    pub fn index(latency_ns: u64) -> usize {
        usize::from(latency_ns > 0)
    }

    pub fn range(index: usize) -> (u64, u64) {
        if index == 0 { (0, 1) } else { (1, u64::MAX) }
    }
}

pub mod acquire;
pub mod bpf;
pub mod gpio;
pub mod link;
pub mod measure;
pub mod network;
pub mod rt;
pub mod switch;
