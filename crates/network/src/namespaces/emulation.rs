//! What the emulation itself needs.

use ontick_record::{Bucket, Histogram};
use ontick_tsn::egress::EgressTiming;

use super::trial::{Findings, switches_on};

/// What the emulation itself needs.
#[derive(Debug, Clone, Default)]
pub struct Emulation {
    /// From the handing over at the talker until the arrival at the listener, divided by the switches on the way, of frames
    /// that met no closed gate.
    pub per_switch: Histogram,
    /// Frames of which that is.
    pub frames: u64,
}

impl Emulation {
    pub(super) fn of(open: &Findings) -> Self {
        let mut per_switch = Histogram::default();
        let mut frames = 0;
        for (of, delay) in open.listeners.iter().flat_map(|of| of.streams().iter().zip(of.delays())) {
            let (switches, delay) = (switches_on(of).max(1), delay.histogram());
            let share = |bucket: &Bucket| Bucket {
                low_ns: bucket.low_ns / switches,
                width_ns: bucket.width_ns.div_ceil(switches).max(1),
                count: bucket.count,
            };
            let mut shares = Histogram::from_buckets(delay.buckets().iter().map(share));
            (shares.min_ns, shares.max_ns) =
                (delay.min_ns.map(|ns| ns / switches), delay.max_ns.map(|ns| ns / switches));
            frames += shares.count();
            if shares.count() > 0 {
                per_switch.merge(&shares);
            }
        }
        Self { per_switch, frames }
    }

    /// The most that it needed for a switch, in ns.
    pub fn most_ns(&self) -> u64 {
        self.per_switch.max_ns.unwrap_or(0)
    }

    /// Timings of a data plane as slow as this, the slowest first: a plan has to have room for one of them, or its frames
    /// miss their windows, and those behind them theirs. Of a switch's share the usual part counts as forwarding, what may
    /// come on top as the spread of the hand-over, which windows are longer by. None is as fast as `usual`.
    pub fn timings(&self, usual: EgressTiming) -> impl Iterator<Item = EgressTiming> {
        let quantile = |p| self.per_switch.quantile(p).unwrap_or(0);
        let (usual_part_ns, most_ns) = (quantile(0.5), quantile(0.999));
        let steps = std::iter::successors(Some(most_ns), |ns| Some(ns * 4 / 5)).take_while(|ns| *ns > 0);
        steps.filter_map(move |all_ns| {
            let forwarding_ns = usual_part_ns.min(all_ns / 2).max(usual.forwarding_ns);
            let spread_ns = all_ns.checked_sub(forwarding_ns + usual.hand_over_ns)?;
            (spread_ns > usual.spread_ns).then_some(EgressTiming { forwarding_ns, spread_ns, ..usual })
        })
    }
}

#[cfg(test)]
mod tests {
    use ontick_tsn::egress::DataPlane;

    use super::*;

    #[test]
    fn a_plan_is_to_have_room_for_999_of_1000_or_for_as_much_as_it_can() {
        let bucket = |low_ns, count| Bucket { low_ns, width_ns: 1, count };
        let per_switch = Histogram::from_buckets([bucket(40_000, 9_980), bucket(120_000, 15), bucket(900_000, 5)]);
        let usual = DataPlane::User.defaults();
        let timings: Vec<EgressTiming> = Emulation { per_switch, frames: 10_000 }.timings(usual).collect();
        let all_ns = |of: &EgressTiming| of.forwarding_ns + of.hand_over_ns + of.spread_ns;
        let slowest = EgressTiming { forwarding_ns: 40_000, spread_ns: 120_000 - 40_000 - usual.hand_over_ns, ..usual };
        assert!(
            all_ns(&timings[0]).abs_diff(120_000) <= 1 && timings[0].forwarding_ns.abs_diff(40_000) <= 1,
            "{timings:?}"
        );
        assert!(timings[0].spread_ns.abs_diff(slowest.spread_ns) <= 2, "{timings:?}");
        assert!(timings.windows(2).all(|pair| all_ns(&pair[0]) > all_ns(&pair[1])), "{timings:?}");
        assert!(timings.iter().all(|of| of.spread_ns > usual.spread_ns && of.forwarding_ns >= usual.forwarding_ns));
        // One that is as fast as it is assumed to be has nothing to change.
        let fast = Histogram::from_buckets([bucket(3_000, 1_000)]);
        assert_eq!(Emulation { per_switch: fast, frames: 1_000 }.timings(usual).count(), 0);
        assert_eq!(Emulation::default().timings(usual).count(), 0);
    }
}
