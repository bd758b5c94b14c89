//! Causes counted.

use ontick_record::journal::CauseName;
use ontick_record::{Histogram, run};
use ontick_rt::buckets;

use super::cause::Cause;

/// Latencies by cause, in bounded memory.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// In the order in which they were first seen, so that an index stays true.
    causes: Vec<(Cause, Latencies)>,
    total: u64,
}

#[derive(Debug, Clone, Default)]
struct Latencies {
    histogram: Histogram,
    count: u64,
    max_ns: u64,
    sum_ns: u64,
}

impl Tally {
    /// Counts an outlier; returns where its cause stands in [`Tally::causes`].
    pub fn add(&mut self, cause: &Cause, latency_ns: u64) -> u32 {
        let index = self.index(cause);
        let of = &mut self.causes[index].1;
        let (low_ns, width_ns) = buckets::range(buckets::index(latency_ns));
        of.histogram.add(low_ns, width_ns, 1);
        of.count += 1;
        of.max_ns = of.max_ns.max(latency_ns);
        of.sum_ns = of.sum_ns.saturating_add(latency_ns);
        self.total += 1;
        index as u32
    }

    fn index(&mut self, cause: &Cause) -> usize {
        let found = self.causes.iter().position(|(of, _)| of == cause);
        found.unwrap_or_else(|| {
            self.causes.push((cause.clone(), Latencies::default()));
            self.causes.len() - 1
        })
    }

    /// Names of the causes, from this one on.
    pub fn names(&self, from: usize) -> Vec<CauseName> {
        let name =
            |(cause, _): &(Cause, Latencies)| CauseName { cause: cause.name().into(), detail: cause.detail().into() };
        self.causes.iter().skip(from).map(name).collect()
    }

    /// How many were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The causes.
    pub fn causes(&self) -> Vec<run::Cause> {
        self.causes
            .iter()
            .map(|(cause, of)| run::Cause {
                cause: cause.name().into(),
                detail: cause.detail().into(),
                count: of.count,
                share: of.count as f64 / self.total as f64,
                p50_ns: of.histogram.quantile(0.5).unwrap_or(0).min(of.max_ns),
                max_ns: of.max_ns,
                sum_ns: of.sum_ns,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_stays_true() {
        let mut tally = Tally::default();
        let irq = Cause::DeviceInterrupt("mmc0".into());
        assert_eq!(tally.add(&irq, 12_000), 0);
        assert_eq!([20_000, 30_000, 40_000].map(|ns| tally.add(&Cause::TimerTick, ns)), [1; 3]);
        assert_eq!(tally.add(&irq, 13_000), 0);
        let causes = tally.causes();
        assert_eq!((causes[0].detail.as_str(), causes[0].share), ("mmc0", 0.4));
        assert_eq!((causes[1].cause.as_str(), causes[1].count, causes[1].max_ns), ("timer tick", 3, 40_000));
        assert!((29_700..=30_300).contains(&causes[1].p50_ns), "{}", causes[1].p50_ns);
        assert_eq!([causes[0].sum_ns, causes[1].sum_ns], [25_000, 90_000]);
        assert_eq!(tally.total(), 5);
    }
}
