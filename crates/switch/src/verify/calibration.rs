//! What a data plane of this machine needs of a window, measured: a gate that opens for frames that wait, thousands of
//! times, and when they came.

use std::sync::atomic::AtomicBool;

use ontick_record::Histogram;
use ontick_record::switching::Class;

use super::offered::OfferedLoad;
use super::proof::{Carrier, ProgressFn, Proof, ProofError};
use super::source_004_test;
use ontick_tsn::egress::{DataPlane, EgressTiming};
use ontick_tsn::model::{Base, Entry, Gates, Guard, Switch};

/// Gates open so often, in ns.
const CYCLE_NS: u64 = 1_000_000;
/// Frames that come in a cycle, some of which wait for the gate.
const FRAMES: u64 = 10;
/// The gate is shut for this part of the cycle.
const SHUT_NS: u64 = 500_000;
/// Size of an untagged frame with its check sequence: short ones wait for nothing but the data plane.
const SIZE: u32 = 64;
/// Openings that must have been seen.
const LEAST_OPENINGS: u64 = 100;
/// Frames that leave by one opening come within this.
const BURST_NS: u64 = 100_000;

/// How it is measured.
#[derive(Debug, Clone)]
pub struct Calibrating {
    /// What carries the frames.
    pub carrier: Carrier,
    /// For how long gates open and shut, and for how long they are open to measure the forwarding, in ns.
    pub duration_ns: u64,
    /// Of hand-overs and forwardings this part is within what is measured: 0 to 1.
    pub share: f64,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Calibrated {
    /// Where it was measured.
    pub plane: DataPlane,
    /// What carried the frames, in words.
    pub about: String,
    /// For planning; what cannot be measured from outside is what is assumed of the plane.
    pub timing: EgressTiming,
    /// Openings that were looked at.
    pub openings: u64,
}

/// Why nothing was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// Frames could not be sent through it.
    #[error("{0}")]
    Proof(#[from] ProofError),
    /// Too little was seen.
    #[error("frames waited for {0} openings only, and {LEAST_OPENINGS} are needed: measure for longer")]
    TooFew(u64),
}

impl Calibrating {
    /// Carries it out, in namespaces that are gone afterwards.
    pub fn carry_out(&self, stop: &AtomicBool, look: &mut ProgressFn) -> Result<Calibrated, CalibrateError> {
        let proof = Proof {
            switch: switch(),
            ports: (0, 1),
            carrier: self.carrier.clone(),
            classes: vec![0],
            offered: OfferedLoad::PerSecond(FRAMES * 1_000_000_000 / CYCLE_NS),
            size: SIZE,
            duration_ns: self.duration_ns,
            without_gates_ns: self.duration_ns,
            guard_ns: 1_000,
            bins: 100,
            kept_cycles: 1_000,
            log_frames: false,
        };
        let switching = proof.carry_out(stop, look)?.switching;
        let plane = if switching.plane == "kernel" { DataPlane::Kernel } else { DataPlane::User };
        let class = |gates: bool| {
            let trial = switching.trials.iter().find(|trial| trial.gates == gates);
            trial.and_then(|trial| trial.classes.first())
        };
        let openings = class(true).map_or(0, |class| class.first.count());
        let (Some(gated), Some(open)) = (class(true).filter(|_| openings >= LEAST_OPENINGS), class(false)) else {
            return Err(CalibrateError::TooFew(openings));
        };
        Ok(Calibrated {
            plane,
            about: switching.about.clone(),
            timing: timing(plane.defaults(), gated, open, self.share),
            openings,
        })
    }
}

/// One class whose gate is shut for half of the cycle.
fn switch() -> Switch {
    let mut switch = source_004_test::switch(CYCLE_NS, Guard::None);
    let entries = vec![Entry { open: 0, for_ns: SHUT_NS }, Entry { open: u16::MAX, for_ns: CYCLE_NS - SHUT_NS }];
    switch.ports[1].gates = Some(Gates { base: Base::NextSecond, cycle_ns: CYCLE_NS, guard: Guard::None, entries });
    switch
}

fn timing(assumed: EgressTiming, gated: &Class, open: &Class, share: f64) -> EgressTiming {
    let at = |histogram: &Histogram, q: f64| histogram.quantile(q).unwrap_or(0);
    let hand_over_ns = at(&gated.first, 0.5);
    let gaps = gated.arrivals.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let mut burst: Vec<u64> = gaps.filter(|gap_ns| *gap_ns < BURST_NS / FRAMES).collect();
    burst.sort_unstable();
    EgressTiming {
        hand_over_ns,
        spread_ns: at(&gated.first, share).saturating_sub(hand_over_ns),
        spacing_ns: burst.get(burst.len() / 2).copied().unwrap_or(assumed.spacing_ns),
        // From the sender's hands to the far end's stamp: more than the forwarding, never less.
        forwarding_ns: at(&open.delay, share),
        ..assumed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|(ns, count)| histogram.add(*ns, 1, *count));
        histogram
    }

    #[test]
    fn what_is_measured_is_the_usual_and_how_far_single_ones_are_from_it() {
        let gated = Class {
            first: histogram(&[(800, 900), (2_900, 95), (90_000, 5)]),
            // Two openings, of five frames each.
            arrivals: vec![0, 1_500, 3_100, 4_500, 6_000, 1_000_000, 1_001_500, 1_003_000],
            ..Class::default()
        };
        let open = Class { delay: histogram(&[(3_000, 990), (9_000, 10)]), ..Class::default() };
        let assumed = DataPlane::User.defaults();
        let found = timing(assumed, &gated, &open, 0.99);
        assert_eq!((found.hand_over_ns, found.spread_ns, found.spacing_ns), (800, 2_100, 1_500));
        assert_eq!((found.forwarding_ns, found.guard_ns), (3_000, assumed.guard_ns));
        assert_eq!(timing(assumed, &gated, &open, 0.999).spread_ns, 90_000 - 800);
    }
}
