//! Claims as whoever may not try their locks sees them: root's, to all others.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

use super::holder::{Holder, listed};

/// Those whose files are locked, for whoever may not try the locks. That a process is there says less: a later one may have
/// the number of one that was killed.
pub(super) fn living(folder: &Path) -> Vec<Holder> {
    living_by(folder, || fs::read_to_string("/proc/locks"))
}

/// How often the list of locks is read, as long as one is not in it. The kernel hands it over a page at a time, however large
/// the buffer is, and lets it change in between: by one lock that goes meanwhile the next page begins one too late. What is
/// listed was there, so that readings add up; a second look is needed only for what none of them had.
pub(super) const READINGS: usize = 3;

pub(super) fn living_by(folder: &Path, locks: impl Fn() -> io::Result<String>) -> Vec<Holder> {
    let (mut missing, mut found) = (listed(folder), Vec::new());
    for _ in 0..READINGS {
        let Ok(locks) = locks() else {
            missing.retain(|holder| Path::new(&format!("/proc/{}", holder.pid)).exists());
            found.append(&mut missing);
            break;
        };
        let is_there = |holder: &Holder| {
            let file = fs::symlink_metadata(folder.join(holder.file_name()));
            file.is_ok_and(|file| has_lock(&locks, holder.pid, file.dev(), file.ino()))
        };
        let (there, not_there) = missing.into_iter().partition::<Vec<_>, _>(is_there);
        found.extend(there);
        missing = not_there;
        if missing.is_empty() {
            break;
        }
    }
    found
}

/// Whether a file is locked by flock(2), as `/proc/locks` has it (proc_locks(5)). Some file systems call their device by
/// another number there, and a process in another namespace has another number: one of the two has to agree.
pub(super) fn has_lock(locks: &str, pid: u32, device: u64, inode: u64) -> bool {
    let device = format!("{:02x}:{:02x}", rustix::fs::major(device), rustix::fs::minor(device));
    locks.lines().any(|line| {
        // What waits for a lock has an arrow before its kind.
        let [_, "FLOCK", _, "WRITE", by, place, ..] = line.split_ascii_whitespace().collect::<Vec<_>>()[..] else {
            return false;
        };
        let Some((on, number)) = place.rsplit_once(':') else { return false };
        number.parse() == Ok(inode) && (on == device || by.parse() == Ok(pid))
    })
}
