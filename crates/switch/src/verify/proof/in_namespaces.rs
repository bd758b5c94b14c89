//! A trial in network namespaces: a switch is set up for it, with hosts at its ports.

use std::sync::atomic::AtomicBool;

use ontick_record::switching::Lost;

use super::super::flow::Flow;
use super::super::testbed::{self, HOST, Testbed};
use super::super::trial::{self, TrialProgress, TrialSpec};
use super::super::under_test::{Bridge, KernelPlane, KernelPlaneError, UnderTest, UserPlane};
use super::{Carrier, PATIENCE, PlaneNotes, ProgressFn, Proof, ProofError, RING};
use crate::ethtool;
use crate::user::packet::{PacketPort, PacketReader, Stamps};
use ontick_tsn::model::{Base, Switch};

impl Proof {
    /// One trial in a scene of its own, so that nothing of the one before is in it.
    pub(super) fn try_out(
        &self,
        mut spec: TrialSpec,
        base_ns: u64,
        stop: &AtomicBool,
        look: &mut ProgressFn,
    ) -> Result<(trial::Outcome, PlaneNotes), ProofError> {
        let mut switch = self.switch.clone();
        for (place, port) in switch.ports.iter_mut().enumerate() {
            port.rate = Some(self.rate(place));
            match &mut port.gates {
                Some(gates) if spec.gates => gates.base = Base::At(base_ns),
                gates => *gates = None,
            }
        }
        let names: Vec<&str> = switch.ports.iter().map(|port| port.name.as_str()).collect();
        let scene = Testbed::new(&names)?;
        let (mut under_test, note) = self.set_up(&switch, &scene)?;
        let open = |port: usize| scene.hosts[port].within(|| PacketPort::open(HOST, 256));
        let (mut sender, mut receiver) = (open(spec.ports.0)??, open(spec.ports.1)??);
        let flows: Vec<Flow> = spec.offers.iter().map(|offer| offer.flow.clone()).collect();
        // Gates on the way back may let none through: then the switch floods, which shows in its counters.
        trial::announce(&flows, &mut receiver, &mut sender, PATIENCE);
        drop(receiver);
        let reader = scene.hosts[spec.ports.1].within(|| PacketReader::open(HOST, RING, Stamps::Software))??;
        spec.limits = self.limits(&switch, &spec, under_test.as_ref());
        let mut look = |moment: TrialProgress| look(&spec.name, moment);
        let cable = || testbed::dropped(&scene.hosts[spec.ports.0], HOST);
        // The kernel's planes count what the far end did not take.
        let counts_itself = under_test.plane() != "user";
        let far = || testbed::not_received(&scene.hosts[spec.ports.1], HOST);
        let (before, before_far) = (cable()?, far()?);
        spec.modelled_rate = Some(match counts_itself {
            false => self.rate(spec.ports.1),
            // taprio takes a frame to be as long as the interface's rate makes it.
            true => scene.switch.within(|| ethtool::rate(names[spec.ports.1]))?.unwrap_or(self.rate(spec.ports.1)),
        });
        let mut outcome = trial::run(&switch, &spec, &mut sender, reader, under_test.as_mut(), stop, &mut look)?;
        // What the sender knows to be lost is not among the frames sent.
        let lost = (cable()? - before).saturating_sub(outcome.trial.sum(|class| class.refused));
        if lost > 0 {
            let place = format!("cable to port {}", names[spec.ports.0]);
            outcome.trial.elsewhere.push(Lost { place, frames: lost });
        }
        let lost = far()? - before_far;
        if lost > 0 && !counts_itself {
            let place = format!("cable from port {}", names[spec.ports.1]);
            outcome.trial.elsewhere.push(Lost { place, frames: lost });
        }
        Ok((outcome, PlaneNotes { plane: under_test.plane(), about: under_test.about(), note }))
    }

    /// What carries the frames, and what must be said about that.
    fn set_up<'a>(
        &self,
        switch: &Switch,
        scene: &'a Testbed,
    ) -> Result<(Box<dyn UnderTest + 'a>, Option<String>), ProofError> {
        let here = &scene.switch;
        let user = |place| -> Result<Box<dyn UnderTest + 'a>, ProofError> {
            Ok(Box::new(UserPlane::start(switch, here, place)?))
        };
        Ok(match &self.carrier {
            Carrier::Outside { .. } => unreachable!("it is not set up here"),
            Carrier::Bridge => {
                let names: Vec<&str> = switch.ports.iter().map(|port| port.name.as_str()).collect();
                (Box::new(Bridge::new(here, &names, switch.classes.len())?), None)
            }
            Carrier::Kernel => (Box::new(KernelPlane::start(switch, here)?), None),
            Carrier::User(place) => (user(*place)?, None),
            Carrier::Auto(place) => match KernelPlane::start(switch, here) {
                Ok(kernel) => (Box::new(kernel), None),
                // Nothing was changed yet.
                Err(KernelPlaneError::Cannot(_)) => {
                    let note = "a dedicated core carries the frames, as the kernel cannot here (ask for the kernel data plane to learn why)";
                    (user(*place)?, Some(note.into()))
                }
                Err(failed) => return Err(failed.into()),
            },
        })
    }
}
