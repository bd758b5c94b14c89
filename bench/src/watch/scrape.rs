//! A scrape of a machine with many CPUs, which is modelled: the record of this one, with its CPUs copied.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ontick_record::compare::paired;
use ontick_record::journal::Journal;
use ontick_record::store;
use ontick_watch::Row;
use ontick_watch::history::rows::Rows;
use ontick_watch::series::SeriesId;

use super::CPUS;
use super::service::Service;
use crate::side::Job;

/// Requests of which the median is taken.
pub const TIMES: u32 = 21;
/// How long the record that is copied grows.
const GROWS: Duration = Duration::from_secs(20);
/// As Prometheus asks where it wants native histograms.
const NATIVE: &str =
    "Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited\r\n";
const PACKED: &str = "Accept-Encoding: gzip\r\n";

/// Both formats.
pub struct Scrape {
    /// OpenMetrics text.
    pub text: One,
    /// Prometheus' own, with native histograms.
    pub native: One,
}

/// One format.
pub struct One {
    /// A request and its answer, packed, in ms.
    pub ms: f64,
    /// As it is.
    pub bytes: usize,
    /// By gzip.
    pub packed: usize,
}

/// Measures both.
pub fn measure(job: &Job) -> Result<Scrape, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("no folder for a state: {e} (set TMPDIR)"))?;
    let state = folder.path().join("state");
    let record = {
        let service = Service::start(job, &state, &["--cycles", "500", "--every", "600ms", "--duty", "100%"])?;
        std::thread::sleep(GROWS);
        service.fetch("/api/record", "")?.0
    };
    model(&state, &record)?;
    // Far from now, so that nothing is added meanwhile.
    let service = Service::start(job, &state, &["--every", "1h"])?;
    Ok(Scrape { text: one(&service, "")?, native: one(&service, NATIVE)? })
}

fn one(service: &Service, heads: &str) -> Result<One, String> {
    let bytes = service.fetch("/metrics", heads)?.0.len();
    let packed = format!("{heads}{PACKED}");
    let fetched: Result<Vec<_>, String> = (0..TIMES).map(|_| service.fetch("/metrics", &packed)).collect();
    let fetched = fetched?;
    let ms = paired(fetched.iter().map(|(_, ms)| *ms)).map_or(f64::NAN, |spread| spread.median);
    Ok(One { ms, bytes, packed: fetched.last().map_or(0, |(body, _)| body.len()) })
}

/// Makes the state that of a machine with many CPUs.
fn model(state: &Path, record: &[u8]) -> Result<(), String> {
    let mut run = store::parse(&String::from_utf8_lossy(record)).map_err(|e| format!("the record of watch: {e}"))?;
    let own = run.series.clone();
    for (cpu, series) in (0..CPUS).zip(own.iter().cycle()).skip(own.len()) {
        let mut copy = series.clone();
        copy.name = format!("CPU {cpu}");
        copy.settings.cpu = Some(cpu.into());
        run.series.push(copy);
    }
    Journal::resume(&state.join("totals.json"), &run).map_err(|e| format!("the modelled record: {e}"))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as u32);
    let row = |cpu| Row { at: now - 10, series: SeriesId::Cpu(cpu), samples: 200, max_ns: 50_000, ..Row::default() };
    let mut rows = Rows::open(&state.join("blocks.rows")).map_err(|e| e.to_string())?;
    rows.append(&(0..CPUS).map(row).collect::<Vec<_>>()).map_err(|e| e.to_string())
}
