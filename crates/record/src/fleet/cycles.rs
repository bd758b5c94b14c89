//! How many cycles there were, and what became of them: the figures that a report of one record has, added up.

use crate::compare::{LIMIT_NS, below_limit, missed};
use crate::{Run, Series};

/// Cycles so far. What is not known of one series is not known of all.
#[derive(Debug)]
pub struct Cycles {
    pub all: u64,
    pub in_time: Option<u64>,
    pub missed: Option<u64>,
}

impl Default for Cycles {
    /// Of no series all is known.
    fn default() -> Self {
        Self { all: 0, in_time: Some(0), missed: Some(0) }
    }
}

impl Cycles {
    /// Adds those of a series of a run.
    pub fn add(&mut self, run: &Run, series: &Series) {
        let sum = |sum: Option<u64>, more: Option<u64>| Some(sum?.saturating_add(more?));
        self.all = self.all.saturating_add(series.cycles());
        self.in_time = sum(self.in_time, below_limit(series).map(|_| series.in_time(LIMIT_NS)));
        self.missed = sum(self.missed, missed(run, series));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tool: &str, series: &[&Series]) -> (u64, Option<u64>, Option<u64>) {
        let mut cycles = Cycles::default();
        series.iter().for_each(|series| cycles.add(&Run::new(tool, "timer"), series));
        (cycles.all, cycles.in_time, cycles.missed)
    }

    #[test]
    fn early_cycles_are_not_in_time_and_what_is_unknown_stays_so() {
        let mut early = Series { early: 3, missed: 2, ..Series::default() };
        early.latency.add(0, 1, 10);
        let mut summary = Series::default();
        (summary.latency.overflow, summary.latency.max_ns) = (1_000, Some(41_000));
        assert_eq!(of("ontick 0.1.0", &[&early, &early]), (24, Some(14), Some(4)));
        assert_eq!(of("ontick 0.1.0", &[&early, &summary, &early]), (1_024, None, Some(4)));
        assert_eq!(of("cyclictest", &[&summary]), (1_000, None, None));
    }
}
