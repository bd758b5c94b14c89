//! A real-time thread of somebody else on the measured CPU is not the machine's fault, and the result says so.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Running, alone_on_this_machine, has, ontick, record, run, stderr, stdout, wait_until};

/// The last CPU that may be used, if it is not the only one.
fn one_of_several() -> Option<String> {
    let allowed = ontick_rt::cpus::allowed();
    (allowed.len() > 1).then(|| allowed[allowed.len() - 1].to_string())
}

/// A thread of real-time policy that is pinned to this CPU, so that it can be found before anything runs there.
fn is_pinned_there(cpu: &str) -> bool {
    let found = record(&run(&["latency", "timer", "--count", "5", "--json"]));
    found["series"][0]["settings"]["cpu"].as_u64().is_some_and(|chosen| chosen.to_string() != cpu)
}

fn rivals(run: &Value) -> &[Value] {
    run["series"][0]["conditions"]["rivals"].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn a_rival_is_not_measured_as_the_machines_fault() {
    let _alone = alone_on_this_machine();
    let Some(cpu) = one_of_several() else { return ontick_skip::skipped!("one CPU") };
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("report.html").display().to_string();
    let timer = ["latency", "timer", "--cpu", &cpu, "--interval", "500us"];
    let alone = record(&run(&[&timer[..], &["--count", "200", "--json"]].concat()));
    if alone["series"][0]["settings"]["policy"] != "fifo:99" {
        return ontick_skip::skipped!("no permission for real-time scheduling");
    }
    assert_eq!(rivals(&alone), &[] as &[Value]);
    let first = ontick(&[&timer[..], &["--duration", "10min"]].concat()).stdout(Stdio::null()).spawn();
    let first = Running(first.unwrap());
    wait_until("the other one to run on its CPU", || is_pinned_there(&cpu));

    let both = run(&[&timer[..], &["--duration", "1s", "--json", "--html", &html]].concat());
    let both_record = record(&both);
    let rival = &rivals(&both_record)[0];
    assert_eq!(rival["pid"].as_u64(), Some(first.0.id().into()), "{rival}");
    assert!(rival["ran_ns"].as_u64() > Some(1_000_000) && rival["policy"] == "fifo:99", "{rival}");
    let report = std::fs::read_to_string(&html).unwrap();
    let sentence = format!("contended: the real-time thread {}", rival["thread"].as_str().unwrap());
    assert!(report.contains(&sentence), "the page shows it");
    let shown = run(&[&timer[..], &["--duration", "1s"]].concat());
    assert!(stderr(&shown).contains("is not for this measurement alone"), "{}", stderr(&shown));
    let text = stdout(&shown);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&sentence), "{text}");
}

/// One that claims nothing, because it is not ontick's.
#[test]
fn the_choice_of_a_cpu_avoids_others_real_time_threads() {
    let _alone = alone_on_this_machine();
    if !has("stress-ng") {
        return;
    }
    if one_of_several().is_none() {
        return ontick_skip::skipped!("one CPU");
    }
    let chosen = |run: &Value| run["series"][0]["settings"]["cpu"].as_u64().unwrap();
    let before = record(&run(&["latency", "timer", "--count", "5", "--json"]));
    if before["series"][0]["settings"]["policy"] != "fifo:99" {
        return ontick_skip::skipped!("no permission for real-time scheduling");
    }
    let cpu = chosen(&before).to_string();
    let load =
        ["--cpu", "1", "--cpu-load", "10", "--taskset", &cpu, "--sched", "fifo", "--sched-prio", "40", "-t", "2m"];
    let other = Command::new("stress-ng").args(load).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let _other = Running(other.unwrap());
    wait_until("another CPU to be chosen", || is_pinned_there(&cpu));
    let beside = record(&run(&["latency", "timer", "--count", "5", "--json"]));
    let why = beside["facts"].to_string();
    assert!(why.contains("real-time thread already, that of stress-ng"), "{why}");
}
