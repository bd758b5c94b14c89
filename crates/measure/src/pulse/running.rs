//! A train of pulses that goes on by itself, and is only looked at.

use ontick_gpio::{Gone, Name};
use ontick_record::run::Settings;
use ontick_rt::clock::{Clock, ClockId};

use super::edges::ObservedPulse;
use super::ending::Ending;
use super::observer::WidthObserver;
use super::widths::Widths;
use super::{Job, Method, pwm};
use crate::clock_readings::Timing;
use crate::probe::{Probe, Sample};
use crate::{Error, Placement, pru};

/// How often is looked, in ns, and after how much waiting a run may end.
const LOOK_NS: u64 = 2_000_000;
const PATIENCE_NS: u64 = 100_000_000;

/// What makes the pulses, for as long as it lives.
enum Source {
    Pwm { _running: pwm::Running },
    Pru { _running: pru::Running },
}

impl Source {
    fn start(job: &Job) -> Result<Option<Self>, Error> {
        Ok(match &job.method {
            Method::Pwm(channel) => Some(Source::Pwm { _running: channel.start(job.asked_ns(), job.period_ns())? }),
            Method::Pru(output) => Some(Source::Pru { _running: job.by_pru(output).go_on()? }),
            _ => None,
        })
    }
}

/// Looks at the pulses of hardware that times itself.
pub struct Running {
    job: Job,
    _source: Option<Source>,
    observer: WidthObserver,
    clock: Clock,
    widths: Widths,
    last: Option<ObservedPulse>,
    began_ns: u64,
    ending: Option<Ending>,
}

impl Running {
    pub fn start(job: &Job, widths: Widths, placement: Placement) -> Result<Self, Error> {
        let observer = WidthObserver::other(job.required_watched_line()?, placement)?;
        let source = Source::start(job)?;
        let mut clock = Clock::new(ClockId::Monotonic);
        let began_ns = clock.now_ns();
        let job = job.clone();
        Ok(Self { job, _source: source, observer, clock, widths, last: None, began_ns, ending: None })
    }

    /// What tells the widths, in words.
    pub fn measured_by(&self) -> String {
        self.observer.describe()
    }

    fn look(&mut self) -> Result<Sample, Gone> {
        let patience_ns = self.clock.now_ns() + PATIENCE_NS;
        loop {
            if let Some(seen) = self.observer.take()? {
                return Ok(self.sample(seen));
            }
            let now_ns = self.clock.now_ns();
            if now_ns > patience_ns {
                let for_ns = now_ns - self.last.map_or(self.began_ns, |last| last.rose_ns).min(now_ns);
                self.ending = Ending::if_blind(for_ns / self.job.period_ns(), for_ns);
                return Ok(Sample::nap(now_ns));
            }
            self.clock.id().sleep_until(now_ns + LOOK_NS);
        }
    }

    fn sample(&mut self, seen: ObservedPulse) -> Sample {
        let missed =
            self.last.map_or(0, |last| unseen(seen.rose_ns.saturating_sub(last.rose_ns), self.job.period_ns()));
        self.last = Some(seen);
        self.widths.seen(seen.rose_ns, seen.width_ns);
        let error_ns = seen.width_ns.abs_diff(self.job.width_ns);
        Sample { now_ns: seen.rose_ns + seen.width_ns, latency_ns: Some(error_ns), missed, early_ns: 0, napped: false }
    }
}

/// Pulses between two that are this far apart.
fn unseen(apart_ns: u64, period_ns: u64) -> u64 {
    ((apart_ns + period_ns / 2) / period_ns).saturating_sub(1)
}

impl Probe for Running {
    fn next(&mut self) -> Sample {
        self.look().unwrap_or_else(|gone| {
            self.ending = Some(Ending::Gone(gone));
            Sample::nap(self.clock.now_ns())
        })
    }

    fn recorded(&mut self) {
        if let Some(last) = self.last {
            self.widths.record(last.rose_ns, last.width_ns);
        }
    }

    fn failure(&mut self) -> Option<Error> {
        self.ending.take().map(|ending| ending.explain(&self.job))
    }

    fn clock(&mut self) -> Option<&mut Clock> {
        self.observer.timing().is_some().then_some(&mut self.clock)
    }

    fn timing(&self) -> Timing {
        self.observer.timing().unwrap_or(Timing::Stamps)
    }

    fn describe(&mut self, settings: &mut Settings) {
        self.job.describe(settings);
        settings.clock = self.clock.name();
        settings.watched_line = self.observer.watched_line().map(Name::to_string);
        settings.backend = self.observer.backend().map(|backend| backend.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulses_between_are_counted_by_the_distance() {
        let apart = [900, 1_000, 1_499, 1_500, 2_000, 10_040, 0];
        assert_eq!(apart.map(|ns| unseen(ns, 1_000)), [0, 0, 0, 1, 1, 9, 0]);
    }
}
