//! A sleeping loop on a CPU that is kept from idling beside the same on one that may idle. The loop is cyclictest, started by
//! `ontick run` both times.

use ontick_measure::Load;

use crate::child::{self, Words};
use crate::goals::Goal;
use crate::in_pairs::in_pairs;
use crate::page::Table;
use crate::pair_table::{self, Pairs};
use crate::show::times;
use crate::side::{Job, Side};
use crate::versus::load_name;

/// The goal holds for this load.
const GOAL_LOAD: &str = "idle";

/// Measures pairs under a load.
pub fn measure(job: &Job, load: &Load, pairs: u32) -> Result<Pairs, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("a temporary folder: {e}"))?;
    let pairs = in_pairs(load, pairs, |awake| {
        let words = command(job, awake, &Side::Cyclictest.command(job, 0, folder.path()));
        let finished = child::run(&words)?;
        let run = Side::Cyclictest.result(&finished.stdout, folder.path())?;
        run.series.into_iter().next().ok_or_else(|| "cyclictest's result has no series".into())
    })?;
    Ok(Pairs { load: load_name(load), pairs })
}

/// cyclictest chooses its own policy, and its own CPU, which is the same.
pub fn command(job: &Job, awake: bool, cyclictest: &[String]) -> Words {
    let mut words: Words = [&job.ontick.display().to_string(), "run", "--keep-root", "--policy", "other", "--cpu"]
        .map(String::from)
        .to_vec();
    words.push(job.cpu.to_string());
    words.extend(awake.then(|| "--keep-awake".into()));
    words.push("--".into());
    words.extend(cyclictest.iter().cloned());
    words
}

pub fn table(all: &[Pairs]) -> Table {
    pair_table::table(all, ["kept awake", "may idle"], "kept awake / may idle")
}

/// A CPU that does not idle is earlier, with nothing beside.
pub fn goals(all: &[Pairs]) -> Vec<Goal> {
    let goal = |figures: &Pairs| {
        let seen = figures.ratio(0.5).map(|ratio| (times(ratio.median), ratio.median < 1.0));
        Goal::new("p50 of cyclictest, CPU kept awake / may idle, idle", "below 1x", seen)
    };
    all.iter().filter(|figures| figures.load == GOAL_LOAD).map(goal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_start_the_same_program() {
        let job = Job { ontick: "ontick".into(), cpu: 3, priority: 98, interval_ns: 1_000_000, duration_ns: 1 };
        let line = |awake| command(&job, awake, &["cyclictest".into(), "-q".into()]).join(" ");
        assert_eq!(line(false), "ontick run --keep-root --policy other --cpu 3 -- cyclictest -q");
        assert_eq!(line(true), "ontick run --keep-root --policy other --cpu 3 --keep-awake -- cyclictest -q");
    }
}
