//! A load ends with the run, however that ends.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::process::Signal;

use crate::{ontick, runs, send, stdout, wait_until};

/// A measurement beside a load of two processes that ignore being asked kindly; their ids are in the files.
fn measure_under_stubborn_load(folder: &Path) -> (Child, Vec<PathBuf>) {
    let (leader, member) = (folder.join("leader"), folder.join("member"));
    let script = format!(
        "trap '' TERM INT HUP; (echo $(exec sh -c 'echo $PPID') > {m}; while :; do sleep 1; done) & echo $$ > {l}; wait",
        m = member.display(),
        l = leader.display()
    );
    let load = format!("cmd:sh -c {}", shell_quoted(&script));
    let child = ontick(&["latency", "timer", "--duration", "1h", "--load", &load])
        .env("TMPDIR", folder.join("tmp"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    (child, vec![leader, member])
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn pid(file: &Path) -> Option<i32> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[test]
fn it_ends_on_ctrl_c_and_on_kill() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        let (mut child, files) = measure_under_stubborn_load(folder.path());
        wait_until("the load", || files.iter().all(|file| pid(file).is_some_and(runs)));
        let pids: Vec<i32> = files.iter().filter_map(|file| pid(file)).collect();
        send(child.id(), signal);
        let status = child.wait().unwrap();
        let as_asked = match signal {
            Signal::KILL => status.signal() == Some(Signal::KILL.as_raw()),
            // Ended while the load settled, it has measured nothing.
            _ => status.success() || status.code() == Some(2),
        };
        assert!(as_asked, "{signal:?}: {status}");
        for pid in pids {
            wait_until("the load's end", || !runs(pid));
        }
        let left = || fs::read_dir(folder.path().join("tmp")).unwrap().count();
        wait_until("the end of the load's folder", || left() == 0);
    }
}

/// What was in time without the load may not be beside it.
#[test]
fn nothing_is_proven_by_a_load_that_ended_too_soon() {
    let folder = tempfile::tempdir().unwrap();
    let mut prove = ontick(&["prove", "--duration", "6s", "--load", "cmd:sleep 2", "--require", "missed <= 100000"]);
    let output = prove.args(["--junit", "proof.xml"]).current_dir(folder.path()).output().unwrap();
    let (said, text) = (stdout(&output), fs::read_to_string(folder.path().join("proof.xml")).unwrap());
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("not proven") && said.contains("the load was not there to the end"), "{said}");
    assert!(!said.contains("under load"), "{said}");
    assert!(text.contains(r#"failures="0" errors="1""#), "{text}");
}

/// There is no moment between the load's start and its guard's.
#[test]
fn it_ends_also_when_its_first_act_is_to_kill_the_program() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tmp")).unwrap();
    let file = folder.path().join("pid");
    let script = format!("echo $$ > {}; kill -9 $PPID; while :; do sleep 1; done", file.display());
    let load = format!("cmd:sh -c {}", shell_quoted(&script));
    let mut measuring = ontick(&["latency", "timer", "--duration", "1h", "--load", &load]);
    let status = measuring.env("TMPDIR", folder.path().join("tmp")).stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    let load = pid(&file).expect("the load wrote its id before");
    wait_until("the load's end", || !runs(load));
    wait_until("the end of the load's folder", || fs::read_dir(folder.path().join("tmp")).unwrap().count() == 0);
}
