//! The serial port of a Pico: bytes as they are, this program's alone.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::termios::{OptionalActions, QueueSelector, ioctl_tiocexcl, tcflush, tcgetattr, tcsetattr};

pub struct Port(File);

impl Port {
    /// Opens it; why not in words, if it cannot be.
    pub fn open(path: &Path) -> Result<Self, String> {
        let flags = (OFlags::NOCTTY | OFlags::NONBLOCK).bits() as i32;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
        let file = file.map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                "there is no such device: is the Pico plugged in, with ontick's firmware on it (docs/pico.md)?".into()
            }
            ErrorKind::PermissionDenied => {
                "it may not be opened: run by sudo, or as a user of its group (dialout on Debian)".into()
            }
            ErrorKind::ResourceBusy => "another program uses it".into(),
            _ => format!("it cannot be opened: {error}"),
        })?;
        let raw = |file: &File| -> io::Result<()> {
            let mut raw = tcgetattr(file)?;
            raw.make_raw();
            tcsetattr(file, OptionalActions::Now, &raw)?;
            ioctl_tiocexcl(file)?;
            Ok(tcflush(file, QueueSelector::IOFlush)?)
        };
        raw(&file).map_err(|error| format!("it is no serial port ({error})"))?;
        Ok(Self(file))
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// What came, 0 bytes if nothing did within this time. An end is an error: the device has gone.
    pub fn read(&mut self, to: &mut [u8], patience: Duration) -> io::Result<usize> {
        let patience = Timespec { tv_sec: patience.as_secs() as _, tv_nsec: patience.subsec_nanos() as _ };
        match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&patience)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(0),
            polled => polled?,
        };
        match self.0.read(to) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
            other => other,
        }
    }
}
