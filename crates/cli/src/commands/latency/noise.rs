//! `ontick latency noise`

use clap::Args;
use ontick_measure::timetable::Timetable;
use ontick_measure::{Observer, noise};
use ontick_record::Measurement as Kind;

use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, MeasuringFlags};

/// Measure how often and for how long a spinning thread loses its CPU.
#[derive(Args)]
#[command(
    mut_arg("cpu", flags::of_several),
    after_help = "Examples:\n  sudo ontick latency noise --duration 30s\n  sudo ontick latency noise --cpu all"
)]
pub struct Noise {
    /// Ignore gaps shorter than this
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = flags::time)]
    over: u64,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

impl Noise {
    pub fn run(self) -> Result<Outcome, Failure> {
        let (placement, limits) = (self.measuring.placement.placement(), self.measuring.limits.limits());
        if let Some((cpus, note)) = self.measuring.placement.together(true)? {
            let takes_ns = Timetable::of_series(1, limits, None, self.measuring.load());
            let cases = noise::cases(&cpus);
            let mut asked = Measurement { takes_ns, ..Measurement::asked(&self.measuring, Kind::Noise, cases) };
            asked.facts.extend(note);
            let each = |observer: &mut Observer| noise::on_each_cpu(&cpus, self.over, placement, limits, observer);
            return measuring::run(asked, &self.measuring.output, |_| true, each);
        }
        let asked = Measurement::asked(&self.measuring, Kind::Noise, ["gaps".to_string()]);
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| noise::measure("gaps", self.over, placement, limits, observer).map(|series| vec![series]),
        )
    }
}
