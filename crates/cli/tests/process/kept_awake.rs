//! A CPU that is kept from idling: a thread of `SCHED_IDLE` is there while it is asked for, and no longer.

use std::fs;
use std::process::Stdio;

use crate::gpio::json;
use crate::switch_user::descendants;
use crate::{Running, ontick, run, stderr, wait_until};

/// `SCHED_IDLE` of sched(7).
const IDLE: &str = "5";

/// Policies of these processes' threads that keep CPU 0 awake.
fn keepers(processes: &[i32]) -> Vec<String> {
    let mut policies = Vec::new();
    let threads = |process| fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    for task in processes.iter().flat_map(threads) {
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

/// Where there are no power states, that is what is said.
#[test]
fn a_measurement_says_out_of_which_power_states_the_cpus_were_kept() {
    let manages = fs::OpenOptions::new().write(true).open("/dev/cpu_dma_latency").is_ok();
    let words =
        ["latency", "timer", "--policy", "other", "--cpu", "any", "--count", "20", "--phase", "chance", "--json"];
    let asked = |more: &[&str]| json(&[&words[..], more].concat())["series"][0]["settings"].clone();
    for (more, us) in [
        (&[] as &[&str], Some(0)),
        (&["--stock"], None),
        (&["--wake-within", "off"], None),
        (&["--stock", "--wake-within", "70us"], Some(70)),
    ] {
        let settings = asked(more);
        let held = settings.get("wake_within_ns").and_then(serde_json::Value::as_u64);
        let refused = settings["refused"].to_string();
        match us {
            Some(us) if manages => assert_eq!(held, Some(us * 1_000), "{more:?}: {settings}"),
            Some(us) => assert!(refused.contains(&format!("power-state latency {us} us")), "{more:?}: {settings}"),
            None => assert!(held.is_none() && !refused.contains("power-state"), "{more:?}: {settings}"),
        }
    }
}

#[test]
fn a_program_has_a_cpu_that_does_not_idle() {
    let mut command = ontick(&["run", "--policy", "other", "--cpu", "0", "--keep-awake", "--", "sleep", "60"]);
    let running = Running(command.stdout(Stdio::null()).spawn().unwrap());
    let process = running.0.id() as i32;
    // Whoever works for it keeps the CPU awake, and there is one.
    let all = || [&[process][..], &descendants(process)].concat();
    let works = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n");
    wait_until("the program", || all().iter().any(works));
    let all = all();
    wait_until("the thread that keeps the CPU awake", || keepers(&all) == [IDLE]);
    // Killed, with no chance to end anything.
    drop(running);
    wait_until("its end", || keepers(&all).is_empty());
    for (words, why) in [(["--cpu", "any"], "name it with --cpu"), (["--cpu=0", "--isolate"], "--isolate")] {
        let output = run(&[&["run", "--policy", "other", "--keep-awake"], &words[..], &["--", "true"]].concat());
        assert!(output.status.code() == Some(2) && stderr(&output).contains(why), "{}", stderr(&output));
    }
}
