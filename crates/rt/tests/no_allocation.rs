//! The timed loop allocates nothing.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::wait::{Hybrid, Sleep, Wait};
use ontick_rt::{Cycle, recorder};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

#[test]
fn waiting_and_recording_allocate_nothing() {
    let waits: [Box<dyn Wait>; 2] = [Box::new(Hybrid::new(200_000)), Box::new(Sleep)];
    for wait in waits {
        let mut cycle = Cycle::new(Clock::new(ClockId::Monotonic), wait, 200_000);
        // A threshold of 0 makes every late sample an outlier, and the ring overflow.
        let (mut writer, _reader) = recorder::channel(0);
        let before = allocations();
        for _ in 0..2_000 {
            let beat = cycle.next();
            writer.missed(beat.missed);
            writer.record(beat.now_ns, beat.latency_ns() + 1);
        }
        assert_eq!(allocations() - before, 0);
    }
    let before = allocations();
    drop(std::hint::black_box(vec![1u8; 10]));
    assert_eq!(allocations() - before, 1, "the counter counts");
}
