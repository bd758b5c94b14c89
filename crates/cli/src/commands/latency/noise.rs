//! `ontick latency noise`

use clap::Args;
use ontick_measure::noise::{self, Job};
use ontick_measure::timetable::Timetable;
use ontick_measure::{Observer, hwlat};
use ontick_record::Measurement as Kind;

use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, MeasuringFlags};
use crate::privileges;

/// Measure how often and for how long a spinning thread loses its CPU.
#[derive(Args)]
#[command(
    mut_arg("cpu", flags::of_several),
    after_help = "Examples:\n  sudo ontick latency noise --duration 30s\n  sudo ontick latency noise --cpu all\n  sudo ontick latency noise --cpu isolated --duty 99%\n  sudo ontick latency noise --hwlat --duration 1min      of firmware alone"
)]
pub struct Noise {
    /// Ignore gaps shorter than this
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = flags::time)]
    over: u64,
    /// Share of the time to spin and watch; for the rest of it the thread sleeps, and others have the CPU
    #[arg(long, value_name = "PERCENT", default_value = "90%", value_parser = flags::share)]
    duty: f64,
    /// Find with the kernel's tracer hwlat what takes the CPU away while its interrupts are off: firmware, hardware or a
    /// hypervisor. Nothing else runs on that CPU for half of the time (needs root)
    #[arg(long, conflicts_with_all = ["explain", "break_trace", "duty", "wake_within"])]
    hwlat: bool,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

impl Noise {
    pub fn run(self) -> Result<Outcome, Failure> {
        let (placement, limits) = (self.measuring.placement.placement(), self.measuring.limits.limits());
        if self.hwlat {
            return self.measure_without_interrupts();
        }
        let job = Job { shortest_ns: self.over, duty: self.duty };
        if let Some((cpus, note)) = self.measuring.placement.together(true)? {
            let takes_ns = Timetable::of_series(1, limits, None, self.measuring.load());
            let cases = noise::cases(&cpus);
            let mut asked = Measurement { takes_ns, ..Measurement::asked(&self.measuring, limits, Kind::Noise, cases) };
            asked.facts.extend(note);
            let each = |observer: &mut Observer| noise::on_each_cpu(&cpus, job, placement, limits, observer);
            return measuring::run(asked, &self.measuring.output, |_| true, each);
        }
        let asked = Measurement::asked(&self.measuring, limits, Kind::Noise, ["gaps".to_string()]);
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| noise::measure("gaps", job, placement, limits, observer).map(|series| vec![series]),
        )
    }

    /// By the kernel's own tracer.
    fn measure_without_interrupts(&self) -> Result<Outcome, Failure> {
        let (placement, limits) = (self.measuring.placement.placement(), self.measuring.limits.limits());
        let Some(cpu) =
            placement.cpu.filter(|_| self.measuring.placement.together(false).is_ok_and(|all| all.is_none()))
        else {
            return Err(Failure::new("--hwlat looks at one CPU at a time: name it, as in --cpu 1"));
        };
        privileges::HWLAT.require("latency noise --hwlat")?;
        // The tracer is an instance of its own, in a file system that is mounted for it.
        let asked = Measurement {
            keeps: None,
            ..Measurement::asked(&self.measuring, limits, Kind::Noise, ["hwlat".to_string()])
        };
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| hwlat::measure("hwlat", self.over, cpu, limits, observer).map(|series| vec![series]),
        )
    }
}
