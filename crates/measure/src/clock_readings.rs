//! What the readings of a clock are worth, measured with the very clock on the very CPU before a run begins; and what of
//! that is in a figure.

use ontick_record::uncertainty::{Component, Source};
use ontick_rt::clock::Clock;

/// Readings in a row, and how many such rows.
const ROW: usize = 64;
const ROWS: usize = 16;

/// A clock, as it is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockReadings {
    /// Its step, in ns: at least the nanosecond that readings are rounded down to.
    pub resolution_ns: f64,
    /// How long one reading takes, in ns.
    pub cost_ns: f64,
    /// The standard deviation of that, in ns, without what the step makes of it.
    pub spread_ns: f64,
}

/// How a figure comes about of readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Timing {
    /// One reading, against a time that is exact, as a deadline is.
    Deadline,
    /// What lies between two readings, neither of which belongs to it.
    Between,
    /// As between, of an answer that a thread looks for again and again; the time between two looks, in ns.
    Looking(f64),
    /// The difference of two stamps that are taken alike, whose delays cancel on the average.
    Stamps,
}

impl ClockReadings {
    /// Reads the clock some thousand times: some tens of microseconds.
    pub fn of(clock: &mut Clock) -> Self {
        let count_ns = clock.count_ns();
        Self::of_readings(count_ns, || clock.now_ns())
    }

    /// The same of any clock; `count_ns` is how long one count of its counter is, where that is known.
    pub fn of_readings(count_ns: Option<f64>, mut read: impl FnMut() -> u64) -> Self {
        let mut rows = [[0u64; ROW + 1]; ROWS];
        rows.iter_mut().flatten().for_each(|reading| *reading = read());
        let mut costs = rows.map(|row| row[ROW].saturating_sub(row[0]) as f64 / ROW as f64);
        costs.sort_unstable_by(f64::total_cmp);
        // The median row: one that was interrupted does not count.
        let cost_ns = costs[ROWS / 2];
        let steps: Vec<u64> =
            rows.iter().flat_map(|row| row.windows(2)).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        let resolution_ns = count_ns.unwrap_or_else(|| resolution(&steps)).max(1.0);
        // What took longer is an interruption: that is late, and not misread.
        let usual: Vec<f64> =
            steps.iter().map(|step| *step as f64).filter(|step| *step <= 2.0 * cost_ns + 2.0 * resolution_ns).collect();
        let n = usual.len().max(2) as f64;
        let mean = usual.iter().sum::<f64>() / n;
        let variance = usual.iter().map(|step| (step - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let spread_ns = (variance - resolution_ns.powi(2) / 6.0).max(0.0).sqrt();
        Self { resolution_ns, cost_ns, spread_ns }
    }

    /// The components of a figure that comes about so. `correction_ns` is the largest difference that was met between
    /// the processor's counter, as it is converted, and the kernel's clock.
    pub fn components(&self, timing: Timing, correction_ns: u64) -> Vec<Component> {
        let half = |source, ns: f64| Component::rectangular(source, ns / 2.0);
        let (step, cost) =
            (half(Source::ClockResolution, self.resolution_ns), half(Source::ClockReading, self.cost_ns));
        let spread = Component::observed(Source::ClockReadingSpread, self.spread_ns);
        let conversion =
            (correction_ns > 0).then(|| Component::rectangular(Source::ClockConversion, correction_ns as f64));
        let (step, cost, ends) = match timing {
            // A reading is rounded down, and is of a moment after that which it is to tell.
            Timing::Deadline => (step.offset_by(-step.value_ns), cost.offset_by(cost.value_ns), 1),
            Timing::Between | Timing::Looking(_) => (step.times(2), cost.offset_by(cost.value_ns).times(2), 2),
            Timing::Stamps => (step.times(2), cost.times(2), 2),
        };
        let looking = match timing {
            // The answer came at some moment since the look before.
            Timing::Looking(ns) => Some(half(Source::ObserverLatency, ns)).map(|look| look.offset_by(look.value_ns)),
            _ => None,
        };
        let conversion = conversion.map(|conversion| conversion.times(ends));
        [step, cost, spread.times(ends)].into_iter().chain(conversion).chain(looking).collect()
    }
}

/// The step of a clock, from the steps between its readings, in ns: the smallest, or the smallest difference of two. One
/// whose readings take up three neighbouring nanoseconds has none that is larger.
fn resolution(steps: &[u64]) -> f64 {
    let mut steps: Vec<u64> = steps.iter().copied().filter(|step| *step > 0).collect();
    steps.sort_unstable();
    steps.dedup();
    if steps.windows(3).any(|three| three[2] - three[0] == 2) {
        return 1.0;
    }
    let differences = steps.windows(2).map(|pair| pair[1] - pair[0]).filter(|difference| *difference > 1);
    steps.first().copied().into_iter().chain(differences).min().unwrap_or(1) as f64
}

#[cfg(test)]
mod tests;
