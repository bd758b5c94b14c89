//! The timed loop allocates nothing.

mod counting;

use counting::allocations;
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::wait::{Hybrid, Sleep, Wait};
use ontick_rt::{Cycle, recorder};

#[test]
fn waiting_and_recording_allocate_nothing() {
    let waits: [Box<dyn Wait>; 2] = [Box::new(Hybrid::new(200_000)), Box::new(Sleep)];
    for wait in waits {
        let mut cycle = Cycle::new(Clock::new(ClockId::Monotonic), wait, 200_000);
        // A threshold of 0 makes every late sample an outlier, and the ring overflow.
        let (mut writer, _reader) = recorder::channel(0);
        let before = allocations();
        for _ in 0..2_000 {
            let tick = cycle.next();
            writer.missed(tick.missed);
            writer.record(tick.now_ns, tick.latency_ns() + 1);
        }
        assert_eq!(allocations() - before, 0);
    }
    let before = allocations();
    drop(std::hint::black_box(vec![1u8; 10]));
    assert_eq!(allocations() - before, 2, "the counter counts memory that is taken and given back");
}
