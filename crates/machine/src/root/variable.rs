//! A variable of a PC's firmware, as efivarfs shows it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

use super::{Act, Root};

impl Root {
    /// Writes a variable's file as a whole, or removes it. The firmware takes it whole or not at all.
    pub fn set_variable(&self, path: &str, content: Option<&[u8]>) -> io::Result<()> {
        if !self.is_live() {
            return content.map_or_else(|| self.remove(path), |content| self.replace(path, content));
        }
        let place = Path::new(path);
        match content {
            Some(content) => self.act(Act::Create { path, content }, place, |_| {
                allow(place)?;
                // One write is one change of the variable.
                OpenOptions::new().write(true).create(true).truncate(false).open(place)?.write_all(content)
            }),
            None if !place.exists() => Ok(()),
            None => self.act(Act::Remove { path }, place, |_| allow(place).and_then(|()| fs::remove_file(place))),
        }
    }
}

/// The kernel guards variables against a careless `rm` (chattr(1), i): so they are to be let go of first.
fn allow(place: &Path) -> io::Result<()> {
    let file = match File::open(place) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let flags = ioctl_getflags(&file)?;
    if flags.contains(IFlags::IMMUTABLE) {
        ioctl_setflags(&file, flags - IFlags::IMMUTABLE)?;
    }
    Ok(())
}
