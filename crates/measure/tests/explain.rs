//! Faults made, and the cause that is named; needs root and tracefs.

#[path = "../examples/inject/faults/mod.rs"]
#[allow(dead_code, reason = "the measurement in examples uses all of it")]
mod faults;

use std::time::Duration;

use faults::{Fault, causes_within};
use ontick_rt::cpus;

/// The most frequent cause where the fault was made must be the fault.
fn is_named(fault: Fault, length: Duration) {
    let (series, windows) = fault.measure(cpus::preferred(), length);
    if series.tracing.is_none_or(|tracing| tracing.events == 0) {
        return eprintln!("not tested: the kernel's tracing cannot be used here");
    }
    assert_eq!(series.outliers_seen, series.causes.iter().map(|cause| cause.count).sum::<u64>());
    // Other real-time programs and the hypervisor may have the CPU just then: that is not the fault's.
    let foreign =
        |cause: &str, detail: &str| cause == "steal" || cause == "another task" && !fault.is_named_by(cause, detail);
    match causes_within(&series, &windows).iter().find(|(cause, detail, _)| !foreign(cause, detail)) {
        Some((cause, detail, _)) => assert!(fault.is_named_by(cause, detail), "{}: {cause} {detail}", fault.name()),
        // A machine that others keep busy may leave the fault no room.
        None => eprintln!("not tested: {} made no outlier", fault.name()),
    }
}

/// One after the other: they share a CPU.
#[test]
fn the_fault_is_named() {
    if !rustix::process::getuid().is_root() || cpus::allowed().len() < 2 {
        return eprintln!("not tested: needs root and two CPUs");
    }
    is_named(Fault::Page, Duration::from_secs(2));
    is_named(Fault::HigherPriority, Duration::from_secs(2));
    is_named(Fault::Membarrier, Duration::from_secs(2));
    is_named(Fault::Hog, Duration::from_secs(4));
}
