//! `ontick latency noise`

use clap::Args;
use ontick_measure::noise;

use super::Common;
use crate::commands::measuring;
use crate::failure::{Failure, Outcome};
use crate::flags;

/// How often and for how long a spinning core is taken away.
#[derive(Args)]
#[command(after_help = "Example:\n  sudo ontick latency noise --duration 30s")]
pub struct Noise {
    /// Leave out gaps shorter than this
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = flags::time)]
    over: u64,
    #[command(flatten)]
    common: Common,
}

impl Noise {
    pub fn run(self) -> Result<Outcome, Failure> {
        let (place, limits) = (self.common.place.place(), self.common.limits.limits());
        let asked = self.common.measurement("noise", vec!["gaps".into()]);
        measuring::run(
            asked,
            &self.common.output,
            |_| true,
            |observer| noise::measure("gaps", self.over, place, limits, observer).map(|series| vec![series]),
        )
    }
}
