//! `--calibration`: what was measured of a data plane.

use std::path::PathBuf;

use clap::Args;
use ontick_tsn::egress::{Calibration, DataPlane};

use crate::failure::Failure;

#[derive(Args, Clone, Default)]
pub struct CalibrationFlag {
    /// Result of `ontick switch calibrate` on such a machine [default: built-in assumptions about the data plane]
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
}

/// What such a file says, and its name.
pub struct Measured {
    pub file: String,
    pub calibration: Calibration,
}

impl CalibrationFlag {
    /// Whether a file was named.
    pub fn is_given(&self) -> bool {
        self.calibration.is_some()
    }

    /// The file, if one is named.
    pub fn read(&self) -> Result<Option<Measured>, Failure> {
        self.calibration.as_deref().map(Measured::read).transpose()
    }

    /// As it is handed on to an ontick that this one starts.
    pub fn words(&self) -> Vec<String> {
        self.calibration.iter().flat_map(|file| ["--calibration".into(), file.display().to_string()]).collect()
    }
}

impl Measured {
    fn read(file: &std::path::Path) -> Result<Self, Failure> {
        let calibration = ontick_switch::files::calibration(file).map_err(Failure::new)?;
        Ok(Self { file: file.display().to_string(), calibration })
    }

    /// The sentence where it is of another data plane than what carries out `what`.
    pub fn is_of_another(&self, what: &str) -> Failure {
        let plane: DataPlane = self.calibration.plane;
        Failure::new(format!("{}: it is of a {} data plane, and {what}; name one that fits", self.file, plane.name()))
    }
}
