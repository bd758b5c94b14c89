//! Faults made, and the cause that is named; needs root and tracefs.

#[path = "../examples/inject/faults/mod.rs"]
#[allow(dead_code, reason = "the measurement in examples uses all of it")]
mod faults;

use std::process::{Command, Stdio};
use std::time::Duration;

use faults::Fault;
use faults::truth::{Making, made};
use ontick_record::run::Series;
use ontick_rt::cpus;
use rustix::process::Pid;

/// What is promised: of the outliers that a fault made, so many bear its name.
const SHARE: f64 = 0.95;
/// A fault is made anew until it made so many outliers: fewer would let one bear another's name half of the time.
const ENOUGH: u64 = 20;
/// And so often; a machine that others keep busy leaves it little room.
const ROUNDS: usize = 12;
/// Of so many that are there by then, two right ones are still found too few.
const LEAST: u64 = 8;

/// Makes a fault until there are enough outliers of it, and holds their names against the promise.
fn is_named(fault: Fault, mut measure: impl FnMut() -> (Series, Vec<Making>)) {
    let (mut right, mut all, mut names) = (0, 0, Vec::new());
    for _ in 0..ROUNDS {
        let (series, makings) = measure();
        if series.tracing.is_none() {
            return ontick_skip::skipped!("the kernel's tracing cannot be used here");
        }
        assert_eq!(series.outlier_count, series.causes.iter().map(|cause| cause.count).sum::<u64>());
        let made = made(&series, &makings);
        let named = made.causes.iter().filter(|(cause, detail, _)| fault.is_named_by(cause, detail));
        right += named.map(|(_, _, count)| count).sum::<u64>();
        all += made.all;
        names.extend(made.causes);
        if all >= ENOUGH {
            break;
        }
    }
    assert!(all >= LEAST, "{}: made {all} outliers in {ROUNDS} rounds", fault.name());
    assert!(may_be_promised(right, all), "{}: {right} of {all}: {names:?}", fault.name());
}

/// Whether so few right ones would still be seen once in a million times where the promise holds.
fn may_be_promised(right: u64, all: u64) -> bool {
    let ln_choose = |k: u64| (0..k).map(|i| ((all - i) as f64).ln() - ((i + 1) as f64).ln()).sum::<f64>();
    let ln_probability = |k: u64| ln_choose(k) + k as f64 * SHARE.ln() + (all - k) as f64 * (1.0 - SHARE).ln();
    (0..=right).map(|k| ln_probability(k).exp()).sum::<f64>() > 1e-6
}

#[test]
fn half_of_the_names_is_not_what_is_promised() {
    assert!(may_be_promised(20, 20) && may_be_promised(19, 20) && may_be_promised(95, 100));
    assert!(!may_be_promised(10, 20) && !may_be_promised(0, 20) && !may_be_promised(80, 100));
    assert!(!may_be_promised(2, LEAST));
}

/// Set for the process that is measured and stopped; its value is the CPU.
const CHILD: &str = "ONTICK_TEST_STOPPED_CHILD";
const STOPPED: Duration = Duration::from_secs(3);

/// Not a test of its own: what is stopped by the one below, in a process of its own.
#[test]
fn stopped_child() {
    if let Some(cpu) = std::env::var(CHILD).ok().and_then(|cpu| cpu.parse().ok()) {
        let (series, _) = Fault::Stop.measure(cpu, STOPPED);
        println!("\n{}", serde_json::to_string(&series).unwrap());
    }
}

fn stopped(cpu: u32) -> (Series, Vec<Making>) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "stopped_child", "--nocapture"]).env(CHILD, cpu.to_string()).stdout(Stdio::piped());
    let child = child.spawn().unwrap();
    // Stops before recording begins make no outlier, and those after the end none either.
    let makings = faults::stop(Pid::from_raw(child.id() as i32).unwrap(), Duration::from_secs(1), 20);
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let series = output.lines().find(|line| line.starts_with('{')).expect("the child prints a series");
    (serde_json::from_str(series).unwrap(), makings)
}

/// One after the other: they share a CPU.
#[test]
fn the_fault_is_named() {
    if !rustix::process::getuid().is_root() || cpus::allowed().len() < 2 {
        return ontick_skip::skipped!("needs root and two CPUs");
    }
    let cpu = cpus::preferred();
    for fault in [Fault::Page, Fault::HigherPriority, Fault::Membarrier, Fault::Timers, Fault::Network] {
        is_named(fault, || fault.measure(cpu, Duration::from_secs(2)));
    }
    is_named(Fault::Hog, || Fault::Hog.measure(cpu, Duration::from_secs(4)));
    is_named(Fault::Stop, || stopped(cpu));
}
