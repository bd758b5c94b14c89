//! Waiting for the two ends of a pulse.

use ontick_rt::clock::{Clock, sleep_for};
use ontick_rt::wait::{DUTY, Hybrid, Spin, Wait};

use super::Method;

/// How a train of pulses keeps its time.
pub enum Pace {
    /// Relative sleeps: each wait begins when the one before is over, and the train drifts.
    Sleep { gap_ns: u64 },
    /// Spins while the pulse lasts, and sleeps between pulses as far as it can.
    Spin { between: Hybrid, within: Spin, grid: Grid },
    /// Sleeps to a margin, then spins.
    Hybrid { wait: Hybrid, grid: Grid },
    /// Whoever makes the pulses waits.
    Elsewhere,
}

/// The moments at which pulses should begin: a fixed distance apart.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    period_ns: u64,
    next_ns: u64,
}

impl Grid {
    pub fn new(period_ns: u64, now_ns: u64) -> Self {
        Self { period_ns, next_ns: now_ns + period_ns }
    }

    /// When the next pulse should begin, and how many before it are left out because their time, and that of the
    /// one after, has passed.
    fn next(&mut self, now_ns: u64) -> (u64, u64) {
        let left_out = now_ns.saturating_sub(self.next_ns) / self.period_ns;
        let due_ns = self.next_ns + left_out * self.period_ns;
        self.next_ns = due_ns + self.period_ns;
        (due_ns, left_out)
    }

    /// When the pulse that was waited for last should have begun.
    fn due_ns(&self) -> u64 {
        self.next_ns - self.period_ns
    }

    /// The period that has begun is the first of this length.
    fn change_period(&mut self, period_ns: u64) {
        self.next_ns = self.due_ns() + period_ns;
        self.period_ns = period_ns;
    }
}

impl Pace {
    pub fn new(method: &Method, width_ns: u64, gap_ns: u64, now_ns: u64) -> Self {
        let period_ns = width_ns + gap_ns;
        let grid = Grid::new(period_ns, now_ns);
        match method {
            // What hardware times needs nothing of the program within a pulse.
            Method::Sleep | Method::Pwm(_) | Method::Spi(_) | Method::Pru(_) => Pace::Sleep { gap_ns },
            // What the pulse leaves of the duty may be spun between the pulses.
            Method::Spin => {
                let left_ns = ((period_ns as f64 * DUTY) as u64).saturating_sub(width_ns).max(gap_ns / 100);
                let between = Hybrid::with_duty(gap_ns, left_ns as f64 / gap_ns as f64);
                Pace::Spin { between, within: Spin::default(), grid }
            }
            Method::Hybrid => Pace::Hybrid { wait: Hybrid::new(period_ns), grid },
            Method::Kernel(..) => Pace::Elsewhere,
        }
    }

    /// Waits until the next pulse may begin; how many are left out before it.
    #[inline]
    pub fn between(&mut self, clock: &mut Clock) -> u64 {
        match self {
            Pace::Sleep { gap_ns } => {
                sleep_for(*gap_ns);
                0
            }
            Pace::Spin { between: wait, grid, .. } | Pace::Hybrid { wait, grid } => {
                let (due_ns, left_out) = grid.next(clock.now_ns());
                wait.until(clock, due_ns);
                left_out
            }
            Pace::Elsewhere => 0,
        }
    }

    /// Waits while a pulse lasts that began at `rose_ns`.
    #[inline]
    pub fn within(&mut self, clock: &mut Clock, rose_ns: u64, width_ns: u64) {
        match self {
            Pace::Sleep { .. } => sleep_for(width_ns),
            Pace::Spin { within, .. } => {
                within.until(clock, rose_ns + width_ns);
            }
            Pace::Hybrid { wait, .. } => {
                wait.within(clock, rose_ns + width_ns);
            }
            Pace::Elsewhere => {}
        }
    }

    /// When the pulse should have begun that was waited for last, in ns, where they begin on a grid.
    pub fn due_ns(&self) -> Option<u64> {
        match self {
            Pace::Spin { grid, .. } | Pace::Hybrid { grid, .. } => Some(grid.due_ns()),
            Pace::Sleep { .. } | Pace::Elsewhere => None,
        }
    }

    /// The period that has begun is the first of this length, where a hybrid wait keeps them. The margin is learned anew: how
    /// much may be spun depends on the period.
    pub fn change_period(&mut self, period_ns: u64) {
        if let Pace::Hybrid { wait, grid } = self {
            grid.change_period(period_ns);
            *wait = Hybrid::new(period_ns);
        }
    }

    /// The margin before the end of a pulse, in ns, where one is learned.
    pub fn margin_ns(&self) -> Option<u64> {
        match self {
            Pace::Hybrid { wait, .. } => wait.margin_ns(),
            Pace::Sleep { .. } | Pace::Spin { .. } | Pace::Elsewhere => None,
        }
    }

    /// Time spent spinning so far, in ns.
    pub fn spun_ns(&self) -> Option<u64> {
        match self {
            Pace::Sleep { .. } | Pace::Elsewhere => None,
            Pace::Spin { between, within, .. } => Some(between.spun_ns()? + within.spun_ns()?),
            Pace::Hybrid { wait, .. } => wait.spun_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ontick_rt::clock::ClockId;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_pulse_ends_before_its_time() {
        for method in Method::PROGRAM {
            let mut clock = Clock::new(ClockId::Monotonic);
            let mut pace = Pace::new(&method, 200_000, 800_000, clock.now_ns());
            for _ in 0..20 {
                pace.between(&mut clock);
                let rose_ns = clock.now_ns();
                pace.within(&mut clock, rose_ns, 200_000);
                // The kernel's clock and the counter's conversion may be apart by a hair.
                assert!(clock.now_ns() + 1_000 >= rose_ns + 200_000, "{method}");
            }
            assert_eq!(pace.spun_ns().is_some(), method.spins());
        }
    }

    #[test]
    fn a_period_that_has_begun_may_get_another_length() {
        let mut grid = Grid::new(1_000, 0);
        assert_eq!((grid.next(10), grid.due_ns()), ((1_000, 0), 1_000));
        grid.change_period(5_000);
        assert_eq!((grid.next(1_100), grid.due_ns()), ((6_000, 0), 6_000));
        grid.change_period(400);
        assert_eq!(grid.next(6_000 + 900), (6_800, 1));
    }

    proptest! {
        #[test]
        fn pulses_begin_on_the_grid_and_in_order(late in prop::collection::vec(0u64..5_000, 1..50)) {
            let mut grid = Grid::new(1_000, 0);
            let (mut now_ns, mut count) = (0, 0);
            for late_ns in late {
                let (due_ns, left_out) = grid.next(now_ns);
                count += left_out + 1;
                prop_assert_eq!(due_ns, count * 1_000);
                // Late by less than a period is late; a period has passed only with the next one's time.
                prop_assert!(due_ns + 1_000 > now_ns);
                now_ns = due_ns.max(now_ns) + late_ns;
            }
        }
    }
}
