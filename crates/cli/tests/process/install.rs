//! `make install` and `make uninstall`: one file, there and gone again. And what the package's scripts do to a running system.

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

/// A script of the package in a system of its own: its /run and /var are in `system`, and programs that would change this
/// machine only say what they were asked for, which is what is returned.
fn of_package(script: &str, words: &[&str], system: &Path) -> String {
    let (tools, said) = (system.join("tools"), system.join("said"));
    std::fs::create_dir_all(&tools).unwrap();
    std::fs::write(&said, "").unwrap();
    for name in ["systemctl", "udevadm", "getent", "groupadd", "groupdel"] {
        let tool = tools.join(name);
        std::fs::write(&tool, format!("#!/bin/sh\necho {name} \"$*\" >>'{}'\n", said.display())).unwrap();
        std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let text = std::fs::read_to_string(top().join("packaging/debian/ontick").join(script)).unwrap();
    let text = ["/run/", "/var/"].into_iter().fold(text, |text, place| text.replace(place, &format!("$SYSTEM{place}")));
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    let output =
        shell.args(["-c", &text, script]).args(words).env("PATH", path).env("SYSTEM", system).output().unwrap();
    assert!(output.status.success(), "{script} {words:?}: {}", stderr(&output));
    std::fs::read_to_string(said).unwrap()
}

#[test]
fn a_removed_package_leaves_of_its_run_time_files_what_undoes_a_switch_alone() {
    let system = tempfile::tempdir().unwrap();
    let run = system.path().join("run/ontick");
    let left_by_commands = || {
        for file in ["cpus/.lock", "ptp/s1.77", "switch/.lock", "switch/.cell4.configuring", "switch/.time-loss.s1"] {
            let file = run.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
    };
    left_by_commands();
    of_package("postrm", &["remove"], system.path());
    assert!(!run.exists());

    left_by_commands();
    std::fs::create_dir(run.join("switch/cell4")).unwrap();
    of_package("postrm", &["remove"], system.path());
    assert!(run.join("switch/cell4").exists() && run.join("switch/.lock").exists());
    assert!(!run.join("cpus").exists() && !run.join("ptp").exists());

    std::fs::remove_dir(run.join("switch/cell4")).unwrap();
    std::fs::write(run.join("switch/.cell4.damaged"), "what could not be put back").unwrap();
    of_package("postrm", &["remove"], system.path());
    assert!(run.join("switch/.cell4.damaged").exists());
}

#[test]
fn an_upgrade_restarts_a_watch_that_runs_and_a_first_installation_starts_nothing() {
    let system = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(system.path().join("run/systemd/system")).unwrap();
    let first = of_package("postinst", &["configure", ""], system.path());
    assert!(first.contains("systemctl daemon-reload\n") && !first.contains("start"), "{first}");
    let upgrade = of_package("postinst", &["configure", "0.0.9-1"], system.path());
    assert!(upgrade.ends_with("systemctl daemon-reload\nsystemctl try-restart ontick-watch.service\n"), "{upgrade}");
}
