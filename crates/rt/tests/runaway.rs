//! A real-time loop that never rests is demoted.

use std::time::Duration;

use ontick_rt::clock::ClockId;
use ontick_rt::cpus;
use ontick_rt::thread::{Policy, Setup};
use ontick_rt::watchdog::Watchdog;

#[test]
fn a_runaway_loop_is_demoted_and_a_resting_one_is_not() {
    if cpus::online().len() < 2 {
        return ontick_skip::skipped!("a runaway loop on the only CPU would stop the test as well");
    }
    std::thread::spawn(|| {
        let ready = Setup::new().cpu(cpus::preferred()).policy(Policy::Fifo(1)).best_effort();
        if let Some(refusal) = ready.refused().first() {
            return ontick_skip::skipped!("{refusal}");
        }
        let limit = Duration::from_millis(400);

        let watchdog = Watchdog::watch_this_thread(limit).unwrap();
        let end = ClockId::Monotonic.now_ns() + 1_500_000_000;
        while ClockId::Monotonic.now_ns() < end {
            let until = ClockId::Monotonic.now_ns() + 4_000_000;
            while ClockId::Monotonic.now_ns() < until {}
            ClockId::Monotonic.sleep_until(until + 2_000_000);
        }
        assert!(!watchdog.demoted(), "a loop that rests a third of the time has not run away");
        drop(watchdog);

        // Real-time throttling would make the loop rest, were it within reach of its 950 ms; a loop that is
        // not demoted ends here all the same.
        let watchdog = Watchdog::watch_this_thread(limit).unwrap();
        let end = ClockId::Monotonic.now_ns() + 30_000_000_000;
        while !watchdog.demoted() && ClockId::Monotonic.now_ns() < end {
            std::hint::spin_loop();
        }
        assert!(watchdog.demoted());
    })
    .join()
    .unwrap();
}
