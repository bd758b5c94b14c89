//! The page: how much is loaded, and how long a browser takes to show it.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ontick_record::compare::paired;
use ontick_watch::Row;
use ontick_watch::history::rows::Rows;
use ontick_watch::series::SeriesId;

use super::service::Service;
use crate::child;
use crate::side::Job;

/// Visits of which the median is taken.
pub const TIMES: u32 = 5;
const MONTH_S: u32 = 31 * 24 * 3600;
/// A row of 5 minutes.
const ROW_S: u32 = 300;

/// What a browser says of its own times, in ms.
pub struct Drawn {
    /// From the start of loading to the first paint.
    pub paint_ms: f64,
    /// From there until a month's curves and heat map are drawn.
    pub month_ms: f64,
}

/// All that the page loads before its data.
pub fn bytes(job: &Job) -> Result<usize, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("no folder for a state: {e} (set TMPDIR)"))?;
    let service = Service::start(job, &folder.path().join("state"), &[])?;
    let sizes = ["/", "/page.css", "/page.js"].map(|path| service.fetch(path, "").map(|(body, _)| body.len()));
    sizes.into_iter().sum()
}

/// Visits a page of a month in Chromium; nothing where there is none.
pub fn drawn(job: &Job) -> Result<Option<Drawn>, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("no folder for a state: {e} (set TMPDIR)"))?;
    let state = folder.path().join("state");
    // The service makes its folder, and is ended before rows are put there.
    drop(Service::start(job, &state, &[])?);
    month(&state)?;
    let service = Service::start(job, &state, &["--every", "1h"])?;
    let script = folder.path().join("visit.py");
    std::fs::write(&script, include_str!("../../visit.py")).map_err(|e| format!("{}: {e}", script.display()))?;
    let address = format!("http://{}/?still&span={MONTH_S}", service.address());
    let words = ["python3".into(), script.display().to_string(), address, TIMES.to_string()];
    let said = child::run(&words)?.stdout;
    let visits: Vec<(f64, f64)> = said
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(paint, month)| Some((paint.parse().ok()?, month.parse().ok()?)))
        .collect();
    let median = |of: fn(&(f64, f64)) -> f64| paired(visits.iter().map(of)).map(|spread| spread.median);
    Ok(median(|visit| visit.0).zip(median(|visit| visit.1)).map(|(paint_ms, month_ms)| Drawn { paint_ms, month_ms }))
}

fn month(state: &Path) -> Result<(), String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as u32);
    let rows = (0..MONTH_S / ROW_S).flat_map(|n| {
        (0..8).map(move |cpu| Row {
            at: (now - MONTH_S + n * ROW_S) / ROW_S * ROW_S,
            series: SeriesId::Cpu(cpu),
            samples: 6_000,
            p50_ns: 5_000,
            p99_ns: 9_000,
            max_ns: 20_000 + u64::from(n % 977) * 100,
            ..Row::default()
        })
    });
    let mut file = Rows::open(&state.join("five-minutes.rows")).map_err(|e| e.to_string())?;
    file.append(&rows.collect::<Vec<_>>()).map_err(|e| e.to_string())
}
