//! A CPU that is kept from idling: a thread of `SCHED_IDLE` is there while it is asked for, and no longer.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::gpio::json;
use crate::{Running, ontick, run, stderr, wait_until};

/// `SCHED_IDLE` of sched(7).
const IDLE: &str = "5";

/// Policies of a process's threads that keep CPU 0 awake.
fn keepers(process: u32) -> Vec<String> {
    let mut policies = Vec::new();
    for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        if read("comm").trim() == "awake-0" {
            // Field 41 of proc(5), counted behind the name.
            let stat = read("stat");
            let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split_whitespace().nth(38));
            policies.extend(fields.flatten().map(str::to_owned));
        }
    }
    policies
}

#[test]
fn a_measurement_says_that_its_cpu_was_kept_awake() {
    let words = |more: &'static [&'static str]| {
        let all = ["latency", "timer", "--policy", "other", "--cpu", "0", "--count", "50", "--phase", "chance"];
        let awake = json(&[&all, more, &["--json"]].concat());
        awake["series"][0]["settings"].clone()
    };
    assert_eq!(words(&["--keep-awake"])["kept_awake"], true);
    assert!(words(&[]).get("kept_awake").is_none());
    // Nothing is kept where no CPU is named, and that is said.
    let refused =
        json(&["latency", "timer", "--policy", "other", "--cpu", "any", "--count", "50", "--keep-awake", "--json"]);
    let refused = &refused["series"][0]["settings"]["refused"];
    assert!(refused.to_string().contains("a CPU kept awake"), "{refused}");
}

#[test]
fn a_program_has_a_cpu_that_does_not_idle() {
    let mut command = ontick(&["run", "--policy", "other", "--cpu", "0", "--keep-awake", "--", "sleep", "60"]);
    let running = Running(command.stdout(Stdio::null()).spawn().unwrap());
    let process = running.0.id();
    wait_until("the thread that keeps the CPU awake", || keepers(process) == [IDLE]);
    drop(running);
    assert!(!Path::new(&format!("/proc/{process}/task")).exists() || keepers(process).is_empty());
    for (words, why) in [(["--cpu", "any"], "name it with --cpu"), (["--cpu=0", "--isolate"], "--isolate")] {
        let output = run(&[&["run", "--policy", "other", "--keep-awake"], &words[..], &["--", "true"]].concat());
        assert!(output.status.code() == Some(2) && stderr(&output).contains(why), "{}", stderr(&output));
    }
}
