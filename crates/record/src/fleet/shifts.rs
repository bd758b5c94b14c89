//! What changed between two weeks: each machine against itself.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::kind::Kind;
use super::rows::{Row, by_machine};
use super::week::Week;
use crate::quantile_bounds::ranks;

/// Machines that went from one kind to another, or stayed of one, and how much later they are than before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shift {
    /// What they were.
    pub before: Kind,
    /// What they are.
    pub after: Kind,
    /// How many they are.
    pub machines: usize,
    /// How many times as large their 99.99th percentile is: the median over the machines.
    pub ratio: f64,
    /// Between which two the median lies with 95 %; absent where the machines are too few (fewer than 6).
    pub bounds: Option<(f64, f64)>,
    /// What that says.
    pub verdict: Change,
    /// How many machines are later by more than a tenth.
    pub later: usize,
}

/// What can be said of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Change {
    /// Later by more than a tenth.
    Worse,
    /// Too few machines, or they differ too much.
    CannotTell,
    /// Not later by more than a tenth.
    NoWorse,
    /// Earlier by more than a tenth.
    Better,
}

/// A smaller difference is none: a bucket alone may be a few percent wide.
const TENTH: f64 = 1.1;

impl Change {
    fn of(bounds: Option<(f64, f64)>) -> Self {
        match bounds {
            None => Self::CannotTell,
            Some((least, _)) if least > TENTH => Self::Worse,
            Some((_, most)) if most < 1.0 / TENTH => Self::Better,
            Some((_, most)) if most <= TENTH => Self::NoWorse,
            Some(_) => Self::CannotTell,
        }
    }
}

/// The shifts between two weeks, worst first. A machine counts where it was measured in both; its kind is that of most of
/// its series in the week.
pub(super) fn shifts(rows: &[Row], kinds: &[Kind], before: Week, after: Week) -> Vec<Shift> {
    let [before, after] = [before, after].map(|week| machines(rows, week));
    let mut moved: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    for (machine, (group, figure)) in &after {
        if let Some((from, was)) = before.get(machine) {
            moved.entry((*from, *group)).or_default().push(*figure as f64 / (*was).max(1) as f64);
        }
    }
    // Groups of one kind are one: a kind has a group for each job, and these rows are of one job.
    let mut shifts: Vec<Shift> = moved
        .into_iter()
        .map(|((from, to), ratios)| shift(&kinds[from as usize], &kinds[to as usize], ratios))
        .collect();
    shifts.sort_by(|a, b| a.verdict.cmp(&b.verdict).then(b.ratio.total_cmp(&a.ratio)));
    shifts
}

fn shift(before: &Kind, after: &Kind, mut ratios: Vec<f64>) -> Shift {
    ratios.sort_unstable_by(f64::total_cmp);
    let (below, above) = ranks(0.5, ratios.len() as u64);
    let at = |rank: u64| ratios[rank as usize - 1];
    let bounds = below.zip(above).map(|(below, above)| (at(below), at(above)));
    Shift {
        before: before.clone(),
        after: after.clone(),
        machines: ratios.len(),
        ratio: ratios[ratios.len() / 2],
        bounds,
        verdict: Change::of(bounds),
        later: ratios.iter().filter(|ratio| **ratio > TENTH).count(),
    }
}

/// Each machine's group and figure in a week.
fn machines(rows: &[Row], week: Week) -> HashMap<u32, (u32, u64)> {
    let of_week = || rows.iter().filter(move |row| row.week == Some(week));
    let mut groups: HashMap<u32, BTreeMap<u32, usize>> = HashMap::new();
    for row in of_week() {
        *groups.entry(row.machine).or_default().entry(row.group).or_default() += 1;
    }
    let most = |groups: &BTreeMap<u32, usize>| groups.iter().max_by_key(|(_, often)| **often).map(|(group, _)| *group);
    let group: HashMap<u32, u32> =
        groups.iter().filter_map(|(machine, groups)| Some((*machine, most(groups)?))).collect();
    // A machine that changed within the week is measured by what it mostly was.
    let figures = of_week().filter(|row| group.get(&row.machine) == Some(&row.group));
    let figures = by_machine(figures.map(|row| (row.machine, row.p99_99_ns)));
    figures.into_iter().filter_map(|(machine, figure)| Some((machine, (*group.get(&machine)?, figure)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn week(n: i32) -> Option<Week> {
        Week::of(["2026-11-09T00:00:00Z", "2026-11-16T00:00:00Z"][n as usize])
    }

    fn kinds() -> [Kind; 2] {
        ["6.12.25", "6.12.57"].map(|kernel| Kind { kernel: kernel.into(), ..Kind::default() })
    }

    fn shifts_of(rows: &[Row]) -> Vec<Shift> {
        shifts(rows, &kinds(), week(0).unwrap(), week(1).unwrap())
    }

    fn row(group: u32, machine: u32, in_week: i32, p99_99_ns: u64) -> Row {
        Row { group, machine, week: week(in_week), p99_99_ns }
    }

    #[test]
    fn machines_that_moved_are_parted_from_those_that_stayed() {
        let mut rows = Vec::new();
        for machine in 0..20 {
            rows.push(row(0, machine, 0, 20_000 + u64::from(machine) * 100));
            // Half got the new kernel, which is two and a half times as late.
            let (group, times) = if machine < 10 { (1, 5) } else { (0, 2) };
            rows.push(row(group, machine, 1, (20_000 + u64::from(machine) * 100) * times / 2));
        }
        // Measured once only.
        rows.push(row(0, 90, 0, 1));
        rows.push(row(1, 91, 1, 1));
        let shifts = shifts_of(&rows);
        assert_eq!(shifts.len(), 2);
        let [moved, stayed] = &shifts[..] else { unreachable!() };
        assert_eq!((moved.machines, moved.ratio, moved.verdict, moved.later), (10, 2.5, Change::Worse, 10));
        assert_eq!((moved.before.kernel.as_str(), moved.after.kernel.as_str()), ("6.12.25", "6.12.57"));
        assert_eq!((stayed.machines, stayed.ratio, stayed.verdict, stayed.later), (10, 1.0, Change::NoWorse, 0));
    }

    #[test]
    fn few_machines_tell_nothing_and_a_wide_spread_neither() {
        let of = |ratios: &[u64]| {
            let rows = (0..)
                .zip(ratios)
                .flat_map(|(machine, tenths)| [row(0, machine, 0, 10_000), row(0, machine, 1, 1_000 * tenths)]);
            shifts_of(&rows.collect::<Vec<_>>()).remove(0)
        };
        let few = of(&[50; 5]);
        assert_eq!((few.verdict, few.bounds, few.ratio), (Change::CannotTell, None, 5.0));
        assert_eq!(of(&[50; 6]).verdict, Change::Worse);
        assert_eq!(of(&[5; 6]).verdict, Change::Better);
        assert_eq!(of(&[4, 5, 9, 10, 12, 30, 50]).verdict, Change::CannotTell);
        assert_eq!(of(&[11; 9]).verdict, Change::NoWorse, "a tenth is no difference");
    }

    #[test]
    fn a_machine_is_what_it_mostly_was_in_a_week() {
        let rows = [row(0, 1, 0, 10), row(0, 1, 1, 99), row(1, 1, 1, 20), row(1, 1, 1, 20)];
        let shift = shifts_of(&rows).remove(0);
        assert_eq!((shift.ratio, shift.after.kernel.as_str()), (2.0, "6.12.57"));
    }
}
