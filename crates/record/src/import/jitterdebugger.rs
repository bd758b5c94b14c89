//! jitterdebugger's `results.json`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::figures::{self, Figures};
use super::{ImportError, Importer, json};
use crate::run::{Run, Series, Settings};
use ontick_units::exact;

pub(super) const IMPORTER: Importer = Importer { name: "jitterdebugger", tool: "jitterdebugger", wrote, read };

/// Whether a text looks like it.
fn wrote(text: &str) -> bool {
    let has = |field| json::has_fields(text, &[field]);
    has("cpu") && has("histogram") && !has("num_threads") && !has("schema")
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    sysinfo: Option<json::System>,
    /// By the number of the thread, not of the CPU: with `-a 1` the thread on CPU 1 is "0".
    cpu: BTreeMap<String, json::Thread>,
}

fn read(text: &str) -> Result<Run, ImportError> {
    let document: Document = json::read(text)?;
    let system = document.sysinfo.unwrap_or_default();
    let unit_ns = if system.resolution_in_ns == Some(1) { 1 } else { 1_000 };
    let mut run = Run::new("jitterdebugger", "timer");
    run.environment = (!system.environment().kernel.is_empty()).then(|| system.environment());
    // One thread for each CPU is the default; only then the numbers are those of the CPUs.
    let on_every_cpu = document.cpu.len() == system.cpus_online as usize;
    let mut named = Vec::new();
    let mut dropped = Vec::new();
    for (i, thread) in json::numbered(document.cpu)? {
        let name = format!("thread {i}");
        let figures = thread.figures(unit_ns)?;
        let latency = figures.histogram().map_err(|e| ImportError::new(format!("{name}: {e}")))?;
        let settings = Settings {
            method: "clock_nanosleep".into(),
            clock: "monotonic".into(),
            policy: "fifo".into(),
            memory_locked: true,
            cpu: u32::try_from(i).ok().filter(|_| on_every_cpu),
            ..Settings::default()
        };
        dropped.extend(dropped_note(&name, &figures, latency.max_ns));
        run.series.push(Series { name: name.clone(), settings, latency, ..Series::default() });
        named.push((name, figures));
    }
    run.notes = figures::notes("jitterdebugger", &named);
    run.notes.extend(dropped);
    Ok(run)
}

/// jitterdebugger counts samples above 1 ms, but keeps no row for them.
fn dropped_note(name: &str, figures: &Figures, max_ns: Option<u64>) -> Option<String> {
    let last = figures.rows.iter().filter(|(_, count)| *count > 0).map(|(value, _)| *value).max();
    let beyond = figures.max.is_some_and(|max| last.is_some_and(|last| max > 0 && max as u64 > last));
    let largest = max_ns.map(|max| exact(max / 1_000 * 1_000)).unwrap_or_default();
    match figures.overflow {
        0 if beyond => Some(format!("{name}: the largest sample ({largest}) is missing from the histogram")),
        0 => None,
        n => {
            Some(format!("{name}: {n} samples are counted but not in the histogram, which jitterdebugger ends at 1 ms"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_below_its_rows_contradicts_them() {
        let text = |count: u64| {
            format!(
                r#"{{"cpu": {{"0": {{"histogram": {{"3": 2, "4": 1}}, "count": {count}, "min": 3, "max": 4, "avg": 3.3}}}}}}"#
            )
        };
        assert_eq!(read(&text(3)).unwrap().series[0].latency.count(), 3);
        let error = read(&text(2)).unwrap_err().to_string();
        assert!(error.contains("a thread counted 2 samples, and its rows hold 3"), "{error}");
    }
}
