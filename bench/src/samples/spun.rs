//! A loop that does nothing but spin to each slot, which no loop on this CPU can beat: what it misses, the machine took.

use ontick_record::store;

use super::missed::Missed;
use crate::child::{self, Words};
use crate::side::Job;

/// The command, of `ontick latency timer`: no rest, no client, and the same tracing.
pub fn command(job: &Job, khz: u64, seconds: u64) -> Words {
    let (cpu, priority, period_us) = (job.cpu, job.priority, 1_000 / khz);
    let line = format!(
        "latency timer --method spin --duty 100% --interval {period_us}us --duration {seconds}s --cpu {cpu} \
         --policy fifo:{priority} --explain --outlier-threshold {period_us}us --json"
    );
    job.command(&line)
}

/// What it missed.
pub fn measure(job: &Job, khz: u64, seconds: u64) -> Result<Missed, String> {
    let run = store::parse(&child::run(&command(job, khz, seconds))?.stdout);
    let run = run.map_err(|e| format!("ontick's result: {e}"))?;
    let series = run.series.first().ok_or("ontick's result has no series")?;
    Ok(Missed::in_series(series, 1_000_000 / khz))
}
