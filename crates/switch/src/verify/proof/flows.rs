//! Which flows are sent, of what size, and how many frames of each.

use super::super::flow::{self, Flow, Nonce};
use super::super::sender::Offer;
use super::{Proof, ProofError};
use ontick_tsn::model::Gates;
use ontick_tsn::schedule::Schedule;
use ontick_tsn::wire;

impl Proof {
    /// The flows, and why some classes have none.
    pub(super) fn flows(&self) -> Result<(Vec<Flow>, Vec<String>), ProofError> {
        let size = |class: usize| self.largest(class).map_or(self.size, |largest| self.size.min(largest));
        let (flows, not) = flow::of_all_classes(&self.switch, size, Nonce::new());
        let wanted = |flow: &Flow| self.classes.is_empty() || self.classes.contains(&flow.class);
        let flows: Vec<Flow> = flows.into_iter().filter(wanted).collect();
        let notes: Vec<String> = not.iter().map(|why| format!("not tested: {why}")).collect();
        if flows.is_empty() { Err(ProofError::NoFlows(notes.join("; "))) } else { Ok((flows, notes)) }
    }

    /// Octets of the largest untagged frame of a class that the port sends, check sequence included.
    fn largest(&self, class: usize) -> Option<u32> {
        let sdu = self.switch.ports[self.ports.1].max_sdu.get(class).copied().flatten()?;
        Some(wire::frame_octets(sdu + wire::HEADER))
    }

    /// Which classes have smaller frames than were asked for.
    pub(super) fn smaller_frames(&self, flows: &[Flow]) -> Vec<String> {
        let smaller = |flow: &Flow| {
            let largest = self.largest(flow.class).filter(|largest| *largest < self.size)?;
            let name = &self.switch.classes[flow.class].name;
            Some(format!("{name}: frames of {largest} octets, as its max-sdu allows no larger ones"))
        };
        flows.iter().filter_map(smaller).collect()
    }

    /// How many frames of each flow are sent.
    pub(super) fn offers(&self, flows: &[Flow], gates: &Gates) -> Vec<Offer> {
        let port = &self.switch.ports[self.ports.1];
        let slopes: Vec<Option<u64>> =
            flows.iter().map(|flow| port.idle_slopes.get(flow.class).copied().flatten()).collect();
        let schedule = Schedule::new(0, &gates.entries);
        let rates = self.offered.rates(flows, &slopes, &schedule, self.rate(self.ports.1));
        flows.iter().cloned().zip(rates).map(|(flow, rate)| Offer { flow, rate }).collect()
    }
}
