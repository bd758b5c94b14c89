//! What a program's file descriptors stand for, by the names that the kernel gives: nothing is opened.

use std::fs;

use crate::inspect::calls::OpenFile;

/// `CLOCK_REALTIME` and `CLOCK_REALTIME_ALARM`.
const SETTABLE: [&str; 2] = ["0", "8"];

/// What a descriptor of a program stands for; `None` once it is closed.
pub fn open_file(pid: i32, fd: u64) -> Option<OpenFile> {
    let fd = i32::try_from(fd as i64).ok().filter(|fd| *fd >= 0)?;
    let link = fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
    let name = link.to_string_lossy().into_owned();
    if name == "anon_inode:[timerfd]" {
        let about = fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).ok()?;
        return Some(OpenFile::Timer { settable: settable(&about) });
    }
    Some(of_name(name))
}

fn settable(about: &str) -> bool {
    let clock = about.lines().find_map(|line| line.strip_prefix("clockid:")).unwrap_or_default();
    SETTABLE.contains(&clock.trim())
}

fn of_name(name: String) -> OpenFile {
    let terminal = ["/dev/pts/", "/dev/tty", "/dev/console", "/dev/hvc", "/pts/"];
    if terminal.iter().any(|start| name.starts_with(start)) {
        return OpenFile::Terminal(name);
    }
    // What is in memory takes no disk, and what is under /sys and /proc are the kernel's own answers.
    let memory = ["/dev/", "/memfd:", "/proc/", "/sys/", "/run/"];
    match name.starts_with('/') && !memory.iter().any(|start| name.starts_with(start)) {
        true => OpenFile::File(name),
        false => OpenFile::Other(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn files_terminals_and_others_are_told_apart() {
        let kind = |name: &str| of_name(name.into());
        assert_eq!(kind("/var/log/a.log (deleted)"), OpenFile::File("/var/log/a.log (deleted)".into()));
        assert_eq!(kind("/dev/pts/3"), OpenFile::Terminal("/dev/pts/3".into()));
        for other in ["socket:[12]", "pipe:[3]", "/dev/gpiochip0", "/dev/shm/ring", "/memfd:x (deleted)", "/dev/null"] {
            assert_eq!(kind(other), OpenFile::Other(other.into()));
        }
        assert!(settable("pos:\t0\nclockid: 0\n") && !settable("clockid: 1\n") && !settable(""));
    }

    #[test]
    fn a_descriptor_of_this_process_is_known() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = fs::File::create(folder.path().join("log")).unwrap();
        let pid = std::process::id() as i32;
        let path = fs::canonicalize(folder.path().join("log")).unwrap();
        assert_eq!(open_file(pid, file.as_raw_fd() as u64), Some(OpenFile::File(path.to_str().unwrap().into())));
        assert_eq!(open_file(pid, u64::MAX), None);
    }
}
