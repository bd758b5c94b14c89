//! A guardian that writes values to files when this process ends: small files of the kernel that hold a setting.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::{Fork, Messages};

/// Writes the values, one file after the other, when it is dropped or this process ends, however it ends. What cannot be
/// written is passed over.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # let dir = tempfile::tempdir()?;
/// let enable = dir.path().join("enable");
/// std::fs::write(&enable, "1")?;
/// let back = ontick_undo::guardian::Writes::start(vec![(enable.clone(), "0".into())])?;
/// drop(back);
/// assert_eq!(std::fs::read_to_string(&enable)?, "0");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Writes(#[allow(dead_code, reason = "it acts when it is dropped")] Fork);

impl Writes {
    /// Starts the guardian.
    pub fn start(values: Vec<(PathBuf, String)>) -> io::Result<Self> {
        Self::start_with_removals(values, Vec::new())
    }

    /// Starts a guardian that, when all is written, removes these files and empty folders in their order.
    pub fn start_with_removals(values: Vec<(PathBuf, String)>, removals: Vec<PathBuf>) -> io::Result<Self> {
        // Made before the fork: the child must not allocate.
        let removals = removals
            .into_iter()
            .map(|path| Ok(CString::new(path.into_os_string().into_vec())?))
            .collect::<io::Result<Vec<CString>>>()?;
        let values = values
            .into_iter()
            .map(|(file, value)| Ok((CString::new(file.into_os_string().into_vec())?, value)))
            .collect::<io::Result<Vec<(CString, String)>>>()?;
        // SAFETY: the guardian makes async-signal-safe system calls only, on values made before, which it never frees.
        unsafe { Fork::start(move |messages| write_all(&values, &removals, messages)) }.map(Self)
    }
}

/// A process that ends closes its files one after the other, and what it still has open may be why a value is refused.
const TRIES: u32 = 200;
const PAUSE_US: u32 = 10_000;

fn write_all(values: &[(CString, String)], removals: &[CString], mut messages: Messages) -> u8 {
    while messages.read(&mut [0]) {}
    for (file, value) in values {
        while_busy(|| is_busy(file, value));
    }
    for path in removals {
        // SAFETY: the path ends with a zero byte.
        unsafe {
            // A folder is refused by the one, a file by the other.
            if libc::unlink(path.as_ptr()) != 0 {
                libc::rmdir(path.as_ptr());
            }
        }
    }
    0
}

/// Tries until it succeeds, or so often that it never will.
fn while_busy(mut is_busy: impl FnMut() -> bool) {
    let mut tries = 0;
    while tries < TRIES && is_busy() {
        tries += 1;
        // SAFETY: it only waits.
        unsafe { libc::usleep(PAUSE_US) };
    }
}

/// Writes a value, unless the kernel says that something is in use.
fn is_busy(file: &CString, value: &str) -> bool {
    // SAFETY: the path ends with a zero byte, and the value's bytes are valid for reads.
    unsafe {
        let file = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_TRUNC | libc::O_CLOEXEC);
        if file < 0 {
            return false;
        }
        let refused = libc::write(file, value.as_ptr().cast(), value.len()) < 0;
        let is_busy = refused && io::Error::last_os_error().raw_os_error() == Some(libc::EBUSY);
        libc::close(file);
        is_busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_empty_folders_are_removed_after_all_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        ["group", "full"].iter().for_each(|name| std::fs::create_dir(at(name)).unwrap());
        ["group/a", "full/b", "c"].iter().for_each(|name| std::fs::write(at(name), "").unwrap());
        let removals = ["group/a", "group", "full", "missing"].map(at).to_vec();
        drop(Writes::start_with_removals(vec![(at("c"), "1".into())], removals).unwrap());
        assert_eq!(["group", "full", "c"].map(|name| at(name).exists()), [false, true, true]);
    }

    #[test]
    fn what_is_in_use_is_tried_again_but_not_for_ever() {
        let tried = |busy: u32| {
            let mut tries = 0;
            while_busy(|| {
                tries += 1;
                tries <= busy
            });
            tries
        };
        assert_eq!([tried(0), tried(3), tried(u32::MAX)], [1, 4, TRIES]);
    }

    /// A v1 cpuset keeps the CPUs that a cpuset below it has.
    #[test]
    fn a_value_is_refused_while_something_is_in_use() {
        let group = PathBuf::from(format!("/sys/fs/cgroup/cpuset/ontick-test-busy-{}", std::process::id()));
        let below = group.join("below");
        let made = std::fs::create_dir(&group).and_then(|()| std::fs::write(group.join("cpuset.cpus"), "0"));
        if made.is_err() {
            let _ = std::fs::remove_dir(&group);
            return ontick_skip::skipped!("there are no v1 cpusets here, or only root may make one");
        }
        std::fs::create_dir(&below).and_then(|()| std::fs::write(below.join("cpuset.cpus"), "0")).unwrap();
        let cpus = group.join("cpuset.cpus");
        let file = CString::new(cpus.clone().into_os_string().into_vec()).unwrap();
        let refused = is_busy(&file, "\n");
        std::fs::remove_dir(&below).unwrap();
        let taken = !is_busy(&file, "\n");
        let left = std::fs::read_to_string(&cpus).unwrap();
        std::fs::remove_dir(&group).unwrap();
        assert_eq!((refused, taken, left.trim()), (true, true, ""));
    }

    #[test]
    fn values_are_written_in_order_and_what_cannot_be_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("a"), "before").unwrap();
        std::fs::write(at("b"), "before").unwrap();
        let values = [("a", "1"), ("missing/c", "2"), ("b", "3"), ("a", "4")];
        let writes = Writes::start(values.map(|(name, value)| (at(name), value.into())).into()).unwrap();
        assert_eq!(std::fs::read_to_string(at("a")).unwrap(), "before");
        drop(writes);
        assert_eq!(["a", "b"].map(|name| std::fs::read_to_string(at(name)).unwrap()), ["4", "3"]);
        assert!(!at("missing").exists() && Writes::start(vec![("a\0b".into(), String::new())]).is_err());
    }
}
