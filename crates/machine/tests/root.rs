//! A folder that stands for a machine is never left, and files change whole or not at all.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use ontick_machine::Root;

fn folder() -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::at(dir.path()).unwrap();
    (dir, root)
}

#[test]
fn links_stay_inside() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "out").unwrap();
    let (dir, root) = folder();
    fs::create_dir_all(dir.path().join("etc")).unwrap();
    fs::write(dir.path().join("etc/file"), "in").unwrap();
    symlink("/etc/file", dir.path().join("absolute")).unwrap();
    symlink("../../../etc/file", dir.path().join("etc/up")).unwrap();
    symlink(outside.path().join("secret"), dir.path().join("away")).unwrap();
    symlink("loop", dir.path().join("loop")).unwrap();
    assert_eq!(root.text("/absolute").unwrap(), "in");
    assert_eq!(root.text("/etc/up").unwrap(), "in");
    assert_eq!(root.text("/../../etc/file").unwrap(), "in");
    assert!(root.text("/away").is_err() && root.text("/loop").is_err());
    root.set("/absolute", "new").unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("etc/file")).unwrap(), "new");
    assert!(root.set("/away", "x").is_err());
    assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "out");
}

#[test]
fn a_replaced_file_keeps_its_mode_and_its_link() {
    let (dir, root) = folder();
    let place = dir.path().join("file");
    fs::write(&place, "old").unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("file", dir.path().join("link")).unwrap();
    // What a power cut left of an earlier attempt is no obstacle.
    fs::write(dir.path().join(".file.ontick-new"), "ha").unwrap();
    root.replace("/link", b"new").unwrap();
    assert_eq!(fs::read_to_string(&place).unwrap(), "new");
    assert_eq!(fs::metadata(&place).unwrap().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(dir.path().join("link")).unwrap().is_symlink());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    root.replace("/fresh", b"x").unwrap();
    assert_eq!(fs::metadata(dir.path().join("fresh")).unwrap().mode() & 0o777, 0o644);
}

/// A loader's file may hold passwords.
#[test]
fn the_copy_of_a_boot_file_keeps_its_mode() {
    let (dir, root) = folder();
    let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().mode() & 0o7777;
    for expected in [0o600, 0o640, 0o644, 0o755] {
        fs::write(dir.path().join("grub.cfg"), "old").unwrap();
        fs::set_permissions(dir.path().join("grub.cfg"), fs::Permissions::from_mode(expected)).unwrap();
        let copy = format!("/copy-{expected:o}");
        root.replace_like(&copy, b"old", Some("/grub.cfg")).unwrap();
        assert_eq!(mode(&copy[1..]), expected);
    }
    root.replace_like("/fresh", b"x", Some("/missing")).unwrap();
    assert_eq!(mode("fresh"), 0o644);
}

#[test]
fn values_go_only_into_what_is_there() {
    let (dir, root) = folder();
    assert!(root.set("/proc/sys/none", "1").is_err() && !dir.path().join("proc").exists());
    // A pipe in place of a file must not hold the program up.
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("pipe")).status().unwrap();
    assert!(made.success() && root.text("/pipe").is_err());
    assert!(Root::at(&dir.path().join("none")).is_err());
}

#[test]
fn patterns_name_files_in_the_order_people_count() {
    let (dir, root) = folder();
    for n in [10, 2, 0] {
        fs::create_dir_all(dir.path().join(format!("irq/{n}"))).unwrap();
        fs::write(dir.path().join(format!("irq/{n}/list")), "0").unwrap();
    }
    fs::create_dir_all(dir.path().join("irq/5")).unwrap();
    assert_eq!(root.matching("/irq/*/list"), ["/irq/0/list", "/irq/2/list", "/irq/10/list"]);
    assert_eq!(root.matching("/ir*q/1*0/list"), ["/irq/10/list"]);
    assert!(root.matching("/none/*/x").is_empty());
}
