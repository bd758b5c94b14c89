//! Times between edges that nobody asked to be of a certain length: how long they were, as people read them.

use ontick_record::{Histogram, Measurement, Run};
use ontick_units::show;

use crate::number::{count, counted};
use crate::times::Times;

/// Whether a run is of such times: being short is no merit of theirs, and nothing is missed.
pub(crate) fn are_of(run: &Run) -> bool {
    run.measurement == Measurement::Intervals
}

/// Heads of [`rows`].
pub(crate) const HEADS: [&str; 6] = ["shortest", "average", "longest", "p50", "p99", "times"];

/// The times of all series.
pub(crate) fn all_times(run: &Run) -> impl Iterator<Item = &Histogram> + Clone {
    run.series.iter().map(|series| &series.latency)
}

/// The name of each series, and its figures.
pub(crate) fn rows(run: &Run, times: Times) -> Vec<(&str, [String; 6])> {
    let shown = |ns: Option<u64>| times.show(ns);
    let row = |series: &ontick_record::Series| {
        let h = &series.latency;
        let average = h.mean_ns.filter(|ns| *ns >= 0.0).map(|ns| ns.round() as u64);
        let [p50, p99] = [0.5, 0.99].map(|q| h.quantile(q));
        let [shortest, average, longest] = [h.min_ns, average, h.max_ns].map(shown);
        [shortest, average, longest, shown(p50), shown(p99), count(h.count())]
    };
    run.series.iter().map(|series| (series.name.as_str(), row(series))).collect()
}

/// What was found, in a sentence for each series; nothing of other runs.
pub(crate) fn verdict(run: &Run) -> Option<String> {
    if !are_of(run) {
        return None;
    }
    let sentence = |series: &ontick_record::Series| {
        let h = &series.latency;
        let times = counted(h.count(), "time");
        match (h.min_ns, h.quantile(0.5), h.max_ns) {
            (Some(min), Some(median), Some(max)) => {
                format!(
                    "{}: {times}, {} to {}, half of them up to {}.",
                    series.name,
                    show(min),
                    show(max),
                    show(median)
                )
            }
            _ => format!("{}: {times}.", series.name),
        }
    };
    let all: Vec<String> = run.series.iter().filter(|s| s.latency.count() > 0).map(sentence).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

#[cfg(test)]
pub(crate) mod tests {
    use ontick_record::Series;

    use super::*;

    /// A channel that was high for these times.
    pub(crate) fn run(name: &str, times_ns: &[u64]) -> Run {
        let mut run = Run::new("sigrok 0.5.2", Measurement::Intervals);
        let mut series = Series::from(format!("{name} high"));
        times_ns.iter().for_each(|ns| series.latency.add(*ns, 1, 1));
        run.series.push(series);
        run
    }

    #[test]
    fn a_sentence_says_from_where_to_where_and_judges_nothing() {
        let text = verdict(&run("D0", &[99_900, 100_000, 112_000])).unwrap();
        assert_eq!(text, "D0 high: 3 times, 99.9us to 112us, half of them up to 100us.");
        assert_eq!(verdict(&Run::new("ontick", Measurement::Intervals)), None);
        assert_eq!(verdict(&Run { measurement: Measurement::Pulse, ..run("D0", &[1]) }), None);
    }

    #[test]
    fn a_row_has_a_figure_for_each_head() {
        let run = run("D0", &[1_000; 50]);
        let rows = rows(&run, Times::of(all_times(&run)));
        assert_eq!((rows[0].0, rows[0].1[0].as_str(), rows[0].1[5].as_str()), ("D0 high", "1.000", "50"));
        // A mean that is not known is not made up.
        assert_eq!(rows[0].1[1], "—");
    }
}
