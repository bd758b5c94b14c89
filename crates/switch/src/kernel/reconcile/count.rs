//! Counters, for whoever wants them, and ports that stand still by what they say.

use std::time::{Duration, Instant};

use ontick_record::store;

use super::super::status::{LinkState, PortStatus, Status, port_statuses};
use super::super::{metrics, policing, shaper};
use super::{COUNT, Keeper};
use crate::apply::Host;
use ontick_tsn::model::Port;
use ontick_tsn::schedule::Schedule;

impl<H: Host> Keeper<'_, H> {
    /// Reads counters: for whoever wants them, and to see whether a port stands still that should not.
    pub(super) fn count(&mut self) {
        let Ok(ports) = port_statuses(self.host, &self.switch) else { return };
        for status in &ports {
            if self.stands_still(status) && self.forced.is_none() {
                let name = status.name.clone();
                self.say(&format!("port {name}: frames wait at open gates and none leaves; gates are set anew"));
                self.reissue_soon(&name);
            }
        }
        if let Some(path) = &self.options.metrics {
            // What cannot be counted is left out.
            let streams = policing::counts(self.host, &self.switch, &self.plan).unwrap_or_default();
            let name = self.switch.name.clone();
            let status = Status { name, ports, streams, differences: self.differences.clone() };
            let text = metrics::text(&status, &self.tally);
            if let Err(error) = store::write_whole(path, text.as_bytes()) {
                self.say_once(format!("metrics cannot be written: {error}"));
            }
        }
    }

    fn stands_still(&mut self, status: &PortStatus) -> bool {
        let Some(port) = self.switch.ports.iter().find(|port| port.name == status.name) else { return false };
        let left: u64 = status.classes.iter().map(|class| class.packets).sum();
        let waits = status.classes.iter().any(|class| class.waiting > 0 && opens(port, class.queue));
        let now = Instant::now();
        let (before, since) = *self.progress.entry(status.name.clone()).or_insert((left, now));
        if before != left || !waits || status.link != LinkState::Up || port.gates.is_none() {
            self.progress.insert(status.name.clone(), (left, now));
            return false;
        }
        let cycle_ns = port.gates.as_ref().map_or(0, |gates| gates.cycle_ns);
        let long =
            now - since > COUNT.max(Duration::from_nanos(cycle_ns.saturating_mul(3))).max(shaper::longest_pause(port));
        if long {
            self.progress.insert(status.name.clone(), (left, now));
        }
        long
    }
}

fn opens(port: &Port, queue: u8) -> bool {
    port.gates.as_ref().is_none_or(|gates| !Schedule::new(0, &gates.entries).windows(usize::from(queue)).is_empty())
}
