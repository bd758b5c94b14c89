//! An output that a PRU makes follow an input, and what it measured of that.

use ontick_gpio::OnExit;
use ontick_record::run::{Series, Settings};

use super::host::Host;
use super::layout::{Kind, at, flag};
use super::pin::{Direction, Pin};
use super::running::Running;
use super::watch::{count, watch};
use crate::{Error, Limits, Observer};

/// What a reader must know of the figures.
pub const MEASURED_BY: &str = "each figure is a bound by the PRU's own cycle counter (5 ns): from its last look at the \
                               input that still saw the old level to its answer; the answer took less";

/// What is answered where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follower {
    /// The pin whose changes are answered.
    pub input: Pin,
    /// The pin that they are answered on.
    pub output: Pin,
    /// The output is high while the input is low.
    pub inverse: bool,
    /// What the output is left at.
    pub on_exit: OnExit,
    /// The machine, and where its firmware is.
    pub host: Host,
}

impl Follower {
    fn check(&self) -> Result<Vec<String>, Error> {
        self.host.check()?;
        let (input, output) = (&self.input, &self.output);
        if input.pru != output.pru {
            return Err(Error::Impossible(format!(
                "{input} is a pin of PRU {}, and {output} of PRU {}: one PRU must have both (docs/pru.md lists them)",
                input.pru, output.pru
            )));
        }
        self.check_left()?;
        let pads = [self.host.check_pad(input, Direction::Input)?, self.host.check_pad(output, Direction::Output)?];
        Ok(pads.into_iter().flatten().collect())
    }

    fn check_left(&self) -> Result<(), Error> {
        let cannot = |what| Err(Error::Impossible(format!("a PRU {what}: leave it low or high")));
        match self.on_exit {
            OnExit::Input => cannot("cannot let go of its pin"),
            OnExit::Keep => cannot("that answers brings its pin to a level at the end"),
            OnExit::Low | OnExit::High => Ok(()),
        }
    }

    fn words(&self, count: u32) -> [(usize, u32); 7] {
        let flags =
            u32::from(self.inverse) << flag::INVERSE | u32::from(self.on_exit == OnExit::High) << flag::REST_HIGH;
        [
            (at::FLAGS, flags),
            (at::OUTPUT, self.output.bit),
            (at::INPUT, self.input.bit),
            (at::COUNT, count),
            (at::WIDTH, 0),
            (at::GAP, 0),
            (at::BASE, 0),
        ]
    }

    /// Answers, and returns what the PRU measured of it: of each change a bound of the answer's latency. Somebody else
    /// must change the input.
    pub fn measure(&self, name: &str, limits: Limits, observer: &mut Observer) -> Result<Series, Error> {
        observer.note_all(self.check()?);
        let words = self.words(count(limits)?);
        let running = Running::start(&self.host, self.output.pru, Kind::Response, &words, 0)?;
        let watched = watch(name, running, limits, observer, |found| found.histogram())?;
        if watched.series.latency.is_empty() && !observer.stopped() {
            return Err(Error::Impossible(format!(
                "nothing was answered: {} did not change meanwhile (join it to what changes, to a line with pulses say)",
                self.input
            )));
        }
        observer.fact(MEASURED_BY.into());
        if watched.found.late > 0 {
            observer.note(format!(
                "{name}: {} answers are counted as missed: they were given, but came more than 10 s after the one before, \
                 and the counter had stopped",
                watched.found.late
            ));
        }
        Ok(Series { settings: self.settings(limits), ..watched.series })
    }

    fn settings(&self, limits: Limits) -> Settings {
        Settings {
            method: "pru".into(),
            input_line: Some(self.input.to_string()),
            output_line: Some(self.output.to_string()),
            backend: Some(format!("PRU {}", self.output.pru)),
            clock: "PRU cycle counter".into(),
            outlier_threshold_ns: limits.outlier_ns,
            ..Settings::default()
        }
    }
}
