//! Which station of which planned network a program is.

use std::path::PathBuf;

use ontick_switch::files;
use ontick_tsn::network::NodeId;

use super::error::EndpointError;
use super::plan_files::{self, Planned};
use super::planned;

/// The files, and the station.
#[derive(Debug, Clone, Default)]
pub struct StationFiles {
    /// The file that describes the network.
    pub network: PathBuf,
    /// Its plan.
    pub plan: PathBuf,
    /// What the plan is for; without it, what the calibration is of, or else the user data plane.
    pub target: Option<String>,
    /// What was measured of the target.
    pub calibration: Option<PathBuf>,
    /// The station.
    pub station: String,
}

impl StationFiles {
    /// Reads the files; refused where they do not fit each other.
    pub(super) fn read(&self) -> Result<(Planned, NodeId), EndpointError> {
        let timing = plan_files::timing(self.target.as_deref(), self.calibration.as_deref())?;
        let network = files::network(&self.network).map_err(plan_files::PlanError::from)?.timed(timing);
        let planned = Planned::read(network, &self.plan)?.every_stream_is_placed()?;
        let node = planned::station(&planned.network, &self.station)?;
        Ok((planned, node))
    }
}
