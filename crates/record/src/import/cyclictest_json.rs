//! cyclictest's `--json` file.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::command::Command;
use super::figures;
use super::{ImportError, date, json};
use crate::run::{Run, Series};

/// Whether a text looks like it.
pub(super) fn wrote(text: &str) -> bool {
    json::has_fields(text, &["thread", "num_threads"])
}

#[derive(Deserialize)]
struct Document {
    // rt-tests writes these two names with a colon.
    #[serde(rename = "cmdline:", alias = "cmdline", default)]
    command: String,
    #[serde(rename = "rt_test_version:", alias = "rt_test_version", default)]
    version: String,
    #[serde(default)]
    start_time: String,
    #[serde(default)]
    end_time: String,
    #[serde(default)]
    sysinfo: Option<json::System>,
    /// 1 for nanoseconds, 0 for microseconds.
    #[serde(default)]
    resolution_in_ns: u64,
    thread: BTreeMap<String, json::Thread>,
}

pub(super) fn read(text: &str) -> Result<Run, ImportError> {
    let document: Document = json::read(text)?;
    let unit_ns = if document.resolution_in_ns == 1 { 1 } else { 1_000 };
    let command = Command::parse(&document.command);
    let mut run = Run::new(format!("cyclictest {}", document.version).trim_end(), "timer");
    run.environment = document.sysinfo.as_ref().map(json::System::environment);
    if let Some(start) = date::seconds(&document.start_time) {
        run.started = date::rfc3339(start);
        let end = date::seconds(&document.end_time).unwrap_or(start);
        run.duration_ns = u64::try_from(end - start).unwrap_or(0).saturating_mul(1_000_000_000);
    }
    let mut named = Vec::new();
    for (i, thread) in json::numbered(document.thread)? {
        let name = format!("thread {i}");
        let figures = thread.figures(unit_ns)?;
        let mut settings = command.settings(i);
        settings.cpu = thread.cpu.and_then(|cpu| cpu.try_into().ok());
        let latency = figures.histogram().map_err(|e| ImportError::new(format!("{name}: {e}")))?;
        run.series.push(Series { name: name.clone(), settings, latency, ..Series::default() });
        named.push((name, figures));
    }
    run.notes = figures::notes("cyclictest", &named);
    Ok(run)
}
