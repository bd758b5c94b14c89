//! Several series in one run: all methods in turn, all ways to wake.

use crate::observe::Part;
use crate::{Error, Observer};
use ontick_record::Series;

/// Measures each item in turn with `measure`, until the observer ends the run.
pub fn each<T>(
    items: &[T],
    observer: &mut Observer,
    mut measure: impl FnMut(&T, &mut Observer) -> Result<Series, Error>,
) -> Result<Vec<Series>, Error> {
    each_together(items, 1, observer, |item, observer| measure(item, observer).map(|series| vec![series]))
}

/// The same where each item gives so many series that are measured together.
pub(crate) fn each_together<T>(
    items: &[T],
    together: usize,
    observer: &mut Observer,
    mut measure: impl FnMut(&T, &mut Observer) -> Result<Vec<Series>, Error>,
) -> Result<Vec<Series>, Error> {
    let mut all = Vec::new();
    let share = 1.0 / items.len().max(1) as f64;
    for (n, item) in items.iter().enumerate() {
        if observer.stopped() {
            break;
        }
        observer.begin(Part { series: n * together, from: n as f64 * share, share });
        let came = measure(item, observer);
        all.extend(observer.or_end(came, !all.is_empty())?.into_iter().flatten());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer::{self, Job, Method};
    use crate::{Length, Limits, Placement};
    use ontick_record::{Run, store};
    use std::sync::atomic::AtomicBool;

    /// As it is recovered where a run is killed.
    #[test]
    fn a_journal_lasts_as_long_as_all_parts_together() {
        let folder = tempfile::tempdir().unwrap();
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let mut observer = Observer::new(&stop, &mut look);
        let (names, part_ns) = (["one", "two"], 60_000_000);
        let series = names.map(|name| Series::from(name.to_string())).into();
        let run = Run { series, ..Run::new("ontick", "timer") };
        observer.keep_journal(folder.path().join("run.json"), &run).unwrap();
        each(&names, &mut observer, |name, observer| {
            let (job, limits) = (Job::new(1_000_000, Method::ClockNanosleep), Limits::new(Length::Duration(part_ns)));
            timer::measure(name, job, Placement::stock(), limits, observer)
        })
        .unwrap();
        let kept = store::read(&folder.path().join("run.json.journal")).unwrap();
        assert!(kept.series.iter().all(|series| series.latency.count() > 0), "{kept:?}");
        assert!(kept.duration_ns >= 2 * part_ns, "{}", kept.duration_ns);
    }

    #[test]
    fn what_was_measured_before_a_failure_is_kept() {
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let mut observer = Observer::new(&stop, &mut look);
        let measure = |item: &u32, _: &mut Observer| match item {
            1 => Ok(Series { name: "one".into(), ..Series::default() }),
            _ => Err(Error::Impossible("two".into())),
        };
        let all = each(&[1, 2, 1], &mut observer, measure).unwrap();
        assert_eq!(all.iter().map(|series| series.name.as_str()).collect::<Vec<_>>(), ["one"]);
        assert_eq!(observer.take_failure().unwrap().to_string(), "two");
        // With nothing before, it is an error as such.
        assert!(each(&[2, 1], &mut Observer::new(&AtomicBool::new(false), &mut |_| {}), measure).is_err());
    }
}
