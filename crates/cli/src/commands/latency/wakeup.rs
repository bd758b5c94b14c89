//! `ontick latency wakeup`

use clap::Args;
use ontick_measure::timetable::Timetable;
use ontick_measure::wakeup::Method;
use ontick_measure::{Observer, series, wakeup};
use ontick_record::Measurement as Kind;

use super::mechanisms::{self, Mechanisms};
use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, EverySampleFlags, MeasuringFlags};

/// Measure how long it takes to wake a thread on another CPU.
#[derive(Args)]
#[command(
    mut_arg("cpu", flags::of_several),
    after_help = "Examples:\n  sudo ontick latency wakeup --method all --duration 5s\n  sudo ontick latency wakeup --cpu all"
)]
pub struct Wakeup {
    /// futex, eventfd, pipe, condvar; or several (futex,pipe) or all, one after the other
    #[arg(long, value_name = "METHOD,…", default_value = "futex", value_parser = bells)]
    method: Mechanisms<Method>,
    /// Time between wake-ups, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "1ms", value_parser = flags::interval)]
    interval: u64,
    /// CPU of the waking thread [default: the first other one]
    #[arg(long, value_name = "N")]
    from_cpu: Option<u32>,
    #[command(flatten)]
    every_sample: EverySampleFlags,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

fn bells(text: &str) -> Result<Mechanisms<Method>, String> {
    mechanisms::read(text, &Method::ALL)
}

impl Wakeup {
    pub fn run(self) -> Result<Outcome, Failure> {
        let placement = self.measuring.placement.placement();
        let limits = flags::one_cycle(self.measuring.limits.limits(), self.interval)?;
        let (interval, from) = (self.interval, self.from_cpu);
        let sample_file = self.every_sample.file()?;
        if let Some((cpus, note)) = self.measuring.placement.together(false)? {
            let takes_ns = Timetable::of_series(self.method.0.len(), limits, None, self.measuring.load());
            let cases = wakeup::cases(&self.method.0, &cpus);
            let asked = Measurement::asked(&self.measuring, limits, Kind::Wakeup, cases);
            let mut asked = Measurement { takes_ns, sample_file, ..asked };
            asked.facts.extend(note);
            let each = |observer: &mut Observer| {
                wakeup::each_on_each_cpu(&self.method.0, &cpus, interval, from, placement, limits, observer)
            };
            return measuring::run(asked, &self.measuring.output, |_| true, each);
        }
        let asked = Measurement::asked(&self.measuring, limits, Kind::Wakeup, self.method.names());
        let asked = Measurement { sample_file, ..asked };
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| {
                series::each(&self.method.0, observer, |method, o| {
                    wakeup::measure(method.name(), *method, interval, from, placement, limits, o)
                })
            },
        )
    }
}
