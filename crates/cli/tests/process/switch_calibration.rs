//! What was measured of a data plane, and what is given in its place: the same file for all who reckon with it.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::switch_proof::turn;
use crate::{ontick, stderr, stdout};

const NETWORK: &str = r#"
switch = [{ name = "s1" }]
station = [{ name = "a" }, { name = "b" }]
link = [{ between = ["a", "s1"], ports = ["eth0", "none0"] }, { between = ["s1", "b"], ports = ["none1", "eth0"] }]
stream = [{ name = "setpoint", from = "a", to = "b", size = 100, period = "1ms" }]
"#;

fn at(folder: &Path, words: &[&str]) -> Output {
    ontick(&[]).current_dir(folder).args(words).output().unwrap()
}

/// One sentence, and nothing else.
fn fails(folder: &Path, words: &[&str], with: &[&str]) {
    let output = at(folder, words);
    let said = stderr(&output);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{words:?}: {said}");
    assert!(said.starts_with("ontick: ") && said.trim_end().lines().count() == 1, "{words:?}: {said}");
    with.iter().for_each(|part| assert!(said.contains(part), "{words:?} lacks \"{part}\": {said}"));
}

fn calibration(plane: &str, hand_over_ns: &str, spacing_ns: &str) -> String {
    format!(
        r#"{{"ontick_calibration": 1, "plane": "{plane}", "timing": {{"hand_over_ns": {hand_over_ns}, "spread_ns": 300,
        "spacing_ns": {spacing_ns}, "guard_ns": 500, "clock_error_ns": 100, "forwarding_ns": 5000}}}}"#
    )
}

/// A network with its plan for the user data plane, and measurements.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    file("network.toml", NETWORK);
    file("quick.json", &calibration("user", "700", "2000"));
    file("slow.json", &calibration("user", "9000", "2000"));
    file("kernel.json", &calibration("kernel", "700", "2000"));
    file("spaced.json", &calibration("user", "700", "30000"));
    file("negative.json", &calibration("user", "700", "-1"));
    file("long.json", &calibration("user", "700", "1000000001"));
    file("text.json", "spacing: 3us");
    file("huge.json", &" ".repeat((64 << 10) + 1));
    let words = ["network", "plan", "network.toml", "--target", "user", "--nodes", "nodes", "--out", "plan.json"];
    let planned = at(folder.path(), &words);
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    folder
}

#[test]
fn a_spacing_that_no_data_plane_has_is_refused() {
    let folder = prepared();
    let with = |spacing: &str, words: &[&str]| {
        fails(folder.path(), &["network", "plan", "network.toml", "--target", "user", "--spacing", spacing], words);
        fails(folder.path(), &["network", "validate", "network.toml", "plan.json", "--spacing", spacing], words);
    };
    with("3", &["unit"]);
    with("soon", &["soon"]);
    with("2s", &["longer than a second"]);
    for (file, words) in [
        ("negative.json", &["negative.json: no calibration of ontick", "-1"][..]),
        ("long.json", &["long.json", "longer than a second"]),
        ("text.json", &["text.json: no calibration of ontick"]),
        ("huge.json", &["longer than 64 KiB"]),
        ("absent.json", &["absent.json"]),
    ] {
        for command in [
            &["network", "plan", "network.toml"][..],
            &["network", "validate", "network.toml", "plan.json"],
            &["switch", "check"],
        ] {
            fails(folder.path(), &[command, &["--calibration", file]].concat(), words);
        }
    }
}

/// Whatever a data plane needs from one frame to the next: windows have it, or there is a proof that none has.
#[test]
fn a_spacing_above_the_margin_is_planned_with_and_holds() {
    let folder = prepared();
    let more = NETWORK
        .replace("stream = [", r#"stream = [{ name = "other", from = "a", to = "b", size = 60, period = "1ms" }, "#);
    fs::write(folder.path().join("network.toml"), more).unwrap();
    let planned =
        at(folder.path(), &["network", "plan", "network.toml", "--calibration", "spaced.json", "--out", "plan.json"]);
    assert_eq!(planned.status.code(), Some(0), "{}", stdout(&planned));
    let validated =
        |file: &str| at(folder.path(), &["network", "validate", "network.toml", "plan.json", "--calibration", file]);
    assert_eq!(validated("spaced.json").status.code(), Some(0), "{}", stdout(&validated("spaced.json")));
    // What was planned for another spacing is late.
    let quick =
        at(folder.path(), &["network", "plan", "network.toml", "--calibration", "quick.json", "--out", "plan.json"]);
    assert_eq!(quick.status.code(), Some(0), "{}", stdout(&quick));
    assert_eq!(validated("quick.json").status.code(), Some(0));
    assert_eq!(validated("spaced.json").status.code(), Some(1), "{}", stdout(&validated("spaced.json")));
    let never = at(folder.path(), &["network", "plan", "network.toml", "--target", "user", "--spacing", "600us"]);
    assert_eq!(never.status.code(), Some(1));
    let said = stdout(&never).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("120.0 % of its time (the data plane begins a frame every 600us at most)"), "{said}");
}

/// `apply`, `run` and `plan` of one switch hold its windows against what was measured, before anything is changed.
#[test]
fn apply_and_run_hold_windows_against_a_calibration() {
    let Some(_turn) = turn() else { return };
    let folder = prepared();
    let state = folder.path().join("state").display().to_string();
    let with = |command: &'static str, file: &'static str| match command {
        "plan" => vec!["switch", command, "nodes/s1.toml", "--calibration", file],
        _ => vec!["switch", command, "nodes/s1.toml", "--calibration", file, "--state", &state],
    };
    for command in ["apply", "run", "plan"] {
        let fails = |file, parts: &[&str]| fails(folder.path(), &with(command, file), parts);
        fails("slow.json", &["none1 window of scheduled-7: 4.636us at most, and it needs 10.936us", "(measured)"]);
        fails(
            "kernel.json",
            &["kernel.json: it is of a kernel data plane, and nothing of switch s1 is carried by one"],
        );
        fails("text.json", &["text.json: no calibration of ontick"]);
        // Long enough for that one: what is missing then are the ports.
        fails("quick.json", &["none0"]);
    }
}
