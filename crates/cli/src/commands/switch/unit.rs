//! `ontick switch unit`

use clap::Args;

use super::aimed::FileFlags;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Print a systemd unit that sets a switch up at each boot and keeps it.
#[derive(Args)]
#[command(
    after_help = "Example:\n  ontick switch unit /etc/ontick/cell4.toml | sudo tee /etc/systemd/system/ontick-cell4.service"
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
        let (program, file) = (path(&std::env::current_exe()?)?, path(&file)?);
        terminal::print(&format!(
            "[Unit]\n\
             Description=Time-aware switch {name}\n\
             After=network-pre.target systemd-udev-settle.service\n\
             \n\
             [Service]\n\
             ExecStart={program} switch run {file}\n\
             ExecStopPost={program} switch revert {name}\n\
             KillMode=mixed\n\
             Restart=on-failure\n\
             RestartSec=1\n\
             \n\
             [Install]\n\
             WantedBy=multi-user.target\n",
            name = switch.name
        ))?;
        Ok(Outcome::Met)
    }
}

/// As systemd reads it.
fn path(path: &std::path::Path) -> Result<String, Failure> {
    let text = path.to_str().ok_or_else(|| Failure::new(format!("{} is not text", path.display())))?;
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$")))
}
