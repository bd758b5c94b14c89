//! Latencies in parts, as a table reads: each part, and the whole beside them.

use ontick_record::run::Split;
use ontick_record::{Histogram, Run, Series};
use ontick_units::counted;

use crate::number::count;

/// The figures of each row.
pub(crate) const HEADS: [&str; 3] = ["p50", "p99", "max"];

/// A series whose latencies are in parts.
pub(crate) struct Parts<'a> {
    pub series: &'a Series,
    split: &'a Split,
}

/// Those of a run that were split; none where that was not asked for.
pub(crate) fn of(run: &Run) -> Vec<Parts<'_>> {
    run.series.iter().filter_map(|series| Some(Parts { series, split: series.split.as_ref()? })).collect()
}

impl Parts<'_> {
    /// A row for each part in the order in which they happen, and one for the whole, as `HEADS` has it, in ns.
    pub fn rows(&self) -> [(&'static str, [Option<u64>; 3]); 4] {
        let figures = |h: &Histogram| [h.quantile(0.5), h.quantile(0.99), h.max_ns];
        [
            ("interrupt", figures(&self.split.interrupt)),
            ("wake-up", figures(&self.split.wakeup)),
            ("run", figures(&self.split.run)),
            ("the whole", figures(&self.series.latency)),
        ]
    }

    /// What the rows do not tell.
    pub fn note(&self) -> String {
        let sums = "The parts of a sample sum up to the whole; their percentiles need not.";
        match self.split.unsplit {
            0 => sums.into(),
            without => format!(
                "{sums} {} of {} could not be split: the thread had not slept, or events were lost.",
                count(without),
                counted(self.series.latency.count(), "sample")
            ),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Latencies of three samples in parts, and one without.
    pub fn run() -> Run {
        let mut series = Series { name: "timerfd".into(), ..Series::default() };
        let mut split = Split { unsplit: 1, ..Split::default() };
        for [interrupt, wakeup, run] in [[900, 300, 2_000], [1_100, 250, 1_800], [40_000, 310, 2_100]] {
            split.interrupt.add(interrupt, 1, 1);
            split.wakeup.add(wakeup, 1, 1);
            split.run.add(run, 1, 1);
            series.latency.add(interrupt + wakeup + run, 1, 1);
        }
        series.latency.add(120, 1, 1);
        series.split = Some(split);
        Run { series: vec![series, Series::default()], ..Run::new("ontick", "timer") }
    }

    #[test]
    fn each_part_has_a_row_beside_the_whole() {
        let run = run();
        let all = of(&run);
        let [parts] = &all[..] else { panic!("{}", all.len()) };
        let figures = |row: usize| parts.rows()[row].1.map(Option::unwrap);
        assert_eq!([figures(0), figures(1)], [[1_100, 40_000, 40_000], [300, 310, 310]]);
        assert_eq!([figures(2), figures(3)], [[2_000, 2_100, 2_100], [3_150, 42_410, 42_410]]);
        assert!(parts.note().contains(" 1 of 4 samples could not be split"), "{}", parts.note());
    }
}
