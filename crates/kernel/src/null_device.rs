//! Keeps `/dev/null` a device while a kernel is built as root: a compiler that is ended, or fails, removes the file that it
//! writes to, also where that is `/dev/null` (`gcc -o /dev/null` in the kernel's makefiles).

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The device.
pub const PATH: &str = "/dev/null";
/// A mount point cannot be removed by who sees the mount (unlink(2), EBUSY). "$0" is the path, "$@" the program with its
/// arguments.
const SCRIPT: &str = r#"mount --bind "$0" "$0" && exec "$@""#;

/// The program, in a mount namespace of its own where `/dev/null` cannot be removed; as it is for who may not remove it
/// anyway, and where no such namespace can be had.
pub fn command_that_keeps_it(program: &str) -> Command {
    if !rustix::process::geteuid().is_root() || !namespace_can_be_had() {
        return Command::new(program);
    }
    kept(PATH, program)
}

fn namespace_can_be_had() -> bool {
    let mut command = kept(PATH, "true");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn kept(path: &str, program: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--", "sh", "-c", SCRIPT, path, program]);
    command
}

/// An error, with the way back, where it is no device any more.
pub fn check() -> io::Result<()> {
    check_at(Path::new(PATH))
}

fn check_at(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.file_type().is_char_device() {
        return Ok(());
    }
    Err(io::Error::other(
        "it is a file and no device any more, which a compiler that ran as root does; make it again: \
         rm /dev/null && mknod -m 666 /dev/null c 1 3",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_its_place_is_found() {
        check().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let why = check_at(file.path()).unwrap_err().to_string();
        assert!(why.contains("mknod -m 666 /dev/null c 1 3"), "{why}");
    }

    #[test]
    fn what_would_remove_it_cannot() {
        if !rustix::process::geteuid().is_root() || !namespace_can_be_had() {
            return ontick_skip::skipped!("no mount namespace can be had here");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let said = kept(path, "rm").arg(path).env("LC_ALL", "C").output().unwrap();
        assert!(!said.status.success() && String::from_utf8_lossy(&said.stderr).contains("busy"), "{said:?}");
        assert!(file.path().exists());
    }
}
