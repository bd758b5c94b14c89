//! Series of several CPUs that ran at once, and all of them as one.

use std::borrow::Cow;

use ontick_record::run::Maxima;
use ontick_record::{Case, Run, Series, Uncertainty};

/// What the row of all CPUs is called.
pub(crate) const TOGETHER: &str = "together";

/// The run with a series more for each group whose CPUs were measured at once: their samples as those of one.
pub(crate) fn with_all_cpus(run: &Run) -> Cow<'_, Run> {
    let mut all: Vec<Series> = Vec::new();
    for case in cases(run) {
        let of_case: Vec<&Series> =
            run.series.iter().filter(|series| without_cpu(series).as_ref() == Some(&case)).collect();
        if of_case.len() > 1 {
            all.push(joined(&of_case, case));
        }
    }
    if all.is_empty() {
        return Cow::Borrowed(run);
    }
    let mut run = run.clone();
    run.series.extend(all);
    Cow::Owned(run)
}

/// Whether a series is one of all CPUs, as [`with_all_cpus`] makes them.
pub(crate) fn is_together(series: &Series) -> bool {
    series.case.cpu.is_none() && series.name.rsplit(", ").next() == Some(TOGETHER)
}

/// On how many CPUs the samples of such a series were taken.
pub(crate) fn on_cpus_like(run: &Run, together: &Series) -> usize {
    members(run, together).count()
}

/// The series of each CPU whose samples are in such a series.
pub(crate) fn members<'a>(run: &'a Run, together: &'a Series) -> impl Iterator<Item = (u32, &'a Series)> {
    on_cpus(run).filter(|(_, series)| without_cpu(series).as_ref() == Some(&together.case))
}

/// The CPU of several with most outliers, for what explains them.
pub(crate) fn most_disturbed(run: &Run) -> Option<&Series> {
    on_cpus(run).map(|(_, series)| series).max_by_key(|series| series.outlier_count)
}

/// The series that have the CPU of their own in their case.
pub(crate) fn on_cpus(run: &Run) -> impl Iterator<Item = (u32, &Series)> {
    run.series.iter().filter_map(|series| Some((series.case.cpu?, series)))
}

/// What several CPUs have in common, each once, in order.
fn cases(run: &Run) -> Vec<Case> {
    let mut cases = Vec::new();
    for case in run.series.iter().filter_map(without_cpu) {
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

fn without_cpu(series: &Series) -> Option<Case> {
    series.case.cpu.map(|_| Case { cpu: None, ..series.case.clone() })
}

fn joined(all: &[&Series], case: Case) -> Series {
    let name = match case.to_string() {
        none if none.is_empty() => TOGETHER.into(),
        named => format!("{named}, {TOGETHER}"),
    };
    let sum = |of: fn(&Series) -> u64| all.iter().map(|series| of(series)).fold(0, u64::saturating_add);
    let mut series = Series {
        name,
        case,
        missed: sum(|series| series.missed),
        early: sum(|series| series.early),
        outlier_count: sum(|series| series.outlier_count),
        maxima: Maxima::of_all(all.iter().map(|series| &series.maxima)),
        settings: all.first().map(|series| series.settings.clone()).unwrap_or_default(),
        ..Series::default()
    };
    series.settings.cpu = None;
    series.settings.watched_ns = all.iter().map(|one| one.settings.watched_ns).sum();
    series.settings.load_ended = all.iter().any(|one| one.settings.load_ended);
    all.iter().for_each(|one| series.latency.merge(&one.latency));
    let stated: Option<Vec<&Uncertainty>> = all.iter().map(|one| one.uncertainty.as_ref()).collect();
    series.uncertainty = stated.map(|stated| stated.into_iter().fold(Uncertainty::default(), Uncertainty::joined));
    series.state_uncertainty();
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(method: &str, cpu: Option<u32>, latency_ns: u64, missed: u64) -> Series {
        let case = Case { method: Some(method.into()), cpu, ..Case::default() };
        let mut series = Series { missed, ..Series::from(case) };
        series.latency.add(latency_ns, 1, 10);
        series
    }

    #[test]
    fn the_cpus_of_each_method_are_one_more_series() {
        let mut run = Run::new("ontick", "timer");
        run.series = vec![
            series("hybrid", Some(0), 800, 1),
            series("hybrid", Some(1), 90_000, 2),
            series("poll", Some(0), 7_000, 0),
            series("spin", None, 500, 0),
        ];
        let with = with_all_cpus(&run);
        assert_eq!(with.series.len(), 5, "one CPU alone has no row of all");
        let all = &with.series[4];
        assert_eq!((&all.name[..], all.missed, all.latency.count()), ("hybrid, together", 3, 20));
        assert_eq!((all.latency.below(1_000), all.settings.cpu), (10, None));
        let said = crate::verdict(&run);
        assert!(said.starts_with("This machine, on 2 CPUs at once, by hybrid, acts within 3 us in"), "{said}");
        run.series.truncate(1);
        assert!(matches!(with_all_cpus(&run), Cow::Borrowed(_)));
    }
}
