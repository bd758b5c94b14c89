//! Says to all switches of this machine that the network's time is lost: a file beside their folders, which counts only
//! as long as the process that wrote it holds its lock. The kernel ends that with the process, however it ends.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ontick_tsn::model::GateOverride;
use ontick_undo::state_dir::open_private;
use rustix::fs::{FlockOperation, flock};

use super::switch_dir::{SwitchDir, SwitchDirError, failed, home_of, make, refused};

/// A node's name follows. No switch can have such a name.
const PREFIX: &str = ".time-loss.";
/// A lock that is held longer is held by another one that watches the time; whoever looks has it for a moment.
const A_MOMENT: Duration = Duration::from_millis(500);
/// More than any word that is written.
const LONGEST: u64 = 16;

/// Held by whoever watches the time of a node.
#[derive(Debug)]
pub struct TimeLoss {
    file: File,
    place: PathBuf,
}

impl TimeLoss {
    /// For a node, in the usual place or in `home`; none if another process watches its time already. The time is not
    /// lost.
    pub fn watch(node: &str, home: Option<&Path>) -> Result<Option<Self>, SwitchDirError> {
        let home = home_of(home)?;
        make(&home)?;
        let place = home.join(format!("{PREFIX}{node}"));
        let file = open_private(&place).map_err(|e| refused(&place, "written", e))?;
        let began = Instant::now();
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if began.elapsed() > A_MOMENT {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let watch = Self { file, place };
        // One that was killed may have left its word.
        watch.set(None)?;
        Ok(Some(watch))
    }

    /// What the switches' gates are to be in place of their lists; nothing: the time is good.
    pub fn set(&self, forced: Option<GateOverride>) -> Result<(), SwitchDirError> {
        let written = match forced {
            // Never more than one word: an empty file is between two.
            Some(forced) => self.file.set_len(0).and_then(|()| self.file.write_all_at(word(forced).as_bytes(), 0)),
            None => self.file.set_len(0),
        };
        written.map_err(|e| failed(&self.place, "written", &e))
    }
}

impl Drop for TimeLoss {
    fn drop(&mut self) {
        // The end of the lock says the same.
        let _ = self.file.set_len(0);
    }
}

impl SwitchDir {
    /// What the gates of this machine's switches are to be in place of their lists, as a node has lost the network's time.
    /// Of several nodes, one that has them closed is obeyed.
    pub fn time_loss(&self) -> Option<GateOverride> {
        let entries = fs::read_dir(&self.home).into_iter().flatten().flatten();
        let of_time = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)));
        let mut forced: Vec<GateOverride> = of_time.filter_map(|entry| said(&entry.path()).ok().flatten()).collect();
        forced.sort_by_key(|forced| *forced != GateOverride::Closed);
        forced.first().copied()
    }
}

/// What a file says, while the process that wrote it is there.
fn said(place: &Path) -> io::Result<Option<GateOverride>> {
    let file = File::open(place)?;
    let mut octets = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(&file, LONGEST), &mut octets)?;
    let Some(forced) = [GateOverride::Open, GateOverride::Closed].into_iter().find(|f| word(*f).as_bytes() == octets)
    else {
        return Ok(None);
    };
    let is_held = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
    Ok(is_held.then_some(forced))
}

fn word(forced: GateOverride) -> &'static str {
    match forced {
        GateOverride::Open => "open",
        GateOverride::Closed => "closed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_holds_as_long_as_the_process_that_says_it() {
        let home = tempfile::tempdir().unwrap();
        let switch = SwitchDir::of("cell", Some(home.path())).unwrap();
        let watch = |node: &str| TimeLoss::watch(node, Some(home.path())).unwrap();
        assert_eq!(switch.time_loss(), None);
        let first = watch("s1").unwrap();
        assert_eq!(switch.time_loss(), None);
        first.set(Some(GateOverride::Open)).unwrap();
        assert_eq!(switch.time_loss(), Some(GateOverride::Open));
        assert!(watch("s1").is_none(), "it is watched");
        let second = watch("a.b").unwrap();
        second.set(Some(GateOverride::Closed)).unwrap();
        assert_eq!(switch.time_loss(), Some(GateOverride::Closed));
        drop(second);
        assert_eq!(switch.time_loss(), Some(GateOverride::Open));
        first.set(None).unwrap();
        assert_eq!(switch.time_loss(), None);
        // As one that is killed leaves it: the word is there, and the lock is not.
        fs::write(home.path().join(".time-loss.s9"), "closed").unwrap();
        assert_eq!(switch.time_loss(), None);
        let again = watch("s9").unwrap();
        assert_eq!(switch.time_loss(), None, "the word of the one before");
        again.set(Some(GateOverride::Closed)).unwrap();
        assert_eq!(switch.time_loss(), Some(GateOverride::Closed));
    }
}
