//! `ontick latency noise`

use clap::Args;
use ontick_measure::noise;
use ontick_record::Measurement as Kind;

use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, MeasuringFlags};

/// Measure how often and for how long a spinning thread loses its CPU.
#[derive(Args)]
#[command(after_help = "Example:\n  sudo ontick latency noise --duration 30s")]
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
        let asked = Measurement::asked(&self.measuring, Kind::Noise, ["gaps".to_string()]);
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| noise::measure("gaps", self.over, placement, limits, observer).map(|series| vec![series]),
        )
    }
}
