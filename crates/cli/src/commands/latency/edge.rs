//! `ontick latency edge`

use clap::Args;
use ontick_gpio::{Name, OnExit};
use ontick_measure::edge::{self, Job, Method, Wiring};
use ontick_measure::series;
use ontick_record::Measurement as Kind;

use super::mechanisms::{self, Mechanisms};
use super::with_lines;
use crate::commands::measuring;
use crate::commands::simulated;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, MeasuringFlags};

/// Measure the time from driving one GPIO line to detecting the edge on another, across two CPUs.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick latency edge\n  sudo ontick latency edge --output gpiochip0:4 --input gpiochip0:17 \\\n      --method interrupt --duration 1h\n  sudo ontick latency edge --output reg:4 --input reg:17 \\\n      --method poll --load all\n\nThe driven line must be joined to the watched one: by a cable, or by `ontick gpio wire` if both are simulated. Without names, two simulated lines are used."
)]
pub struct Edge {
    /// The line that is driven [default: sim:bench/4]
    #[arg(long, value_name = "LINE", requires = "input")]
    output: Option<Name>,
    /// The line that is watched [default: sim:bench/17]
    #[arg(long, value_name = "LINE", requires = "output")]
    input: Option<Name>,
    /// How an edge is detected: poll (reading again and again), interrupt (sleeping until notified), interrupt-busy
    /// (asking for notifications again and again); or several (poll,interrupt) or all, one after the other
    #[arg(long, value_name = "METHOD,…", default_value = "poll", value_parser = mechanisms)]
    method: Mechanisms<Method>,
    /// Time between edges, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "1ms", value_parser = flags::interval)]
    interval: u64,
    /// CPU of the driving thread [default: the first other one]
    #[arg(long, value_name = "N")]
    from_cpu: Option<u32>,
    /// State of the driven line afterwards: keep, low, high or input
    #[arg(long, value_name = "STATE", default_value = "low")]
    on_exit: OnExit,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

fn mechanisms(text: &str) -> Result<Mechanisms<Method>, String> {
    mechanisms::read(text, &Method::ALL)
}

impl Edge {
    pub fn run(self) -> Result<Outcome, Failure> {
        let placement = self.measuring.placement.placement();
        let limits = flags::one_cycle(self.measuring.limits.limits(), self.interval)?;
        let (drive, see) = match (self.output, self.input) {
            (Some(drive), Some(see)) => (drive, see),
            _ => simulated::joined(4, 17)?,
        };
        let wiring = Wiring { drive, see, on_exit: self.on_exit };
        let (interval_ns, driver_cpu) = (self.interval, self.from_cpu);
        let job = |method| Job { wiring: wiring.clone(), method, interval_ns, driver_cpu };
        let asked = with_lines(&self.measuring, limits, Kind::Edge, self.method.names(), &[&wiring.drive, &wiring.see]);
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| {
                series::each(&self.method.0, observer, |method, o| {
                    edge::measure(method.name(), &job(*method), placement, limits, o)
                })
            },
        )
    }
}
