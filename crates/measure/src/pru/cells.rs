//! A PRU's counts of cycles as a histogram of nanoseconds.

use ontick_record::Histogram;
use ontick_record::histogram::Bucket;

use super::block::PruCounts;
use super::layout::{CELLS_COUNT, CYCLE_NS};

impl PruCounts {
    /// What was measured, in ns. A count of cycles is exact, so each cell is one value.
    pub fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::from_buckets(self.buckets());
        if histogram.count() > 0 {
            histogram.min_ns = Some(ns(self.least));
            histogram.max_ns = Some(ns(self.most));
        }
        if self.done > 0 {
            histogram.mean_ns = Some(self.sum as f64 * CYCLE_NS as f64 / f64::from(self.done));
        }
        histogram
    }

    /// By how much it was off `wanted_ns`, either way.
    pub fn errors(&self, wanted_ns: u64) -> Histogram {
        let off = self.buckets().into_iter().map(|bucket| {
            let (low, high) = (bucket.low_ns.abs_diff(wanted_ns), bucket.high_ns().abs_diff(wanted_ns));
            let inside = bucket.low_ns <= wanted_ns && wanted_ns <= bucket.high_ns();
            let low_ns = if inside { 0 } else { low.min(high) };
            Bucket { low_ns, width_ns: low.max(high) - low_ns + 1, count: bucket.count }
        });
        Histogram::from_buckets(off)
    }

    fn buckets(&self) -> Vec<Bucket> {
        let cells = (u64::from(self.base)..).zip(&self.cells).map(|(cycles, count)| Bucket {
            low_ns: cycles * CYCLE_NS,
            width_ns: 1,
            count: u64::from(*count),
        });
        let stretch = |from_ns: u64, to_ns: u64, count: u32| Bucket {
            low_ns: from_ns,
            width_ns: to_ns.saturating_sub(from_ns) + 1,
            count: u64::from(count),
        };
        let end = self.base.saturating_add(CELLS_COUNT as u32);
        let below = stretch(ns(self.least), ns(self.base).saturating_sub(1), self.below);
        let above = stretch(ns(end), ns(self.most), self.above);
        cells.chain([below, above]).collect()
    }
}

fn ns(cycles: u32) -> u64 {
    u64::from(cycles) * CYCLE_NS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As the firmware counts (`record` of common.inc).
    fn counted(base: u32, all: &[u32]) -> PruCounts {
        let mut found = PruCounts { base, least: u32::MAX, cells: vec![0; CELLS_COUNT], ..PruCounts::default() };
        for cycles in all {
            found.least = found.least.min(*cycles);
            found.most = found.most.max(*cycles);
            found.sum += u64::from(*cycles);
            found.done += 1;
            match cycles.checked_sub(base) {
                None => found.below += 1,
                Some(cell) if cell as usize >= CELLS_COUNT => found.above += 1,
                Some(cell) => found.cells[cell as usize] += 1,
            }
        }
        found
    }

    #[test]
    fn nothing_measured_is_nothing() {
        let found = counted(100, &[]);
        assert_eq!((found.histogram(), found.errors(7)), (Histogram::default(), Histogram::default()));
    }

    proptest! {
        #[test]
        fn every_sample_is_where_it_belongs(base in 0u32..5_000, all in prop::collection::vec(1u32..6_000, 1..60), wanted in 1u32..6_000) {
            let found = counted(base, &all);
            let widths = found.histogram();
            prop_assert_eq!(widths.count(), all.len() as u64);
            let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
            prop_assert_eq!((widths.min_ns, widths.max_ns), (Some(ns(*least)), Some(ns(*most))));
            let mean = all.iter().map(|c| ns(*c)).sum::<u64>() as f64 / all.len() as f64;
            prop_assert!((widths.mean_ns.unwrap() - mean).abs() < 1e-6);
            let errors = found.errors(ns(wanted));
            prop_assert_eq!(errors.count(), all.len() as u64);
            for cycles in all {
                let holds = |histogram: &Histogram, ns| histogram.buckets().iter().any(|b| b.low_ns <= ns && ns <= b.high_ns());
                prop_assert!(holds(&widths, ns(cycles)) && holds(&errors, ns(cycles).abs_diff(ns(wanted))));
            }
        }
    }
}
