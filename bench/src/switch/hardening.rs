//! What it costs the core that system calls are filtered, as they are for `ontick switch run` once it is set up.

use ontick_record::compare::{Spread, paired};
use ontick_tsn::model::Socket;
use ontick_undo::system_calls::{Needed, refuse_here};

use super::cost::{Way, measure_after};
use super::elsewhere;
use crate::goals::Goal;
use crate::page::{Page, Table};
use crate::show::times;
use crate::side::Job;
use crate::unthrottled::Unthrottled;

/// Frames by packet sockets take one system call for a few of them, those by AF_XDP a call to wake the kernel.
const WAYS: [Way; 2] = [Way::new(Socket::Packet, false), Way::new(Socket::Xdp, false)];
/// Full rings that are drained in each turn.
const RINGS: u32 = 30;
const AT_MOST: f64 = 1.01;

/// By one way: the core's cost per frame in each pair of turns, filtered and not.
pub struct Figures {
    way: Way,
    pairs: Vec<[f64; 2]>,
    missing: u64,
}

/// Turns of both kinds, A B, B A, ….
pub fn measure(job: &Job, pairs: u32, page: &mut Page) -> Result<Vec<Figures>, String> {
    let _unthrottled = Unthrottled::begin(job.cpu)?;
    let all: Result<Vec<_>, String> = WAYS.into_iter().map(|way| by(way, job, pairs)).collect();
    let all = all?;
    page.heading("Hardening: the core's cost per frame, its system calls filtered or not");
    page.table(&table(&all));
    page.words(&format!(
        "{pairs} pairs of turns, A B, B A, …; in each the core drains a full ring {RINGS} times, as in the switch's own figures, and the median counts. The filter is that of `switch run`, for the core's thread alone, as nobody can take a filter off again. Half of the pairs lie between the ratios in parentheses.",
    ));
    Ok(all)
}

fn by(way: Way, job: &Job, pairs: u32) -> Result<Figures, String> {
    let mut figures = Figures { way, pairs: Vec::new(), missing: 0 };
    for pair in 0..pairs {
        let mut costs = [0.0; 2];
        for filtered in [pair % 2 == 0, pair % 2 != 0] {
            // As `switch run` needs them.
            let needed = Needed { programs: true, bpf: true };
            let filter = move || match filtered {
                true => refuse_here(needed).map_err(|e| format!("system calls are not filtered: {e}")),
                false => Ok(()),
            };
            let (core_ns, missing) = measure_after(filter, job, way, RINGS, elsewhere(job))?.core_ns();
            costs[usize::from(!filtered)] = core_ns;
            figures.missing += missing;
        }
        figures.pairs.push(costs);
    }
    Ok(figures)
}

impl Figures {
    fn ratio(&self) -> Option<Spread> {
        paired(self.pairs.iter().map(|[filtered, plain]| filtered / plain))
    }
}

fn table(all: &[Figures]) -> Table {
    let mut table = Table::new(&["", "filtered, per frame", "not filtered", "filtered / not", "missing"]);
    for figures in all {
        let median = |side: usize| paired(figures.pairs.iter().map(|pair| pair[side]));
        let ns = |spread: Option<Spread>| spread.map_or("—".into(), |spread| format!("{:.0}ns", spread.median));
        let ratio = figures.ratio().map_or("—".into(), |ratio| {
            format!("{} ({} to {})", times(ratio.median), times(ratio.lower_quartile), times(ratio.upper_quartile))
        });
        table.row([figures.way.name(), ns(median(0)), ns(median(1)), ratio, figures.missing.to_string()]);
    }
    table
}

/// One for each way.
pub fn goals(all: &[Figures]) -> Vec<Goal> {
    let goal = |figures: &Figures| {
        let seen = figures.ratio().map(|ratio| (times(ratio.median), ratio.median <= AT_MOST));
        let what = format!("cost per frame, system calls filtered / not, {}", figures.way.name());
        Goal::new(what, format!("≤ ×{AT_MOST}"), seen)
    };
    all.iter().map(goal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_of_each_pair() {
        let of = |pairs: &[[f64; 2]]| Figures { way: WAYS[0], pairs: pairs.to_vec(), missing: 0 };
        let reached = |pairs| goals(&[of(pairs)])[0].reached;
        assert_eq!(reached(&[[1_010.0, 1_000.0], [2_000.0, 2_000.0], [3_300.0, 3_000.0]]), Some(true));
        assert_eq!(reached(&[[1_020.0, 1_000.0], [2_000.0, 2_000.0], [3_300.0, 3_000.0]]), Some(false));
        assert_eq!(reached(&[]), None);
    }
}
