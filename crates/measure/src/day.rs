//! `latency day`: act at times of day, on the realtime or the TAI clock.

use ontick_record::run::{Series, Settings};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::wait::{Hybrid, Sleep, Wait};

use crate::probe::{Probe, Sample};
use crate::{Error, Limits, Observer, Place, session};

/// Times of day to act at: `offset_ns` after every multiple of `interval_ns` since 1970 (TAI: since
/// 1970-01-01 00:00:00 TAI), so `interval` 1 s and `offset` 0 is every full second, and a day and 12 h is
/// every noon in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The clock: [`ClockId::Realtime`] or [`ClockId::Tai`].
    pub clock: ClockId,
    /// Distance of two times, in ns.
    pub interval_ns: u64,
    /// First time after the multiple, in ns.
    pub offset_ns: u64,
    /// Sleep and spin the last stretch, rather than only sleep.
    pub hybrid: bool,
}

/// A change of the clock against the monotonic one by more than this between two times is a step.
const STEP_NS: u64 = 1_000_000;

/// Farther from the next time than three times this the thread naps for so long at a time, in ns, so that the
/// run can be ended.
const NAP_NS: u64 = 300_000_000;

/// Measures how late the thread acts.
pub fn measure(
    name: &str,
    times: Times,
    place: Place,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Series, Error> {
    if times.interval_ns < 1_000_000 {
        return Err(Error::Impossible("times of day must be at least 1ms apart".into()));
    }
    if times.offset_ns >= times.interval_ns {
        return Err(Error::Impossible("the time of day must lie within the interval".into()));
    }
    let prepare = |_: &_| Ok(Day::new(times));
    session::run(name, place, limits, prepare, observer)
}

struct Day {
    times: Times,
    clock: Clock,
    wait: Box<dyn Wait>,
    last_ns: u64,
    /// Realtime minus monotonic when the last time came.
    ahead_ns: i128,
    steps: u64,
}

impl Day {
    fn new(times: Times) -> Self {
        let wait: Box<dyn Wait> = match times.hybrid {
            // The spin is short against the interval, whatever that is: the margin learns within 1 ms.
            true => Box::new(Hybrid::new(times.interval_ns.min(2_000_000))),
            false => Box::new(Sleep),
        };
        Self { times, clock: Clock::new(times.clock), wait, last_ns: 0, ahead_ns: ahead(times.clock), steps: 0 }
    }
}

/// The first time after `now_ns`.
fn next_time(times: Times, now_ns: u64) -> u64 {
    let whole = now_ns / times.interval_ns * times.interval_ns + times.offset_ns;
    if whole > now_ns { whole } else { whole + times.interval_ns }
}

fn ahead(clock: ClockId) -> i128 {
    i128::from(clock.now_ns()) - i128::from(ClockId::Monotonic.now_ns())
}

impl Probe for Day {
    fn next(&mut self) -> Sample {
        // Not counted on from the last time: if the clock was set meanwhile, the next one counts.
        let before_ns = self.clock.now_ns();
        let deadline_ns = next_time(self.times, before_ns);
        if deadline_ns - before_ns > 3 * NAP_NS {
            ClockId::Monotonic.sleep_until(ClockId::Monotonic.now_ns() + NAP_NS);
            return Sample::nap(ClockId::Monotonic.now_ns());
        }
        let now_ns = self.wait.until(&mut self.clock, deadline_ns);
        let ahead_ns = ahead(self.times.clock);
        let stepped = ahead_ns.abs_diff(self.ahead_ns) > u128::from(STEP_NS);
        self.ahead_ns = ahead_ns;
        let skipped = (deadline_ns.saturating_sub(self.last_ns) / self.times.interval_ns).saturating_sub(1);
        let first = std::mem::replace(&mut self.last_ns, deadline_ns) == 0;
        self.steps += u64::from(stepped);
        Sample {
            // The recorder's seconds must not jump with the clock.
            now_ns: ClockId::Monotonic.now_ns(),
            // How late one was against a clock that was being set says nothing.
            latency_ns: (!stepped).then_some(now_ns.saturating_sub(deadline_ns)),
            missed: if first || stepped { 0 } else { skipped },
            early: now_ns < deadline_ns,
            napped: false,
        }
    }

    fn describe(&mut self, settings: &mut Settings) {
        settings.method = if self.times.hybrid { "hybrid" } else { "clock_nanosleep" }.into();
        settings.interval_ns = self.times.interval_ns;
        settings.phase_ns = Some(self.times.offset_ns);
        settings.phase_choice = "fixed".into();
        settings.margin_ns = self.wait.margin_ns();
        settings.clock = self.clock.name();
        if self.steps > 0 {
            settings.refused.push(format!(
                "steady clock: the {} clock was set {} times while it was measured (those times are left out)",
                self.times.clock.name(),
                self.steps
            ));
        }
        if self.times.clock == ClockId::Tai && ClockId::Tai.now_ns().abs_diff(ClockId::Realtime.now_ns()) < 500_000_000
        {
            settings.refused.push(
                "TAI: the system has not set the offset to UTC, so both clocks show the same (let chrony or ptp4l set it)"
                    .into(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_time_lies_ahead() {
        let noon = Times {
            clock: ClockId::Realtime,
            interval_ns: 86_400_000_000_000,
            offset_ns: 43_200_000_000_000,
            hybrid: true,
        };
        let hour = 3_600_000_000_000;
        assert_eq!(next_time(noon, 11 * hour), 12 * hour);
        assert_eq!(next_time(noon, 12 * hour), 36 * hour);
        assert_eq!(next_time(noon, 13 * hour), 36 * hour);
    }
}
