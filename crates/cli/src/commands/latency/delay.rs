//! `ontick latency delay`

use clap::Args;
use ontick_measure::delay::{self, Method};
use ontick_measure::series;
use ontick_record::Measurement as Kind;

use super::mechanisms::{self, Mechanisms};
use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, EverySampleFlags, MeasuringFlags};

/// Measure how long delays take, asked against got, from none up: where the shortest delay lies, and what is added to
/// every one.
///
/// A sample is one delay, and its latency is by how much that was too long. Between two delays the thread sleeps.
/// Source 002 found 70 us added to each delay of usleep on a Raspberry Pi; normal scheduling, as there, is
/// `--policy other --cpu any --stock`.
#[derive(Args)]
#[command(
    mut_arg("duration", |arg| arg.help("How long to measure each delay by each method [default: 200ms]")),
    after_help = "Examples:\n  sudo ontick latency delay\n  ontick latency delay --policy other --cpu any --stock --html delay.html\n  sudo ontick latency delay --delay 50us,100us --method usleep --load cpu"
)]
pub struct Delay {
    /// Delays to ask for, separated by commas
    #[arg(long, value_name = "TIME,…", default_value = "0us,1us,2us,5us,10us,20us,50us,100us,200us", value_delimiter = ',', value_parser = flags::time)]
    delay: Vec<u64>,
    /// usleep, nanosleep, clock_nanosleep, hybrid, spin; or several (usleep,hybrid) or all
    #[arg(long, value_name = "METHOD,…", default_value = "all", value_parser = methods)]
    method: Mechanisms<Method>,
    #[command(flatten)]
    every_sample: EverySampleFlags,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

/// How long each point takes unless set otherwise, in ns.
const POINT_NS: u64 = 200_000_000;

fn methods(text: &str) -> Result<Mechanisms<Method>, String> {
    mechanisms::read(text, &Method::ALL)
}

impl Delay {
    pub fn run(mut self) -> Result<Outcome, Failure> {
        self.delay.sort_unstable();
        self.delay.dedup();
        let of_method = |method: &Method| {
            let method = *method;
            self.delay.iter().map(move |asked_ns| delay::Delay { method, asked_ns: *asked_ns })
        };
        let delays: Vec<_> = self.method.0.iter().flat_map(of_method).collect();
        let (placement, limits) = (self.measuring.placement.placement(), self.measuring.limits.limits_or(POINT_NS));
        let cases = delays.iter().map(|delay| delay.case());
        let asked = Measurement {
            sample_file: self.every_sample.file()?,
            ..Measurement::asked(&self.measuring, limits, Kind::Delay, cases)
        };
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| series::each(&delays, observer, |delay, o| delay::measure(*delay, placement, limits, o)),
        )
    }
}
