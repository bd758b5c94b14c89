//! Simulated chips that belong to another user, who may cut their files short at any moment.

use std::fs;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::{ontick, run, stderr, stdout};

/// A chip of this test's own, which goes with it.
struct Chip(String);

impl Chip {
    fn file(&self) -> PathBuf {
        PathBuf::from("/dev/shm").join(format!("ontick-sim-0-{}", self.0))
    }
}

impl Drop for Chip {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.file());
    }
}

#[test]
fn root_maps_no_chip_that_its_owner_could_cut_short() {
    if !rustix::process::geteuid().is_root() || !std::path::Path::new("/dev/shm").is_dir() {
        return ontick_skip::skipped!("only root gives files to other users");
    }
    let chip = Chip(format!("foreign-{}", std::process::id()));
    let line = format!("sim:{}/4", chip.0);
    let made = run(&["gpio", "get", &line]);
    assert!(made.status.success() && chip.file().exists(), "{}", stderr(&made));
    chown(chip.file(), Some(65534), None).unwrap();
    let name = format!("sim:{}", chip.0);
    for arguments in [
        &["gpio", "get", &line][..],
        &["gpio", "set", &format!("{line}=1"), "--for", "0s"],
        &["gpio", "list", &name],
        &["gpio", "watch", &line, "--count", "1"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("belongs to user 65534, who could cut it short"), "{arguments:?}: {said}");
    }
    // A list of all has it, and goes on.
    let all = run(&["gpio", "list"]);
    assert!(all.status.success() && stdout(&all).contains("belongs to user 65534"), "{}", stdout(&all));
    // Removing it maps nothing.
    assert!(run(&["gpio", "remove", &name]).status.success() && !chip.file().exists());
}

/// `sudo ontick …` and then `ontick …` is one user's work, on one chip; another user's chip of that name is another one.
#[test]
fn chips_are_their_users_with_sudo_and_without() {
    if !rustix::process::geteuid().is_root() || !crate::has("setpriv") || !std::path::Path::new("/dev/shm").is_dir() {
        return ontick_skip::skipped!("root and setpriv are needed");
    }
    let chip = format!("users-{}", std::process::id());
    let (line, level) = (format!("sim:{chip}/4"), format!("sim:{chip}/4=1"));
    let level_of = |output: Output| {
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output).contains("=1")
    };
    let with_sudo =
        |arguments: &[&str]| ontick(arguments).env("SUDO_UID", "65534").env("SUDO_GID", "65534").output().unwrap();
    let without = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", env!("CARGO_BIN_EXE_ontick")]);
        command.args(arguments).current_dir("/").output().unwrap()
    };
    level_of(with_sudo(&["gpio", "set", &level, "--for", "0s"]));
    assert!(level_of(without(&["gpio", "get", &line])), "the user has the chip that was made with sudo");
    assert!(!level_of(run(&["gpio", "get", &line])), "root's own is another one");
    assert!(level_of(with_sudo(&["gpio", "get", &line])));
    for user in [&with_sudo as &dyn Fn(&[&str]) -> Output, &|arguments| run(arguments)] {
        assert!(user(&["gpio", "remove", &format!("sim:{chip}")]).status.success());
    }
}
