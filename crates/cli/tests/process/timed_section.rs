//! What the timed thread does while it is timed: nothing but wait.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::gpio::Chip;
use crate::{has, record, run};

#[test]
fn it_faults_in_no_page() {
    let _alone = crate::alone_on_this_machine();
    let run = record(&run(&["latency", "timer", "--count", "500", "--json"]));
    let series = &run["series"][0];
    if series["settings"]["memory_locked"] != true {
        let refused = &series["settings"]["refused"];
        // Root may lock its memory, unless it is a container's without that right.
        assert!(!rustix::process::geteuid().is_root() || refused.to_string().contains("not permitted"), "{refused}");
        return ontick_skip::skipped!("{refused}");
    }
    assert_eq!(series["contamination"]["minor_faults"], 0);
    assert_eq!(series["contamination"]["major_faults"], 0);
}

#[test]
fn it_makes_no_system_call_but_the_wait() {
    let _alone = crate::alone_on_this_machine();
    if !has("strace") {
        return;
    }
    for (method, waits) in [("hybrid", &["clock_nanosleep"][..]), ("timerfd", &["timerfd_settime", "read"])] {
        let timer =
            ["latency", "timer", "--method", method, "--count", "200", "--interval", "2ms", "--samples", "/dev/null"];
        let calls = calls_of_timed_section(&timer);
        assert!(!calls.is_empty());
        for (call, count) in calls {
            assert!(waits.contains(&call.as_str()), "{method}: {count} times {call}");
            assert!(count >= 100, "{method}: {call} only {count} times");
        }
    }
}

/// The line is driven and looked at without any: only the waits are left, and of those that the program spins none. The
/// hybrid wait sleeps in a pulse too where its margin, learnt from this machine's wake-ups, is shorter than the pulse.
#[test]
fn a_train_of_pulses_makes_no_system_call_but_the_wait() {
    let _alone = crate::alone_on_this_machine();
    if !has("strace") {
        return;
    }
    let chip = Chip::new("strace");
    let line = chip.line(4);
    for (by, waits) in [("sleep", 2), ("hybrid", 2), ("spin", 1)] {
        let calls = calls_of_timed_section(&["pulse", "--output", &line, "--method", by, "--count", "200"]);
        let sleeps: usize = ["nanosleep", "clock_nanosleep"].iter().filter_map(|call| calls.get(*call)).sum();
        assert_eq!(calls.values().sum::<usize>(), sleeps, "{by}: {calls:?}");
        // A gap that began late may be over already: on a busy machine most of them.
        assert!((1..=200 * waits).contains(&sleeps), "{by}: {sleeps} sleeps");
    }
}

/// Neither reading these sources nor handing samples on asks the kernel for anything; a lock that is waited for would.
#[test]
fn sampling_makes_no_system_call_but_the_wait() {
    let _alone = crate::alone_on_this_machine();
    if !has("strace") {
        return;
    }
    let chip = Chip::new("strace-sample");
    let folder = tempfile::tempdir().unwrap();
    for (n, source) in ["wave:sine,50Hz".to_string(), format!("lines:{}", chip.line(0))].iter().enumerate() {
        let sink = format!("file:{}", folder.path().join(format!("{n}.ontick")).display());
        let calls =
            calls_of_timed_section(&["sample", "--rate", "500Hz", "--source", source, "--to", &sink, "--count", "200"]);
        let sleeps = calls.get("clock_nanosleep").copied().unwrap_or(0);
        assert_eq!(calls.values().sum::<usize>(), sleeps, "{source}: {calls:?}");
        assert!((1..=201).contains(&sleeps), "{source}: {sleeps} sleeps");
    }
}

#[test]
fn playing_a_file_makes_no_system_call_but_the_wait() {
    let _alone = crate::alone_on_this_machine();
    if !has("strace") {
        return;
    }
    let chip = Chip::new("strace-play");
    let (four, five) = (chip.line(4), chip.line(5));
    let row = |n: u64| format!("{at},{four},{}\n{at},{five},1\n", n % 2, at = n * 2_000_000);
    let rows: String = (0..200).map(row).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("square.csv");
    fs::write(&file, format!("time_ns,line,level\n{rows}")).unwrap();
    let calls = calls_of_timed_section(&["gpio", "play", file.to_str().unwrap()]);
    let sleeps = calls.get("clock_nanosleep").copied().unwrap_or(0);
    assert_eq!(calls.values().sum::<usize>(), sleeps, "{calls:?}");
    assert!((1..=400).contains(&sleeps), "{sleeps} sleeps");
}

/// System calls of the timed thread between its two calls of getrusage, which enclose the timed section.
fn calls_of_timed_section(arguments: &[&str]) -> BTreeMap<String, usize> {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let traced = Command::new("strace")
        .args(["-ff", "-qq", "-o"])
        .arg(&trace)
        .arg(env!("CARGO_BIN_EXE_ontick"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(traced.status.success(), "{}", String::from_utf8_lossy(&traced.stderr));
    let mut threads =
        fs::read_dir(folder.path()).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let timed = threads.find(|calls| calls.matches("getrusage(").count() == 2);
    let timed = timed.expect("one thread asks for its resource usage before and after");
    let section = timed.split("getrusage(").nth(1).unwrap();
    let mut counts = BTreeMap::new();
    // The first line is the end of getrusage itself.
    for call in section.lines().skip(1).filter_map(|line| line.split_once('(')).map(|(name, _)| name) {
        *counts.entry(call.to_string()).or_insert(0) += 1;
    }
    counts
}
