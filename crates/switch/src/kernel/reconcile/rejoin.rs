//! Ports that were deleted and made anew, which are set up again.

use std::collections::BTreeSet;

use super::super::reconfigure;
use super::Keeper;
use crate::apply::{Host, Journal, Refused, Step, Undo, carry_out, links};

impl<H: Host> Keeper<'_, H> {
    /// Ports that were deleted and made anew since they were set up, whether an event reported it or not. Nothing is done
    /// to them but by steps of their own: how to undo the others speaks of an interface that is gone.
    pub(super) fn replaced(&self) -> Result<BTreeSet<String>, Refused> {
        let links = links(self.host)?;
        let replaced = |step: &&Step| {
            step.undos.iter().filter_map(Undo::port).any(|port| {
                links.iter().any(|link| link.name == port.name && link.index != port.index) && self.is_port(&port.name)
            })
        };
        Ok(self.plan.steps.iter().filter(replaced).filter_map(|step| step.port.clone()).collect())
    }

    pub(super) fn is_replaced(&self, step: &Step) -> bool {
        let Some(port) = &step.port else { return false };
        self.replaced().map_or(true, |replaced| replaced.contains(port))
    }

    pub(super) fn rejoin(&mut self, journal: &mut Journal) {
        for name in std::mem::take(&mut self.returned) {
            match self.rejoin_one(journal, &name) {
                Ok(()) => {
                    self.say(&format!("port {name} is back, and set up again"));
                    self.reissue_soon(&name);
                }
                Err(why) => {
                    self.say_once(format!("port {name} is back, and cannot be set up again: {why}"));
                }
            }
        }
    }

    fn rejoin_one(&mut self, journal: &mut Journal, name: &str) -> Result<(), String> {
        let steps = reconfigure::rejoin(self.host, &self.switch, &self.plan, name).map_err(|e| e.to_string())?;
        for (at, step) in steps.iter().enumerate() {
            if let Err(error) = carry_out(self.host, journal, step) {
                // All of it or nothing, so that it can be tried again.
                let begun = steps[..=at].iter().rev().flat_map(|step| step.undos.iter().rev());
                begin_anew(self.host, begun);
                return Err(error.to_string());
            }
        }
        self.plan
            .steps
            .retain(|step| step.port.as_deref() != Some(name) || steps.iter().all(|new| new.what != step.what));
        // What is as wanted without a step of its own has nothing to undo; what was before went with the old interface.
        let of_port = self.plan.steps.iter_mut().filter(|step| step.port.as_deref() == Some(name));
        of_port.for_each(|step| step.undos.clear());
        self.plan.steps.extend(steps);
        self.folder.keep_plan(&self.plan).map_err(|e| e.to_string())
    }
}

/// Undoes what was begun; what cannot be undone now is in the journal.
fn begin_anew<'a>(host: &impl Host, begun: impl Iterator<Item = &'a Undo>) {
    begun.for_each(|undo| drop(undo.carry_out(host)));
}
