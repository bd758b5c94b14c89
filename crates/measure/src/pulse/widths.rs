//! Widths of pulses, recorded by the timed thread without disturbing it.
//!
//! A recorder's buckets are fine near 0 only, so what is recorded is by how much a pulse was too long or too
//! short; around the width that was wanted, then, a nanosecond is distinguished from the next.

use std::sync::Arc;

use ontick_record::Histogram;
use ontick_record::histogram::Bucket;
use ontick_record::instrument_check::Interval;
use ontick_rt::recorder::{self, Reader, Writer};

use super::first::First;
use crate::interval_log::IntervalLog;
use crate::recorded::histogram;

/// The timed thread's end.
pub struct Widths {
    wanted_ns: u64,
    first: Arc<First>,
    longer: Writer,
    shorter: Writer,
    log: Option<Arc<IntervalLog>>,
}

/// The other end.
pub struct WidthReader {
    wanted_ns: u64,
    first: Arc<First>,
    longer: Reader,
    shorter: Reader,
}

/// A recorder for pulses that should be `wanted_ns` wide.
pub fn channel(wanted_ns: u64) -> (Widths, WidthReader) {
    let (longer, longer_seen) = recorder::channel(u64::MAX);
    let (shorter, shorter_seen) = recorder::channel(u64::MAX);
    let first = Arc::<First>::default();
    let reader = WidthReader { wanted_ns, first: first.clone(), longer: longer_seen, shorter: shorter_seen };
    (Widths { wanted_ns, first, longer, shorter, log: None }, reader)
}

impl Widths {
    /// Also keeps each pulse one by one there, if anywhere.
    pub fn also_into(self, log: Option<Arc<IntervalLog>>) -> Self {
        Self { log, ..self }
    }

    /// A pulse was seen, whether it is recorded or not.
    #[inline]
    pub fn seen(&self, rose_ns: u64, width_ns: u64) {
        if let Some(log) = &self.log {
            log.add(Interval { from_ns: rose_ns, ns: width_ns, rising: true });
        }
    }

    #[inline]
    pub fn record(&mut self, at_ns: u64, width_ns: u64) {
        self.first.keep(at_ns, width_ns);
        match width_ns.checked_sub(self.wanted_ns) {
            Some(error_ns) => self.longer.record(at_ns, error_ns),
            None => self.shorter.record(at_ns, self.wanted_ns - width_ns),
        }
    }
}

impl WidthReader {
    /// The first pulses: when each rose after the first did, and how wide it was, in ns.
    pub fn first(&self) -> Vec<(u64, u64)> {
        self.first.read()
    }

    /// The widths so far.
    pub fn histogram(&self) -> Histogram {
        joined(self.wanted_ns, &histogram(&self.longer.snapshot()), &histogram(&self.shorter.snapshot()))
    }
}

/// Widths out of what they exceed and what they lack.
fn joined(wanted_ns: u64, longer: &Histogram, shorter: &Histogram) -> Histogram {
    let lacking = shorter.buckets().iter().map(|b| {
        let low_ns = wanted_ns.saturating_sub(b.high_ns());
        Bucket { low_ns, width_ns: wanted_ns.saturating_sub(b.low_ns) - low_ns + 1, count: b.count }
    });
    let exceeding = longer.buckets().iter().map(|b| Bucket { low_ns: wanted_ns + b.low_ns, ..*b });
    let mut widths = Histogram::from_buckets(lacking.chain(exceeding));
    let (more, less) = (longer.count() as f64, shorter.count() as f64);
    let mean = |h: &Histogram| h.mean_ns.unwrap_or(0.0);
    let exact_less = |ns: Option<u64>| ns.map(|ns| wanted_ns.saturating_sub(ns));
    let exact_more = |ns: Option<u64>| ns.map(|ns| wanted_ns + ns);
    widths.min_ns = exact_less(shorter.max_ns).or(exact_more(longer.min_ns));
    widths.max_ns = exact_more(longer.max_ns).or(exact_less(shorter.min_ns));
    widths.mean_ns =
        (more + less > 0.0).then(|| wanted_ns as f64 + (mean(longer) * more - mean(shorter) * less) / (more + less));
    widths.std_dev_ns =
        deviation([(more, mean(longer), longer.std_dev_ns), (less, -mean(shorter), shorter.std_dev_ns)]);
    widths
}

/// The standard deviation of both, out of the number, mean and standard deviation of each.
fn deviation(sides: [(f64, f64, Option<f64>); 2]) -> Option<f64> {
    let all: f64 = sides.iter().map(|(n, ..)| n).sum();
    let mean = sides.iter().map(|(n, mean, _)| n * mean).sum::<f64>() / all;
    let square = |(n, of, std_dev): &(f64, f64, Option<f64>)| match *n > 0.0 {
        true => Some(n * (std_dev.as_ref()?.powi(2) + (of - mean).powi(2))),
        false => Some(0.0),
    };
    let squares: f64 = sides.iter().map(square).sum::<Option<f64>>()?;
    (all > 0.0).then(|| (squares / all).sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::first::FIRST;
    use super::*;

    #[test]
    fn a_nanosecond_is_reported_from_the_next_at_ten_milliseconds() {
        let (mut widths, seen) = channel(10_000_000);
        for width_ns in [9_999_999, 10_000_000, 10_000_001] {
            widths.record(1, width_ns);
        }
        let histogram = seen.histogram();
        assert_eq!(
            histogram.buckets().iter().map(|b| (b.low_ns, b.width_ns)).collect::<Vec<_>>(),
            [(9_999_999, 1), (10_000_000, 1), (10_000_001, 1)]
        );
        assert_eq!(histogram.mean_ns, Some(10_000_000.0));
    }

    #[test]
    fn the_first_pulses_are_kept_one_by_one() {
        let (mut widths, reader) = channel(100);
        assert_eq!(reader.first(), []);
        (0..FIRST as u64 + 5).for_each(|n| widths.record(7_000 + 300 * n, 100 + n));
        let first = reader.first();
        assert_eq!((first.len(), first[0], first[2]), (FIRST, (0, 100), (600, 102)));
        assert_eq!(reader.histogram().count(), FIRST as u64 + 5);
    }

    proptest! {
        #[test]
        fn no_width_is_lost_or_moved_out_of_its_bucket(
            wanted_ns in 1u64..20_000_000,
            all in prop::collection::vec(0u64..40_000_000, 1..200),
        ) {
            let (mut widths, seen) = channel(wanted_ns);
            all.iter().for_each(|width_ns| widths.record(1, *width_ns));
            let histogram = seen.histogram();
            prop_assert!(histogram.check().is_ok());
            prop_assert_eq!(histogram.count(), all.len() as u64);
            prop_assert_eq!(histogram.min_ns, all.iter().min().copied());
            prop_assert_eq!(histogram.max_ns, all.iter().max().copied());
            let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
            prop_assert!((histogram.mean_ns.unwrap() - mean).abs() < 1e-3);
            let square = all.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum::<f64>() / all.len() as f64;
            let deviation = histogram.std_dev_ns.unwrap();
            prop_assert!((deviation - square.sqrt()).abs() < 1e-3 + 1e-9 * deviation, "{deviation} for {}", square.sqrt());
            for width_ns in all {
                let holds = |b: &&Bucket| b.low_ns <= width_ns && width_ns <= b.high_ns();
                let bucket = histogram.buckets().iter().find(holds);
                prop_assert!(bucket.is_some_and(|b| b.width_ns as f64 <= 2.0 + 0.01 * width_ns.abs_diff(wanted_ns) as f64));
            }
        }
    }
}
