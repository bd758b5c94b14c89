//! A core's part of a switch: some of the ports, and the ways to those of other cores.

use std::sync::Arc;

use ontick_tsn::model::Switch;

use super::Core;
use super::crossing::{Classified, Incoming, Outgoing, crossing};
use crate::loops::Prober;
use crate::user::counters::Counter;
use crate::user::port::Port;
use crate::user::spread::Spread;
use crate::user::table::Table;
use crate::user::time::Time;

/// What a core has of a switch, beside its ports.
pub struct Part {
    pub(super) table: Table,
    pub(super) prober: Prober,
    pub(super) others: Others,
    pub(super) alive: Arc<Counter>,
}

impl Part {
    /// All of it.
    pub fn whole(switch: &Switch, seed: u64) -> Self {
        Self {
            table: Table::new(switch.addresses, switch.ageing_ns, seed),
            prober: Prober::new(),
            others: Others::default(),
            alive: Arc::default(),
        }
    }

    /// The parts of all cores.
    pub fn of_each(switch: &Switch, spread: &Spread, seed: u64) -> Vec<Self> {
        let whole = Self::whole(switch, seed);
        let mut parts: Vec<Self> = (0..spread.cores())
            .map(|own| Self {
                table: whole.table.clone(),
                prober: whole.prober.clone(),
                others: Others { cores: spread.others_of(own), ..Others::default() },
                alive: Arc::default(),
            })
            .collect();
        for from in 0..parts.len() {
            for to in 0..parts.len() {
                let way = (from != to).then(crossing);
                let (outgoing, incoming) = way.map_or((None, None), |(out, coming)| (Some(out), Some(coming)));
                parts[from].others.outgoing.push(outgoing);
                parts[to].others.incoming.extend(incoming);
            }
        }
        parts
    }

    /// Turns of the core, which go on as long as it is alive.
    pub fn alive(&self) -> Arc<Counter> {
        self.alive.clone()
    }
}

/// The other cores of the switch.
#[derive(Default)]
pub(super) struct Others {
    /// Of each port the core, if it is another one; empty where there is no other.
    cores: Vec<Option<usize>>,
    /// By core.
    outgoing: Vec<Option<Outgoing>>,
    incoming: Vec<Incoming>,
}

impl Others {
    /// Whether a port is another core's.
    pub fn have(&self, port: usize) -> bool {
        self.core_of(port).is_some()
    }

    /// Cores that send frames.
    #[inline]
    pub fn count(&self) -> usize {
        self.incoming.len()
    }

    fn core_of(&self, port: usize) -> Option<usize> {
        self.cores.get(port).copied().flatten()
    }
}

impl<P: Port, T: Time> Core<'_, P, T> {
    /// The frame in the spare slot is for a port that does not send here: one of another core, or one without a link.
    #[inline(never)]
    pub(super) fn hand_on(&mut self, to: usize, frame: Classified) {
        let outgoing = self.others.core_of(to).and_then(|core| self.others.outgoing[core].as_mut());
        let Some(outgoing) = outgoing else { return self.counters.ports[to].queues[frame.queue].down.add(1) };
        if !outgoing.send(to, frame, &self.pool.get(self.spare)[..frame.octets]) {
            self.counters.ports[frame.from].not_crossed.add(1);
        }
    }

    /// Takes one frame over that came in at another core, if one is there; whether one was.
    #[inline]
    pub(super) fn take_over(&mut self, from: usize) -> bool {
        let Some((to, frame)) = self.others.incoming[from].take(self.pool.get_mut(self.spare)) else { return false };
        self.enqueue(to, frame);
        true
    }
}
