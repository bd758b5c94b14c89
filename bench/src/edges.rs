//! From driving one simulated line to knowing it on another CPU, by reading again and again, under each load.

use ontick_measure::Load;
use ontick_record::compare::LIMIT_NS;
use ontick_record::run::Series;
use ontick_record::store;
use ontick_units::show;

use crate::child::{self, Words};
use crate::page::Table;
use crate::show::percent_down;
use crate::side::Job;
use crate::versus::load_name;

/// What blocks under one load saw, all together.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// As the tables call the load.
    pub load: String,
    /// Of all edges.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Largest.
    pub max_ns: u64,
    /// Share that was known within 3 µs; a missed one was not, 0 to 1.
    pub in_time: f64,
    /// Edges that were seen.
    pub edges: u64,
}

/// The command of a block. The lines are two of a chip that it makes and joins itself.
pub fn command(job: &Job) -> Words {
    let (cpu, priority, seconds) = (job.cpu, job.priority, job.duration_ns / 1_000_000_000);
    let line = format!("latency edge --method poll --duration {seconds}s --cpu {cpu} --policy fifo:{priority} --json");
    job.command(&line)
}

/// Measures `blocks` blocks under a load.
pub fn measure(job: &Job, load: &Load, blocks: u32) -> Result<Figures, String> {
    let running = load.start().map_err(|e| e.to_string())?;
    let mut all = Series::default();
    for _ in 0..blocks {
        let run = store::parse(&child::run(&command(job))?.stdout).map_err(|e| format!("ontick's result: {e}"))?;
        for series in run.series {
            all.latency.merge(&series.latency);
            all.missed += series.missed;
        }
    }
    if let Some(status) = running.ended() {
        return Err(format!("the load {} ended before the blocks did ({status})", load_name(load)));
    }
    seen(load_name(load), &all).ok_or_else(|| "ontick latency edge saw no edge".into())
}

fn seen(load: String, all: &Series) -> Option<Figures> {
    let latency = &all.latency;
    let (p50_ns, p99_ns) = (latency.quantile(0.5)?, latency.quantile(0.99)?);
    let (in_time, edges) = (all.share_in_time(LIMIT_NS), latency.count());
    Some(Figures { load, p50_ns, p99_ns, max_ns: latency.max_ns?, in_time, edges })
}

/// One row for each load.
pub fn table(all: &[Figures]) -> Table {
    let mut table = Table::new(&["load", "edges", "p50", "p99", "max", "< 3us"]);
    for seen in all {
        let figures = [seen.p50_ns, seen.p99_ns, seen.max_ns].map(show);
        let ends = [seen.load.clone(), seen.edges.to_string()];
        table.row(ends.into_iter().chain(figures).chain([percent_down(seen.in_time)]));
    }
    table
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn seen_of(load: &str, p50_ns: u64, in_time: f64) -> Figures {
        Figures { load: load.into(), p50_ns, p99_ns: p50_ns, max_ns: p50_ns, in_time, edges: 100 }
    }

    #[test]
    fn an_edge_that_was_missed_was_not_seen_in_time() {
        let mut all = Series { missed: 10, ..Series::default() };
        all.latency.add(400, 1, 80);
        all.latency.add(5_000, 1, 10);
        let seen = seen("idle".into(), &all).unwrap();
        assert_eq!((seen.p50_ns, seen.max_ns, seen.edges, seen.in_time), (400, 5_000, 90, 0.8));
        assert_eq!(super::seen("idle".into(), &Series::default()), None);
    }
}
