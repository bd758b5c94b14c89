//! oslat's `--json` file: how long a thread that spins was held up, for each of its threads.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::cyclictest_json::time;
use super::figures::{self, Figures};
use super::lines::shorten;
use super::{ImportError, Importer, json};
use crate::date;
use crate::run::{Run, Series, Settings};

pub(super) const IMPORTER: Importer = Importer { name: "oslat", tool: "oslat", wrote, read };

fn wrote(text: &str) -> bool {
    match json::program(text) {
        Some(program) => program == "oslat",
        None => json::has_fields(text, &["thread", "num_threads", "freq", "duration"]),
    }
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "rt_test_version:", alias = "rt_test_version", default)]
    version: String,
    #[serde(default)]
    start_time: String,
    #[serde(default)]
    sysinfo: Option<json::System>,
    thread: BTreeMap<String, Thread>,
}

/// Figures are whole microseconds, rounded up: 1 is all that took less than one.
#[derive(Deserialize)]
struct Thread {
    cpu: Option<u32>,
    min: u64,
    max: u64,
    avg: Option<f64>,
    /// In seconds.
    #[serde(default)]
    duration: f64,
    histogram: BTreeMap<String, u64>,
}

fn read(text: &str) -> Result<Run, ImportError> {
    let document: Document = json::read(text)?;
    let mut run = Run::new(format!("oslat {}", document.version).trim_end(), "noise");
    run.environment = document.sysinfo.as_ref().map(json::System::environment);
    if let Some(start) = time(&document.start_time) {
        run.started = date::text(start);
    }
    let mut named = Vec::new();
    for (i, thread) in json::numbered(document.thread)? {
        let name = format!("thread {i}");
        let figures = thread.figures()?;
        let latency = figures.histogram().map_err(|e| ImportError::new(format!("{name}: {e}")))?;
        run.duration_ns = run.duration_ns.max((thread.duration.max(0.0) * 1e9) as u64);
        let settings = Settings { method: "spin".into(), cpu: thread.cpu, ..Settings::default() };
        run.series.push(Series { name: name.clone(), settings, latency, ..Series::default() });
        named.push((name, figures));
    }
    run.notes = figures::notes("oslat", &named);
    Ok(run)
}

impl Thread {
    fn figures(&self) -> Result<Figures, ImportError> {
        let mut rows = Vec::new();
        for (key, count) in &self.histogram {
            let above: u64 = key
                .parse()
                .ok()
                .filter(|above| *above > 0)
                .ok_or_else(|| ImportError::new(format!("\"{}\" is not a row's latency", shorten(key))))?;
            rows.push((above - 1, *count));
        }
        rows.sort_unstable();
        // The last row has all that is longer, too.
        let overflow = match rows.last() {
            Some((last, _)) if self.max > last + 1 => rows.pop().map_or(0, |(_, count)| count),
            _ => 0,
        };
        let cut = |above: u64| i64::try_from(above.saturating_sub(1)).ok();
        Ok(Figures {
            unit_ns: 1_000,
            row_width: 1,
            rows,
            overflow,
            min: cut(self.min),
            max: cut(self.max),
            mean: self.avg.map(|mean| (mean - 1.0).max(0.0)),
        })
    }
}
