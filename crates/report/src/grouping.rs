//! How the series of a run stand in a table: `stock, idle` beside `ontick, idle`, or just one by one.

use ontick_record::{Case, Measurement, Run, Series, Side};

use crate::together::{TOGETHER, is_together};

/// Series that are read together.
pub(crate) struct Group<'a> {
    /// What they have in common (`idle`, `loaded`); empty where nothing groups them.
    pub name: &'a str,
    /// What tells them apart, and the series.
    pub rows: Vec<(String, &'a Series)>,
}

/// The series of a run in groups. The four of a comparison are grouped by load, in the order in which
/// each load first appears, and those of a table of responses by mechanism; all others form one group without a name.
pub(crate) fn groups(run: &Run) -> Vec<Group<'_>> {
    let parts = |s| split(&run.measurement, s);
    let split: Option<Vec<_>> = run.series.iter().map(|s| Some((parts(s)?, s))).collect();
    let Some(split) = split else {
        return vec![Group { name: "", rows: run.series.iter().map(|s| (s.name.clone(), s)).collect() }];
    };
    let mut groups: Vec<Group> = Vec::new();
    for ((row, name), series) in split {
        match groups.iter_mut().find(|g| g.name == name) {
            Some(group) => group.rows.push((row, series)),
            None => groups.push(Group { name, rows: vec![(row, series)] }),
        }
    }
    groups
}

/// What tells a series apart, and the name of its group.
fn split<'a>(measurement: &Measurement, series: &'a Series) -> Option<(String, &'a str)> {
    let case = &series.case;
    match measurement {
        Measurement::Prove => {
            let side = case.side?.as_str();
            let row = match case.cpu {
                Some(cpu) => format!("{side}, CPU {cpu}"),
                None if is_together(series) => format!("{side}, {TOGETHER}"),
                None => side.into(),
            };
            Some((row, case.load()?))
        }
        Measurement::Response => {
            let irq = case.irq().map(|irq| format!(", {irq}")).unwrap_or_default();
            Some((format!("{}{irq}, {}", case.policy.as_ref()?, case.load()?), case.method.as_ref()?))
        }
        _ => None,
    }
}

/// The stock side of a comparison that was measured beside the same load.
pub(crate) fn stock_beside<'a>(run: &'a Run, ours: &Series) -> Option<&'a Series> {
    let stock = Case { side: Some(Side::Stock), ..ours.case.clone() };
    let found = run.series.iter().find(|s| s.case == stock && s.latency.count() > 0);
    found.filter(|_| run.measurement == Measurement::Prove)
}

/// Whether a series was measured beside a load.
pub(crate) fn is_loaded(series: &Series) -> bool {
    !matches!(series.settings.load.as_str(), "" | "none")
}

/// The load by its name alone: a record holds `cpu: stress-ng --cpu 2`.
pub(crate) fn load_name(load: &str) -> &str {
    match load.split_once(": ") {
        Some((name, _)) => name,
        None if load.is_empty() => "none",
        None => load,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(measurement: &str, names: &[&str]) -> Vec<(String, Vec<String>)> {
        let mut run = Run::new("ontick", measurement);
        run.series.extend(names.iter().map(|name| Series {
            case: Case::of_name(&measurement.into(), name).unwrap_or_default(),
            ..Series::from(name.to_string())
        }));
        let groups = groups(&run).into_iter();
        groups.map(|g| (g.name.into(), g.rows.iter().map(|(name, _)| name.clone()).collect())).collect()
    }

    fn group(name: &str, rows: [&str; 2]) -> (String, Vec<String>) {
        (name.into(), rows.map(Into::into).into())
    }

    #[test]
    fn a_comparison_is_grouped_by_load_and_responses_by_mechanism() {
        let sides = ["stock, idle", "ontick, idle", "stock, loaded", "ontick, loaded"];
        let by_load = [group("idle", ["stock", "ontick"]), group("loaded", ["stock", "ontick"])];
        assert_eq!(grouped("prove", &sides), by_load);
        let mut run = Run::new("ontick", Measurement::Prove);
        for cpu in [1, 2] {
            let case = Case { side: Some(Side::Ontick), loaded: Some(true), cpu: Some(cpu), ..Case::default() };
            run.series.push(Series::from(case));
        }
        let run = crate::together::with_all_cpus(&run);
        let rows: Vec<_> = groups(&run).remove(0).rows.into_iter().map(|(name, _)| name).collect();
        assert_eq!(rows, ["ontick, CPU 1", "ontick, CPU 2", "ontick, together"]);
        let by_mechanism = ["poll, other, idle", "poll, rr:55, stress", "wait, other, idle", "wait, rr:55, stress"];
        let mechanisms = ["poll", "wait"].map(|by| group(by, ["other, idle", "rr:55, stress"]));
        assert_eq!(grouped("response", &by_mechanism), mechanisms);
    }

    #[test]
    fn what_has_no_groups_stays_in_one_without_a_name() {
        assert_eq!(grouped("timer", &["a, idle", "b, idle"]), [group("", ["a, idle", "b, idle"])]);
        assert_eq!(grouped("prove", &["stock, idle", "other"]), [group("", ["stock, idle", "other"])]);
    }

    #[test]
    fn a_load_is_known_by_its_name() {
        assert_eq!(["cpu: stress-ng --cpu 2", "", "none", "cpu"].map(load_name), ["cpu", "none", "none", "cpu"]);
        let loaded = ["", "none", "cpu"].map(|load| {
            let mut series = Series::default();
            series.settings.load = load.into();
            is_loaded(&series)
        });
        assert_eq!(loaded, [false, false, true]);
    }
}
