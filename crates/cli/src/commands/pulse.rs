//! `ontick pulse`

use clap::Args;
use ontick_gpio::{Name, OnExit};
use ontick_measure::pulse::{self, By, ByError, Job};
use ontick_measure::{Load, series};

use super::measuring::{self, Measurement, simulated};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, LimitFlags, OutputFlags, PlaceFlags};

/// Make a train of pulses on a GPIO line, and measure on the line how wide they really are.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick pulse\n  sudo ontick pulse --width 10us --by all --count 10000\n  sudo ontick pulse --line gpiochip0:17 --seen-by gpiochip0:27 --width 100us --by sleep --calibrate\n\nThe error of a pulse is how much it is too wide or too narrow. On a simulated line the line itself tells the time of\nevery edge. On others join a second line to the driven one and name it with --seen-by; else the clock is read around\nthe writes, and the result says so."
)]
pub struct Pulse {
    /// The line that is driven
    #[arg(long, value_name = "LINE", default_value = "sim:bench/17")]
    line: Name,
    /// A line that is joined to the driven one, and sees its pulses
    #[arg(long, value_name = "LINE")]
    seen_by: Option<Name>,
    /// How wide each pulse should be
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = flags::time)]
    width: u64,
    /// Time between pulses [default: as long as a pulse, 1ms at least]
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    gap: Option<u64>,
    /// What times a pulse: sleep (as usleep does), spin (reading the clock), hybrid (sleeping to a margin before its
    /// end, then spinning); or all, one after the other
    #[arg(long, default_value = "hybrid", value_parser = mechanisms)]
    by: Mechanisms,
    /// Measure the constant overhead of the mechanism in a short train, and subtract it from what is asked of it
    #[arg(long)]
    calibrate: bool,
    /// What the driven line is left at: keep, low, high or input
    #[arg(long, value_name = "STATE", default_value = "low")]
    on_exit: OnExit,
    #[command(flatten)]
    place: PlaceFlags,
    #[command(flatten)]
    limits: LimitFlags,
    /// Runs beside the measurement: none, cpu, memory, io, fork, net, all or cmd:COMMAND
    #[arg(long, default_value = "none")]
    load: Load,
    /// Show the error live on the whole terminal
    #[arg(long)]
    watch: bool,
    /// Trace the kernel meanwhile and name what made pulses too wide (needs root)
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Clone)]
struct Mechanisms(Vec<By>);

fn mechanisms(text: &str) -> Result<Mechanisms, String> {
    match text {
        "all" => Ok(Mechanisms(By::ALL.to_vec())),
        name => name.parse().map(|by| Mechanisms(vec![by])).map_err(|e: ByError| e.to_string()),
    }
}

/// A gap that nobody chose: long enough for a thread to sleep in.
const SHORTEST_GAP_NS: u64 = 1_000_000;

impl Pulse {
    pub fn run(self) -> Result<Outcome, Failure> {
        let (place, limits) = (self.place.place(), self.limits.limits());
        let jobs: Vec<Job> = self.by.0.iter().map(|by| self.job(*by)).collect();
        let asked = Measurement {
            kind: "pulse",
            names: self.names(),
            cpu: place.cpu,
            load: &self.load,
            watch: self.watch,
            explain: self.explain,
            findings: Vec::new(),
            notes: Vec::new(),
            simulated: simulated(&std::iter::once(&self.line).chain(&self.seen_by).collect::<Vec<_>>()),
        };
        measuring::run(
            asked,
            &self.output,
            |series| !self.calibrate || series.pulse.as_ref().is_some_and(|pulse| pulse.subtracted_ns.is_some()),
            |observer| match self.calibrate {
                true => series::each_of(&jobs, 2, observer, |job, o| {
                    pulse::calibrated(job.by.name(), job, place, limits, o)
                }),
                false => series::each(&jobs, observer, |job, o| pulse::measure(job.by.name(), job, place, limits, o)),
            },
        )
    }

    fn job(&self, by: By) -> Job {
        Job {
            line: self.line.clone(),
            seen_by: self.seen_by.clone(),
            width_ns: self.width,
            gap_ns: self.gap.unwrap_or(self.width.max(SHORTEST_GAP_NS)),
            by,
            subtract_ns: None,
            on_exit: self.on_exit,
        }
    }

    fn names(&self) -> Vec<String> {
        let names = self.by.0.iter().map(By::to_string);
        match self.calibrate {
            true => names.flat_map(|name| pulse::names_of_calibrated(&name)).collect(),
            false => names.collect(),
        }
    }
}
