//! Slots in which nothing was done, and those of them in which the hypervisor had the CPU.

use ontick_record::Series;

/// What `--explain` calls time in which a virtual machine's CPU was not there.
const AWAY: [&str; 2] = ["steal", "outside the kernel"];

/// Of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Missed {
    /// Slots in all.
    pub slots: u64,
    /// Those that were missed.
    pub all: u64,
    /// Those that were missed while the hypervisor was away; `None` where the kernel's tracing could not be used.
    pub away: Option<u64>,
}

impl Missed {
    /// In a run whose outliers are all that were later than a period. Late by 2.3 periods is two slots missed: half a
    /// period of each outlier is taken to be the broken part.
    pub fn in_series(series: &Series, period_ns: u64) -> Self {
        let away = series.causes.iter().filter(|cause| AWAY.contains(&cause.cause.as_str()));
        let slots = away.map(|cause| cause.sum_ns.saturating_sub(cause.count * period_ns / 2) / period_ns).sum();
        Self {
            slots: series.latency.count() + series.missed,
            all: series.missed,
            away: series.tracing.map(|_| u64::min(slots, series.missed)),
        }
    }

    /// Share of the slots that were missed while the hypervisor was there, 0 to 1.
    pub fn beyond(&self) -> Option<f64> {
        self.away.filter(|_| self.slots > 0).map(|away| (self.all - away) as f64 / self.slots as f64)
    }

    /// As a table has it.
    pub fn away_text(&self) -> String {
        self.away.map_or("—".into(), |away| away.to_string())
    }
}

#[cfg(test)]
pub mod tests {
    use ontick_record::run::{Cause, Tracing};

    use super::*;

    /// A run of so many slots at 100 kHz, of which the hypervisor had some in one stretch.
    pub fn run_of(slots: u64, missed: u64, away: u64) -> Series {
        let cause = |name: &str, sum_ns| Cause { cause: name.into(), count: 1, sum_ns, ..Cause::default() };
        let causes = vec![cause("steal", away * 10_000 + 5_000), cause("timer tick", 9_000_000)];
        let mut series = Series { missed, causes, tracing: Some(Tracing::default()), ..Series::default() };
        series.latency.add(100, 1, slots - missed);
        series
    }

    #[test]
    fn what_the_hypervisor_took_is_not_the_programs() {
        let missed = Missed::in_series(&run_of(10_000, 50, 30), 10_000);
        assert_eq!(missed, Missed { slots: 10_000, all: 50, away: Some(30) });
        assert_eq!(missed.beyond(), Some(0.002));
        let untraced = Series { tracing: None, ..run_of(10_000, 50, 30) };
        assert_eq!(Missed::in_series(&untraced, 10_000).beyond(), None);
    }

    #[test]
    fn no_more_is_the_hypervisors_than_was_missed() {
        assert_eq!(Missed::in_series(&run_of(10_000, 50, 70), 10_000).beyond(), Some(0.0));
    }
}
