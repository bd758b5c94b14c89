//! A configuration to start from, as a file: plain, by gzip (`/proc/config.gz`) or by xz (Debian's `linux-config-*`).

use std::fs;
use std::io;
use std::path::Path;

use ontick_undo::program;

/// The text of the file.
pub fn read(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    if bytes.starts_with(b"\xfd7zXZ\0") {
        let unpacked = program::command("xz")?.arg("-dc").arg(path).output()?;
        return match unpacked.status.success() {
            true => Ok(String::from_utf8_lossy(&unpacked.stdout).into_owned()),
            false => Err(io::Error::other(String::from_utf8_lossy(&unpacked.stderr).trim().to_owned())),
        };
    }
    match bytes.starts_with(b"\x1f\x8b") {
        true => ontick_machine::facts::config::unpack(&bytes).ok_or_else(|| io::Error::other("it does not unpack")),
        false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}
