//! `--calibration`: what was measured of a data plane.

use std::path::PathBuf;

use clap::Args;
use ontick_tsn::egress::{Calibration, DataPlane};

use crate::failure::Failure;

/// Octets of a calibration file at most.
const LARGEST: u64 = 64 << 10;

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
        let shown = file.display().to_string();
        let text = ontick_switch::files::read_text(file, LARGEST, "longer than 64 KiB, so no calibration");
        let calibration = Calibration::read(&text.map_err(Failure::new)?);
        let calibration = calibration.map_err(|wrong| Failure::new(format!("{shown}: {wrong}")))?;
        Ok(Self { file: shown, calibration })
    }

    /// The sentence where it is of another data plane than what carries out `what`.
    pub fn is_of_another(&self, what: &str) -> Failure {
        let plane: DataPlane = self.calibration.plane;
        Failure::new(format!("{}: it is of a {} data plane, and {what}; name one that fits", self.file, plane.name()))
    }
}
