//! `ontick gpio pwm`

mod changes;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use ontick_gpio::{Name, OnExit, Request};
use ontick_measure::pulse::{self, Channel, LATE_NS, Modulated, Modulation, Setpoint};
use ontick_measure::{Live, Observer};
use ontick_units::{count, counted, exact, show};
use serde::Serialize;

use super::{SetUp, render, wire};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, PlacementFlags};
use crate::{privileges, stop, terminal};
use changes::{High, Wanted};

/// Make a pulse on a line in every period, until Ctrl-C: for a servo, a fan, a lamp.
///
/// Lines on standard input change it meanwhile: width 1200us, duty 30% or period 10ms. A change begins with the next
/// period, and no pulse is cut short for it; a share of the period stays that share when the period changes.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick gpio pwm GPIO18 --width 1500us   a servo in the middle\n  sudo ontick gpio pwm GPIO18 --period 1kHz --duty 30% --duration 10s\n  ontick gpio pwm sim:bench/4 --period 10ms --width 2ms --policy other\n  sudo ontick gpio pwm --pwm pwmchip0:0 --width 1500us\n  (echo width 1ms; sleep 1; echo width 2ms) | \\\n      sudo ontick gpio pwm GPIO18 --width 1500us --duration 3s\n\nThe program times both edges, as `ontick pulse` does with --method hybrid; a PWM channel of the board (--pwm) is more exact, and costs no CPU time.\n\nBefore something moves: a line keeps its level when the program hangs or is killed, and a pulse is as long as that lasts. The hardware must limit the time and rest without the program (docs/safety.md)."
)]
pub struct Pwm {
    /// The line that is driven
    #[arg(required_unless_present = "pwm", conflicts_with = "pwm")]
    line: Option<Name>,
    /// A PWM channel of the board makes the pulses instead, on the pin that it is joined to, and does afterwards what it did
    /// before; it takes changes when its driver does
    #[arg(long, value_name = "CHIP:CHANNEL", conflicts_with_all = ["on_exit", "active_low", "bias", "cpu", "policy", "stock", "keep_awake", "wake_within"])]
    pwm: Option<Channel>,
    /// From one pulse to the next, 10us to 1s, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "20ms", value_parser = flags::interval)]
    period: u64,
    /// How long the line is high in each period
    #[arg(long, value_name = "TIME", value_parser = flags::time, required_unless_present = "duty", conflicts_with = "duty")]
    width: Option<u64>,
    /// The share of each period for which it is high, 0% to 100%, instead of a width
    #[arg(long, value_name = "PERCENT", value_parser = wire::share)]
    duty: Option<u32>,
    /// End after this time instead of at Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = flags::duration)]
    duration: Option<u64>,
    /// State of the line afterwards: keep, low, high or input
    #[arg(long, value_name = "STATE", default_value = "low")]
    on_exit: OnExit,
    #[command(flatten)]
    set_up: SetUp,
    #[command(flatten)]
    placement: PlacementFlags,
    /// Print JSON at the end
    #[arg(long)]
    json: bool,
}

/// What a channel made at last.
#[derive(Serialize)]
struct OfChannel {
    channel: String,
    period_ns: u64,
    width_ns: u64,
    backend: &'static str,
}

/// How exact it was.
#[derive(Serialize)]
struct Shown<'a> {
    line: String,
    period_ns: u64,
    width_ns: u64,
    periods: u64,
    missed: u64,
    edges: u64,
    late: u64,
    late_over_ns: u64,
    latest_ns: u64,
    refused: &'a [String],
    backend: &'static str,
}

impl Pwm {
    pub fn run(self) -> Result<Outcome, Failure> {
        let stop = stop::on_signal()?;
        let wanted = self.wanted();
        let begin = wanted.modulation()?;
        let setpoint = Arc::new(Setpoint::new(begin));
        privileges::MEASURING.settle_but(privileges::of_lines(&self.line))?;
        let begun = |what: &str| terminal::say(&format!("{what}: {}; Ctrl-C ends.", described(begin)));
        match (&self.line, &self.pwm) {
            (Some(line), _) => {
                begun(&format!("Line {line}"));
                changes::follow(wanted, setpoint.clone())?;
                self.by_program(line, &setpoint, &stop)
            }
            (None, Some(channel)) => {
                begun(&format!("PWM channel {channel}"));
                changes::follow(wanted, setpoint.clone())?;
                self.by_channel(channel, &setpoint, &stop)
            }
            (None, None) => Err(Failure::new("name a line, or a channel (--pwm pwmchip0:0)")),
        }
    }

    fn by_program(&self, line: &Name, setpoint: &Arc<Setpoint>, stop: &AtomicBool) -> Result<Outcome, Failure> {
        let request = self.set_up.of(Request::output(false)).on_exit(self.on_exit);
        let placement = self.placement.placement();
        let mut look = |_: &Live| {};
        let mut observer = Observer::new(stop, &mut look);
        let made = pulse::modulate(line, &request, setpoint, placement, self.duration, &mut observer)?;
        self.show(line, &made, setpoint.get())?;
        match made.gone {
            Some(gone) => Err(Failure::new(format!("line {line}: {gone}"))),
            None => Ok(Outcome::Met),
        }
    }

    fn by_channel(&self, channel: &Channel, setpoint: &Setpoint, stop: &AtomicBool) -> Result<Outcome, Failure> {
        let refused = |error: &ontick_measure::Error| terminal::say(&error.to_string());
        let last = pulse::modulate_by(channel, setpoint, self.duration, stop, &refused)?;
        if self.json {
            let (period_ns, width_ns) = (last.period_ns(), last.width_ns());
            render::document(&OfChannel { channel: channel.to_string(), period_ns, width_ns, backend: "pwm" })?;
        } else {
            terminal::print(&format!("PWM channel {channel} does what it did before.\n"))?;
        }
        Ok(Outcome::Met)
    }

    fn wanted(&self) -> Wanted {
        let high = match (self.width, self.duty) {
            (Some(ns), _) => High::Width(ns),
            // Without both the command line was refused.
            (None, duty) => High::Share(duty.unwrap_or_default()),
        };
        Wanted { period_ns: self.period, high }
    }

    fn show(&self, line: &Name, made: &Modulated, last: Modulation) -> Result<(), Failure> {
        let backend = made.backend.map(|backend| backend.name()).unwrap_or_default();
        let note = self.placement.note().map(|note| format!("note: {note}"));
        let warnings = made.refused.iter().map(|what| format!("warning: {what}"));
        let notes = made.notes.iter().map(|what| format!("note: {what}"));
        warnings.chain(notes).chain(note).for_each(|said| terminal::say(&said));
        if !self.json {
            let (edges, late) = (made.edges, made.late);
            let latest = match edges {
                0 => String::new(),
                _ => format!(
                    "; {} of {} more than {} late, the latest by {}",
                    count(late),
                    counted(edges, "edge"),
                    exact(LATE_NS),
                    show(made.latest_ns)
                ),
            };
            let (periods, missed) = (counted(made.periods, "period"), count(made.missed));
            return terminal::print(&format!("{periods}, {missed} missed{latest}{}\n", render::note(backend)));
        }
        render::document(&Shown {
            line: line.to_string(),
            period_ns: last.period_ns(),
            width_ns: last.width_ns(),
            periods: made.periods,
            missed: made.missed,
            edges: made.edges,
            late: made.late,
            late_over_ns: LATE_NS,
            latest_ns: made.latest_ns,
            refused: &made.refused,
            backend,
        })
    }
}

/// In words.
fn described(wanted: Modulation) -> String {
    let share = (wanted.width_ns() as f64 * 100_000.0 / wanted.period_ns() as f64).round() / 1_000.0;
    format!("{} high in each {} ({share} %)", exact(wanted.width_ns()), exact(wanted.period_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_said_in_words() {
        let said = |period_ns, width_ns| described(Modulation::new(period_ns, width_ns).unwrap());
        assert_eq!(said(20_000_000, 1_500_000), "1.5ms high in each 20ms (7.5 %)");
        assert_eq!(said(3_000_000, 1_000_000), "1ms high in each 3ms (33.333 %)");
        assert_eq!(said(1_000_000, 0), "0s high in each 1ms (0 %)");
    }
}
