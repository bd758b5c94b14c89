//! `--break-trace`: plain files stand for the kernel's trace, each in a mount namespace of its own, so that the machine's goes
//! on.

use std::fs;
use std::path::Path;

use crate::bad_disks::with_mounts;
use crate::errors::fails;
use crate::{stderr, stdout};

const TIMER: &str = "ontick latency timer --policy other --cpu any --stock --method clock_nanosleep --phase chance";

/// Runs this where the kernel's trace is these files; nothing where that cannot be.
fn with_trace(folder: &Path, on: &str, command: &str) -> Option<std::process::Output> {
    fs::create_dir_all(folder.join("instances")).unwrap();
    fs::write(folder.join("tracing_on"), on).unwrap();
    fs::write(folder.join("trace_marker"), "").unwrap();
    fs::write(folder.join("current_tracer"), "nop\n").unwrap();
    fs::write(folder.join("set_event"), "sched:sched_switch\n").unwrap();
    with_mounts(&format!("mount --bind {} /sys/kernel/tracing; {command}", folder.display()))
}

#[test]
fn the_first_latency_over_the_limit_is_in_the_trace_and_stops_it() {
    let folder = tempfile::tempdir().unwrap();
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    let command = format!("{TIMER} --duration 1h --stop-over 1ns --break-trace");
    let Some(output) = with_trace(folder.path(), "1\n", &command) else { return };
    let text = stdout(&output).replace("\n      ", " ");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(read("tracing_on").trim(), "0");
    let marker = read("trace_marker");
    let (late, limit) = marker.split_once(" on CPU ").unwrap();
    assert!(late.starts_with("ontick: ") && late.ends_with(" ns") && limit.ends_with(", over 1 ns\n"), "{marker}");
    assert!(text.contains("note: the kernel's trace was stopped at ") && text.contains("over 1ns"), "{text}");
    assert!(text.contains("echo 1 | sudo tee /sys/kernel/tracing/tracing_on starts it again"), "{text}");
    assert!(!text.contains("ended at"), "that is said already: {text}");
}

#[test]
fn a_trace_goes_on_where_nothing_was_late_and_one_that_is_off_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    let command = format!("{TIMER} --count 3 --stop-over 1h --break-trace --json");
    let Some(output) = with_trace(folder.path(), "1\n", &command) else { return };
    assert!(stdout(&output).contains("was not stopped: no latency was over 1h"), "{}", stdout(&output));
    assert_eq!((read("tracing_on").as_str(), read("trace_marker").as_str()), ("1\n", ""));
    let Some(output) = with_trace(folder.path(), "0\n", &command) else { return };
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    assert!(stderr(&output).contains("the kernel's trace is off"), "{}", stderr(&output));
}

#[test]
fn a_trace_is_stopped_only_at_a_limit_and_by_a_thread_of_this_machine() {
    fails(&["latency", "timer", "--break-trace"], &["--stop-over"]);
    let limit = ["--stop-over", "1us", "--break-trace"];
    fails(&[&["latency", "noise", "--hwlat"][..], &limit].concat(), &["--hwlat", "--break-trace"]);
    fails(&[&["pulse", "--table"][..], &limit].concat(), &["--table"]);
    let board =
        ["latency", "response", "--input", "sim:t/1", "--output", "sim:t/2", "--observer", "latmon://127.0.0.1"];
    fails(&[&board[..], &limit].concat(), &["a board", "leave it out"]);
}
