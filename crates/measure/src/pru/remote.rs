//! A PRU as Linux shows it (`/sys/class/remoteproc`; Linux: Documentation/ABI/testing/sysfs-class-remoteproc).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::host::Host;
use crate::Error;

/// Where the PRUs' control registers are, which names them.
const NAMES: [&str; 2] = ["4a334000.pru", "4a338000.pru"];
/// The kernel has a PRU running, or stopped, when the write returns; this is for slower ones.
const PATIENCE: Duration = Duration::from_secs(5);

/// One PRU.
#[derive(Debug)]
pub(super) struct Remote {
    pru: u32,
    folder: PathBuf,
}

impl Remote {
    /// Finds it.
    pub fn find(host: &Host, pru: u32) -> Result<Self, Error> {
        let class = host.at("sys/class/remoteproc");
        let wanted = NAMES[pru as usize];
        let is_it = |folder: &PathBuf| {
            fs::read_to_string(folder.join("name")).is_ok_and(|name| name.trim().starts_with(wanted))
        };
        let all = fs::read_dir(&class).into_iter().flatten().flatten().map(|entry| entry.path());
        let folder = all.into_iter().find(is_it).ok_or_else(|| {
            Error::Impossible(format!(
                "there is no remoteproc of PRU {pru} ({wanted} in /sys/class/remoteproc): modprobe pru_rproc; if that \
                 does not help, the device tree leaves the PRUs off (an overlay turns them on: docs/pru.md)"
            ))
        })?;
        Ok(Self { pru, folder })
    }

    /// The file that starts and stops it.
    pub fn state_file(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// The file that names its firmware.
    pub fn firmware_file(&self) -> PathBuf {
        self.folder.join("firmware")
    }

    /// `offline`, `running`, `crashed`, …
    pub fn state(&self) -> Result<String, Error> {
        self.read(&self.state_file())
    }

    /// What it runs, or would.
    pub fn firmware(&self) -> Result<String, Error> {
        self.read(&self.firmware_file())
    }

    fn read(&self, path: &Path) -> Result<String, Error> {
        let text = fs::read_to_string(path).map_err(|error| self.fails(path, "read", &error))?;
        Ok(text.trim().to_owned())
    }

    /// Stops it.
    pub fn stop(&self) -> Result<(), Error> {
        self.write(&self.state_file(), "stop")?;
        self.wait_for("offline")
    }

    /// Starts it with this firmware.
    pub fn start(&self) -> Result<(), Error> {
        self.write(&self.state_file(), "start")?;
        self.wait_for("running")
    }

    /// Names its firmware.
    pub fn set_firmware(&self, name: &str) -> Result<(), Error> {
        self.write(&self.firmware_file(), name)
    }

    fn write(&self, path: &Path, value: &str) -> Result<(), Error> {
        fs::write(path, value).map_err(|error| self.fails(path, &format!("set to \"{value}\""), &error))
    }

    fn wait_for(&self, wanted: &str) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            let state = self.state()?;
            if state == wanted {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return Err(Error::Impossible(format!(
                    "PRU {} is {state} and should be {wanted} (the kernel's log says why: dmesg | grep remoteproc)",
                    self.pru
                )));
            }
            sleep(Duration::from_millis(5));
        }
    }

    fn fails(&self, path: &Path, verb: &str, error: &io::Error) -> Error {
        let what = format!("PRU {}: {} cannot be {verb}", self.pru, path.display());
        Error::Impossible(match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => format!("{what}: only root may (sudo)"),
            Some(libc::ENOENT) => format!("{what}: the kernel did not find its firmware (dmesg | grep remoteproc)"),
            Some(libc::EBUSY) => format!("{what}: somebody else uses it"),
            Some(libc::EINVAL) => {
                format!("{what}: the kernel does not take it for a program of a PRU (dmesg | grep remoteproc)")
            }
            _ => format!("{what}: {error}"),
        })
    }
}
