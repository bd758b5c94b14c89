//! `make install` and `make uninstall`: one file, there and gone again.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::{stderr, stdout};

fn top() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn make(goal: &str, prefix: &Path, path: &str) -> Output {
    let mut make = Command::new("make");
    make.arg("--silent").arg(goal).arg(format!("PREFIX={}", prefix.display())).current_dir(top());
    make.env("PATH", path).env_remove("DESTDIR").output().expect("make starts")
}

fn is_built() -> bool {
    top().join("target/release/ontick").exists()
}

#[test]
fn what_is_installed_runs_and_is_taken_away_again() {
    if !is_built() {
        return ontick_skip::skipped!("make build makes the program that is installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("a prefix");
    let bin = prefix.join("bin");
    let path = std::env::var("PATH").unwrap();

    let output = make("install", &prefix, &path);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("is not in PATH: call it as"), "{}", stdout(&output));
    let program = bin.join("ontick");
    assert_eq!(program.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    let version = Command::new(&program).arg("--version").output().unwrap();
    assert!(stdout(&version).starts_with("ontick "), "{}", stdout(&version));

    // Anew, over the one that is there; in PATH there is nothing to note.
    let output = make("install", &prefix, &format!("{}:{path}", bin.display()));
    assert_eq!(stdout(&output), format!("installed: {}\n", program.display()));
    assert_eq!(bin.read_dir().unwrap().count(), 1);

    std::fs::write(bin.join("other"), "").unwrap();
    for said in ["removed: ", "there is no "] {
        let output = make("uninstall", &prefix, &path);
        assert_eq!(stdout(&output), format!("{said}{}\n", program.display()));
    }
    assert!(bin.join("other").exists() && !program.exists());
}

#[test]
fn what_cannot_be_installed_is_one_sentence() {
    if !is_built() {
        return ontick_skip::skipped!("make build makes the program that is installed");
    }
    let path = std::env::var("PATH").unwrap();
    let output = make("install", Path::new("elsewhere"), &path);
    assert!(stderr(&output).contains("PREFIX is 'elsewhere', and must be a path from the root"), "{}", stderr(&output));
    let output = make("install", Path::new("/proc/1/ontick"), &path);
    assert!(!output.status.success() && stderr(&output).contains("nothing was installed"), "{}", stderr(&output));
}
