//! What a page fault costs on this machine. The kernel says when one happens, not when it is over.
#![allow(unsafe_code)]

use std::ptr::null_mut;
use std::time::Instant;

use ontick_record::inspection::Cost;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::durations::Durations;

/// Pages that are touched: enough for a 99th percentile.
const PAGES: usize = 512;

/// How long the first access to a page of new memory takes; `None` where no memory can be had.
pub fn fault_cost() -> Option<Cost> {
    let page = rustix::param::page_size();
    let length = PAGES * page;
    // SAFETY: a new mapping, at an address that the kernel chooses.
    let memory =
        unsafe { mmap_anonymous(null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) }.ok()?;
    // SAFETY: the mapping is this function's. Huge pages would make one fault of many; not all kernels have them.
    let _ = unsafe { madvise(memory, length, Advice::LinuxNoHugepage) };
    let mut durations = Durations::default();
    for at in 0..PAGES {
        let began = Instant::now();
        // SAFETY: within the mapping, which is valid for writes.
        unsafe { memory.cast::<u8>().add(at * page).write_volatile(1) };
        durations.add(began.elapsed().as_nanos() as u64);
    }
    // SAFETY: the mapping is this function's, and nothing refers to it any more.
    let _ = unsafe { munmap(memory, length) };
    durations.cost().map(|cost| Cost { estimated: true, ..cost })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_costs_something() {
        let cost = fault_cost().unwrap();
        assert!(cost.estimated && 0 < cost.p50_ns && cost.p50_ns <= cost.p99_ns && cost.p99_ns <= cost.worst_ns);
    }
}
