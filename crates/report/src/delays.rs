//! Delays as a table reads: what was asked for in rows, who made them in columns, what was got in the cells.

use ontick_record::{Measurement, Run, Series};
use ontick_units::show;

use crate::figures;

/// What source 002 found with usleep(3) on a Raspberry Pi.
const SOURCE_002: &str =
    "Source 002 found about 70us added to each delay of usleep, on a Raspberry Pi at normal scheduling.";

/// The delays of a run.
pub(crate) struct Delays<'a> {
    /// Who made them, in the order of the run.
    pub methods: Vec<&'a str>,
    /// How long they were to be, in ns, ascending; and a series for each method that has one.
    pub rows: Vec<(u64, Vec<Option<&'a Series>>)>,
}

/// The delays of a run; none where it measured something else, or nothing yet.
pub(crate) fn of(run: &Run) -> Option<Delays<'_>> {
    if run.measurement != Measurement::Delay {
        return None;
    }
    let measured = || run.series.iter().filter(|s| s.latency.count() > 0);
    let (mut methods, mut lengths): (Vec<&str>, Vec<u64>) = Default::default();
    for case in measured().map(|s| &s.case) {
        let (method, asked_ns) = (case.method.as_deref()?, case.delay_ns?);
        if !methods.contains(&method) {
            methods.push(method);
        }
        lengths.push(asked_ns);
    }
    lengths.sort_unstable();
    lengths.dedup();
    let of = |asked_ns: u64, method: &str| {
        measured().find(|s| s.case.delay_ns == Some(asked_ns) && s.case.method.as_deref() == Some(method))
    };
    let row = |asked_ns| (asked_ns, methods.iter().map(|method| of(asked_ns, method)).collect());
    let rows: Vec<_> = lengths.into_iter().map(row).collect();
    (!rows.is_empty()).then_some(Delays { methods, rows })
}

/// How long delays were, in ns: what was asked for, and what came to it in this share of them.
pub(crate) fn got(series: &Series, share: f64) -> Option<u64> {
    Some(series.case.delay_ns?.saturating_add(series.latency.quantile(share)?))
}

impl Delays<'_> {
    /// The shortest delay, and what is added to each, by calls that sleep and by those that spin; medians.
    pub fn verdict(&self) -> String {
        let (sleeping, spinning) = (self.side(false), self.side(true));
        match (sleeping, spinning) {
            (Some(sleep), Some(spin)) => {
                format!("{}; one that spins takes {}.", said("that sleeps", &sleep), spin.added())
            }
            (Some(side), None) => format!("{}.", said("that sleeps", &side)),
            (None, Some(side)) => format!("{}.", said("that spins", &side)),
            (None, None) => "Nothing was measured, so there is no verdict.".into(),
        }
    }

    /// What the source of the question found.
    pub fn note(&self) -> Option<&'static str> {
        self.methods.contains(&"usleep").then_some(SOURCE_002)
    }

    fn side(&self, spins: bool) -> Option<Side> {
        let of_side = || {
            let cells = self.rows.iter().flat_map(|(_, cells)| cells.iter().flatten());
            cells.filter(move |series| figures::spins(series) == spins)
        };
        let medians = || of_side().filter_map(|series| series.latency.quantile(0.5));
        Some(Side {
            shortest_ns: of_side().filter_map(|series| got(series, 0.5)).min()?,
            added_ns: (medians().min()?, medians().max()?),
        })
    }
}

/// The calls that sleep, or those that spin.
struct Side {
    shortest_ns: u64,
    added_ns: (u64, u64),
}

impl Side {
    fn added(&self) -> String {
        match (show(self.added_ns.0), show(self.added_ns.1)) {
            (least, most) if least == most => format!("{least} more than asked for"),
            (least, most) => format!("{least} to {most} more than asked for"),
        }
    }
}

fn said(how: &str, side: &Side) -> String {
    format!("The shortest delay {how} takes {}, and each takes {}", show(side.shortest_ns), side.added())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ontick_record::Case;

    /// Series of these methods, delays and what was added, in ns.
    pub fn run(points: &[(&str, u64, u64)]) -> Run {
        let mut run = Run::new("ontick 0.1.0", Measurement::Delay);
        for (method, asked_ns, added_ns) in points {
            let case = Case { delay_ns: Some(*asked_ns), method: Some(method.to_string()), ..Case::default() };
            let mut series = Series::from(case);
            series.settings.method = method.to_string();
            series.latency.add(*added_ns, 1, 99);
            series.latency.add(added_ns * 10, 1, 1);
            run.series.push(series);
        }
        run
    }

    #[test]
    fn a_method_that_was_not_reached_has_no_cell() {
        let run = run(&[("usleep", 10_000, 52_000), ("usleep", 0, 50_000), ("spin", 0, 40)]);
        let delays = of(&run).unwrap();
        assert_eq!(delays.methods, ["usleep", "spin"]);
        let cells: Vec<_> = delays
            .rows
            .iter()
            .map(|(asked, cells)| (*asked, cells.iter().map(|cell| cell.and_then(|s| got(s, 0.5))).collect::<Vec<_>>()))
            .collect();
        assert_eq!(cells, [(0, vec![Some(50_000), Some(40)]), (10_000, vec![Some(62_000), None])]);
        assert_eq!(
            delays.verdict(),
            "The shortest delay that sleeps takes 50.0us, and each takes 50.0us to 52.0us more than asked for; one that \
             spins takes 40ns more than asked for."
        );
    }

    #[test]
    fn other_runs_and_empty_ones_have_none() {
        assert!(of(&Run::new("ontick", Measurement::Timer)).is_none());
        assert!(of(&Run::new("ontick", Measurement::Delay)).is_none());
    }
}
