//! `ontick switch unit`

use clap::Args;

use ontick_machine::service_unit::{self, ServiceUnit, UnitError};
use ontick_undo::trust;

use super::file::note;
use super::target_flags::FileFlags;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Print a systemd unit that sets up a switch at each boot and keeps it correct.
#[derive(Args)]
#[command(
    after_help = "Example:\n  ontick switch unit /etc/ontick/cell4.toml \\\n      | sudo tee /etc/systemd/system/ontick-cell4.service"
)]
pub struct Unit {
    #[command(flatten)]
    file: FileFlags,
}

impl Unit {
    pub fn run(self) -> Result<Outcome, Failure> {
        let switch = self.file.read()?;
        let absolute = |e| Failure::new(format!("{}: {e}", self.file.file.display()));
        let file = self.file.file.canonicalize().map_err(absolute)?;
        let text = file.to_str().ok_or_else(|| Failure::new(format!("{} is not text", file.display())))?;
        let unit =
            unit(&service_unit::own_program().map_err(Failure::new)?, &switch.name, text).map_err(Failure::new)?;
        if let Err(untrusted) = trust::check_root_owned(&file).map_err(absolute)? {
            note(&format!(
                "root reads {text} at each boot, and {untrusted}: put it where only root can write (/etc/ontick)"
            ));
        }
        terminal::print(&unit)?;
        Ok(Outcome::Met)
    }
}

fn unit(program: &str, name: &str, file: &str) -> Result<String, UnitError> {
    let unit = ServiceUnit::new()
        .section("Unit")
        .value("Description", &format!("Time-aware switch {name}"))?
        .value("After", "network-pre.target systemd-udev-settle.service")?
        .section("Service")
        .command("ExecStart", program, &["switch", "run", file])?
        .command("ExecStopPost", program, &["switch", "revert", name])?
        .value("KillMode", "mixed")?
        .value("Restart", "on-failure")?
        .value("RestartSec", "1")?
        .section("Install")
        .value("WantedBy", "multi-user.target")?;
    Ok(unit.text())
}
