//! A timed loop on one CPU while the service watches the others, and without it.

use ontick_record::compare::{Spread, paired};
use ontick_record::store;
use ontick_rt::cpus;
use ontick_units::exact;

use super::service::Service;
use crate::child;
use crate::side::Job;

/// Longer than the time between two of the service's rounds.
const BLOCK_NS: u64 = 15_000_000_000;

/// p99 with the service divided by p99 without, pair by pair.
pub fn ratio(job: &Job, pairs: u32) -> Result<Spread, String> {
    let mut ratios = Vec::new();
    for pair in 0..pairs {
        let with_first = pair % 2 == 0;
        let [a, b] = [block(job, with_first)?, block(job, !with_first)?];
        let (with, without) = if with_first { (a, b) } else { (b, a) };
        ratios.push(with as f64 / without as f64);
    }
    paired(ratios).ok_or_else(|| "no pair was measured".into())
}

fn block(job: &Job, watched: bool) -> Result<u64, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("no folder for a state: {e} (set TMPDIR)"))?;
    let others: Vec<String> = cpus::online().iter().filter(|cpu| **cpu != job.cpu).map(u32::to_string).collect();
    if others.is_empty() {
        return Err("one CPU alone cannot be watched beside a timed loop on it".into());
    }
    let _service = match watched {
        true => Some(Service::start(job, &folder.path().join("state"), &["--cpu", &others.join(",")])?),
        false => None,
    };
    let line = format!(
        "latency timer --method hybrid --interval 1ms --duration {} --cpu {} --policy fifo:{} --json",
        exact(BLOCK_NS),
        job.cpu,
        job.priority
    );
    let run = store::parse(&child::run(&job.command(&line))?.stdout).map_err(|e| format!("ontick's result: {e}"))?;
    run.series.first().and_then(|series| series.latency.quantile(0.99)).ok_or_else(|| "ontick took no sample".into())
}
