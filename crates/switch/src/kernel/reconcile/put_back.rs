//! What other tools have changed, and what is put back of it.

use super::Keeper;
use crate::apply::{Act, Expect, Host, Step, differences};
use ontick_tsn::model::GateOverride;

impl<H: Host> Keeper<'_, H> {
    /// Compares everything, and puts back what another tool has changed.
    pub(super) fn put_back(&mut self) {
        let steps = self.wanted().steps;
        if self.forced == Some(GateOverride::Closed) {
            let ports: Vec<String> = self.switch.ports.iter().map(|port| port.name.clone()).collect();
            ports.iter().for_each(|port| self.stop_port(port));
        }
        let all = differences(self.host, steps.iter().flat_map(|step| &step.expects));
        if all.is_empty() {
            self.reported.clear();
        }
        self.differences = all;
        if self.differences.is_empty() {
            return;
        }
        for step in &steps {
            if self.is_replaced(step) {
                continue;
            }
            // Whoever switches a port off means it.
            let expects =
                step.expects.iter().filter(|expect| !matches!(expect, Expect::Up { port } if self.is_port(port)));
            let Some(difference) = differences(self.host, expects)
                .into_iter()
                .find(|difference| !difference.gone || !self.is_port(&difference.place))
            else {
                continue;
            };
            match redo(self.host, step) {
                Ok(()) => {
                    self.tally.put_back += 1;
                    self.say(&format!("{difference}: put back ({})", step.what));
                }
                Err(why) => self.say_once(format!("{difference}, and it cannot be put back: {why}")),
            }
            // Attaching filters stops software taprio.
            if let Some(port) = step
                .expects
                .iter()
                .any(|e| matches!(e, Expect::Filters { .. } | Expect::Policed { .. }))
                .then_some(step.port.as_ref())
                .flatten()
            {
                self.reissue_one(port);
            }
        }
    }
}

/// Does a step again whose work somebody has spoilt.
fn redo(host: &impl Host, step: &Step) -> Result<(), String> {
    let from_nothing = |expect: &Expect| {
        matches!(
            expect,
            Expect::Filters { .. }
                | Expect::Policed { .. }
                | Expect::NftTable { .. }
                | Expect::Chain { .. }
                | Expect::Groups { .. }
        )
    };
    if step.expects.iter().any(from_nothing) {
        step.undos.iter().rev().for_each(|undo| drop(undo.carry_out(host)));
    }
    let acts = step.acts.iter().filter(|act| !matches!(act, Act::AwaitLink { .. }));
    acts.into_iter().try_for_each(|act| host.act(act)).map_err(|refused| refused.to_string())
}
