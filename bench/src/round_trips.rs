//! A cyclic job's round trip over virtual Ethernet: both ends by the hybrid wait beside both ends asleep in the kernel, as a
//! plain program waits in recv(2), at the same priority.

use ontick_measure::Load;
use ontick_record::compare::Spread;
use ontick_record::{Series, store};

use crate::child::{self, Words};
use crate::goals::Goal;
use crate::in_pairs::in_pairs;
use crate::page::Table;
use crate::pair_table::{self, Pairs};
use crate::show::times;
use crate::side::Job;
use crate::versus::load_name;

/// The p99 of the hybrid wait as a share of that of a blocking receive.
const SHARE: f64 = 0.2;
/// The goal holds for this load.
const GOAL_LOAD: &str = "idle";

/// Measures pairs under a load.
pub fn measure(job: &Job, load: &Load, pairs: u32) -> Result<Pairs, String> {
    let pairs = in_pairs(load, pairs, |hybrid| block(job, if hybrid { "hybrid" } else { "block" }))?;
    Ok(Pairs { load: load_name(load), pairs })
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

/// Both waits under each load, and their ratio.
pub fn table(all: &[Pairs]) -> Table {
    pair_table::table(all, ["hybrid at both ends", "asleep at both ends"], "hybrid / asleep")
}

/// The hybrid wait's p99 is a fifth of the other at most, with nothing beside.
pub fn goals(all: &[Pairs]) -> Vec<Goal> {
    let goal = |figures: &Pairs| {
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
            goals(&[Pairs { load: GOAL_LOAD.into(), pairs }])
        };
        assert_eq!((goals(9_000)[0].reached, goals(12_000)[0].reached), (Some(true), Some(false)));
        let loaded = Pairs { load: "cpu".into(), pairs: vec![(series(1), series(2))] };
        assert!(super::goals(&[loaded]).is_empty());
    }
}
