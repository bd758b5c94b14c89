//! How the series of a run stand in a table: `stock, idle` beside `ontick, idle`, or just one by one.

use ontick_record::{Run, Series};

/// Series that are read together.
pub(crate) struct Group<'a> {
    /// What they have in common (`idle`, `loaded`); empty where nothing groups them.
    pub name: &'a str,
    /// What tells them apart, and the series.
    pub rows: Vec<(&'a str, &'a Series)>,
}

/// The series of a run in groups. The four of a comparison are grouped by load, in the order in which
/// each load first appears, and those of a table of responses by mechanism; all others form one group without a name.
pub(crate) fn groups(run: &Run) -> Vec<Group<'_>> {
    let parts = |s| split(&run.measurement, s);
    let split: Option<Vec<_>> = run.series.iter().map(|s| Some((parts(s)?, s))).collect();
    let Some(split) = split else {
        return vec![Group { name: "", rows: run.series.iter().map(|s| (s.name.as_str(), s)).collect() }];
    };
    let mut groups: Vec<Group> = Vec::new();
    for ((side, load), series) in split {
        match groups.iter_mut().find(|g| g.name == load) {
            Some(group) => group.rows.push((side, series)),
            None => groups.push(Group { name: load, rows: vec![(side, series)] }),
        }
    }
    groups
}

/// What tells a series apart, and the name of its group.
fn split<'a>(measurement: &str, series: &'a Series) -> Option<(&'a str, &'a str)> {
    let (first, rest) = series.name.split_once(", ")?;
    match measurement {
        "prove" => Some((first, rest)),
        "response" => Some((rest, first)),
        _ => None,
    }
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
        run.series.extend(names.iter().map(|name| Series { name: (*name).into(), ..Default::default() }));
        let groups = groups(&run).into_iter();
        groups.map(|g| (g.name.into(), g.rows.iter().map(|(name, _)| (*name).into()).collect())).collect()
    }

    fn group(name: &str, rows: [&str; 2]) -> (String, Vec<String>) {
        (name.into(), rows.map(Into::into).into())
    }

    #[test]
    fn a_comparison_is_grouped_by_load_and_responses_by_mechanism() {
        let sides = ["stock, idle", "ontick, idle", "stock, loaded", "ontick, loaded"];
        let by_load = [group("idle", ["stock", "ontick"]), group("loaded", ["stock", "ontick"])];
        assert_eq!(grouped("prove", &sides), by_load);
        let by_mechanism = ["poll, idle", "poll, loaded", "wait, idle", "wait, loaded"];
        let mechanisms = [group("poll", ["idle", "loaded"]), group("wait", ["idle", "loaded"])];
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
