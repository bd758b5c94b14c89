//! The whole round on this machine, as a new user goes it: check, plan, apply, prove, revert. Afterwards every
//! setting is, byte for byte, what it was; also when ontick was killed on the way.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use serde_json::Value;

use crate::settings::{AsBefore, Settings, difference, nobody_else_tunes, settings};
use crate::{alone_on_this_machine, has, may_tune, record, run, stderr, stdout};

const JOURNAL: &str = "/var/lib/ontick/tune.jsonl";

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(output)))
}

/// Knob, file and value of each change that the plan would make.
fn planned() -> Vec<[String; 3]> {
    let plan = json(&run(&["tune", "plan", "--json"]));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let items = plan["plan"]["items"].as_array().unwrap().iter().filter(|item| item["state"]["state"] == "change");
    items.map(|item| ["knob", "path", "wanted"].map(|key| text(&item[key]))).collect()
}

fn same(before: &Settings, when: &str) {
    let after = settings();
    assert!(*before == after, "{when}: {:?}", difference(before, &after));
}

#[test]
fn check_plan_apply_prove_revert() {
    let _alone = alone_on_this_machine();
    if !may_tune() || !nobody_else_tunes() {
        return;
    }
    let before = settings();
    let _as_before = AsBefore(before.clone());
    let checked = run(&["check", "--json"]);
    let bad = json(&checked)["findings"].as_array().unwrap().iter().any(|finding| finding["severity"] == "bad");
    assert_eq!(checked.status.code(), Some(i32::from(bad)), "{}", stderr(&checked));
    let wanted = planned();
    let shown = run(&["tune", "plan"]);
    assert!(shown.status.success() && wanted.iter().all(|[knob, ..]| stdout(&shown).contains(knob.as_str())));
    same(&before, "check and plan only look");
    if wanted.is_empty() {
        return ontick_skip::skipped!("this machine is as ontick wants it already");
    }

    let applied = run(&["tune", "apply", "--json"]);
    let done = json(&applied);
    let changes = done["applied"]["changes"].as_array().unwrap();
    assert_eq!(changes.len(), wanted.len());
    let refused = |c: &&Value| c["outcome"] != "done";
    assert_eq!(applied.status.code(), Some(i32::from(changes.iter().any(|c| refused(&c)))), "{done}");
    assert!(changes.len() > changes.iter().filter(refused).count(), "something can be changed: {done}");
    // What is still wanted is what was refused.
    let refused: Vec<&str> = changes.iter().filter(refused).map(|c| c["path"].as_str().unwrap()).collect();
    let open = planned();
    assert!(open.iter().all(|[_, path, _]| refused.contains(&path.as_str())), "{open:?} {refused:?}");
    // Without --isolate no task is touched.
    let journal = fs::read_to_string(JOURNAL).unwrap();
    assert!(!journal.contains("\"kind\":\"task\"") && !journal.contains("\"kind\":\"folder\""), "{journal}");

    let status = run(&["tune", "status", "--json"]);
    let standing = json(&status);
    let stands = standing["changes"].as_array().unwrap();
    assert!(!stands.is_empty() && stands.iter().all(|c| c["state"] == "as_set"), "{standing}");
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("report.html");
    let prove = ["prove", "--duration", "900ms", "--load", "none", "--json", "--html", html.to_str().unwrap()];
    let proved = record(&run(&prove));
    let tuned: Vec<&str> =
        proved["environment"]["tuned"].as_array().unwrap().iter().map(|k| k.as_str().unwrap()).collect();
    assert!(tuned.contains(&changes.iter().find(|c| c["outcome"] == "done").unwrap()["knob"].as_str().unwrap()));

    let reverted = run(&["tune", "revert"]);
    assert_eq!(reverted.status.code(), Some(0), "{}{}", stdout(&reverted), stderr(&reverted));
    same(&before, "reverted");
    let again = run(&["tune", "revert"]);
    assert!(again.status.success() && stdout(&again).contains("No change by ontick is in force"));
    assert!(!fs::exists("/var/lib/ontick").unwrap());
}

#[test]
fn prove_with_the_whole_plan_leaves_nothing() {
    let _alone = alone_on_this_machine();
    if !may_tune() || !nobody_else_tunes() {
        return;
    }
    let before = settings();
    let _as_before = AsBefore(before.clone());
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("report.html");
    let html = html.to_str().unwrap();
    let proved = record(&run(&["prove", "--tune", "--duration", "900ms", "--load", "none", "--json", "--html", html]));
    same(&before, "prove --tune");
    assert!(planned().is_empty() || proved["environment"]["tuned"].as_array().is_some_and(|knobs| !knobs.is_empty()));
}

/// A command of `ontick tune` that is killed when it waits for the disk for the nth time, which it does around
/// each change.
fn killed_at(n: u32, command: &[&str]) -> Output {
    let mut traced = Command::new("strace");
    traced.args(["-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", &format!("inject=fsync:signal=KILL:when={n}")]);
    traced.arg(env!("CARGO_BIN_EXE_ontick")).args(command).output().unwrap()
}

#[test]
fn a_kill_at_any_step_loses_nothing() {
    let _alone = alone_on_this_machine();
    if !has("strace") || !may_tune() || !nobody_else_tunes() {
        return;
    }
    let before = settings();
    let _as_before = AsBefore(before.clone());
    let mut kills = 0;
    for n in 1.. {
        // The first steps one by one, the rest of them, which are all alike, in strides.
        let at = if n < 8 { n } else { 8 + (n - 8) * 7 };
        let killed = killed_at(at, &["tune", "apply"]);
        let ended = killed.status.signal() != Some(9);
        kills += u32::from(!ended);
        // A revert that is killed, too, is no obstacle to the next.
        killed_at(1 + n % 2, &["tune", "revert"]);
        let reverted = run(&["tune", "revert"]);
        assert_eq!(reverted.status.code(), Some(0), "killed at {at}: {}{}", stdout(&reverted), stderr(&reverted));
        same(&before, &format!("killed at {at}"));
        if ended {
            break;
        }
    }
    assert!(kills > 2, "{kills}");
}

#[test]
fn only_one_ontick_changes_settings_at_a_time() {
    let _alone = alone_on_this_machine();
    if !may_tune() {
        return;
    }
    let before = settings();
    fs::create_dir("/var/lib/ontick").unwrap();
    let held = fs::File::create("/var/lib/ontick/.lock").unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let outputs = [run(&["tune", "apply", "stat-interval"]), run(&["tune", "revert"])];
    drop(held);
    fs::remove_dir_all("/var/lib/ontick").unwrap();
    for output in outputs {
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("another ontick is changing"), "{}", stderr(&output));
    }
    same(&before, "refused");
}
