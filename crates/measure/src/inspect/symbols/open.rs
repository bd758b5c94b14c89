//! Opening the file of a mapping without following anything that its owner put in the way.

use std::fs::File;
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::process::geteuid;

use super::elf::Functions;
use super::maps::Mapping;

/// A file on a file system that does not answer (FUSE, NFS) is given up after this time.
const PATIENCE: Duration = Duration::from_secs(2);

/// The functions of a mapping's file, and the file itself; `None` where it cannot be had.
pub fn functions(pid: i32, mapping: &Mapping) -> Option<(File, Functions)> {
    let mapping = mapping.clone();
    let (sender, receiver) = mpsc::channel();
    // A thread of its own: an open or a read may never end, if another user's file system is asked.
    std::thread::Builder::new()
        .name("symbols".into())
        .spawn(move || {
            let file = open(pid, &mapping);
            let _ = sender.send(file.and_then(|file| Functions::read(&file).map(|functions| (file, functions))));
        })
        .ok()?;
    receiver.recv_timeout(PATIENCE).ok().flatten()
}

/// The very file that is mapped, if it is a regular one.
fn open(pid: i32, mapping: &Mapping) -> Option<File> {
    // The kernel's own link to the mapped file: no path is walked, so that nothing can be planted in it. Root's alone.
    let link = format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end);
    let found = openat(CWD, link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok();
    let found = match found {
        Some(found) => found,
        // By its path with no more rights than the program's own user has; and only if it is the same file still.
        None if !geteuid().is_root() => {
            let path = format!("/proc/{pid}/root{}", mapping.path);
            openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?
        }
        None => return None,
    };
    let stat = fstat(&found).ok()?;
    // To open a device can do something.
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_ino != mapping.inode {
        return None;
    }
    let again = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&found));
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    openat(CWD, again, flags, Mode::empty()).ok().map(File::from)
}

#[cfg(test)]
mod tests {
    use super::super::maps;
    use super::*;

    fn own() -> Mapping {
        let text = std::fs::read_to_string("/proc/self/maps").unwrap();
        let program = std::env::current_exe().unwrap();
        maps::parse(&text).into_iter().find(|mapping| mapping.path == program.to_str().unwrap()).unwrap()
    }

    #[test]
    fn the_mapped_file_is_opened_and_no_other() {
        let pid = std::process::id() as i32;
        let (_, functions) = functions(pid, &own()).expect("this program can be read");
        assert!(!functions.is_empty());
        // Another file has its place.
        assert!(open(pid, &Mapping { inode: own().inode + 1, ..own() }).is_none());
        assert!(open(pid, &Mapping { start: 1, end: 2, path: "/no/such/file".into(), ..own() }).is_none());
    }
}
