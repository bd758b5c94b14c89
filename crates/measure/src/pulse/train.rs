//! A train of pulses that the timed thread makes itself.

use ontick_gpio::{Gone, Line, Name, Request};
use ontick_record::run::Settings;
use ontick_rt::clock::{Clock, ClockId};

use super::Job;
use super::made::Made;
use super::pace::Pace;
use super::sight::{Seen, Sight};
use super::widths::Widths;
use crate::probe::{Probe, Sample};
use crate::{Error, Place};

/// A line on which so many pulses in a row were not seen, for so long, shows none.
const BLIND: (u64, u64) = (50, 3_000_000_000);

/// Makes pulses, one after the other.
pub struct Train {
    job: Job,
    line: Line,
    sight: Sight,
    pace: Pace,
    clock: Clock,
    /// What is asked of the pace so that the pulse becomes as wide as wanted.
    asked_ns: u64,
    made: Made,
    widths: Widths,
    last: Seen,
    began_ns: u64,
    ending: Option<Ending>,
}

/// Why there can be no more pulses.
enum Ending {
    Gone(Gone),
    Unseen,
}

impl Train {
    pub fn start(job: &Job, widths: Widths, place: Place) -> Result<Self, Error> {
        let line = Line::open(&job.line, &Request::output(false).on_exit(job.on_exit))?;
        let sight = Sight::of(&line, job.seen_by.as_ref(), place)?;
        let mut clock = Clock::new(ClockId::Monotonic);
        let began_ns = clock.now_ns();
        Ok(Self {
            line,
            sight,
            pace: Pace::new(job.by, job.width_ns, job.gap_ns, began_ns),
            clock,
            asked_ns: job.asked_ns(),
            made: Made::new(),
            widths,
            last: Seen { rose_ns: began_ns, width_ns: 0 },
            began_ns,
            ending: None,
            job: job.clone(),
        })
    }

    /// What tells the widths, in words.
    pub fn measured_by(&self) -> String {
        self.sight.describe()
    }

    fn step(&mut self) -> Result<Sample, Gone> {
        // What was seen late.
        if let Some(seen) = self.sight.take()? {
            return Ok(self.sample(seen, 0));
        }
        let left_out = self.pace.between(&mut self.clock);
        // The line changes somewhere between the two readings.
        let before_ns = self.clock.now_ns();
        self.line.write(true)?;
        let rose_ns = before_ns + self.clock.now_ns().saturating_sub(before_ns) / 2;
        self.pace.within(&mut self.clock, rose_ns, self.asked_ns);
        self.line.write(false)?;
        self.made.add(rose_ns);
        self.sight.made(before_ns, self.clock.now_ns());
        match self.sight.take()? {
            Some(seen) => Ok(self.sample(seen, left_out)),
            None => Ok(self.unseen(rose_ns, left_out)),
        }
    }

    fn sample(&mut self, seen: Seen, left_out: u64) -> Sample {
        let now_ns = self.clock.now_ns();
        let nothing = Sample { now_ns, latency_ns: None, missed: left_out, early: false, napped: false };
        // Not one of ours: somebody else's pulse on a line that should follow this one.
        let Some(unseen) = self.made.saw(seen.rose_ns) else { return nothing };
        self.last = seen;
        let error_ns = seen.width_ns.abs_diff(self.job.width_ns);
        Sample { latency_ns: Some(error_ns), missed: left_out + unseen, ..nothing }
    }

    fn unseen(&mut self, rose_ns: u64, left_out: u64) -> Sample {
        let (pulses, for_ns) = BLIND;
        if self.made.unseen() > pulses && rose_ns.saturating_sub(self.last.rose_ns) > for_ns {
            self.ending = Some(Ending::Unseen);
            return Sample::nap(rose_ns);
        }
        Sample { now_ns: rose_ns, latency_ns: None, missed: left_out, early: false, napped: false }
    }

    fn name_of_sight(&self) -> &Name {
        self.sight.seen_line().unwrap_or(&self.job.line)
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

    #[inline]
    fn recorded(&mut self) {
        self.widths.record(self.last.rose_ns, self.last.width_ns);
    }

    fn failure(&mut self) -> Option<Error> {
        match self.ending.take()? {
            Ending::Gone(gone) => Some(Error::Gone { line: self.job.line.clone(), gone }),
            Ending::Unseen => Some(Error::Impossible(format!(
                "line {} showed none of the last {} pulses (they may be too short for it: try a longer --width)",
                self.name_of_sight(),
                self.made.unseen()
            ))),
        }
    }

    fn describe(&mut self, settings: &mut Settings) {
        let elapsed_ns = (ClockId::Monotonic.now_ns() - self.began_ns).max(1);
        settings.method = self.job.by.name().into();
        settings.interval_ns = self.job.width_ns + self.job.gap_ns;
        settings.margin_ns = self.pace.margin_ns();
        settings.spin_duty = self.pace.spun_ns().map(|spun| spun as f64 / elapsed_ns as f64);
        settings.clock = self.clock.name();
        settings.line = Some(self.job.line.to_string());
        settings.seen_line = self.sight.seen_line().map(Name::to_string);
        settings.backend = Some(self.line.backend().to_string());
    }
}
