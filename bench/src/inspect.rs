//! What `ontick inspect` costs the loop that it inspects: the same sleeping loop inspected and alone, in pairs.

use ontick_measure::Load;
use ontick_record::compare::{Spread, paired};
use ontick_record::{Series, store};
use ontick_units::exact;

use crate::child::{self, Words};
use crate::goals::Goal;
use crate::in_pairs::in_pairs;
use crate::page::Table;
use crate::side::Job;
use crate::versus::load_name;

/// What it may add to the median, in ns, and to the 99th percentile, as a share.
const P50_NS: f64 = 2_000.0;
const P99_SHARE: f64 = 1.05;
/// The goals hold for this load.
const GOAL_LOAD: &str = "idle";

/// Under one load: blocks that were inspected and blocks that were not, pair by pair.
pub struct Figures {
    load: String,
    pairs: Vec<(Series, Series)>,
}

/// Measures pairs under a load.
pub fn measure(job: &Job, load: &Load, pairs: u32) -> Result<Figures, String> {
    let pairs = in_pairs(load, pairs, |inspected| block(job, inspected))?;
    Ok(Figures { load: load_name(load), pairs })
}

/// A loop that sleeps until each deadline: it meets every event that is recorded on the way back from its wait.
pub fn command(job: &Job) -> Words {
    let line = format!(
        "latency timer --method clock_nanosleep --interval {} --duration {} --cpu {} --policy fifo:{} --json",
        exact(job.interval_ns),
        exact(job.duration_ns),
        job.cpu,
        job.priority
    );
    job.command(&line)
}

fn block(job: &Job, inspected: bool) -> Result<Series, String> {
    let timed = child::start(&command(job))?;
    let inspector = if inspected {
        // Longer than the loop: it ends when the loop does.
        let duration = exact(job.duration_ns * 2 + 1_000_000_000);
        Some(child::start(&job.command(&format!("inspect --after 1ms --duration {duration} --json {}", timed.id())))?)
    } else {
        None
    };
    let run = store::parse(&timed.finish()?.stdout).map_err(|e| format!("ontick's result: {e}"))?;
    if let Some(inspector) = inspector {
        let found = inspector.finish()?.stdout;
        if !found.contains("\"evidence\": \"events\"") {
            return Err("ontick inspect could not record events here: it needs root".into());
        }
    }
    run.series.into_iter().next().ok_or_else(|| "ontick's result has no series".into())
}

fn quantile(series: &Series, q: f64) -> f64 {
    series.latency.quantile(q).unwrap_or(0).max(1) as f64
}

impl Figures {
    /// What was added to the median, in ns.
    fn added(&self) -> Option<Spread> {
        paired(self.pairs.iter().map(|(with, without)| quantile(with, 0.5) - quantile(without, 0.5)))
    }

    fn ratio(&self, q: f64) -> Option<Spread> {
        paired(self.pairs.iter().map(|(with, without)| quantile(with, q) / quantile(without, q)))
    }
}

/// Both sides under each load.
pub fn table(all: &[Figures]) -> Table {
    let mut table = Table::new(&["inspected beside alone", "pairs", "p50 added", "p99 ratio", "p99.9 ratio"]);
    for figures in all {
        let spread = |spread: Option<Spread>, decimals: usize, unit: &str| {
            spread.map_or("—".into(), |Spread { median, min, max, .. }| {
                format!("{median:.decimals$}{unit} ({min:.decimals$} to {max:.decimals$})")
            })
        };
        table.row([
            figures.load.clone(),
            figures.pairs.len().to_string(),
            spread(figures.added(), 0, " ns"),
            spread(figures.ratio(0.99), 2, "x"),
            spread(figures.ratio(0.999), 2, "x"),
        ]);
    }
    table
}

/// With nothing beside, little is added.
pub fn goals(all: &[Figures]) -> Vec<Goal> {
    let goal = |figures: &Figures| {
        let p50 = figures.added().map(|added| (format!("{:.0} ns", added.median), added.median <= P50_NS));
        let p99 = figures.ratio(0.99).map(|ratio| (format!("{:.3}x", ratio.median), ratio.median <= P99_SHARE));
        [
            Goal::new("inspect adds to the p50 of a sleeping loop, idle", "at most 2us", p50),
            Goal::new("p99 of a sleeping loop, inspected / alone, idle", "at most 1.05x", p99),
        ]
    };
    all.iter().filter(|figures| figures.load == GOAL_LOAD).flat_map(goal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_judged_pair_by_pair() {
        let series = |ns| {
            let mut series = Series::default();
            series.latency.add(ns, 1, 1_000);
            series
        };
        let goals = |with_ns, without_ns| {
            let pairs = vec![(series(with_ns), series(without_ns)); 3];
            let goals = goals(&[Figures { load: GOAL_LOAD.into(), pairs }]);
            [goals[0].reached, goals[1].reached]
        };
        assert_eq!(goals(50_500, 50_000), [Some(true), Some(true)]);
        assert_eq!(goals(21_500, 20_000), [Some(true), Some(false)]);
        assert_eq!(goals(53_000, 50_000), [Some(false), Some(false)]);
    }
}
