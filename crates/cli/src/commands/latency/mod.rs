//! `ontick latency …`

mod day;
mod edge;
mod mechanisms;
mod noise;
mod response;
mod timer;
mod wakeup;

use clap::{Args, Subcommand};
use ontick_gpio::Name;
use ontick_measure::Load;

use super::measuring::Measurement;
use super::simulated;
use crate::failure::{Failure, Outcome};
use crate::flags::{LimitFlags, OutputFlags, PlaceFlags};

/// Make one measurement of latency.
#[derive(Subcommand)]
pub enum Latency {
    Timer(timer::Timer),
    Wakeup(wakeup::Wakeup),
    Edge(edge::Edge),
    Response(response::Response),
    Day(day::Day),
    Noise(noise::Noise),
}

impl Latency {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Latency::Timer(timer) => timer.run(),
            Latency::Wakeup(wakeup) => wakeup.run(),
            Latency::Edge(edge) => edge.run(),
            Latency::Response(response) => response.run(),
            Latency::Day(day) => day.run(),
            Latency::Noise(noise) => noise.run(),
        }
    }
}

/// What all of them take.
#[derive(Args)]
struct Common {
    #[command(flatten)]
    place: PlaceFlags,
    #[command(flatten)]
    limits: LimitFlags,
    /// Runs beside the measurement: none, cpu, memory, io, fork, net, cpu+net, all or cmd:COMMAND
    #[arg(long, default_value = "none")]
    load: Load,
    /// Show percentiles, histogram and maxima live on the whole terminal
    #[arg(long)]
    watch: bool,
    /// Trace the kernel meanwhile and name what made each outlier late (needs root)
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    output: OutputFlags,
}

impl Common {
    fn measurement(&self, kind: &'static str, names: Vec<String>) -> Measurement<'_> {
        Measurement {
            kind,
            names,
            cpu: self.place.place().cpu,
            load: &self.load,
            watch: self.watch,
            explain: self.explain,
            findings: Vec::new(),
            notes: self.place.note().into_iter().collect(),
            simulated: None,
        }
    }

    /// A measurement with GPIO lines, which may be simulated.
    fn with_lines(&self, kind: &'static str, names: Vec<String>, lines: &[&Name]) -> Measurement<'_> {
        Measurement { simulated: simulated::told(lines), ..self.measurement(kind, names) }
    }
}
