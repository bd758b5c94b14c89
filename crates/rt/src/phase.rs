//! Where in the period to put the deadlines: away from the timer tick and whatever else recurs.

use crate::clock::Clock;
use crate::gaps::{Gap, Gaps};

/// Deadlines modulo the period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Whatever the start of the run gives.
    #[default]
    Chance,
    /// This many ns after a multiple of the period.
    Fixed(u64),
    /// The quietest one that a [`scan`] finds.
    Auto,
}

/// What a scan saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// The gaps, in time order.
    pub gaps: Vec<Gap>,
    /// How long the core was watched, in ns.
    pub watched_ns: u64,
}

/// Gaps shorter than this are the clock reads themselves.
const SHORTEST_GAP_NS: u64 = 1_000;
/// How finely the period is divided.
const BINS: usize = 200;
/// More gaps than this are not kept; by then the picture is clear.
const MOST_GAPS: usize = 65_536;

/// How long [`Phase::Auto`] is looked for, in ns.
pub const SCAN_NS: u64 = 500_000_000;
/// A scan of [`SCAN_NS`] sees a longer period too seldom to tell a quiet phase of it, in ns.
pub const LONGEST_SCANNED_NS: u64 = SCAN_NS / 5;

/// Spins for `duration_ns` on the calling thread and notes when it was held up. The thread should be set
/// up as the timed loop will be: pinned, real-time.
pub fn scan(clock: &mut Clock, duration_ns: u64) -> Scan {
    let mut scan = Scan { gaps: Vec::with_capacity(MOST_GAPS), watched_ns: 0 };
    let end = clock.now_ns() + duration_ns;
    let mut gaps = Gaps::new(clock.clone(), SHORTEST_GAP_NS);
    while let Some(gap) = gaps.next_before(end) {
        if scan.gaps.len() < MOST_GAPS {
            scan.gaps.push(gap);
        }
    }
    scan.watched_ns = gaps.watched_ns();
    scan
}

impl Scan {
    /// The phase (ns after a multiple of `period_ns`) that lies farthest from the gaps, each weighted by
    /// its length; 0 if there were none.
    pub fn quietest(&self, period_ns: u64) -> u64 {
        let (busy, bin_ns) = (self.busy(period_ns, BINS), period_ns as f64 / BINS as f64);
        let cost = |phase: usize| -> f64 {
            busy.iter()
                .enumerate()
                .map(|(bin, weight)| {
                    let apart = phase.abs_diff(bin).min(BINS - phase.abs_diff(bin));
                    // Nearness fades over an eighth of the period: far gaps still push, near ones decide.
                    weight * (-(apart as f64) / (BINS as f64 / 8.0)).exp()
                })
                .sum()
        };
        let costs: Vec<f64> = (0..BINS).map(cost).collect();
        let best = (0..BINS).min_by(|a, b| costs[*a].total_cmp(&costs[*b])).unwrap_or(0);
        (best as f64 * bin_ns) as u64
    }

    /// Time lost to gaps in each of `bins` parts of the period, in ns. One gap counts at most an eighth of the period,
    /// so that a single long theft by a hypervisor does not outweigh the tick.
    pub fn busy(&self, period_ns: u64, bins: usize) -> Vec<f64> {
        let bin_ns = period_ns as f64 / bins as f64;
        let mut busy = vec![0.0; bins];
        for gap in &self.gaps {
            let length = (gap.length_ns as f64).min(period_ns as f64 / 8.0);
            let first = ((gap.at_ns % period_ns) as f64 / bin_ns) as usize;
            let touched = (length / bin_ns).ceil().max(1.0) as usize;
            for bin in 0..touched {
                busy[(first + bin) % bins] += length / touched as f64;
            }
        }
        busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ClockId;
    use crate::clock::script::Script;
    use proptest::prelude::*;

    fn ticking(tick_ns: u64, offset_ns: u64) -> Scan {
        let gaps = (0..250).map(|n| Gap { at_ns: n * tick_ns + offset_ns, length_ns: 15_000 }).collect();
        Scan { gaps, watched_ns: 250 * tick_ns }
    }

    proptest! {
        #[test]
        fn the_quietest_phase_lies_opposite_the_tick(offset_ns in 0u64..1_000_000) {
            let phase = ticking(4_000_000, offset_ns).quietest(1_000_000);
            let apart = (phase + 1_000_000 - offset_ns) % 1_000_000;
            prop_assert!((450_000..=565_000).contains(&apart), "{}", apart);
        }
    }

    #[test]
    fn one_long_theft_does_not_outweigh_the_tick() {
        let mut scan = ticking(4_000_000, 0);
        scan.gaps.push(Gap { at_ns: 400_500_000, length_ns: 5_200_000 });
        let phase = scan.quietest(1_000_000);
        assert!((300_000..=700_000).contains(&phase), "{phase}");
    }

    #[test]
    fn a_quiet_core_needs_no_choice() {
        assert_eq!(Scan::default().quietest(1_000_000), 0);
    }

    #[test]
    fn a_gap_weighs_on_the_parts_of_the_period_that_it_touches() {
        // Of a period of 1 ms each part is 5 us.
        let busy = |at_ns, length_ns| -> Vec<(usize, f64)> {
            let busy = Scan { gaps: vec![Gap { at_ns, length_ns }], watched_ns: 0 }.busy(1_000_000, BINS);
            busy.into_iter().enumerate().filter(|(_, weight)| *weight > 0.0).collect()
        };
        assert_eq!(busy(3_010_000, 20_000), [(2, 5e3), (3, 5e3), (4, 5e3), (5, 5e3)]);
        assert_eq!(busy(995_000, 12_000), [(0, 4e3), (1, 4e3), (199, 4e3)], "the next period's beginning, too");
        assert_eq!(busy(0, 100), [(0, 100.0)]);
        let long = busy(0, 7_000_000);
        assert_eq!((long.len(), long.iter().map(|(_, weight)| weight).sum::<f64>()), (25, 125e3), "an eighth at most");
    }

    #[test]
    fn a_scan_keeps_its_gaps_up_to_a_bound() {
        let mut clock = Clock::scripted(Script::new(0).reading_takes(SHORTEST_GAP_NS));
        let short = scan(&mut clock, 1_000_000);
        assert!((990..=1_000).contains(&short.gaps.len()), "{}", short.gaps.len());
        assert!(short.gaps.iter().all(|gap| gap.length_ns == SHORTEST_GAP_NS));
        assert_eq!(scan(&mut clock, 100_000_000).gaps.len(), MOST_GAPS);
    }

    #[test]
    fn a_scan_watches_for_as_long_as_it_is_reported() {
        let mut clock = Clock::new(ClockId::Monotonic);
        let scan = scan(&mut clock, 30_000_000);
        assert!(scan.watched_ns >= 15_000_000, "{}", scan.watched_ns);
        assert!(scan.gaps.windows(2).all(|w| w[0].at_ns + w[0].length_ns <= w[1].at_ns));
    }
}
