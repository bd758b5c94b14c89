//! Attributes that are set for a while.

use std::fs;
use std::io;
use std::path::PathBuf;

/// What attributes were before; put back in reverse order when dropped.
#[derive(Debug, Default)]
pub struct Restore {
    before: Vec<(PathBuf, String)>,
}

impl Restore {
    /// Sets an attribute, unless that is what it is already.
    pub fn set(&mut self, path: PathBuf, value: &str) -> io::Result<()> {
        let before = fs::read_to_string(&path)?.trim().to_string();
        if before == value {
            return Ok(());
        }
        // Remembered first: a driver may have changed something although it refused.
        self.before.push((path.clone(), before));
        fs::write(path, value)
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        for (path, before) in self.before.drain(..).rev() {
            // A device that went away has nothing left to put back. The kernel takes an empty line as "none".
            let _ = fs::write(path, if before.is_empty() { "\n" } else { &before });
        }
    }
}
