//! `ontick kernel build`, on a model of a kernel's source tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::kernel_tree::Modelled;
use crate::{has, send, stderr, stdout, wait_until};

fn built(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{} {}", stdout(output), stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn file(built: &Value) -> PathBuf {
    built["file"].as_str().unwrap().into()
}

fn contents(archive: &Path) -> Vec<String> {
    let listed = Command::new("tar").arg("-tf").arg(archive).output().unwrap();
    assert!(listed.status.success());
    stdout(&listed).lines().filter(|name| !name.ends_with('/')).map(str::to_owned).collect()
}

#[test]
fn the_same_inputs_make_the_same_file_and_are_not_built_twice() {
    let Some(tree) = Modelled::lay() else { return };
    let first = built(&tree.build(&["--format", "tar", "--output", "one", "--json"]));
    assert_eq!(first["release"], "6.12.1-ontick-rt");
    let mut names = contents(&file(&first));
    names.sort();
    let expected = [
        "boot/System.map-6.12.1-ontick-rt",
        "boot/config-6.12.1-ontick-rt",
        "boot/vmlinuz-6.12.1-ontick-rt",
        "lib/modules/6.12.1-ontick-rt/a.ko",
        "usr/lib/linux-image-6.12.1-ontick-rt/broadcom/bcm2837-rpi-3-b-plus.dtb",
        "usr/lib/linux-image-6.12.1-ontick-rt/overlays/o.dtbo",
    ];
    assert_eq!(names, expected);
    let second = built(&tree.build(&["--format", "tar", "--output", "two", "--json"]));
    assert_eq!(first["sha256"], second["sha256"], "another folder, another time, the same file");
    let again = built(&tree.build(&["--format", "tar", "--output", "one", "--json"]));
    assert_eq!((&again["already"], &again["sha256"]), (&Value::Bool(true), &first["sha256"]));
    // A result that was harmed is made anew; another input makes another file.
    fs::write(file(&first), "harmed").unwrap();
    let mended = built(&tree.build(&["--format", "tar", "--output", "one", "--json"]));
    assert_eq!((&mended["already"], &mended["sha256"]), (&Value::Bool(false), &first["sha256"]));
    let other = built(&tree.build(&["--format", "tar", "--output", "one", "--name", "-other", "--json"]));
    assert_ne!(other["sha256"], first["sha256"]);
}

#[test]
fn a_package_has_what_a_debian_system_expects() {
    if !has("dpkg-deb") {
        return;
    }
    let Some(tree) = Modelled::lay() else { return };
    let first = built(&tree.build(&["--output", "one", "--json"]));
    let second = built(&tree.build(&["--output", "two", "--json"]));
    assert_eq!(first["sha256"], second["sha256"]);
    let field = |name| {
        let said = Command::new("dpkg-deb").arg("-f").arg(file(&first)).arg(name).output().unwrap();
        stdout(&said).trim().to_owned()
    };
    assert_eq!((field("Package"), field("Architecture")), ("linux-image-6.12.1-ontick-rt".into(), "arm64".into()));
    let listed = stdout(&Command::new("dpkg-deb").arg("-c").arg(file(&first)).output().unwrap());
    assert!(listed.contains("./boot/vmlinuz-6.12.1-ontick-rt") && listed.contains("root/root"), "{listed}");
    assert!(!listed.contains("/build"), "{listed}");
}

#[test]
fn an_interrupted_build_goes_on() {
    let Some(tree) = Modelled::lay() else { return };
    tree.write("linux/slow", "");
    let words = ["--format", "tar", "--output", "one", "--json"];
    let child = tree.ontick("build", &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the build", || tree.folder().join("one/build/began").exists());
    // Meanwhile nobody else builds there.
    let second = tree.build(&words);
    assert_eq!(second.status.code(), Some(2));
    assert!(stderr(&second).contains("builds in"), "{}", stderr(&second));
    send(child.id(), Signal::INT);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(stderr(&ended).contains("it continues"), "{}", stderr(&ended));
    let whole = built(&tree.build(&words));
    assert_eq!(whole["already"], false);
    assert!(file(&whole).exists());
}

#[test]
fn a_killed_build_leaves_nothing_that_is_taken_for_whole() {
    let Some(tree) = Modelled::lay() else { return };
    tree.write("linux/slow", "");
    let words = ["--format", "tar", "--output", "one", "--json"];
    let mut child = tree.ontick("build", &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the build", || tree.folder().join("one/build/began").exists());
    send(child.id(), Signal::KILL);
    child.wait().unwrap();
    // What it had started goes on, and nobody builds upon what that is still writing.
    let meanwhile = tree.build(&words);
    assert_eq!(meanwhile.status.code(), Some(2), "{}", stdout(&meanwhile));
    assert!(stderr(&meanwhile).contains("the make that a killed one left"), "{}", stderr(&meanwhile));
    let lock = fs::File::open(tree.folder().join("one/.lock")).unwrap();
    wait_until("the end of what it had started", || {
        end_what_runs_in(&tree.folder().join("linux"));
        flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
    });
    drop(lock);
    assert!(!tree.folder().join("one/finished.json").exists());
    assert_eq!(built(&tree.build(&words))["already"], false);
}

/// The model's `make` and its `sleep`.
fn end_what_runs_in(folder: &Path) {
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder) {
            // Gone by itself is fine: each of them ends when what it waits for does.
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }
}

#[test]
fn what_went_wrong_is_said_in_one_sentence() {
    let Some(tree) = Modelled::lay() else { return };
    let says = |output: Output, words: &str| {
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stdout(&output));
        assert!(stderr(&output).contains(words), "{words}: {}", stderr(&output));
    };
    tree.write("linux/broken", "");
    let output = tree.build(&["--output", "one"]);
    assert!(tree.folder().join("one/make.log").exists());
    says(output, "kernel/exit.c:7: error: no such thing");
    fs::remove_file(tree.folder().join("linux/broken")).unwrap();
    says(tree.build(&["--cross", "nowhere-"]), "apt install gcc-nowhere");
    says(tree.build(&["--name", "Has Spaces"]), "small letters");
    tree.write("rt/0001-patch-6.6.7-rt18.patch", "--- a/x\n+++ b/x\n");
    says(tree.build(&["--patches", "rt"]), "the real-time series is 6.6.7-rt18, the source is linux 6.12.1");
    tree.write("linux/arch/arm64/Kconfig", "config ARM64\n\tdef_bool y\n");
    says(tree.build(&["--output", "two"]), "(--patches DIR)");
}

#[test]
fn a_series_goes_on_a_copy_and_never_on_the_tree_itself() {
    if !has("patch") {
        return;
    }
    let Some(tree) = Modelled::lay() else { return };
    tree.write("linux/.config-of-tree", "one\n");
    tree.write(
        "rt/patch-6.12.1-rt4.patch",
        "--- a/.config-of-tree\n+++ b/.config-of-tree\n@@ -1 +1 @@\n-one\n+patched\n",
    );
    let with = built(&tree.build(&["--patches", "rt", "--format", "tar", "--output", "one", "--json"]));
    assert!(with["inputs"]["series"].as_str().unwrap().starts_with("6.12.1-rt4 "), "{with}");
    assert_eq!(fs::read_to_string(tree.folder().join("linux/.config-of-tree")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(tree.folder().join("one/source/.config-of-tree")).unwrap(), "patched\n");
    // One that does not go on leaves no tree behind that could be taken for patched.
    tree.write("rt/patch-6.12.1-rt4.patch", "--- a/.config-of-tree\n+++ b/.config-of-tree\n@@ -1 +1 @@\n-two\n+x\n");
    let refused = tree.build(&["--patches", "rt", "--format", "tar", "--output", "two"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("patch-6.12.1-rt4.patch of 6.12.1-rt4 does not go on"), "{}", stderr(&refused));
    assert!(!tree.folder().join("two/source").exists());
}

#[test]
fn a_build_with_dropped_options_is_not_begun_unless_asked_for() {
    let Some(tree) = Modelled::lay() else { return };
    tree.write("more", "CONFIG_NEEDS_FOO=y\n");
    let words = ["--fragment", "more", "--format", "tar", "--output", "one"];
    let refused = tree.build(&words);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(stdout(&refused).contains("CONFIG_NEEDS_FOO"), "{}", stdout(&refused));
    assert!(!tree.folder().join("one/build/System.map").exists());
    let built = tree.build(&[&words[..], &["--allow-missing"]].concat());
    assert_eq!(built.status.code(), Some(1), "{}", stderr(&built));
    assert!(tree.folder().join("one/build/System.map").exists());
}
