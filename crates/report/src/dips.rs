//! The shortest dips that are detected, as people read them.

use ontick_record::run::Dip;
use ontick_record::{Run, Series};
use ontick_units::exact;

/// What source 002 found on a Raspberry Pi.
const SOURCE_002: &str =
    "Source 002 found that dips of several dozen us raise no interrupt at all, on a Raspberry Pi at normal scheduling.";

/// The series that searched dips.
pub(crate) fn of(run: &Run) -> Vec<(&Series, &Dip)> {
    run.series.iter().filter_map(|series| Some((series, series.dip.as_ref()?))).collect()
}

/// Heads of [`row`].
pub(crate) const HEADS: [&str; 3] = ["both edges", "one edge", "dips"];

/// The shortest of which both edges are detected, the shortest of which one is, and how many dips were tried.
pub(crate) fn row(dip: &Dip) -> [String; 3] {
    let tried: u64 = dip.points.iter().map(|point| point.dips).sum();
    [shortest(dip, dip.both_ns), shortest(dip, dip.one_ns), tried.to_string()]
}

fn shortest(dip: &Dip, found_ns: Option<u64>) -> String {
    match found_ns {
        None => format!("> {}", exact(dip.high_ns)),
        Some(ns) if is_shortest_driven(dip, ns) => format!("<= {}", exact(ns)),
        Some(ns) => exact(ns),
    }
}

/// Whether no shorter dip could be tried: the range begins there, or a line takes so long to drive.
fn is_shortest_driven(dip: &Dip, ns: u64) -> bool {
    !dip.points.iter().any(|point| point.width_ns < ns && point.dips > 0)
}

/// What the figures mean, and what the source of the question found.
pub(crate) fn notes(run: &Run) -> Vec<String> {
    let Some((_, dip)) = of(run).into_iter().next() else { return Vec::new() };
    let percent = dip.share * 100.0;
    let criterion = format!(
        "The shortest dip of which {percent} % are detected, of {} to {} in steps of {}.",
        exact(dip.low_ns),
        exact(dip.high_ns),
        exact(dip.step_ns)
    );
    let limit = "<= is where no shorter dip could be driven, or none was asked for.";
    vec![criterion, limit.into(), SOURCE_002.into()]
}

/// The verdict: what the best and the worst mechanism detect; none of runs without dips.
pub(crate) fn verdict(run: &Run) -> Option<String> {
    let mut all = of(run);
    // The first of equal ones stays the first.
    all.sort_by_key(|(_, dip)| dip.both_ns.unwrap_or(u64::MAX));
    let ((best, least), (worst, most)) = (all.first()?, all.last()?);
    let said = |dip: &Dip| match dip.both_ns {
        Some(ns) => format!("from {} on", exact(ns)),
        None => format!("not even of {}", exact(dip.high_ns)),
    };
    Some(match (said(least), said(most)) {
        (least, most) if least == most => format!("Both edges of a dip are detected {least}."),
        (least, most) => {
            format!(
                "Both edges of a dip are detected {least} at best ({}), {most} at worst ({}).",
                best.name, worst.name
            )
        }
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ontick_record::run::DipPoint;
    use ontick_record::{Case, Measurement};

    /// Series of these methods, with the shortest dips of which both edges and of which one is detected, in ns.
    pub fn run(found: &[(&str, Option<u64>, Option<u64>)]) -> Run {
        let mut run = Run::new("ontick 0.1.0", Measurement::Dip);
        for (method, both_ns, one_ns) in found {
            let case = Case { method: Some(method.to_string()), loaded: Some(false), ..Case::default() };
            let mut series = Series::from(case);
            let point = |width_ns| DipPoint {
                width_ns,
                dips: 100,
                both: if both_ns.is_some_and(|ns| width_ns >= ns) { 100 } else { 3 },
                one: if one_ns.is_some_and(|ns| width_ns >= ns) { 100 } else { 40 },
            };
            let points = [1_000, 19_000, 20_000, 250_000, 500_000].map(point).to_vec();
            let (both_ns, one_ns) = (*both_ns, *one_ns);
            let (low_ns, high_ns, step_ns) = (1_000, 500_000, 1_000);
            series.dip = Some(Dip { share: 0.99, low_ns, high_ns, step_ns, both_ns, one_ns, points });
            run.series.push(series);
        }
        run
    }

    #[test]
    fn a_search_that_ended_at_an_end_of_its_range_says_so() {
        let run = run(&[("interrupt", Some(20_000), Some(1_000)), ("poll", None, None)]);
        let rows: Vec<_> = of(&run).into_iter().map(|(_, dip)| row(dip)).collect();
        assert_eq!(rows, [["20us", "<= 1us", "500"], ["> 500us", "> 500us", "500"]]);
        assert_eq!(
            verdict(&run).unwrap(),
            "Both edges of a dip are detected from 20us on at best (interrupt, idle), not even of 500us at worst (poll, idle)."
        );
        let mut slow = run.clone();
        let dip = slow.series[0].dip.as_mut().unwrap();
        dip.points[..2].iter_mut().for_each(|point| point.dips = 0);
        assert_eq!(row(dip)[0], "<= 20us", "shorter ones could not be driven");
        assert!(notes(&run)[0].starts_with("The shortest dip of which 99 % are detected, of 1us to 500us in steps"));
        assert!(verdict(&Run::new("ontick", Measurement::Edge)).is_none());
    }
}
