//! A trial through a switch that is at work already, on this machine or another.

use std::sync::atomic::AtomicBool;

use super::super::flow::Flow;
use super::super::trial::{self, TrialProgress, TrialSpec};
use super::super::under_test::{Outside, UnderTest};
use super::{PATIENCE, PlaneNotes, ProgressFn, Proof, ProofError, RING};
use crate::ethtool;
use crate::user::packet::{PacketPort, PacketReader, Stamps};

/// Drivers of links that take no time.
const VIRTUAL: [&str; 2] = ["veth", "tun"];

impl Proof {
    /// One trial through a switch that is at work already.
    pub(super) fn try_outside(
        &self,
        mut spec: TrialSpec,
        (send, receive): (&str, &str),
        mut under_test: Outside,
        stop: &AtomicBool,
        look: &mut ProgressFn,
    ) -> Result<(trial::Outcome, PlaneNotes), ProofError> {
        let (mut sender, mut receiver) = (PacketPort::open(send, 256)?, PacketPort::open(receive, 256)?);
        let flows: Vec<Flow> = spec.offers.iter().map(|offer| offer.flow.clone()).collect();
        trial::announce(&flows, &mut receiver, &mut sender, PATIENCE);
        drop(receiver);
        let reader = PacketReader::open(receive, RING, Stamps::Hardware)?;
        let mut look = |moment: TrialProgress| look(&spec.name, moment);
        let rate = self.rate(spec.ports.1);
        if ethtool::driver(receive).is_some_and(|driver| VIRTUAL.contains(&driver.as_str())) {
            spec.modelled_rate = Some(rate);
        }
        spec.limits = self.limits(&self.switch, &spec, &under_test);
        spec.link_rate = Some(ethtool::rate(receive).unwrap_or(rate));
        let outcome = trial::run(&self.switch, &spec, &mut sender, reader, &mut under_test, stop, &mut look)?;
        let note = (outcome.stamps == Stamps::Hardware).then(|| {
            format!("arrivals are stamped by the clock of {receive}, which is taken for TAI (linuxptp keeps it so)")
        });
        let about = format!("{}, by {send} and back by {receive}", under_test.about());
        Ok((outcome, PlaneNotes { plane: under_test.plane(), about, note }))
    }
}
