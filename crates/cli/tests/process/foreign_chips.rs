//! Simulated chips that belong to another user, who may cut their files short at any moment.

use std::fs;
use std::os::unix::fs::chown;
use std::path::PathBuf;

use crate::{run, stderr, stdout};

/// A chip of this test's own, which goes with it.
struct Chip(String);

impl Chip {
    fn file(&self) -> PathBuf {
        PathBuf::from("/dev/shm").join(format!("ontick-sim-{}", self.0))
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
