//! When the first periods of a station begin.

use ontick_rt::clock::ClockId;

/// A base time is at least so far ahead: all must be ready by then, in ns.
const LEAD_NS: u64 = 1_000_000_000;
/// And not further than a year, in ns: nobody waits so long, and times reckoned from it stay times.
const MOST_AHEAD_NS: u64 = 365 * 86_400 * SECOND_NS;
const SECOND_NS: u64 = 1_000_000_000;

/// Why there is no base time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BaseTimeError {
    /// It was before now.
    #[error(
        "the base time {base_ns} was {ago} ago: name one that is to come, in ns of TAI{hint}",
        ago = ontick_units::show(*.ago_ns),
        hint = .next_ns.map_or(String::new(), |next| format!(" (the same schedule begins anew at {next})"))
    )]
    Past {
        /// As it was asked for.
        base_ns: u64,
        /// How long ago.
        ago_ns: u64,
        /// When the same schedule begins anew; none where that takes ages.
        next_ns: Option<u64>,
    },
    /// Nobody waits for it.
    #[error("the base time {0} is more than a year ahead: name one that comes sooner, in ns of TAI")]
    Far(u64),
    /// With this period, stations that begin with different seconds do not fit together.
    #[error(
        "a period of {} does not divide a second, so \"the next second\" is another moment on each station; name a base time, in ns of TAI",
        ontick_units::exact(*.0)
    )]
    Odd(u64),
}

/// When cycles begin: what is asked for, or the next whole second, in ns of TAI.
pub fn base_ns(asked: Option<u64>, periods: impl Iterator<Item = u64> + Clone) -> Result<u64, BaseTimeError> {
    let now_ns = ClockId::Tai.now_ns();
    match asked {
        Some(ns) if ns > now_ns + MOST_AHEAD_NS => Err(BaseTimeError::Far(ns)),
        Some(ns) if ns > now_ns => Ok(ns),
        Some(base_ns) => {
            let next_ns = next_ns(base_ns, now_ns + LEAD_NS, periods);
            Err(BaseTimeError::Past { base_ns, ago_ns: now_ns - base_ns, next_ns })
        }
        None => match periods.clone().find(|period_ns| SECOND_NS % period_ns != 0) {
            None => Ok((now_ns + LEAD_NS).next_multiple_of(SECOND_NS)),
            Some(odd) => Err(BaseTimeError::Odd(odd)),
        },
    }
}

/// The first time from `from_ns` on that is a whole number of all periods after `base_ns`; none where that takes ages.
fn next_ns(base_ns: u64, from_ns: u64, periods: impl Iterator<Item = u64>) -> Option<u64> {
    let all = common_period(periods)?;
    Some(base_ns + from_ns.saturating_sub(base_ns).div_ceil(all) * all)
}

/// After how long all periods begin together anew; none where that takes ages.
pub(super) fn common_period(mut periods: impl Iterator<Item = u64>) -> Option<u64> {
    let lcm = |all: u64, period: u64| (all / gcd(all, period)).checked_mul(period).filter(|ns| *ns < 1_000 * SECOND_NS);
    periods.try_fold(1, lcm)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_time_that_is_over_is_refused_with_the_next_that_fits() {
        assert_eq!(next_ns(1_000, 5_500, [1_000, 2_000].into_iter()), Some(7_000));
        assert_eq!(next_ns(9_000, 5_500, [1_000].into_iter()), Some(9_000));
        // 999 983 and 1 000 003 ms have nothing in common.
        assert_eq!(next_ns(0, 1, [999_983_000_000, 1_000_003_000_000].into_iter()), None);
        let past = base_ns(Some(1_000_000_000), [4_000_000].into_iter()).unwrap_err().to_string();
        assert!(past.starts_with("the base time 1000000000 was ") && past.contains("begins anew at"), "{past}");
        let ahead_ns = ClockId::Tai.now_ns() + 60 * SECOND_NS;
        assert_eq!(base_ns(Some(ahead_ns), [4_000_000].into_iter()).unwrap(), ahead_ns);
    }

    #[test]
    fn a_base_time_that_nobody_waits_for_is_refused() {
        for ns in [u64::MAX, ClockId::Tai.now_ns() + MOST_AHEAD_NS + 60 * SECOND_NS] {
            assert_eq!(base_ns(Some(ns), [4_000_000].into_iter()), Err(BaseTimeError::Far(ns)));
        }
    }

    #[test]
    fn without_a_base_time_cycles_begin_with_a_second() {
        let base = base_ns(None, [4_000_000].into_iter()).unwrap();
        assert!(base % SECOND_NS == 0 && base >= ClockId::Tai.now_ns() + LEAD_NS / 2);
        let odd = base_ns(None, [4_000_000, 3_000_000].into_iter()).unwrap_err().to_string();
        assert!(odd.starts_with("a period of 3ms does not divide a second"), "{odd}");
    }
}
