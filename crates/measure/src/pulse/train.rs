//! A train of pulses that the timed thread makes one by one.

use ontick_gpio::{Backend, Gone, Line, Name, Request};
use ontick_record::run::Settings;
use ontick_rt::clock::{Clock, ClockId, sleep_for};

use super::driven::DrivenPulses;
use super::driver::PulseDriver;
use super::edges::ObservedPulse;
use super::ending::Ending;
use super::observer::WidthObserver;
use super::pace::Pace;
use super::widths::Widths;
use super::{Job, Method};
use crate::clock_readings::Timing;
use crate::probe::{Probe, Sample};
use crate::{Error, Placement, kmod};

/// A pulse that nobody has seen for so long counts as missed, in ns; at the end of a run, where the next may not be waited
/// for, after the shorter time.
const UNSEEN_NS: u64 = 1_000_000_000;
const LAST_NS: u64 = 100_000_000;

/// Makes pulses, one after the other.
pub struct Train {
    job: Job,
    driver: PulseDriver,
    observer: WidthObserver,
    pace: Pace,
    clock: Clock,
    made: DrivenPulses,
    widths: Widths,
    last: ObservedPulse,
    began_ns: u64,
    ending: Option<Ending>,
}

impl Train {
    pub fn start(job: &Job, widths: Widths, placement: Placement) -> Result<Self, Error> {
        let (driver, observer) = match &job.method {
            Method::Spi(device) => {
                let observer = WidthObserver::other(job.required_watched_line()?, placement)?;
                (PulseDriver::Spi(device.open(job.asked_ns())?), observer)
            }
            Method::Kernel(timer, undisturbed) => {
                let observer = match &job.watched_line {
                    Some(name) => WidthObserver::other(name, placement)?,
                    None => WidthObserver::Kernel { last: None },
                };
                let train = kmod::Train::start(&job.planned(*timer, *undisturbed, placement))?;
                (PulseDriver::Kernel(Box::new(train)), observer)
            }
            _ => {
                let line = Line::open(&job.line, &Request::output(false).on_exit(job.on_exit))?;
                let observer = WidthObserver::of(&line, job.watched_line.as_ref(), placement)?;
                (PulseDriver::Line(line), observer)
            }
        };
        let mut clock = Clock::new(ClockId::Monotonic);
        let began_ns = clock.now_ns();
        let pace = Pace::new(&job.method, job.width_ns, job.gap_ns, began_ns);
        let last = ObservedPulse { rose_ns: began_ns, width_ns: 0 };
        let (job, made) = (job.clone(), DrivenPulses::new());
        Ok(Self { job, driver, observer, pace, clock, made, widths, last, began_ns, ending: None })
    }

    /// What tells the widths, in words.
    pub fn measured_by(&self) -> String {
        self.observer.describe()
    }

    fn step(&mut self) -> Result<Sample, Gone> {
        // What was seen late.
        if let Some(seen) = self.observer.take()? {
            return Ok(self.sample(seen, 0));
        }
        let left_out = self.pace.between(&mut self.clock);
        let asked_ns = self.job.asked_ns();
        let driven = self.driver.pulse(&mut self.pace, &mut self.clock, asked_ns)?;
        let left_out = left_out + driven.left_out;
        self.made.add(driven.before_ns);
        self.observer.made(driven);
        match self.observer.take()? {
            Some(seen) => Ok(self.sample(seen, left_out)),
            None => Ok(self.unseen(driven.before_ns, left_out)),
        }
    }

    fn sample(&mut self, seen: ObservedPulse, left_out: u64) -> Sample {
        let nothing = self.nothing(left_out);
        // Not one of ours: somebody else's pulse on a line that should follow this one.
        let Some(unseen) = self.made.saw(seen.rose_ns) else { return nothing };
        self.last = seen;
        self.widths.seen(seen.rose_ns, seen.width_ns);
        let error_ns = seen.width_ns.abs_diff(self.job.width_ns);
        Sample { latency_ns: Some(error_ns), missed: left_out + unseen, ..nothing }
    }

    fn unseen(&mut self, rose_ns: u64, left_out: u64) -> Sample {
        self.ending = Ending::if_blind(self.made.unseen(), rose_ns.saturating_sub(self.last.rose_ns));
        match self.ending {
            Some(_) => Sample::nap(rose_ns),
            None => {
                let given_up = self.made.give_up(rose_ns.saturating_sub(UNSEEN_NS));
                self.nothing(left_out + given_up)
            }
        }
    }

    fn nothing(&mut self, left_out: u64) -> Sample {
        Sample { now_ns: self.clock.now_ns(), latency_ns: None, missed: left_out, early_ns: 0, napped: false }
    }
}

impl Probe for Train {
    #[inline]
    fn next(&mut self) -> Sample {
        self.step().unwrap_or_else(|gone| {
            self.ending = Some(Ending::Gone(gone));
            Sample::nap(self.clock.now_ns())
        })
    }

    /// What was made in practice and is not seen is not missed.
    fn begin(&mut self) {
        self.made.give_up(u64::MAX);
    }

    fn left_out_before(&mut self, end_ns: u64) -> u64 {
        let until_ns = self.clock.now_ns() + LAST_NS;
        let mut unseen = 0;
        while self.made.is_waited_for() && self.clock.now_ns() < until_ns {
            match self.observer.take() {
                Ok(Some(seen)) => unseen += self.made.saw(seen.rose_ns).unwrap_or(0),
                Ok(None) => sleep_for(LAST_NS / 100),
                Err(_) => break,
            }
        }
        unseen + self.made.give_up(end_ns)
    }

    #[inline]
    fn recorded(&mut self) {
        self.widths.record(self.last.rose_ns, self.last.width_ns);
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
        let elapsed_ns = (ClockId::Monotonic.now_ns() - self.began_ns).max(1);
        self.job.describe(settings);
        settings.margin_ns = self.pace.margin_ns();
        settings.spin_duty = self.pace.spun_ns().map(|spun| spun as f64 / elapsed_ns as f64);
        settings.clock = self.clock.name();
        settings.watched_line = self.observer.watched_line().map(Name::to_string);
        let backend = match &self.driver {
            PulseDriver::Line(line) => Some(line.backend()),
            PulseDriver::Spi(_) => self.observer.backend(),
            // The module takes lines of the kernel's chips.
            PulseDriver::Kernel(_) => Some(Backend::Chardev),
        };
        settings.backend = backend.map(|backend| backend.to_string());
    }
}
