//! What a tool tells about one thread, and the histogram that it makes.

use crate::Histogram;
use crate::histogram::Bucket;
use ontick_units::exact;

/// Figures as a tool counts them, in its own unit.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    /// 1 for tools that tell nanoseconds, 1000 for microseconds.
    pub unit_ns: u64,
    /// How many units a row covers.
    pub row_width: u64,
    /// Lowest value and number of samples of each row.
    pub rows: Vec<(u64, u64)>,
    /// Samples that have no row.
    pub overflow: u64,
    /// Smallest value. Negative where a sample came before its time.
    pub min: Option<i64>,
    /// Largest value. These tools compare without sign, so one early sample makes it negative for good.
    pub max: Option<i64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
}

impl Figures {
    /// The histogram; an error where the figures contradict each other.
    pub fn histogram(&self) -> Result<Histogram, String> {
        let mut buckets = Vec::with_capacity(self.rows.len());
        for (value, count) in self.rows.iter().filter(|(_, count)| *count > 0) {
            let width_ns = self.row_width.max(1).checked_mul(self.unit_ns).ok_or("its rows are too wide")?;
            let low_ns = value.checked_mul(self.unit_ns).ok_or_else(|| format!("{value} is too large a latency"))?;
            buckets.push(Bucket { low_ns, width_ns, count: *count });
        }
        let mut histogram = Histogram::from_buckets(buckets);
        histogram.overflow = self.overflow;
        if histogram.is_empty() {
            return Ok(Histogram::default());
        }
        self.edges(&mut histogram)?;
        Ok(histogram)
    }

    /// Minimum, maximum and mean, as far as they are known.
    fn edges(&self, histogram: &mut Histogram) -> Result<(), String> {
        let lowest = histogram.buckets().first().copied();
        let highest = histogram.buckets().last().copied();
        if self.early() {
            // How many samples were early is not reported, nor where the others of the overflow lie.
            (histogram.min_ns, histogram.max_ns, histogram.mean_ns) = (None, None, None);
            return Ok(());
        }
        if let Some(min) = self.min {
            let min_ns = (min as u64).saturating_mul(self.unit_ns);
            if lowest.is_some_and(|b| b.high_ns() < min_ns) {
                return Err(format!("a sample lies below the minimum of {}", exact(min_ns)));
            }
            histogram.min_ns = Some(min_ns);
        } else if histogram.overflow > 0 && lowest.is_none() {
            histogram.min_ns = None;
        }
        if let Some(max) = self.max {
            let max_ns = (max as u64).saturating_mul(self.unit_ns).saturating_add(self.unit_ns - 1);
            if highest.is_some_and(|b| b.low_ns > max_ns) {
                return Err(format!("a sample lies above the maximum of {}", exact(max_ns - (self.unit_ns - 1))));
            }
            histogram.max_ns = Some(max_ns);
        } else if histogram.overflow > 0 {
            histogram.max_ns = None;
        }
        let stated = self.mean.filter(|m| m.is_finite() && *m >= 0.0).map(|m| m * self.unit_ns as f64);
        histogram.mean_ns = self.mean_of_rows(histogram).or(stated);
        Ok(())
    }

    fn mean_of_rows(&self, histogram: &Histogram) -> Option<f64> {
        if self.row_width > 1 || histogram.overflow > 0 {
            return None;
        }
        let sum: f64 = histogram.buckets().iter().map(|b| b.low_ns as f64 * b.count as f64).sum();
        Some(sum / histogram.count() as f64)
    }

    /// Whether a sample came before its time.
    pub fn early(&self) -> bool {
        [self.min, self.max].into_iter().flatten().any(|v| v < 0)
    }

    /// Whether there are samples, and none has a row.
    pub fn summary_only(&self) -> bool {
        self.overflow > 0 && self.rows.iter().all(|(_, count)| *count == 0)
    }
}

/// A number of a C program that prints a negative `long` either so or as an `unsigned long`.
pub(super) fn signed(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| text.parse::<u64>().ok().map(|v| v as i64))
}

/// What a reader must know of the figures of a run's series, whose names stand beside them.
pub(super) fn notes(tool: &str, named: &[(String, Figures)]) -> Vec<String> {
    let mut notes = Vec::new();
    if named.iter().any(|(_, f)| f.unit_ns == 1_000) {
        notes.push(MICROSECONDS.into());
    }
    let summaries: Vec<&str> = named.iter().filter(|(_, f)| f.summary_only()).map(|(n, _)| n.as_str()).collect();
    if !summaries.is_empty() {
        let which = summaries.join(", ");
        notes.push(format!("{which}: only count, minimum, mean and maximum are known, so there are no percentiles"));
    }
    for (name, _) in named.iter().filter(|(_, f)| f.early()) {
        notes.push(format!(
            "{name}: a sample came before its time, which {tool} takes for an immense one: its minimum, mean and maximum are left out, and its overflow counts such samples too"
        ));
    }
    notes
}

const MICROSECONDS: &str = "latencies are whole microseconds, cut and not rounded: 41 us means 41.000 to 41.999 us, and percentiles and the maximum are shown as the end of that";

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        Figures { unit_ns: 1000, row_width: 1, rows: vec![(3, 2), (5, 1), (6, 0)], ..Figures::default() }
    }

    #[test]
    fn cut_microseconds_cover_their_whole_range() {
        let h = Figures { min: Some(3), max: Some(5), mean: Some(3.0), ..figures() }.histogram().unwrap();
        assert_eq!((h.min_ns, h.max_ns, h.quantile(0.5)), (Some(3_000), Some(5_999), Some(3_999)));
        assert_eq!(h.mean_ns, Some(11_000.0 / 3.0), "the rows know the mean better than a whole number does");
        assert_eq!((h.below(3_999), h.below(4_000)), (0, 2));
    }

    #[test]
    fn beyond_the_rows_only_the_tool_knows() {
        let mut f = Figures { overflow: 1, min: Some(3), max: Some(95), mean: Some(26.0), ..figures() };
        let h = f.histogram().unwrap();
        assert_eq!(
            (h.count(), h.max_ns, h.mean_ns, h.quantile(0.999)),
            (4, Some(95_999), Some(26_000.0), Some(95_999))
        );
        f.max = None;
        assert_eq!((f.histogram().unwrap().max_ns, f.histogram().unwrap().quantile(0.999)), (None, None));
    }

    #[test]
    fn an_early_sample_leaves_no_maximum() {
        for max in ["-5", "18446744073709551611"] {
            let f = Figures { overflow: 1, min: Some(3), max: signed(max), mean: Some(1e18), ..figures() };
            let h = f.histogram().unwrap();
            assert!(f.early());
            assert_eq!((h.min_ns, h.max_ns, h.mean_ns, h.count()), (None, None, None, 4));
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let f = Figures { max: Some(4), ..figures() };
        assert!(f.histogram().unwrap_err().contains("above the maximum of 4us"));
        let f = Figures { min: Some(4), ..figures() };
        assert!(f.histogram().unwrap_err().contains("below the minimum of 4us"));
        let f = Figures { rows: vec![(u64::MAX / 2, 1)], ..figures() };
        assert!(f.histogram().unwrap_err().contains("too large"));
    }

    #[test]
    fn no_samples_are_no_figures() {
        let f = Figures { unit_ns: 1000, min: Some(1_000_000), max: Some(0), ..Figures::default() };
        assert_eq!(f.histogram().unwrap(), Histogram::default());
    }
}
