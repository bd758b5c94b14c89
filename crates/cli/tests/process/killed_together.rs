//! A command is killed together with its guardian, as a service manager does: nobody is left who would put anything back,
//! until the next one starts.

use std::process::Stdio;

use rustix::process::{Pid, Signal};

use crate::switch_user::descendants;
use crate::tune::settings;
use crate::{Restored, Running, alone_on_this_machine, may_tune, ontick, run, runs, stderr, wait_until};

const JOURNAL: &str = "/var/lib/ontick/tune.jsonl";
/// What it sets them to.
const WANTED: [&str; 2] = ["10\n", "0\n"];
const PROVE: [&str; 5] = ["prove", "--tune=stat-interval,timer-migration", "--load", "none", "--duration"];

/// What is there before, if a proof may change all of it, and does.
fn settings_to_change() -> Option<Vec<String>> {
    let before = may_tune().then(settings)?;
    if before.iter().zip(WANTED).any(|(before, wanted)| before == wanted) {
        ontick_skip::skipped!("this machine is as ontick wants it already");
        return None;
    }
    Some(before)
}

/// All at one time: none of them sees the end of another.
fn kill_together(child: &mut Running) {
    let pid = child.0.id() as i32;
    let all = [&[pid][..], &descendants(pid)].concat();
    assert!(all.len() > 1, "there is a guardian");
    let name = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    let names: Vec<String> = all.iter().map(name).collect();
    assert!(names.iter().all(|name| name == "ontick\n"), "{names:?}");
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in all.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            rustix::process::kill_process(pid, signal).unwrap();
        }
    }
    child.0.wait().unwrap();
    wait_until("their end", || all.iter().all(|pid| !runs(*pid)));
}

/// A proof that has changed its settings, and is killed with its guardian.
fn prove_until_killed(html: &str) {
    let mut prove = ontick(&[&PROVE[..], &["1h", "--html", html]].concat());
    let mut prove = Running(prove.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    wait_until("changed settings", || settings() == WANTED);
    kill_together(&mut prove);
    assert_eq!(settings(), WANTED);
    assert!(std::fs::exists(JOURNAL).unwrap());
}

#[test]
fn the_next_proof_restores_what_was_there_and_says_so() {
    let _alone = alone_on_this_machine();
    let Some(before) = settings_to_change() else { return };
    let _as_before = Restored;
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("report.html").display().to_string();
    prove_until_killed(&html);
    let next = run(&[&PROVE[..], &["2s", "--html", &html]].concat());
    assert!(next.status.code().is_some_and(|code| code < 2), "{}", stderr(&next));
    let said = "settings that a killed command left are put back: /proc/sys/kernel/timer_migration, /proc/sys/vm/stat_interval\n";
    assert!(stderr(&next).contains(said), "{}", stderr(&next));
    // Had they been taken for what was there before, they would be again now.
    assert_eq!(settings(), before);
    assert!(!std::fs::exists(JOURNAL).unwrap());
}

/// Else what was left would pass for something that the apply found as it wants it, and would go back with the next command.
#[test]
fn the_next_apply_restores_what_was_there_before_it_begins() {
    let _alone = alone_on_this_machine();
    let Some(before) = settings_to_change() else { return };
    let _as_before = Restored;
    let folder = tempfile::tempdir().unwrap();
    prove_until_killed(&folder.path().join("report.html").display().to_string());
    let applied = run(&["tune", "apply", "stat-interval"]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    assert!(stderr(&applied).contains("settings that a killed command left are put back"), "{}", stderr(&applied));
    assert_eq!(settings(), [WANTED[0], &before[1]]);
    // What stands now was asked for to stay: the next command does not take it for what was left.
    let refused = run(&[&PROVE[..], &["2s", "--html", &folder.path().join("r.html").display().to_string()]].concat());
    assert!(stderr(&refused).contains("still in force"), "{}", stderr(&refused));
    assert!(run(&["tune", "revert"]).status.success());
    assert_eq!(settings(), before);
}

#[test]
fn the_next_revert_restores_what_was_there_and_says_so() {
    let _alone = alone_on_this_machine();
    let Some(before) = settings_to_change() else { return };
    let _as_before = Restored;
    let folder = tempfile::tempdir().unwrap();
    prove_until_killed(&folder.path().join("report.html").display().to_string());
    let reverted = run(&["tune", "revert"]);
    let said = crate::stdout(&reverted);
    assert!(reverted.status.success(), "{said}{}", stderr(&reverted));
    for path in ["/proc/sys/kernel/timer_migration", "/proc/sys/vm/stat_interval"] {
        assert!(said.contains(path), "{said}");
    }
    assert_eq!(settings(), before);
    assert!(!std::fs::exists(JOURNAL).unwrap());
}
