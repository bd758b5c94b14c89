//! `ontick tune` where a file system refuses: read-only or full, each in a mount namespace of its own.

use std::fs;
use std::process::{Command, Output};

use crate::apart::beside_others;
use crate::machine::Machine;
use crate::settings::{AsBefore, settings};
use crate::{alone_on_this_machine, has, may_tune, stderr, stdout};

/// Runs a shell script in which `ontick` is the program, with its own mounts.
pub fn with_mounts(script: &str) -> Option<Output> {
    if !has("unshare") || !rustix::process::geteuid().is_root() {
        ontick_skip::skipped!("root is needed to mount");
        return None;
    }
    // Scripts may time something, too.
    beside_others(&["run"]);
    let ontick = env!("CARGO_BIN_EXE_ontick");
    let script = format!("set -e; ontick() {{ '{ontick}' \"$@\"; }}; {script}");
    let output = Command::new("unshare").args(["--mount", "--propagation", "private", "sh", "-c", &script]).output();
    let output = output.unwrap();
    let may_mount = !["unshare: ", "mount: "].iter().any(|tool| stderr(&output).starts_with(tool));
    if !may_mount {
        ontick_skip::skipped!("{}", stderr(&output));
    }
    may_mount.then_some(output)
}

#[test]
fn what_is_read_only_is_reported_and_the_rest_is_done() {
    let _alone = alone_on_this_machine();
    if !may_tune() {
        return;
    }
    if !fs::exists("/sys/kernel/mm/transparent_hugepage").unwrap() {
        return ontick_skip::skipped!("this kernel has no transparent huge pages");
    }
    let before = settings();
    let _as_before = AsBefore(before.clone());
    let knobs = "huge-pages workqueues stat-interval";
    let script =
        format!("mount -o remount,bind,ro /sys; ontick tune apply {knobs} || echo status $?; ontick tune revert");
    let Some(output) = with_mounts(&script) else { return };
    let text = stdout(&output);
    assert!(output.status.success(), "{text}{}", stderr(&output));
    assert!(text.contains("read-only (EROFS)") && text.contains("status 1"), "{text}");
    assert!(text.contains("stat-interval") && text.contains("Everything is as before"), "{text}");
    assert!(settings() == before);
}

#[test]
fn without_room_for_the_journal_nothing_is_changed() {
    let _alone = alone_on_this_machine();
    if !may_tune() {
        return;
    }
    let before = settings();
    let _as_before = AsBefore(before.clone());
    for (options, says) in [("size=4k", "ENOSPC"), ("ro", "EROFS")] {
        let fill = if options == "ro" { "true" } else { "head -c 4096 /dev/zero > /var/lib/full" };
        let script = format!("mount -t tmpfs -o {options} none /var/lib; {fill}; ontick tune apply");
        let Some(output) = with_mounts(&script) else { return };
        assert_eq!(output.status.code(), Some(2), "{}{}", stdout(&output), stderr(&output));
        assert!(
            stderr(&output).contains(says) && stderr(&output).contains("nothing is changed"),
            "{}",
            stderr(&output)
        );
        assert!(settings() == before, "{options}");
    }
}

#[test]
fn a_full_boot_partition_keeps_its_files() {
    let machine = Machine::lay("pi5");
    fs::create_dir_all(machine.place("/var/lib")).unwrap();
    let before = machine.snapshot();
    let (root, kept) = (machine.folder().display(), tempfile::tempdir().unwrap());
    let script = format!(
        "cp -a {root}/boot/. {kept}; mount -t tmpfs -o size=64k none {root}/boot; cp -a {kept}/. {root}/boot; \
         cat /dev/zero > {root}/boot/full 2>/dev/null || true; \
         ontick tune apply --boot --root {root} || echo status $?; \
         cat /dev/null > {root}/boot/full; rm {root}/boot/full; diff -r {kept} {root}/boot && echo same; \
         ontick tune revert --root {root}",
        kept = kept.path().display()
    );
    let Some(output) = with_mounts(&script) else { return };
    let text = stdout(&output);
    assert!(
        output.status.success() && text.contains("status 2") && text.contains("\nsame\n"),
        "{text}{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("no space left on the device"), "{}", stderr(&output));
    assert!(machine.snapshot() == before);
}
