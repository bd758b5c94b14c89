//! Loops of several waits as a table reads: one wait, their sum, and what the sum would be if worst cases added.

use ontick_record::{Histogram, Run, Series};
use ontick_units::show;

use crate::number::count;

/// The figures of each row.
pub(crate) const HEADS: [&str; 4] = ["p50", "p99", "p99.9", "max"];

/// One loop with several waits in each cycle.
pub(crate) struct Loop<'a> {
    /// How it waits.
    pub method: &'a str,
    /// Waits in each cycle.
    pub waits: u32,
    /// The latencies of all waits, one by one.
    single: Histogram,
    /// What each cycle waited too long in all.
    pub sum: &'a Histogram,
    /// The largest of each cycle.
    pub largest: &'a Histogram,
    /// The second largest of each cycle.
    pub second: &'a Histogram,
}

/// The loops of a run that have several waits; none where it measured something else, or nothing yet.
pub(crate) fn of(run: &Run) -> Vec<Loop<'_>> {
    run.series.iter().filter_map(|sum| of_sum(run, sum)).collect()
}

fn of_sum<'a>(run: &'a Run, sum: &'a Series) -> Option<Loop<'a>> {
    let waits = sum.waits.as_ref().filter(|_| sum.latency.count() > 0)?;
    let method = sum.case.method.as_deref().unwrap_or(&sum.settings.method);
    let mut single = Histogram::default();
    for wait in run.series.iter().filter(|s| s.case.wait.is_some() && s.case.method == sum.case.method) {
        single.merge(&wait.latency);
    }
    let (largest, second) = (&waits.largest, &waits.second);
    Some(Loop { method, waits: waits.count, single, sum: &sum.latency, largest, second })
}

impl Loop<'_> {
    /// A row for each figure of interest, as `HEADS` has it, in ns.
    pub fn rows(&self) -> [(String, [Option<u64>; 4]); 5] {
        let figures = |h: &Histogram| [h.quantile(0.5), h.quantile(0.99), h.quantile(0.999), h.max_ns];
        let single = figures(&self.single);
        [
            ("one wait".into(), single),
            ("largest of a cycle".into(), figures(self.largest)),
            ("second largest".into(), figures(self.second)),
            ("sum of a cycle".into(), figures(self.sum)),
            (self.if_added(), single.map(|ns| Some(ns?.saturating_mul(self.waits.into())))),
        ]
    }

    /// What the worst cycle would be if worst cases added.
    pub fn if_added(&self) -> String {
        format!("{} times one wait", self.waits)
    }

    /// The worst single wait times their number, in ns.
    pub fn bound_ns(&self) -> Option<u64> {
        Some(self.largest.max_ns?.saturating_mul(self.waits.into()))
    }

    /// Whether the worst cases added.
    pub fn verdict(&self) -> Option<String> {
        let (sum, worst) = (self.sum.max_ns?, self.largest.max_ns?);
        Some(format!(
            "The worst of {} with {} waits by {} came {} late in all, {:.2} times the worst single wait of {}; if worst \
             cases added it would be {}.",
            cycles(self.sum.count()),
            self.waits,
            self.method,
            show(sum),
            sum as f64 / worst.max(1) as f64,
            show(worst),
            show(worst.saturating_mul(self.waits.into())),
        ))
    }

    /// How often more than one wait of a cycle was late.
    pub fn note(&self) -> Option<String> {
        let (worst, second) = (self.largest.max_ns?, self.second.max_ns?);
        // More than half of the worst is large, whatever the machine.
        let large = worst / 2 + 1;
        let above = |h: &Histogram| match h.count().saturating_sub(h.below(large)) {
            0 => "none".into(),
            n => cycles(n),
        };
        Some(format!(
            "More than half of the worst wait was reached by one wait in {}, and by two in {}: the second-largest wait of a \
             cycle was {} at most.",
            above(self.largest),
            above(self.second),
            show(second),
        ))
    }
}

fn cycles(n: u64) -> String {
    match n {
        1 => "1 cycle".into(),
        n => format!("{} cycles", count(n)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ontick_record::run::Waits;
    use ontick_record::{Case, Measurement};

    /// A loop with a wait for each list; in each of its cycles each wait is so late, in ns.
    pub fn run(cycles: &[&[u64]]) -> Run {
        let mut run = Run::new("ontick 0.1.0", Measurement::Timer);
        let waits = cycles[0].len() as u32;
        let method = Some("hybrid".to_string());
        let mut sum = Series::from(Case { method: method.clone(), sum_of_waits: Some(waits), ..Case::default() });
        let of = |wait| Series::from(Case { method: method.clone(), wait: Some(wait), ..Case::default() });
        let mut each: Vec<Series> = (1..=waits).map(of).collect();
        let mut seen = Waits { count: waits, gap_ns: 125_000, ..Waits::default() };
        for cycle in cycles {
            let mut sorted = cycle.to_vec();
            sorted.sort_unstable();
            seen.largest.add(sorted[sorted.len() - 1], 1, 1);
            seen.second.add(sorted[sorted.len() - 2], 1, 1);
            sum.latency.add(cycle.iter().sum(), 1, 1);
            each.iter_mut().zip(*cycle).for_each(|(wait, late_ns)| wait.latency.add(*late_ns, 1, 1));
        }
        sum.waits = Some(seen);
        run.series.push(sum);
        run.series.append(&mut each);
        run
    }

    #[test]
    fn a_sum_stands_beside_the_worst_wait_and_so_many_times_it() {
        let run = run(&[&[1_000, 2_000, 3_000], &[1_000, 41_000, 1_500], &[900, 800, 700]]);
        let loops = of(&run);
        let rows = loops[0].rows();
        let maxima: Vec<_> = rows.iter().map(|(name, figures)| (name.as_str(), figures[3].unwrap())).collect();
        assert_eq!(
            maxima,
            [
                ("one wait", 41_000),
                ("largest of a cycle", 41_000),
                ("second largest", 2_000),
                ("sum of a cycle", 43_500),
                ("3 times one wait", 123_000)
            ]
        );
        // Nine waits: the fifth of them is the median.
        assert_eq!((rows[0].1[0], rows[4].1[0]), (Some(1_000), Some(3_000)));
        assert_eq!(
            loops[0].verdict().unwrap(),
            "The worst of 3 cycles with 3 waits by hybrid came 43.5us late in all, 1.06 times the worst single wait of \
             41.0us; if worst cases added it would be 123us."
        );
        assert_eq!(
            loops[0].note().unwrap(),
            "More than half of the worst wait was reached by one wait in 1 cycle, and by two in none: the second-largest \
             wait of a cycle was 2.00us at most."
        );
    }

    /// The sentence must not say of every machine that worst cases do not add.
    #[test]
    fn worst_cases_that_add_are_reported_as_such() {
        let run = run(&[&[10, 10], &[40_000, 39_000]]);
        let of_loop = &of(&run)[0];
        assert!(of_loop.verdict().unwrap().contains("1.98 times the worst single wait"), "{:?}", of_loop.verdict());
        let note = of_loop.note().unwrap();
        assert!(note.contains("by one wait in 1 cycle, and by two in 1 cycle"), "{note}");
    }

    #[test]
    fn runs_without_several_waits_have_none() {
        assert!(of(&Run::new("ontick", Measurement::Timer)).is_empty());
        let mut run = run(&[&[1, 2]]);
        run.series[0].latency = Histogram::default();
        assert!(of(&run).is_empty(), "nothing is measured yet");
    }
}
