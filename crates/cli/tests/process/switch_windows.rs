//! What the planner writes, the user data plane carries: real frames through planned windows.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::switch_proof::turn;
use crate::{ontick, stderr, stdout};

/// Two switches in a row, and a message of 100 octets through both.
const NETWORK: &str = r#"
switch = [{ name = "s1" }, { name = "s2" }]
station = [{ name = "a" }, { name = "b" }]
link = [
  { between = ["a", "s1"], ports = ["eth0", "p2"] },
  { between = ["s1", "s2"], ports = ["p3", "p1"] },
  { between = ["s2", "b"], ports = ["p2", "eth0"] },
]
stream = [{ name = "setpoint", from = "a", to = "b", size = 100, period = "1ms" }]
"#;

fn at(folder: &Path, words: &[&str]) -> Output {
    ontick(&[]).current_dir(folder).args(words).output().unwrap()
}

fn planned(more: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("network.toml"), NETWORK).unwrap();
    let words = [&["network", "plan", "network.toml", "--nodes", "nodes"], more].concat();
    let output = at(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    folder
}

/// A thousand cycles through a switch, with two frames in each.
fn verified(folder: &TempDir, file: &str, from: &str, to: &str) -> Value {
    let words = ["switch", "verify", file, "--from", from, "--to", to, "--size", "118", "--plane", "user"];
    let more = ["--rate", "1000", "--duration", "1s", "--without-gates", "0s", "--json"];
    let output = at(folder.path(), &[&words[..], &more].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("--json prints a record")
}

/// The figures of the scheduled class: sent, received, dropped, outside its window.
fn scheduled(record: &Value) -> [u64; 4] {
    let classes = record["switch"]["trials"][0]["classes"].as_array().unwrap();
    let class = classes.iter().find(|class| class["name"] == "scheduled-7").unwrap();
    ["sent", "received", "dropped", "outside"].map(|of| class[of].as_u64().unwrap())
}

#[test]
fn what_is_planned_for_the_user_plane_is_carried_with_real_frames() {
    let Some(_turn) = turn() else { return };
    let folder = planned(&["--target", "user"]);
    for (file, from, to) in [("nodes/s1.toml", "p2", "p3"), ("nodes/s2.toml", "p1", "p2")] {
        let record = verified(&folder, file, from, to);
        let [sent, received, dropped, outside] = scheduled(&record);
        assert!(sent > 0 && received > 0, "{record}");
        // How soon they come is the machine's affair; what does not come is counted, and never for want of a window.
        let trial = &record["switch"]["trials"][0];
        let elsewhere: u64 =
            trial["elsewhere"].as_array().unwrap().iter().map(|lost| lost["frames"].as_u64().unwrap()).sum();
        assert!(sent <= received + dropped + elsewhere, "{trial}");
        assert!(!record["notes"].to_string().contains("no window long enough"), "{}", record["notes"]);
        let reported: u64 =
            trial["violations"].as_array().unwrap().iter().map(|one| one["frames"].as_u64().unwrap()).sum();
        assert!(outside <= reported + trial["more_violations"].as_u64().unwrap(), "{trial}");
    }
}

/// Windows that are exactly as long as their message carry nothing here, which is said before and after.
#[test]
fn windows_that_carry_nothing_are_reported_with_the_reason() {
    let Some(_turn) = turn() else { return };
    let folder = planned(&[]);
    let record = verified(&folder, "nodes/s1.toml", "p2", "p3");
    let [sent, received, dropped, _] = scheduled(&record);
    assert!(sent > 0 && received == 0 && dropped == sent, "{record}");
    let notes = record["notes"].to_string();
    assert!(notes.contains(&format!("dropped of scheduled-7: {dropped} no window long enough")), "{notes}");
    // Nothing that would lose every frame of a class is set up.
    let file = folder.path().join("nodes/s1.toml");
    let refused = at(folder.path(), &["switch", "plan", file.to_str().unwrap(), "--plane", "user"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
    let said = stderr(&refused);
    assert!(said.contains("p3 window of scheduled-7: 1.136us at most, and it needs 4.636us"), "{said}");
    assert!(said.contains("plan for the user data plane"), "{said}");
}

/// Whether `here.json` was written: a machine that is too busy for a hundred openings in that time says so.
fn calibrated(folder: &TempDir, duration: &str) -> bool {
    let words = ["switch", "calibrate", "--duration", duration, "--share", "90%", "--out", "here.json"];
    let output = at(folder.path(), &words);
    let done = output.status.success();
    assert!(done || stderr(&output).contains("measure for longer"), "{}", stderr(&output));
    done
}

/// What is measured on the machine is what plans are made with.
#[test]
fn a_calibration_is_measured_written_and_planned_with() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().unwrap();
    if !["1s", "5s", "20s"].iter().any(|duration| calibrated(&folder, duration)) {
        return ontick_skip::skipped!("frames waited for fewer than a hundred openings in 20 s");
    }
    let measured: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("here.json")).unwrap()).unwrap();
    let timing = |of: &str| measured["timing"][of].as_u64().unwrap();
    assert_eq!((&measured["plane"], &measured["ontick_calibration"]), (&"user".into(), &1.into()));
    // Each is a share of what was seen of its own: on a busy machine one may be longer than the other that has it in it.
    assert!(timing("hand_over_ns") > 0 && timing("forwarding_ns") > 0, "{measured}");
    fs::write(folder.path().join("network.toml"), NETWORK).unwrap();
    let planned = at(folder.path(), &["network", "plan", "network.toml", "--calibration", "here.json"]);
    assert!(stdout(&planned).contains("(measured, here.json)"), "{}", stdout(&planned));
}
