//! `ontick gpio play`

mod lines;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use ontick_gpio::{Name, OnExit, Request, simulation_note};
use ontick_measure::play::{self, Job};
use ontick_measure::{Length, Limits};
use ontick_record::Measurement as Kind;
use ontick_record::capture::{CaptureError, Moments, Rate, Signals};
use ontick_units::counted;

use super::SetUp;
use crate::commands::import::capture;
use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::MeasuringFlags;
use crate::{privileges, stop, terminal};
use lines::LineOf;

/// Make the level changes of a file again on lines, each at its time, and measure how late each is made.
///
/// The file is a value change dump, as `ontick gpio watch --vcd` and sigrok write it, a session of sigrok (.sr), a table of
/// levels, or a list of changes: rows of a time in ns, a line and a level below "time_ns,line,level". What changes at one
/// time is changed together. All of it is read before a line is driven.
///
/// Exit status: 0 it was played, 1 not as required, 2 it could not be.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick gpio watch GPIO17 GPIO27 --vcd edges.vcd\n  sudo ontick gpio play edges.vcd\n  sudo ontick gpio play capture.vcd --line D0=GPIO22 --only --count 100\n  sudo ontick gpio play burst.csv --loop --on-exit keep --require 'p99 < 20us'\n  ontick gpio play edges.vcd --line GPIO17=sim:bench/4 --only --policy other\n\nEach signal drives the line that --line gives it, or the one whose name it has. At first the lines get the levels with which the file begins, and those at its end last as long as they do in it. A change that cannot be made in time is made late; none is left out.\n\nBefore something moves: a line keeps its level when the program hangs or is killed (docs/safety.md).",
    mut_arg("duration", |duration| duration.help("Play it again and again for this long, from its first change on")),
    mut_arg("count", |count| count.help("Play it this many times, one after the other [default: 1]")),
    mut_arg("load", |load| load.help("Load to run meanwhile: none, cpu, memory, io, fork, net, cpu+net, all or cmd:COMMAND [default: none]")),
)]
pub struct Play {
    /// What is played
    file: PathBuf,
    /// The line that a signal of the file drives, by its name or its number from 0 (repeatable)
    #[arg(long, value_name = "SIGNAL=LINE")]
    line: Vec<LineOf>,
    /// Leave out the signals that --line does not name
    #[arg(long, requires = "line")]
    only: bool,
    /// Play it again and again, until Ctrl-C
    #[arg(long = "loop", conflicts_with_all = ["count", "duration"])]
    endless: bool,
    /// The rate at which an instrument sampled, such as 24MHz, where the file does not say, or says it wrongly
    #[arg(long, value_name = "RATE")]
    samplerate: Option<Rate>,
    /// State of the lines afterwards: keep, low, high or input
    #[arg(long, value_name = "STATE", default_value = "low")]
    on_exit: OnExit,
    #[command(flatten)]
    set_up: SetUp,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

impl Play {
    pub fn run(self) -> Result<Outcome, Failure> {
        let stop = stop::on_signal()?;
        self.measuring.limits.check_trace()?;
        let (lines, moments) = self.read()?;
        let (times, limits) = self.length();
        let request = self.set_up.of(Request::output(false)).on_exit(self.on_exit);
        let (changes, length_ns) = (moments.changes.len() as u64, moments.length_ns);
        let job = Job { lines, request, moments: Arc::new(moments), times };
        job.check().map_err(|error| self.wrong(error))?;
        let names: Vec<String> = job.lines.iter().map(Name::to_string).collect();
        terminal::say(&format!(
            "Playing {} of {} on {}; Ctrl-C ends.",
            counted(changes, "change"),
            self.file.display(),
            names.join(", ")
        ));
        let takes_ns = times.map_or(self.measuring.limits.duration, |times| Some(times.saturating_mul(length_ns)));
        let asked = Measurement::asked(&self.measuring, limits, Kind::GpioPlay, ["changes".to_string()]);
        let keeps = asked.keeps.map(|more| more | privileges::of_lines(&job.lines));
        let simulated = simulation_note(&job.lines.iter().collect::<Vec<_>>());
        let asked = Measurement { takes_ns, simulated, keeps, stop: Some(stop), ..asked };
        let placement = self.measuring.placement.placement();
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| Ok(vec![play::measure("changes", &job, placement, limits, observer)?]),
        )
    }

    /// How often it is played, and what else ends it.
    fn length(&self) -> (Option<u64>, Limits) {
        let limits = self.measuring.limits.limits_or(u64::MAX);
        let times = match limits.length {
            Length::Count(times) => Some(times),
            Length::Duration(u64::MAX) if !self.endless => Some(1),
            Length::Duration(_) => None,
        };
        (times, limits)
    }

    /// The lines that are driven, and their changes.
    fn read(&self) -> Result<(Vec<Name>, Moments), Failure> {
        let format = capture::detect(&self.file)?.ok_or_else(|| self.wrong(capture::none_of_them(&self.file)))?;
        let signals =
            Signals::of(capture::open(&self.file)?, format, self.samplerate).map_err(|error| self.not_read(&error))?;
        let chosen = lines::choose(&signals, &self.line, self.only).map_err(|e| self.wrong(e))?;
        let (places, lines): (Vec<usize>, Vec<Name>) = chosen.into_iter().unzip();
        let (most, _) = Moments::MOST;
        if lines.len() > most {
            return Err(
                self.wrong(format!("it has {} signals, and at most {most} are played (--line, --only)", lines.len()))
            );
        }
        let moments = Moments::read(capture::open(&self.file)?, format, self.samplerate, &places);
        Ok((lines, moments.map_err(|error| self.not_read(&error))?))
    }

    fn not_read(&self, error: &CaptureError) -> Failure {
        let option = match error {
            CaptureError::Lacking(_) if self.samplerate.is_none() => " (--samplerate 24MHz)",
            _ => "",
        };
        self.wrong(format!("{error}{option}"))
    }

    fn wrong(&self, why: impl std::fmt::Display) -> Failure {
        Failure::new(format!("{}: {why}", self.file.display()))
    }
}
