//! Ways to wait for a deadline: [`Sleep`] lets the kernel wake the thread, [`Spin`] reads the clock until
//! it is time, [`Hybrid`] sleeps first and spins the last stretch.

pub mod demand;
mod hybrid;
mod margin;
mod sleep;
mod spin;

pub use hybrid::Hybrid;
pub use margin::Margin;
pub use sleep::Sleep;
pub use spin::Spin;

use crate::clock::Clock;

/// Share of the time that a waiting loop may spin unless set otherwise. Linux ≥ 6.12 gives normal tasks
/// that starve 50 ms of every second by its fair server, also where real-time throttling is off; a thread
/// that itself leaves a tenth of the CPU is not interrupted for that.
pub const DUTY: f64 = 0.9;

/// Waits for absolute deadlines.
pub trait Wait {
    /// Returns at `deadline_ns` on `clock` or as soon after as it can, never before; the value is the time
    /// then, in ns. A deadline in the past returns at once.
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64;

    /// The hybrid wait's margin, in ns, for those that have one.
    fn margin_ns(&self) -> Option<u64> {
        None
    }

    /// Time spent spinning so far, in ns, for those that spin.
    fn spun_ns(&self) -> Option<u64> {
        None
    }
}

impl<W: Wait + ?Sized> Wait for Box<W> {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        (**self).until(clock, deadline_ns)
    }

    fn margin_ns(&self) -> Option<u64> {
        (**self).margin_ns()
    }

    fn spun_ns(&self) -> Option<u64> {
        (**self).spun_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ClockId;

    /// A wait that has a margin of 7 ns, and spun for 9.
    struct CallOrder;

    impl Wait for CallOrder {
        fn until(&mut self, _: &mut Clock, deadline_ns: u64) -> u64 {
            deadline_ns
        }

        fn margin_ns(&self) -> Option<u64> {
            Some(7)
        }

        fn spun_ns(&self) -> Option<u64> {
            Some(9)
        }
    }

    #[test]
    fn a_boxed_wait_reports_what_it_would_unboxed() {
        let boxed = |wait: Box<dyn Wait>| (Wait::margin_ns(&wait), Wait::spun_ns(&wait));
        assert_eq!(boxed(Box::new(CallOrder)), (Some(7), Some(9)));
        assert_eq!(boxed(Box::new(Sleep)), (None, None));
    }

    #[test]
    fn no_wait_ends_early_and_past_deadlines_return_at_once() {
        let waits: [Box<dyn Wait>; 3] = [Box::new(Sleep), Box::new(Spin::default()), Box::new(Hybrid::new(2_000_000))];
        for mut wait in waits {
            let mut clock = Clock::new(ClockId::Monotonic);
            for _ in 0..20 {
                let deadline = clock.now_ns() + 2_000_000;
                assert!(wait.until(&mut clock, deadline) >= deadline);
            }
            let past = clock.now_ns() - 1_000;
            assert!(wait.until(&mut clock, past) >= past);
        }
    }
}
