//! What every measurement takes: where it runs, how long, beside what, and what becomes of it.

use clap::Args;
use ontick_measure::Load;

use super::{LimitFlags, OutputFlags, PlacementFlags};

/// What every measurement takes. Where a command's load or outliers are something else, it says so with `mut_arg`.
#[derive(Args)]
pub struct MeasuringFlags {
    #[command(flatten)]
    pub placement: PlacementFlags,
    #[command(flatten)]
    pub limits: LimitFlags,
    /// Load to run during the measurement: none, cpu, memory, io, fork, net, cpu+net, all or cmd:COMMAND [default:
    /// none]
    #[arg(long)]
    pub load: Option<Load>,
    /// Show percentiles, histogram and maxima live on the whole terminal
    #[arg(long)]
    pub watch: bool,
    /// Trace the kernel and name the cause of each outlier (needs root)
    #[arg(long)]
    pub explain: bool,
    /// With --explain, also keep the kernel's stack of what each timer interrupts on the measured CPU, and show where the
    /// task was that held it
    #[arg(long, requires = "explain")]
    pub stack: bool,
    #[command(flatten)]
    pub output: OutputFlags,
}

impl MeasuringFlags {
    /// Whether it traces the kernel, or its load takes rights of its own, which a measurement by itself has not.
    pub fn needs_more(&self) -> bool {
        self.explain || self.load().needs_rights()
    }

    /// What runs beside it; nothing unless asked for.
    pub fn load(&self) -> &Load {
        self.load.as_ref().unwrap_or(&Load::None)
    }
}
