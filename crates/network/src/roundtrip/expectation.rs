//! When the next request of a cyclic sender is to be expected, and how long before that a sleep should end.

use ontick_rt::wait::Margin;

use super::waiting::Waiting;

/// The margin covers this share of what was observed.
const QUANTILE: f64 = 0.9995;
/// No margin below this, in ns: the way into a sleep and out of it takes as long.
const SHORTEST_NS: u64 = 10_000;
/// The other end's clock may be so much slower, of 1, and its requests come so much later, in ns, without being late.
const DRIFT: u64 = 1_000;
const JITTER_NS: u64 = 500;
/// A request is waited for beyond its time for this share of its period, and no longer than this, in ns.
const BEYOND: u64 = 4;
const BEYOND_NS: u64 = 250_000;
/// Requests further apart are not anticipated, in ns: the first one of a pause is as late as a sleep ends.
const LONGEST_PERIOD_NS: u64 = 10_000_000_000;

/// What is expected of one sender.
#[derive(Debug)]
pub struct Expectation {
    waiting: Waiting,
    period_ns: u64,
    next_ns: u64,
    margin: Margin,
}

/// Until when to sleep and how long to look from then on, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookWindow {
    /// The sleep ends.
    pub awake_ns: u64,
    /// Nobody looks any longer.
    pub until_ns: u64,
}

impl Expectation {
    /// After a request that came at a time and says how far the next one is; nothing where that cannot be waited for.
    pub fn after(waiting: Waiting, came_ns: u64, period_ns: u64) -> Option<Self> {
        if waiting == Waiting::Block || !(1..=LONGEST_PERIOD_NS).contains(&period_ns) {
            return None;
        }
        let longest_ns = waiting.longest_ns(period_ns);
        let margin = match waiting {
            Waiting::Spin => Margin::new(QUANTILE, longest_ns, longest_ns),
            _ => Margin::new(QUANTILE, SHORTEST_NS, longest_ns),
        };
        Some(Self { waiting, period_ns, next_ns: came_ns.saturating_add(period_ns), margin })
    }

    /// When to look for the next one.
    pub fn look_window(&self) -> LookWindow {
        let beyond_ns = (self.period_ns / BEYOND).min(BEYOND_NS);
        LookWindow {
            awake_ns: self.next_ns.saturating_sub(self.margin.ns()),
            until_ns: self.next_ns.saturating_add(beyond_ns),
        }
    }

    /// The next one came, after a sleep that ended so late, if there was one. Nothing where the
    /// one after it cannot be waited for.
    pub fn came(self, came_ns: u64, period_ns: u64, slept_late_ns: Option<u64>) -> Option<Self> {
        if period_ns != self.period_ns {
            return Self::after(self.waiting, came_ns, period_ns);
        }
        let Self { waiting, next_ns, mut margin, .. } = self;
        if came_ns.abs_diff(next_ns) > period_ns / BEYOND {
            // Some were left out, or the sender began anew: what sleeps need is known.
            return Some(Self { waiting, period_ns, next_ns: came_ns.saturating_add(period_ns), margin });
        }
        let early_ns = next_ns.saturating_sub(came_ns);
        if slept_late_ns.is_some() || early_ns > 0 {
            margin.saw(slept_late_ns.unwrap_or(0).saturating_add(early_ns));
        }
        // Requests are late more often than early: the early ones show the sender's own time.
        let line_ns = came_ns.min(next_ns + period_ns / DRIFT + JITTER_NS);
        Some(Self { waiting, period_ns, next_ns: line_ns.saturating_add(period_ns), margin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn hybrid() -> Expectation {
        Expectation::after(Waiting::Hybrid, 5 * MS, MS).unwrap()
    }

    #[test]
    fn the_line_of_early_requests_is_followed() {
        let expected = hybrid();
        assert_eq!(expected.next_ns, 6 * MS);
        // One that is late moves it a little, one that is early at once.
        let late = expected.came(6 * MS + 200_000, MS, None).unwrap();
        assert_eq!(late.next_ns, 7 * MS + 1_500);
        let early = late.came(7 * MS - 30_000, MS, None).unwrap();
        assert_eq!(early.next_ns, 8 * MS - 30_000);
        // Another sequence, whose sleeps need the same.
        let other = early.came(8 * MS + 500_000, MS, None).unwrap();
        assert_eq!((other.next_ns, other.margin.ns()), (9 * MS + 500_000, 900_000));
        assert_eq!(hybrid().came(6 * MS, 2 * MS, None).unwrap().next_ns, 8 * MS);
    }

    #[test]
    fn the_margin_covers_late_sleeps_and_early_requests() {
        let mut expected = hybrid();
        assert_eq!(expected.look_window(), LookWindow { awake_ns: 5 * MS + 100_000, until_ns: 6 * MS + 250_000 });
        for n in 6..400 {
            // In turn 20 us early and on time; sleeps end 30 us late.
            let came_ns = n * MS - if n % 2 == 0 { 20_000 } else { 0 };
            expected = expected.came(came_ns, MS, Some(30_000)).unwrap();
        }
        assert!((50_000..100_000).contains(&expected.margin.ns()), "{}", expected.margin.ns());
        let spins = Expectation::after(Waiting::Spin, 0, MS).unwrap();
        assert_eq!(spins.came(MS, MS, Some(5_000)).unwrap().margin.ns(), 900_000);
    }

    #[test]
    fn what_cannot_be_waited_for_is_not() {
        assert!(Expectation::after(Waiting::Block, 0, MS).is_none());
        assert!(Expectation::after(Waiting::Hybrid, 0, 0).is_none());
        assert!(Expectation::after(Waiting::Hybrid, 0, u64::MAX).is_none());
    }

    proptest! {
        /// Whatever strangers send, most of the time is slept.
        #[test]
        fn no_sender_makes_it_look_for_longer_than_its_period(
            came in prop::collection::vec((any::<u64>(), any::<u64>(), any::<Option<u64>>()), 0..100), spin: bool,
        ) {
            let waiting = if spin { Waiting::Spin } else { Waiting::Hybrid };
            let mut expected = None;
            for (came_ns, period_ns, late_ns) in came {
                let period_ns = period_ns >> (period_ns % 64);
                expected = match expected {
                    Some(expected) => Expectation::came(expected, came_ns, period_ns, late_ns),
                    None => Expectation::after(waiting, came_ns, period_ns),
                };
                if let Some(expected) = &expected {
                    let LookWindow { awake_ns, until_ns } = expected.look_window();
                    prop_assert!(until_ns - awake_ns <= period_ns.saturating_mul(9) / 10 + BEYOND_NS.min(period_ns / 4) + 1);
                }
            }
        }
    }
}
