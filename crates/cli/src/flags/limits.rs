//! How long a measurement takes, and what in it deserves attention.

use clap::Args;
use ontick_measure::{Length, Limits, TraceBreak};

use super::{duration, time};
use crate::failure::Failure;

/// How long a measurement takes, and what in it deserves attention.
#[derive(Args, Debug, Clone)]
pub struct LimitFlags {
    /// How long to measure [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "count")]
    pub duration: Option<u64>,
    /// How many samples to take, instead of a duration
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// End the measurement at the first latency above this
    #[arg(long, value_name = "TIME", value_parser = time)]
    stop_over: Option<u64>,
    /// With that latency, write a line into the kernel's trace and stop it, so that what led to it stays in a trace that was
    /// started before, as by trace-cmd start (needs root)
    #[arg(long, requires = "stop_over")]
    break_trace: bool,
    /// Record every latency above this, with its time
    #[arg(long, value_name = "TIME", default_value = "10us", value_parser = time)]
    outlier_threshold: u64,
}

/// Where neither duration nor count is named, in ns.
const DURATION_NS: u64 = 10_000_000_000;

impl LimitFlags {
    /// The latency over which the kernel's trace is to be stopped, in ns.
    pub fn break_trace_over(&self) -> Option<u64> {
        self.stop_over.filter(|_| self.break_trace)
    }

    /// Refuses what cannot stop the kernel's trace, before anything is opened or set up for a measurement.
    pub fn check_trace(&self) -> Result<(), Failure> {
        Ok(self.break_trace_over().map_or(Ok(()), |over_ns| TraceBreak::prepare(over_ns).map(drop))?)
    }

    /// Refuses where `who` measures: no thread of this machine, which could stop its trace.
    pub fn refuse_break_trace(&self, who: &str) -> Result<(), Failure> {
        match self.break_trace {
            true => Err(Failure::new(format!(
                "--break-trace is of a thread that measures on this machine, and here {who} does: leave it out"
            ))),
            false => Ok(()),
        }
    }

    pub fn limits(&self) -> Limits {
        self.limits_or(DURATION_NS)
    }

    /// With this duration where none is named, in ns.
    pub fn limits_or(&self, duration_ns: u64) -> Limits {
        let length = self.count.map_or(Length::Duration(self.duration.unwrap_or(duration_ns)), Length::Count);
        Limits { length, outlier_ns: self.outlier_threshold, stop_over_ns: self.stop_over }
    }
}

/// The limits of a run of cycles of this length: one at least must end within them.
pub fn one_cycle(limits: Limits, interval_ns: u64) -> Result<Limits, Failure> {
    let longer = |error| Failure::new(format!("{error}: name a longer --duration, or a --count"));
    limits.of_cycles(interval_ns).map_err(longer)
}
