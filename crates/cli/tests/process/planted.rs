//! Root writes files in a folder that everyone may write, where another user put links and pipes in their place.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::Path;
use std::process::{Command, Output};

use rustix::fs::{CWD, FileType, Mode};

use crate::{has, ontick, run, stderr};

const OTHER: u32 = 65534;
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/tests/fixtures/cyclictest.hist");

/// Every way to name a file that is written; FILE stands for its name.
const WRITERS: [&[&str]; 10] = [
    &["report", RECORD, "--html", "FILE"],
    &["report", RECORD, "--svg", "FILE"],
    &["report", RECORD, "--png", "FILE"],
    &["compare", RECORD, RECORD, "--html", "FILE"],
    &["import", RECORD, "--to", "FILE"],
    &["latency", "timer", "--count", "5", "--record", "FILE"],
    &["latency", "timer", "--count", "5", "--html", "FILE"],
    &["sample", "--source", "wave:sine,50Hz", "--rate", "1kHz", "--count", "5", "--to", "file:FILE"],
    &["prove", "--duration", "1s", "--html", "FILE"],
    &["prove", "--duration", "1s", "--record", "FILE"],
];

fn written(arguments: &[&str], file: &Path) -> Output {
    let file = file.to_str().unwrap();
    let arguments: Vec<String> = arguments.iter().map(|argument| argument.replace("FILE", file)).collect();
    let program = env!("CARGO_BIN_EXE_ontick");
    // A pipe without a reader must not be waited for.
    Command::new("timeout").args(["-s", "KILL", "60", program]).args(arguments).output().unwrap()
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        ontick_skip::skipped!("root is needed to make files of another user");
    }
    root
}

#[test]
fn root_writes_through_nothing_that_another_user_planted() {
    if !is_root() {
        return;
    }
    let (shared, victims) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let victim = victims.path().join("shadow");
    fs::write(&victim, "root:*:").unwrap();
    let (link, new, pipe) = (shared.path().join("link"), shared.path().join("new"), shared.path().join("pipe"));
    symlink(&victim, &link).unwrap();
    symlink(victims.path().join("cron"), &new).unwrap();
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    for planted in [&link, &new, &pipe] {
        lchown(planted, Some(OTHER), None).unwrap();
        for arguments in WRITERS {
            let output = written(arguments, planted);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{arguments:?} {planted:?}: {said}");
            let name = planted.to_str().unwrap();
            assert!(said.contains(name) && !said.contains("panicked"), "{arguments:?}: {said}");
        }
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "root:*:");
    assert_eq!(fs::read_dir(victims.path()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(shared.path()).unwrap().count(), 3, "nothing else may stay");
}

/// Every way to name a folder that files are written into; FILE stands for its name.
const WRITERS_INTO_FOLDERS: [&[&str]; 6] = [
    &["network", "plan", NETWORK, "--target", "user", "--nodes", "FILE"],
    &["network", "time", "config", "TIMED", "--node", "a", "--time-stamping", "software", "--out", "FILE"],
    &["baseline", "save", "FILE", RECORD],
    &["watch", "--duration", "1s", "--quiet", "--state", "FILE"],
    &["latency", "timer", "--count", "5", "--record", "FILE/run.json"],
    &["report", RECORD, "--html", "FILE/page.html"],
];
const NETWORK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../network/examples/four_switches.toml");

#[test]
fn root_writes_into_no_folder_that_another_user_planted() {
    if !is_root() {
        return;
    }
    let (shared, victims) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let timed = victims.path().join("network.toml");
    fs::write(&timed, crate::network_time::NETWORK).unwrap();
    fs::create_dir(victims.path().join("etc")).unwrap();
    let at = |name: &str| shared.path().join(name);
    symlink(victims.path().join("etc"), at("link")).unwrap();
    symlink(victims.path().join("etc/new"), at("new")).unwrap();
    symlink("link", at("own")).unwrap();
    for planted in ["link", "new"] {
        lchown(at(planted), Some(OTHER), None).unwrap();
    }
    for (named, at_fault) in [("link", "link"), ("new", "new"), ("own", "link"), ("link/below", "link")] {
        for arguments in WRITERS_INTO_FOLDERS {
            let arguments: Vec<&str> = arguments
                .iter()
                .map(|argument| if *argument == "TIMED" { timed.to_str().unwrap() } else { argument })
                .collect();
            let output = written(&arguments, &at(named));
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{arguments:?} {named}: {said}");
            let whose = format!("{} belongs to user {OTHER}", at(at_fault).display());
            assert!(said.contains(&whose), "{arguments:?} {named}: {said}");
            assert_eq!(fs::read_dir(victims.path().join("etc")).unwrap().count(), 0, "{arguments:?} {named}");
        }
    }
    assert_eq!(fs::read_dir(shared.path()).unwrap().count(), 3, "nothing else may stay");
}

#[test]
fn prove_writes_its_report_through_no_planted_link() {
    if !is_root() {
        return;
    }
    let (shared, victims) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let link = shared.path().join("ontick-report.html");
    symlink(victims.path().join("cron"), &link).unwrap();
    lchown(&link, Some(OTHER), None).unwrap();
    let output = ontick(&["prove", "--duration", "1s"]).current_dir(shared.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("belongs to user 65534"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(victims.path()).unwrap().count(), 0);
}

#[test]
fn the_owner_of_a_link_writes_through_it() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("1.html"), folder.path().join("latest.html"));
    symlink("1.html", &link).unwrap();
    let output = run(&["report", RECORD, "--html", link.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(fs::read_to_string(&target).unwrap().starts_with("<!DOCTYPE"));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn the_folder_is_synced_once_the_file_has_its_name() {
    if !has("strace") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, trace) = (folder.path().join("run.json"), folder.path().join("trace"));
    let calls = ["strace", "-f", "-y", "-e", "trace=fsync,rename,renameat,renameat2", "-o", trace.to_str().unwrap()];
    let output = Command::new(calls[0])
        .args(&calls[1..])
        .arg(env!("CARGO_BIN_EXE_ontick"))
        .args(["import", RECORD, "--to", file.to_str().unwrap()])
        .output()
        .unwrap();
    if stderr(&output).contains("ptrace") {
        ontick_skip::skipped!("{}", stderr(&output));
        return;
    }
    assert!(output.status.success(), "{}", stderr(&output));
    let trace = fs::read_to_string(&trace).unwrap();
    let calls: Vec<&str> = trace.lines().filter(|line| line.contains("fsync(") || line.contains("rename")).collect();
    let folder = format!("{}>)", folder.path().display());
    let order: Vec<bool> = calls.iter().map(|call| call.contains(&folder)).collect();
    assert_eq!(order, [false, false, true], "the file, its name, its folder: {trace}");
    assert!(calls[0].contains(".new>)") && calls[1].contains("rename"), "{trace}");
}

/// Another user's programs, under names that ontick starts, which leave a mark where they run.
fn programs_of_another() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("obeyed");
    for name in ["ip", "tc", "bridge", "ethtool", "unshare", "modprobe", "sh", "ptp4l", "pmc", "stress-ng", "vcgencmd"]
    {
        let file = folder.path().join(name);
        fs::write(&file, format!("#!/bin/sh\necho {name} \"$@\" >> {}\n", mark.display())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    chown(folder.path(), Some(OTHER), None).unwrap();
    (folder, mark)
}

#[test]
fn root_obeys_no_program_that_another_user_put_into_its_path() {
    if !is_root() || !has("ip") || !has("tc") {
        return;
    }
    let (planted, mark) = programs_of_another();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cell.toml").display().to_string();
    let ports = "[[port]]\nname = \"left\"\n[[port]]\nname = \"right\"\n";
    fs::write(&file, format!("[switch]\nname = \"cell\"\n[[class]]\nname = \"all\"\nqueue = 0\n{ports}")).unwrap();
    let before = std::env::var("PATH").unwrap();
    let first = format!("{}:{before}", planted.path().display());
    for words in [
        &["switch", "plan", &file, "--plane", "kernel"][..],
        &["switch", "check", &file],
        &["switch", "demo", "--duration", "50ms"],
        &["check"],
        &["latency", "timer", "--count", "20", "--load", "cpu", "--policy", "other", "--cpu", "any"],
    ] {
        let output = ontick(words).current_dir(&folder).env("PATH", &first).env("TC_LIB_DIR", planted.path()).output();
        assert!(!mark.exists(), "{words:?}: {}{}", fs::read_to_string(&mark).unwrap(), stderr(&output.unwrap()));
    }
    let refused = ontick(&["switch", "demo", "--duration", "50ms"]).env("PATH", planted.path()).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    let whose = format!("{} belongs to another user than root (uid {OTHER})", planted.path().display());
    assert!(stderr(&refused).contains(&whose) && stderr(&refused).trim().lines().count() == 1, "{}", stderr(&refused));
    assert!(!mark.exists());
}
