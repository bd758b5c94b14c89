//! When a station's messages are due in a cycle, and how far they are from what holds its CPU up.

use ontick_rt::phase::{LONGEST_SCANNED_NS, Scan};

use crate::endpoint::base_time::common_period;
use crate::endpoint::error::EndpointError;
use crate::endpoint::planned::Outgoing;

/// How finely base times are told apart, in ns.
const STEP_NS: u64 = 5_000;
/// How far from a hold-up messages are safe from it fades over this, in ns: a tick takes some 10 us, and the messages that
/// waited for its end leave close behind each other.
const NEAR_NS: f64 = 50_000.0;

/// When messages are due in a cycle, after which all periods begin anew.
pub(super) struct Messages {
    cycle_ns: u64,
    /// In order of time.
    at_ns: Vec<u64>,
}

impl Messages {
    pub fn of(streams: &[Outgoing]) -> Result<Self, EndpointError> {
        let cycle_ns = common_period(streams.iter().map(|of| of.period_ns.max(1)));
        let cycle_ns = cycle_ns.filter(|ns| *ns <= LONGEST_SCANNED_NS).ok_or(EndpointError::LongCycle(cycle_ns))?;
        let times = |of: &Outgoing| {
            let (offset_ns, period_ns) = (of.offset_ns, of.period_ns.max(1));
            (0..cycle_ns / period_ns).map(move |n| (offset_ns + n * period_ns) % cycle_ns)
        };
        let mut at_ns: Vec<u64> = streams.iter().flat_map(times).collect();
        at_ns.sort_unstable();
        Ok(Self { cycle_ns, at_ns })
    }

    /// How long after a multiple of the cycle the base time is to be; 0 where nothing holds the CPU up.
    pub fn quietest(&self, scan: &Scan) -> u64 {
        let costs = self.costs(scan);
        let best = (0..costs.len()).min_by(|a, b| costs[*a].total_cmp(&costs[*b])).unwrap_or(0);
        best as u64 * self.cycle_ns / costs.len() as u64
    }

    /// What share of all base times has messages as far from hold-ups as this one, or farther: by chance any.
    pub fn as_good(&self, scan: &Scan, shift_ns: u64) -> f64 {
        let costs = self.costs(scan);
        let own = costs
            [(u128::from(shift_ns) * costs.len() as u128).div_ceil(u128::from(self.cycle_ns)) as usize % costs.len()];
        costs.iter().filter(|cost| **cost <= own).count() as f64 / costs.len() as f64
    }

    /// For base times over a cycle, how close messages are to hold-ups.
    fn costs(&self, scan: &Scan) -> Vec<f64> {
        let bins = self.cycle_ns.div_ceil(STEP_NS) as usize;
        let near = self.near(bins);
        let busy = scan.busy(self.cycle_ns, bins);
        let busy: Vec<(usize, f64)> = busy.into_iter().enumerate().filter(|(_, weight)| *weight > 0.0).collect();
        let cost = |shift: usize| busy.iter().map(|(bin, weight)| weight * near[(bin + bins - shift) % bins]).sum();
        (0..bins).map(cost).collect()
    }

    /// The first cycle's beginning that is not before `from_ns`, where cycles begin `shift_ns` after multiples.
    pub fn first_from(&self, from_ns: u64, shift_ns: u64) -> u64 {
        from_ns.saturating_sub(shift_ns).div_ceil(self.cycle_ns).saturating_mul(self.cycle_ns).saturating_add(shift_ns)
    }

    /// For each part of the cycle how many messages are close to it, each the less the farther it is.
    pub(super) fn near(&self, bins: usize) -> Vec<f64> {
        let mut due = vec![0.0; bins];
        for at_ns in &self.at_ns {
            due[(*at_ns as u128 * bins as u128 / u128::from(self.cycle_ns)) as usize] += 1.0;
        }
        let kept = (-(self.cycle_ns as f64 / bins as f64) / NEAR_NS).exp();
        // A cycle's end is the next one's beginning: once around fills what the second time starts with.
        let faded = |order: &mut dyn Iterator<Item = usize>| {
            let (mut all, mut sum) = (vec![0.0; bins], 0.0);
            for bin in order {
                sum = sum * kept + due[bin];
                all[bin] = sum;
            }
            all
        };
        let twice = || (0..bins).chain(0..bins);
        let (after, before) = (faded(&mut twice()), faded(&mut twice().rev()));
        (0..bins).map(|bin| after[bin] + before[bin] - due[bin]).collect()
    }

    /// Share of the messages that are due while the CPU is held up, with cycles that begin `shift_ns` after multiples.
    pub fn held_up(&self, scan: &Scan, shift_ns: u64) -> f64 {
        let cycle_ns = self.cycle_ns;
        // Due before so many ns of endless cycles.
        let due_before = |ns: u64| {
            let within = self.at_ns.partition_point(|at_ns| *at_ns < ns % cycle_ns);
            ns / cycle_ns * self.at_ns.len() as u64 + within as u64
        };
        let met = |at_ns: u64, length_ns: u64| {
            let from_ns = (at_ns % cycle_ns) + (cycle_ns - shift_ns % cycle_ns);
            due_before(from_ns + length_ns) - due_before(from_ns)
        };
        let met: u64 = scan.gaps.iter().map(|gap| met(gap.at_ns, gap.length_ns)).sum();
        let due = scan.watched_ns as f64 / cycle_ns as f64 * self.at_ns.len() as f64;
        if due > 0.0 { (met as f64 / due).min(1.0) } else { 0.0 }
    }
}
