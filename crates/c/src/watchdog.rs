//! What guards against a loop that runs away with the machine.

use std::ffi::c_int;
use std::time::Duration;

use ontick_rt::watchdog::Watchdog;

use crate::fork;
use crate::handle::{Handle, close, look_at, open};
use crate::status::{Failure, ONTICK_ERROR_SYSTEM, guard};

/// The shortest time after which a loop may be taken for one that ran away, and the longest: 10 ms, and an hour.
const LIMITS_NS: std::ops::RangeInclusive<u64> = 10_000_000..=3_600_000_000_000;

/// Watches a thread from beside.
pub struct ontick_watchdog {
    generation: u32,
    watchdog: Watchdog,
}

impl Handle for ontick_watchdog {
    fn generation(&self) -> u32 {
        self.generation
    }
}

/// Watches the calling thread, by a thread of its own on another CPU: one that kept its CPU busy for
/// `limit_ns` (10 ms to an hour; 2 s is usual) without ever sleeping loses its real-time priority.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_watchdog_start(limit_ns: u64, watchdog: *mut *mut ontick_watchdog) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        open(watchdog, || {
            if !LIMITS_NS.contains(&limit_ns) {
                return Err(Failure::argument(format!("limit_ns is {limit_ns}: it must be from 10 ms to an hour")));
            }
            let watchdog = Watchdog::watch_this_thread(Duration::from_nanos(limit_ns));
            let watchdog = watchdog.map_err(|error| {
                Failure::new(ONTICK_ERROR_SYSTEM, format!("the watchdog's thread cannot be started: {error}"))
            })?;
            Ok(ontick_watchdog { generation: fork::generation(), watchdog })
        })
    }
}

/// 1 where the thread lost its priority, 0 where it did not, negative for an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_watchdog_demoted(watchdog: *const ontick_watchdog) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let watchdog = unsafe { look_at(watchdog) }?;
        Ok(watchdog.watchdog.demoted().into())
    })
}

/// Ends the watch and sets *watchdog to NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_watchdog_stop(watchdog: *mut *mut ontick_watchdog) -> c_int {
    // SAFETY: as the header asks.
    unsafe { close(watchdog, drop) }
}
