//! The record of a measurement: begun before anything is measured, completed when all is.

use std::time::Duration;

use ontick_machine::{Facts, Journal, Root};
use ontick_record::{Environment, Measurement, Run, Series, date};

use crate::{Error, Load};

/// The record of what is about to be measured on this machine, with its series empty. `cpu` is the one that the
/// environment describes.
pub fn begin(kind: Measurement, series: Vec<Series>, cpu: Option<u32>) -> Run {
    let mut run = Run::new(concat!("ontick ", env!("CARGO_PKG_VERSION")), kind);
    run.started = date::now();
    run.environment = Some(environment(cpu));
    run.series = series;
    run
}

/// The machine as it is now, seen from this CPU where one is meant.
pub fn environment(cpu: Option<u32>) -> Environment {
    let (root, facts) = (Root::live(), Facts::gather(&Root::live()));
    Environment { tuned: tuned(&root), ..facts.environment(cpu) }
}

/// The knobs whose changes stand.
fn tuned(root: &Root) -> Vec<String> {
    let mut knobs: Vec<String> =
        Journal::read(root).map(|j| j.entries().map(|e| e.knob.clone()).collect()).unwrap_or_default();
    knobs.dedup();
    knobs
}

/// Measures while the load runs, which a series has that names none of its own; the second value is a note if it ended
/// before its time.
pub fn under_load(
    load: &Load,
    measure: impl FnOnce() -> Result<Vec<Series>, Error>,
) -> Result<(Vec<Series>, Option<String>), Error> {
    let running = load.start()?;
    let mut series = measure()?;
    for series in series.iter_mut().filter(|series| series.settings.load.is_empty()) {
        load.describe_beside(&running, &mut series.settings);
    }
    let note = running.ended().map(|status| format!("the load ended before the measurement did ({status})"));
    Ok((series, note))
}

/// Fills in what was measured.
pub fn complete(run: &mut Run, series: Vec<Series>, took: Duration, interrupted: bool) {
    run.duration_ns = took.as_nanos() as u64;
    run.interrupted = interrupted;
    run.series = series;
}
