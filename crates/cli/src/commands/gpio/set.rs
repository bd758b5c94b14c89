//! `ontick gpio set`

use std::io::{IsTerminal, Write, stderr};
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use clap::Args;
use ontick_gpio::{Backend, Line, Name, OnExit, Request};
use ontick_rt::clock::ClockId;

use super::{SetUp, pace, render};
use crate::failure::{Failure, Outcome};
use crate::{flags, stop};

/// Drive lines, and hold them until Ctrl-C.
///
/// A line of a character device surely keeps its value only while a program holds it: afterwards its driver
/// decides. So it is held, as gpioset of libgpiod 2 does, until Ctrl-C or for as long as --for says.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick gpio set GPIO17=1\n  ontick gpio set sim:bench/4=1 --for 0s\n  ontick gpio set gpiochip0:17=0 --toggle 500ms --on-exit low   blinks\n\nBefore something moves: a line keeps its level when the program hangs or is killed (docs/safety.md)."
)]
pub struct Set {
    /// Lines with the value that each gets
    #[arg(required = true, value_name = "LINE=0|1")]
    lines: Vec<Assignment>,
    /// Hold for this long instead of until Ctrl-C; 0s sets the lines and ends
    #[arg(long = "for", value_name = "TIME", value_parser = flags::time)]
    time: Option<u64>,
    /// Toggle all values after each such time
    #[arg(long, value_name = "TIME", value_parser = flags::interval)]
    toggle: Option<u64>,
    /// End after this many changes
    #[arg(long, value_name = "N", requires = "toggle")]
    count: Option<u64>,
    /// State of the lines afterwards: keep, low, high or input
    #[arg(long, value_name = "STATE", default_value = "keep")]
    on_exit: OnExit,
    #[command(flatten)]
    set_up: SetUp,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A line and the value it gets.
#[derive(Debug, Clone)]
struct Assignment {
    name: Name,
    value: bool,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" sets no line (write LINE=0 or LINE=1, as in sim:bench/4=1)");
        let (name, value) = text.rsplit_once('=').ok_or_else(wrong)?;
        let value = match value {
            "0" => false,
            "1" => true,
            _ => return Err(wrong()),
        };
        Ok(Self { name: name.parse().map_err(|error| format!("{error}"))?, value })
    }
}

impl Set {
    pub fn run(self) -> Result<Outcome, Failure> {
        let stop = stop::on_signal()?;
        self.names_each_line_once()?;
        let mut lines = self.take()?;
        let values: Vec<_> = lines.iter().map(|(line, value)| render::Value::of(line, *value)).collect();
        render::values(&values, self.json)?;
        self.hint(&lines);
        let end_ns = self.time.map_or(u64::MAX, |ns| ClockId::Monotonic.now_ns().saturating_add(ns));
        match self.toggle {
            Some(interval_ns) => self.toggle(&mut lines, interval_ns, end_ns, &stop)?,
            None => {
                pace::sleep_until(end_ns, &stop);
            }
        }
        Ok(Outcome::Met)
    }

    fn names_each_line_once(&self) -> Result<(), Failure> {
        let twice =
            (1..self.lines.len()).find(|i| self.lines[..*i].iter().any(|other| other.name == self.lines[*i].name));
        match twice {
            Some(i) => {
                Err(Failure::new(format!("line {} is named twice: give each line one value", self.lines[i].name)))
            }
            None => Ok(()),
        }
    }

    fn take(&self) -> Result<Vec<(Line, bool)>, Failure> {
        // One that cannot be had is found before another one is driven.
        self.lines.iter().skip(1).try_for_each(|wanted| Line::check_output(&wanted.name))?;
        let open = |wanted: &Assignment| {
            let request = self.set_up.of(Request::output(wanted.value)).on_exit(self.on_exit);
            Ok((Line::open(&wanted.name, &request)?, wanted.value))
        };
        self.lines.iter().map(open).collect()
    }

    /// Changes the values at even times, until the last change or the end.
    fn toggle(
        &self,
        lines: &mut [(Line, bool)],
        interval_ns: u64,
        end_ns: u64,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let mut due_ns = ClockId::Monotonic.now_ns();
        for _ in 0..self.count.unwrap_or(u64::MAX) {
            due_ns = due_ns.saturating_add(interval_ns);
            if !pace::sleep_until(due_ns.min(end_ns), stop) || due_ns > end_ns {
                break;
            }
            for (line, value) in lines.iter_mut() {
                *value = !*value;
                line.write(*value).map_err(|gone| Failure::new(format!("line {}: {gone}", line.name())))?;
            }
        }
        Ok(())
    }

    /// What somebody at a terminal may want to know.
    fn hint(&self, lines: &[(Line, bool)]) {
        let by_driver = self.on_exit == OnExit::Keep && lines.iter().any(|(l, _)| l.backend() == Backend::Chardev);
        let hint = match self.time {
            None if self.count.is_none() => "Held until Ctrl-C (--for 0s sets and leaves).",
            Some(0) if by_driver => "Not held: from now on the chip's driver decides about the value.",
            _ => return,
        };
        if stderr().is_terminal() {
            let _ = writeln!(stderr(), "{hint}");
        }
    }
}
