//! What `network time run` knows and ptp4l does not: for how long the time has been good, and what gates do. It lies beside
//! the socket of its ptp4l, for `network time status`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ontick_network::ptp::report_path;
use ontick_rt::clock::ClockId;
use ontick_tsn::model::GateOverride;
use ontick_undo::state_dir;
use serde::{Deserialize, Serialize};

/// It is written as often, and when something changes.
const EVERY_NS: u64 = 1_000_000_000;
/// An older one is that of a process that hangs, or is gone.
const FRESH: Duration = Duration::from_secs(5);

/// All times are in ns since the machine was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReport {
    pub at_ns: u64,
    pub began_ns: u64,
    pub free_running: bool,
    pub good: bool,
    /// Since when that is so.
    pub since_ns: u64,
    /// Why it is not good.
    pub reason: Option<String>,
    /// What gates are in place of their lists.
    pub forced: Option<GateOverride>,
    pub losses: u64,
    pub beyond_bound: u64,
}

impl RunReport {
    /// Of the process that runs the ptp4l with this socket, if there is one.
    pub fn read(socket: &Path) -> Option<Self> {
        let text = state_dir::read(&report_path(socket)).ok()??;
        let report: Self = serde_json::from_str(&text).ok()?;
        let age_ns = ClockId::Monotonic.now_ns().saturating_sub(report.at_ns);
        (u128::from(age_ns) <= FRESH.as_nanos()).then_some(report)
    }
}

/// Where it is reported; nothing is left there after this.
pub struct Reporter {
    path: PathBuf,
    last: Option<RunReport>,
}

impl Reporter {
    /// Beside the socket of a ptp4l.
    pub fn new(socket: &Path) -> Self {
        Self { path: report_path(socket), last: None }
    }

    /// Writes it, unless the last one says the same and is not old.
    pub fn report(&mut self, report: RunReport) {
        let says = |report: &RunReport| (report.good, report.forced, report.reason.clone());
        let is_old = |last: &RunReport| report.at_ns.saturating_sub(last.at_ns) >= EVERY_NS;
        if self.last.as_ref().is_some_and(|last| !is_old(last) && says(last) == says(&report)) {
            return;
        }
        // The time is kept and watched also where there is no room to say so; an old report counts for nothing.
        if let Ok(text) = serde_json::to_vec(&report) {
            let _ = state_dir::replace(&self.path, &text, 0o600);
        }
        self.last = Some(report);
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
