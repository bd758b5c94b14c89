//! `latency wallclock`: act at times of day, on the realtime or the TAI clock.

use ontick_record::run::{Series, Settings};
use ontick_rt::clock::{Clock, ClockId, Source};
use ontick_rt::wait::{Hybrid, Sleep, Wait};

use crate::probe::{Probe, Sample};
use crate::{Error, Limits, Observer, Placement, session};

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
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Series, Error> {
    if times.interval_ns < 1_000_000 {
        return Err(Error::Impossible("times of day must be at least 1ms apart".into()));
    }
    if times.offset_ns >= times.interval_ns {
        return Err(Error::Impossible("the time of day must lie within the interval".into()));
    }
    let prepare = |_: &_| Ok(Day::new(times, Live::new(times)));
    session::run(name, placement, limits, prepare, observer)
}

/// The clocks that a time of day is kept on. Sleeping is done on the monotonic one alone, which nobody sets: a sleep on
/// the other would go on for an hour if that was set back by an hour. Both are slewed alike, so that their difference
/// changes only by a step.
trait Clocks {
    /// The monotonic time, in ns.
    fn monotonic_ns(&mut self) -> u64;
    /// The time of day, in ns since 1970.
    fn wall_ns(&mut self) -> u64;
    /// Rests until then on the monotonic clock.
    fn nap_until(&mut self, monotonic_ns: u64);
    /// Waits for then on the monotonic clock, or for a moment before, from which on the time of day is read again and
    /// again.
    fn wait_until(&mut self, monotonic_ns: u64);
    /// That of the time of day, where it is one of the kernel's.
    fn wall(&mut self) -> Option<&mut Clock> {
        None
    }
    /// Writes down what only the clocks know.
    fn describe(&self, settings: &mut Settings);
}

struct Live {
    monotonic: Clock,
    wall: Clock,
    wait: Box<dyn Wait>,
    /// Before the time comes, in ns, the wait ends: what it does when it is over must not make anybody late.
    lead_ns: u64,
}

impl Clocks for Live {
    fn monotonic_ns(&mut self) -> u64 {
        self.monotonic.now_ns()
    }

    fn wall_ns(&mut self) -> u64 {
        self.wall.now_ns()
    }

    fn nap_until(&mut self, monotonic_ns: u64) {
        ClockId::Monotonic.sleep_until(monotonic_ns);
    }

    fn wait_until(&mut self, monotonic_ns: u64) {
        self.wait.until(&mut self.monotonic, monotonic_ns - self.lead_ns);
    }

    fn describe(&self, settings: &mut Settings) {
        settings.margin_ns = self.wait.margin_ns();
        settings.clock = self.wall.name();
    }

    fn wall(&mut self) -> Option<&mut Clock> {
        Some(&mut self.wall)
    }
}

impl Live {
    fn new(times: Times) -> Self {
        let (wait, lead_ns): (Box<dyn Wait>, u64) = match times.hybrid {
            // The spin is short against the interval, whatever that is: the margin learns within 1 ms.
            true => (Box::new(Hybrid::new(times.interval_ns.min(2_000_000))), 20_000),
            false => (Box::new(Sleep), 0),
        };
        let monotonic = Clock::with_source(ClockId::Monotonic, Source::ClockGettime);
        let wall = Clock::with_source(times.clock, Source::ClockGettime);
        Self { monotonic, wall, wait, lead_ns }
    }
}

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy)]
struct Moment {
    monotonic_ns: u64,
    wall_ns: u64,
}

impl Moment {
    /// The narrowest of three brackets.
    fn now(clocks: &mut impl Clocks) -> Self {
        let mut bracket = || {
            let before_ns = clocks.monotonic_ns();
            let wall_ns = clocks.wall_ns();
            let after_ns = clocks.monotonic_ns();
            (after_ns - before_ns, Self { monotonic_ns: before_ns.midpoint(after_ns), wall_ns })
        };
        let brackets = [bracket(), bracket(), bracket()];
        brackets.into_iter().min_by_key(|(width, _)| *width).map_or(brackets[2].1, |(_, moment)| moment)
    }

    /// The time of day minus the monotonic time.
    fn ahead_ns(self) -> i128 {
        i128::from(self.wall_ns) - i128::from(self.monotonic_ns)
    }
}

struct Day<C> {
    times: Times,
    clocks: C,
    /// The time of day that came last, unless the clock was set since.
    last_ns: Option<u64>,
    /// [`Moment::ahead_ns`] when the clocks were last read.
    ahead_ns: i128,
    steps: u64,
}

impl<C: Clocks> Day<C> {
    fn new(times: Times, mut clocks: C) -> Self {
        let ahead_ns = Moment::now(&mut clocks).ahead_ns();
        Self { times, clocks, last_ns: None, ahead_ns, steps: 0 }
    }

    /// Reads both clocks; the second value is whether the time of day was set since they were last read. Times that
    /// passed while it was set were neither kept nor missed.
    fn look(&mut self) -> (Moment, bool) {
        let now = Moment::now(&mut self.clocks);
        let stepped = now.ahead_ns().abs_diff(self.ahead_ns) > u128::from(STEP_NS);
        self.ahead_ns = now.ahead_ns();
        if stepped {
            self.steps += 1;
            self.last_ns = None;
        }
        (now, stepped)
    }

    /// The time of day when it has come to `deadline_ns`, once the wait is over: the two clocks were not read at exactly
    /// the same moment, so a last stretch may be left. Where the clock was set back, there is no use in waiting for it.
    fn arrive(&mut self, deadline_ns: u64) -> u64 {
        loop {
            let wall_ns = self.clocks.wall_ns();
            if wall_ns >= deadline_ns || deadline_ns - wall_ns > STEP_NS {
                return wall_ns;
            }
        }
    }
}

/// The first time after `now_ns`.
fn next_time(times: Times, now_ns: u64) -> u64 {
    let whole = now_ns / times.interval_ns * times.interval_ns + times.offset_ns;
    if whole > now_ns { whole } else { whole + times.interval_ns }
}

impl<C: Clocks> Probe for Day<C> {
    fn next(&mut self) -> Sample {
        // Not counted on from the last time: if the clock was set meanwhile, the next one counts.
        let (now, _) = self.look();
        // A change too small to be a step does not make the same time come twice.
        let deadline_ns = next_time(self.times, now.wall_ns.max(self.last_ns.unwrap_or(0)));
        let left_ns = deadline_ns - now.wall_ns;
        if left_ns > 3 * NAP_NS {
            self.clocks.nap_until(now.monotonic_ns + NAP_NS);
            return Sample::nap(self.clocks.monotonic_ns());
        }
        self.clocks.wait_until(now.monotonic_ns + left_ns);
        let wall_ns = self.arrive(deadline_ns);
        let (now, stepped) = self.look();
        let sample = |latency_ns, missed| Sample {
            // The recorder's seconds must not jump with the clock.
            now_ns: now.monotonic_ns,
            latency_ns,
            missed,
            early_ns: deadline_ns.saturating_sub(wall_ns),
            napped: false,
        };
        if stepped {
            // How late one was against a clock that was being set says nothing.
            return Sample { early_ns: 0, ..sample(None, 0) };
        }
        let last_ns = self.last_ns.replace(deadline_ns);
        let skipped = last_ns.map_or(0, |last_ns| (deadline_ns - last_ns) / self.times.interval_ns - 1);
        sample(Some(wall_ns.saturating_sub(deadline_ns)), skipped)
    }

    fn clock(&mut self) -> Option<&mut Clock> {
        self.clocks.wall()
    }

    fn describe(&mut self, settings: &mut Settings) {
        settings.method = if self.times.hybrid { "hybrid" } else { "clock_nanosleep" }.into();
        settings.interval_ns = self.times.interval_ns;
        settings.phase_ns = Some(self.times.offset_ns);
        settings.phase_choice = "fixed".into();
        self.clocks.describe(settings);
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

    fn is_described_first(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
