//! A cyclic job's round trip over virtual Ethernet: both ends by the hybrid wait beside both ends asleep in the kernel, as a
//! plain program waits in recv(2), at the same priority.

use ontick_measure::Load;
use ontick_record::compare::{Spread, paired};
use ontick_record::{Series, store};
use ontick_units::show;

use crate::child::{self, Words};
use crate::goals::Goal;
use crate::in_pairs::in_pairs;
use crate::page::Table;
use crate::show::times;
use crate::side::Job;
use crate::versus::load_name;

/// The p99 of the hybrid wait as a share of that of a blocking receive.
const SHARE: f64 = 0.2;
/// The goal holds for this load.
const GOAL_LOAD: &str = "idle";

/// Under one load: blocks of the hybrid and the blocking wait, pair by pair.
pub struct Figures {
    load: String,
    pairs: Vec<(Series, Series)>,
}

/// Measures pairs under a load.
pub fn measure(job: &Job, load: &Load, pairs: u32) -> Result<Figures, String> {
    let pairs = in_pairs(load, pairs, |hybrid| block(job, if hybrid { "hybrid" } else { "block" }))?;
    Ok(Figures { load: load_name(load), pairs })
}

fn block(job: &Job, wait: &str) -> Result<Series, String> {
    let words: Words = [
        &job.ontick.display().to_string(),
        "latency",
        "roundtrip",
        "--wait",
        wait,
        "--cpu",
        &job.cpu.to_string(),
        "--period",
        &format!("{}us", job.interval_ns / 1_000),
        "--duration",
        &format!("{}s", job.duration_ns / 1_000_000_000),
        "--policy",
        &format!("fifo:{}", job.priority),
        "--json",
    ]
    .map(String::from)
    .to_vec();
    let run = store::parse(&child::run(&words)?.stdout).map_err(|e| format!("ontick latency roundtrip --json: {e}"))?;
    run.series.into_iter().next().ok_or_else(|| "a run of round trips has no series".into())
}

fn quantile(series: &Series, q: f64) -> f64 {
    series.latency.quantile(q).unwrap_or(0).max(1) as f64
}

impl Figures {
    /// The hybrid wait's figure divided by the blocking one's, pair by pair.
    fn ratio(&self, q: f64) -> Option<Spread> {
        paired(self.pairs.iter().map(|(hybrid, block)| quantile(hybrid, q) / quantile(block, q)))
    }
}

/// One side of a pair.
type SideOf = fn(&(Series, Series)) -> &Series;

/// Both waits under each load, and their ratio.
pub fn table(all: &[Figures]) -> Table {
    let mut table = Table::new(&["median of blocks", "blocks", "p50", "p99", "p99.9", "missed in all"]);
    for figures in all {
        let sides: [(&str, SideOf); 2] =
            [("hybrid at both ends", |pair| &pair.0), ("asleep at both ends", |pair| &pair.1)];
        let blocks = figures.pairs.len().to_string();
        for (name, side) in sides {
            let median = |q: f64| paired(figures.pairs.iter().map(|pair| quantile(side(pair), q)));
            let cell = |q| median(q).map_or("—".into(), |spread| show(spread.median.round() as u64));
            let missed: u64 = figures.pairs.iter().map(|pair| side(pair).missed).sum();
            let name = format!("{}: {name}", figures.load);
            table.row([name, blocks.clone(), cell(0.5), cell(0.99), cell(0.999), missed.to_string()]);
        }
        let cell = |q| figures.ratio(q).map_or("—".into(), |spread| times(spread.median));
        let name = format!("{}: hybrid / asleep, pair by pair", figures.load);
        table.row([name, blocks, cell(0.5), cell(0.99), cell(0.999), "—".into()]);
    }
    table
}

/// The hybrid wait's p99 is a fifth of the other at most, with nothing beside.
pub fn goals(all: &[Figures]) -> Vec<Goal> {
    let goal = |figures: &Figures| {
        let seen = figures.ratio(0.99).map(|ratio| {
            let Spread { median, min, max, .. } = ratio;
            (format!("{} ({} to {})", times(median), times(min), times(max)), median <= SHARE)
        });
        Goal::new("p99 of a round trip, hybrid / asleep at both ends, idle", "at most 0.2x", seen)
    };
    all.iter().filter(|figures| figures.load == GOAL_LOAD).map(goal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_the_blocking_receive_is_reached_and_more_is_not() {
        let series = |ns| {
            let mut series = Series::default();
            series.latency.add(ns, 1, 1_000);
            series
        };
        let goals = |hybrid_ns| {
            let pairs = vec![(series(hybrid_ns), series(50_000)); 3];
            goals(&[Figures { load: GOAL_LOAD.into(), pairs }])
        };
        assert_eq!((goals(9_000)[0].reached, goals(12_000)[0].reached), (Some(true), Some(false)));
        let loaded = Figures { load: "cpu".into(), pairs: vec![(series(1), series(2))] };
        assert!(super::goals(&[loaded]).is_empty());
    }
}
