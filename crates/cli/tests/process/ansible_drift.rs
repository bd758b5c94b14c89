//! What `ontick.fleet.drift` says of machines that are not as they were.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::ansible::{PROGRAM, STAT_INTERVAL};
use super::machines::{Fleet, top};
use super::{apart, has, stderr, stdout};

#[test]
fn machines_that_differ_are_in_the_report_whichever_are_looked_at() {
    let Some(fleet) = Fleet::managed(&["d-1", "d-2"]) else { return };
    // What another test changes on this machine would be drift of these.
    apart::beside();
    let folder = fleet.path("baselines");
    fleet.set("group_vars/all", json!({"ontick_program": PROGRAM, "ontick_drift_folder": folder}));
    let stored = fleet.play("drift", &["-e", "ontick_drift_store=true"]);
    assert!(stored.0.status.success(), "{}", stderr(&stored.0));
    let path = fleet.path("drift.json");
    let report = format!("ontick_report={}", path.display());
    let found = || {
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let differs = |of: &Value| of[0].as_str().is_some_and(|text| text.starts_with("finding memory-statistics"));

    let same = fleet.play("drift", &["-e", &report]);
    same.ends("d-1", [0, 0]);
    assert_eq!(found(), json!({"d-1": [], "d-2": []}));
    // One alone, without the controller.
    fleet.on("d-2", &format!("echo 10 >{STAT_INTERVAL}"));
    let alone = fleet.play("drift", &["--limit", "d-2", "-e", &report]);
    alone.ends("d-2", [0, 1]);
    alone.says("d-2 is not as its baseline has it: finding memory-statistics");
    let one = found();
    assert!(one["d-1"] == "not reached" && differs(&one["d-2"]), "{one}");
    // No machine is left.
    fleet.on("d-1", &format!("echo 10 >{STAT_INTERVAL}"));
    let all = fleet.play("drift", &["-e", &report]);
    all.ends("d-1", [0, 1]);
    all.ends("d-2", [0, 1]);
    let both = found();
    assert!(differs(&both["d-1"]) && differs(&both["d-2"]), "{both}");
    // Those that cannot look are in it, too, and say why.
    fleet.set("host_vars/d-1", json!({"ontick_drift_program": "/nowhere/ontick"}));
    fleet.set("host_vars/d-2", json!({"ansible_port": 1}));
    let broken = fleet.play("drift", &["-e", &report]);
    broken.ends("d-1", [0, 1]);
    broken.says("d-1: `ontick check --all --json` failed: ");
    broken.ends("d-2", [0, 1]);
    broken.says("d-2: it cannot be reached: ");
    assert_eq!(found(), json!({"d-1": "not reached", "d-2": "not reached"}));
}

/// What the filter says of two answers of `ontick check --all --json`, of one finding each.
fn between(before: &str, now: &str) -> String {
    let of = |observed: &str| {
        json!({"status": {"changes": []}, "check": {"findings": [
        {"id": "steal", "severity": "warn", "observed": observed}]}})
    };
    let script = "import json, sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1]); import ontick_drift; \
        print(json.dumps(ontick_drift.FilterModule().filters()['ontick_drift'](json.loads(sys.argv[3]), json.loads(sys.argv[2]))))";
    let plugins = top().join("deploy/ansible/plugins/filter");
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(plugins)
        .args([of(before).to_string(), of(now).to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output).trim().to_owned()
}

#[test]
fn figures_that_change_all_the_time_are_no_drift() {
    if !has("python3") {
        return;
    }
    assert_eq!(between("KVM, 0.08 % stolen since boot", "KVM, 0.09 % stolen since boot"), "[]");
    assert_eq!(between("throttled 3 since boot, 12% idle", "throttled 14 since boot, 12% idle"), "[]");
    let other = between("KVM, 0.08 % stolen since boot", "Xen, 0.09 % stolen since boot");
    let says = "finding steal: warn: Xen, 0.09 % stolen since boot; it was warn: KVM, 0.08 % stolen since boot";
    assert_eq!(other, format!("[\"{says}\"]"));
    assert_ne!(between("2 of 4 CPUs isolated", "3 of 4 CPUs isolated"), "[]");
}
