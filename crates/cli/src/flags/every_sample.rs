//! Every sample of a measurement as a file.

use std::io::{IsTerminal, stderr, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use ontick_measure::sample_log::SampleFile;
use rustix::fs::{FileType, fstat, stat};

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
        let Some(path) = &self.samples else { return Ok(None) };
        if let Some(what) = shown_on(path) {
            let name = path.display();
            return Err(Failure::new(format!(
                "--samples {name} is {what}, which is for result and messages: name a file, or a FIFO"
            )));
        }
        Ok(Some(SampleFile::at(path.clone())?))
    }
}

/// Where a file is the one that result or messages are shown on: rows would be mixed with them, or a file be replaced to which
/// they go. Any number may write to a device such as `/dev/null`.
fn shown_on(path: &Path) -> Option<&'static str> {
    let named = stat(path).ok()?;
    let takes_any = FileType::from_raw_mode(named.st_mode) == FileType::CharacterDevice;
    let is = |shown: std::io::Result<rustix::fs::Stat>, is_terminal: bool| {
        let same = shown.is_ok_and(|shown| (shown.st_dev, shown.st_ino) == (named.st_dev, named.st_ino));
        same && (is_terminal || !takes_any)
    };
    if is(fstat(stdout()).map_err(Into::into), stdout().is_terminal()) {
        return Some("standard output");
    }
    is(fstat(stderr()).map_err(Into::into), stderr().is_terminal()).then_some("standard error")
}
