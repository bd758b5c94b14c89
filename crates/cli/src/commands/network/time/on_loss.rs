//! What becomes of the gates of this machine's switches when the network's time is lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ontick_network::ptp::{Holdover, Node, Verdict};
use ontick_switch::apply::{Journal, SwitchDir, TimeLoss};
use ontick_tsn::model::{GateOverride, Plane};
use ontick_tsn::network::OnTimeLoss;
use ontick_units::exact;

use super::shown::Shown;
use crate::commands::switch::target_flags::standing;
use crate::failure::Failure;

/// Tells the switches, as the network's file has it.
pub struct OnLoss {
    policy: OnTimeLoss,
    holdover: Holdover,
    switches: TimeLoss,
    home: Option<PathBuf>,
}

impl OnLoss {
    /// Nothing where gates are kept as they are.
    pub fn new(node: &Node, home: Option<&Path>) -> Result<Option<Self>, Failure> {
        let Some(policy) = node.time.on_time_loss else { return Ok(None) };
        let Some(switches) = TimeLoss::watch(&node.name, home)? else {
            return Err(Failure::new(format!(
                "another ontick network time run watches the time of node {} for this machine's switches: end it first",
                node.name
            )));
        };
        let holdover = Holdover::new(policy.holdover_ns, policy.good_readings, 0);
        Ok(Some(Self { policy, holdover, switches, home: home.map(Path::to_owned) }))
    }

    /// After each question to ptp4l, with what it came to.
    pub fn update(&mut self, at: Duration, reading: Option<bool>, shown: &Shown) -> Result<(), Failure> {
        match self.holdover.update(at.as_nanos() as u64, reading) {
            None => Ok(()),
            Some(Verdict::Lost) => {
                self.switches.set(Some(self.policy.gates))?;
                shown.gates(at, "time-lost", &self.lost())
            }
            Some(Verdict::Good) => {
                self.switches.set(None)?;
                let text = "the time is good again: the gates of this machine's switches follow their lists";
                shown.gates(at, "time-good", text)
            }
        }
    }

    /// What gates are in place of their lists.
    pub fn forced(&self) -> Option<GateOverride> {
        self.holdover.is_lost().then_some(self.policy.gates)
    }

    fn lost(&self) -> String {
        let what = match self.policy.gates {
            GateOverride::Open => "opened",
            GateOverride::Closed => "closed",
        };
        let mut text = format!(
            "the time was not good for longer than its holdover, {}: all gates of this machine's switches are {what}",
            exact(self.policy.holdover_ns)
        );
        let kept = in_kernel(self.home.as_deref());
        if !kept.is_empty() {
            text += &format!(", but not those of {}, which the kernel keeps", kept.join(", "));
        }
        text
    }
}

/// The applied switches whose gates are the kernel's.
pub fn in_kernel(home: Option<&Path>) -> Vec<String> {
    let is_one = |name: &String| {
        let Ok(folder) = SwitchDir::of(name, home) else { return false };
        matches!(Journal::read(&folder), Ok(Some(_)))
            && standing(&folder)
                .is_ok_and(|switch| switch.plane != Plane::User && switch.ports.iter().any(|port| port.gates.is_some()))
    };
    SwitchDir::all(home).into_iter().filter(is_one).collect()
}
