//! Times, counted in fixed memory.

use ontick_record::Histogram;
use ontick_record::histogram::Bucket;
use ontick_record::std_dev;
use ontick_rt::buckets;

/// Times in buckets that are never wider than a hundredth of what they hold.
#[derive(Debug, Clone)]
pub struct Distribution {
    counts: Box<[u64]>,
    count: u64,
    sum_ns: u128,
    squares: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Distribution {
    fn default() -> Self {
        Self { counts: vec![0; buckets::COUNT].into(), count: 0, sum_ns: 0, squares: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Distribution {
    /// Takes in one.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.counts[buckets::index(ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.squares += u128::from(ns).pow(2);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// As a record has it.
    pub fn histogram(&self) -> Histogram {
        if self.count == 0 {
            return Histogram::default();
        }
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut histogram = Histogram::from_buckets(filled.map(|(index, count)| {
            let (low_ns, width_ns) = buckets::range(index);
            Bucket { low_ns, width_ns, count: *count }
        }));
        (histogram.min_ns, histogram.max_ns) = (Some(self.min_ns), Some(self.max_ns));
        histogram.mean_ns = Some(self.sum_ns as f64 / self.count as f64);
        histogram.std_dev_ns = u64::try_from(self.sum_ns).ok().and_then(|sum| std_dev(self.count, sum, self.squares));
        histogram
    }
}
