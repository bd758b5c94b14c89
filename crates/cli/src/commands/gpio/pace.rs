//! Waiting that Ctrl-C ends.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ontick_rt::clock::ClockId;

/// Ctrl-C is noticed this soon, in ns.
pub const GLANCE_NS: u64 = 50_000_000;

/// Sleeps until `deadline_ns` on the monotonic clock; `false` when `stop` was set first.
pub fn sleep_until(deadline_ns: u64, stop: &AtomicBool) -> bool {
    loop {
        let now_ns = ClockId::Monotonic.now_ns();
        if stop.load(Relaxed) {
            return false;
        }
        if now_ns >= deadline_ns {
            return true;
        }
        ClockId::Monotonic.sleep_until(deadline_ns.min(now_ns + GLANCE_NS));
    }
}
