//! The time that gates follow: it may be lost, and clocks are set.

use super::super::clock::Stepped;
use super::super::time_loss;
use super::Keeper;
use crate::apply::{Host, Plan, links};
use ontick_tsn::model::GateOverride;

impl<H: Host> Keeper<'_, H> {
    /// Somebody who watches the network's time may have lost it. A switch without gates has no use for it.
    pub(super) fn follow_time(&mut self) {
        let has_gates = self.switch.ports.iter().any(|port| port.gates.is_some());
        let lost = self.folder.time_loss().filter(|_| has_gates);
        if lost == self.forced {
            return;
        }
        match lost {
            None => self.say("the network's time is good again: the gates follow their lists"),
            Some(GateOverride::Open) => {
                self.say("the network's time is lost: all gates are open until it is good again");
            }
            Some(GateOverride::Closed) => match time_loss::not_stopped(&self.switch) {
                None => self.say("the network's time is lost: no port forwards anything until it is good again"),
                Some(why) => self.say(&format!("the network's time is lost, and {why}")),
            },
        }
        self.forced = lost;
        if lost != Some(GateOverride::Closed) {
            self.let_go();
        }
        self.reissue_all_soon();
    }

    /// Ports forward again that were stopped by this process, or by one that was killed.
    pub(super) fn let_go(&mut self) {
        let stopped = links(self.host).map(|links| time_loss::stopped(&self.switch, &links));
        for port in stopped.unwrap_or_default() {
            if let Err(refused) = self.host.act(&time_loss::forward(&port, true)) {
                self.say(&format!("port {port} forwards nothing: {refused}"));
            }
        }
    }

    /// Has a port forward nothing, where that is what is wanted. One without a link does so by itself, and is stopped when it
    /// gets one.
    pub(super) fn stop_port(&mut self, name: &str) {
        if self.forced == Some(GateOverride::Closed) && time_loss::not_stopped(&self.switch).is_none() {
            let _ = self.host.act(&time_loss::forward(name, false));
        }
    }

    /// What is to be, with gates as the time has them.
    pub(super) fn wanted(&self) -> Plan {
        self.forced.map_or_else(|| self.plan.clone(), |to| time_loss::forced(&self.plan, to))
    }

    pub(super) fn look_at_clock(&mut self) {
        let Some(stepped) = self.clock.poll() else { return };
        let clock = self.switch.clock.name();
        match stepped {
            Stepped::By(ns) => {
                self.say(&format!("the {clock} clock was set by {:.6} s: gates are set anew", ns as f64 / 1e9));
            }
            Stepped::Offset(s) => {
                self.say(&format!("TAI is now {s} s ahead of UTC on this machine: gates are set anew"));
            }
        }
        self.tally.clock_steps += 1;
        self.reissue_all_soon();
    }
}
