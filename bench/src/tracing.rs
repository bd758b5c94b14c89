//! What `--explain` costs the loop that it explains: the same run with it and without it, in pairs.

use ontick_measure::Load;
use ontick_record::compare::{Spread, paired};
use ontick_record::run::Tracing;
use ontick_record::store;
use ontick_units::exact;

use crate::child::{self, Words};
use crate::in_pairs::in_pairs;
use crate::side::Job;
use crate::versus::load_name;

/// Long enough for thousands of cycles: a median needs no more.
const BLOCK_NS: u64 = 2_000_000_000;

/// One run.
#[derive(Debug, Clone, Copy)]
struct Block {
    p50_ns: u64,
    p99_ns: u64,
    tracing: Option<Tracing>,
}

/// What tracing cost under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// As the tables call the load.
    pub load: String,
    /// Median latency with tracing minus that without, pair by pair, in ns.
    pub p50_ns: Spread,
    /// The same of the 99th percentile.
    pub p99_ns: Spread,
    /// Events a second, median over the blocks that were traced.
    pub events: f64,
    /// What an event cost, as the runs themselves measured it, median, in ns.
    pub event_ns: f64,
}

/// Measures `pairs` pairs under a load, in the order A B, B A, …
pub fn measure(job: &Job, load: &Load, pairs: u32) -> Result<Cost, String> {
    let both = in_pairs(load, pairs, |traced| block(job, traced))?;
    cost(load_name(load), &both).ok_or_else(|| "no pair was measured".into())
}

fn block(job: &Job, explain: bool) -> Result<Block, String> {
    let words = command(job, explain);
    let run = store::parse(&child::run(&words)?.stdout).map_err(|e| format!("ontick's result: {e}"))?;
    let series = run.series.first().ok_or("ontick's result has no series")?;
    let of = |q| series.latency.quantile(q).ok_or("ontick took no sample");
    if explain && series.tracing.is_none() {
        return Err(run.notes.last().cloned().unwrap_or_else(|| "the kernel's tracing cannot be used here".into()));
    }
    Ok(Block { p50_ns: of(0.5)?, p99_ns: of(0.99)?, tracing: series.tracing })
}

/// The command of a block, as it is run and shown.
pub fn command(job: &Job, explain: bool) -> Words {
    let line = format!(
        "latency timer --method hybrid --interval {} --duration {} --cpu {} --policy fifo:{} --json{}",
        exact(job.interval_ns),
        exact(BLOCK_NS),
        job.cpu,
        job.priority,
        if explain { " --explain" } else { "" }
    );
    job.command(&line)
}

/// Of pairs of a block with tracing and one without.
fn cost(load: String, pairs: &[(Block, Block)]) -> Option<Cost> {
    let more = |of: fn(&Block) -> u64| paired(pairs.iter().map(|(with, without)| of(with) as f64 - of(without) as f64));
    let reported = |of: fn(Tracing) -> f64| paired(pairs.iter().filter_map(|(with, _)| with.tracing.map(of)));
    Some(Cost {
        load,
        p50_ns: more(|block| block.p50_ns)?,
        p99_ns: more(|block| block.p99_ns)?,
        events: reported(|tracing| tracing.events as f64)?.median / (BLOCK_NS as f64 / 1e9),
        event_ns: reported(|tracing| tracing.event_cost_ns as f64)?.median,
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn cost_of(with_ns: u64, without_ns: u64) -> Cost {
        let tracing = Some(Tracing { events: 8_000, event_cost_ns: 60, ..Tracing::default() });
        let block = |p50_ns, tracing| Block { p50_ns, p99_ns: p50_ns * 2, tracing };
        cost("idle".into(), &[(block(with_ns, tracing), block(without_ns, None))]).unwrap()
    }

    #[test]
    fn tracing_may_cost_or_seem_to_gain() {
        let cost = cost_of(90, 50);
        assert_eq!((cost.p50_ns.median, cost.p99_ns.median, cost.events), (40.0, 80.0, 4_000.0));
        assert_eq!(cost_of(50, 90).p50_ns.median, -40.0);
    }

    #[test]
    fn a_block_is_the_same_but_for_explain() {
        let job = Job { ontick: "ontick".into(), cpu: 1, priority: 98, interval_ns: 1_000_000, duration_ns: 1 };
        let [with, without] = [true, false].map(|explain| command(&job, explain).join(" "));
        assert_eq!(with, without + " --explain");
    }
}
