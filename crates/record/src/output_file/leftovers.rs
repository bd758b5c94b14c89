//! Files that a program which was killed left half-written beside the one that it wrote.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;

/// What a new file is called until it is whole.
pub(super) fn temporary(name: &OsStr, pid: u32) -> OsString {
    format!("{}{pid}{ENDING}", beginning(name)).into()
}

const ENDING: &str = ".new";

fn beginning(name: &OsStr) -> String {
    format!(".{}.", name.to_string_lossy())
}

/// Marks a file as one that is being written: whoever shares the folder from another machine or container does not know
/// this process by its number.
pub(super) fn hold(file: impl AsFd) {
    // Where the file system has no locks, the number must do.
    let _ = rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive);
}

/// Its name is now that of the whole file, which may be locked for other reasons.
pub(super) fn let_go(file: impl AsFd) {
    let _ = rustix::fs::flock(file, FlockOperation::Unlock);
}

/// Removes those of a name whose process is gone. What cannot be removed stays: it is in nobody's way.
pub(super) fn remove(folder: &OwnedFd, name: &OsStr) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // A folder may be written without being readable.
    let Ok(entries) = rustix::fs::openat(folder, ".", flags, Mode::empty()).and_then(Dir::new) else { return };
    let beginning = beginning(name);
    for entry in entries.flatten() {
        let found = OsStr::from_bytes(entry.file_name().to_bytes());
        if writer(found, &beginning).is_some_and(is_gone) && is_left(folder, found).unwrap_or(false) {
            let _ = rustix::fs::unlinkat(folder, found, AtFlags::empty());
        }
    }
}

/// The process that a name of this form, and of no other, tells of.
fn writer(found: &OsStr, beginning: &str) -> Option<Pid> {
    let number = found.to_str()?.strip_prefix(beginning)?.strip_suffix(ENDING)?;
    let pid = number.parse::<i32>().ok().filter(|pid| *pid > 0 && pid.to_string() == number)?;
    Pid::from_raw(pid)
}

fn is_gone(pid: Pid) -> bool {
    rustix::process::test_kill_process(pid) == Err(Errno::SRCH)
}

/// Whether it is a regular file of this user's, reached by no link, that nobody writes any more.
fn is_left(folder: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    // What it is comes first: to open a device may do something.
    let is_ours = |stat: rustix::fs::Stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
            && stat.st_uid == rustix::process::geteuid().as_raw()
    };
    if !is_ours(rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?) {
        return Ok(false);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let is_free = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    Ok(is_free && is_ours(rustix::fs::fstat(&file)?))
}
