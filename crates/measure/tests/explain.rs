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

/// Most of the outliers that a fault made must bear its name. `inject` measures how many it is on a machine; half
/// is what no disturbance can spoil, as outliers that something else may have made are not counted.
fn is_named(fault: Fault, measured: (Series, Vec<Making>)) {
    let (series, makings) = measured;
    if series.tracing.is_none() {
        return eprintln!("not tested: the kernel's tracing cannot be used here");
    }
    assert_eq!(series.outliers_seen, series.causes.iter().map(|cause| cause.count).sum::<u64>());
    let made = made(&series, &makings);
    let right: u64 = made.causes.iter().filter(|(c, d, _)| fault.is_named_by(c, d)).map(|(_, _, count)| count).sum();
    match made.all {
        // A machine that others keep busy may leave the fault no room.
        0 => eprintln!("not tested: {} made no outlier", fault.name()),
        all => assert!(right * 2 > all, "{}: {right} of {all}: {:?}", fault.name(), made.causes),
    }
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
        return eprintln!("not tested: needs root and two CPUs");
    }
    let cpu = cpus::preferred();
    for fault in [Fault::Page, Fault::HigherPriority, Fault::Membarrier, Fault::Timers, Fault::Network] {
        is_named(fault, fault.measure(cpu, Duration::from_secs(2)));
    }
    is_named(Fault::Hog, Fault::Hog.measure(cpu, Duration::from_secs(4)));
    is_named(Fault::Stop, stopped(cpu));
}
