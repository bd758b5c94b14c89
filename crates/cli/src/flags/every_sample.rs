//! Every sample of a measurement as a file.

use std::path::PathBuf;

use clap::Args;
use ontick_measure::sample_log::SampleFile;

use crate::failure::Failure;

/// Every sample of a measurement as a file.
#[derive(Args, Debug, Clone)]
pub struct EverySampleFlags {
    /// Write every sample to this file as it comes, a row each: its series, the CPU, the number of the cycle, when that was
    /// due (CLOCK_MONOTONIC, in ns) and how late it was (in ns); as comma-separated values, or as Arrow where the name ends in
    /// .arrow
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
}

impl EverySampleFlags {
    /// The file, if there is to be one.
    pub fn file(&self) -> Result<Option<SampleFile>, Failure> {
        Ok(self.samples.clone().map(SampleFile::at).transpose()?)
    }
}
