//! A histogram cut into bins of equal width on a logarithmic axis, as plots draw it.

use ontick_record::{Histogram, Series};

/// Whole powers of ten of nanoseconds that hold all latencies: `2 ..= 5` for 100 ns to 100 us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decades {
    pub low: i32,
    pub high: i32,
}

impl Decades {
    /// What holds every sample of the series; one decade at least.
    pub fn of<'a>(series: impl IntoIterator<Item = &'a Series>) -> Self {
        let measured = series.into_iter().map(|s| &s.latency).filter(|h| h.count() > 0);
        let edge = |h: &'a Histogram, ns: u64| h.max_ns.map_or(ns, |max| ns.min(max));
        Self::of_values(
            measured
                .flat_map(|h| h.buckets().iter().flat_map(move |b| [b.low_ns, edge(h, b.high_ns())]).chain(h.max_ns)),
        )
    }

    /// What holds all values; 0 has no place on a logarithmic axis and stands at 1 ns.
    pub fn of_values(values: impl IntoIterator<Item = u64>) -> Self {
        let (mut low, mut high) = (i32::MAX, i32::MIN);
        for ns in values {
            let power = (ns.max(1) as f64).log10();
            (low, high) = (low.min(power.floor() as i32), high.max(power.ceil() as i32));
        }
        if low > high { Self { low: 2, high: 6 } } else { Self { low, high: high.max(low + 1) } }
    }

    /// How far along the axis a latency lies, 0 to 1.
    pub fn position(&self, ns: f64) -> f64 {
        ((ns.max(1.0).log10() - f64::from(self.low)) / f64::from(self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// Samples in each of `bins` equal parts of the axis. A bucket wider than a part is spread evenly
/// over the parts that it covers; a narrower one goes where its middle lies. Nothing is lost.
pub(crate) fn log_bins(h: &Histogram, axis: Decades, bins: usize) -> Vec<f64> {
    let mut counts = vec![0.0; bins];
    let at = |ns: f64| axis.position(ns) * bins as f64;
    let whole = |position: f64| (position as usize).min(bins - 1);
    for b in h.buckets() {
        let (low, high) = (b.low_ns as f64, b.low_ns as f64 + b.width_ns as f64);
        let high = h.max_ns.map_or(high, |max| high.min(max as f64 + 1.0)).max(low + f64::MIN_POSITIVE);
        let (from, to) = (at(low), at(high));
        if to - from <= 0.25 || whole(from) == whole(to) {
            counts[whole(at(0.5 * (low + high)))] += b.count as f64;
            continue;
        }
        let ns_at =
            |position: f64| 10f64.powf(f64::from(axis.low) + position / bins as f64 * f64::from(axis.high - axis.low));
        let mut left = low;
        for (bin, count) in counts.iter_mut().enumerate().take(whole(to) + 1).skip(whole(from)) {
            let right = if bin == whole(to) { high } else { ns_at((bin + 1) as f64).clamp(left, high) };
            *count += b.count as f64 * (right - left) / (high - low);
            left = right;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(values: &[(u64, u64, u64)]) -> Series {
        let mut s = Series::default();
        values.iter().for_each(|(low, width, n)| s.latency.add(*low, *width, *n));
        s
    }

    #[test]
    fn decades_hold_all() {
        assert_eq!(Decades::of([&series(&[(120, 1, 1), (41_000, 1, 1)])]), Decades { low: 2, high: 5 });
        assert_eq!(Decades::of([&series(&[(0, 1, 1)])]), Decades { low: 0, high: 1 });
        assert_eq!(Decades::of([&series(&[])]), Decades { low: 2, high: 6 });
    }

    #[test]
    fn a_wide_bucket_is_spread() {
        let s = series(&[(1_000, 9_000, 900)]);
        let bins = log_bins(&s.latency, Decades { low: 3, high: 4 }, 10);
        assert!(bins.iter().all(|n| *n > 0.0) && bins[9] > bins[0]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(values in prop::collection::vec((0u64..1 << 36, 1u64..1 << 20, 1u64..1_000), 0..50), bins in 1usize..200) {
            let s = series(&values);
            let counts = log_bins(&s.latency, Decades::of([&s]), bins);
            prop_assert!((counts.iter().sum::<f64>() - s.latency.count() as f64).abs() < 1e-6 * (1.0 + s.latency.count() as f64));
            prop_assert!(counts.iter().all(|n| n.is_finite() && *n >= 0.0));
        }
    }
}
