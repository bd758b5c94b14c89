//! What becomes of the gates of this machine's switches when the network's time is lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ontick_network::ptp::{Holdover, Node, Verdict};
use ontick_switch::apply::{Journal, SwitchDir, TimeLoss};
use ontick_switch::kernel::time_loss;
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
        let kept = kept(self.home.as_deref(), self.policy.gates);
        if !kept.is_empty() {
            text += &format!(", but not those of {}", kept.join(", "));
        }
        text
    }
}

/// The applied switches in the kernel whose gates follow their lists whatever becomes of the time, each with why.
pub fn kept(home: Option<&Path>, to: GateOverride) -> Vec<String> {
    let one = |name: String| {
        let folder = SwitchDir::of(&name, home).ok()?;
        let switch = Journal::read(&folder).ok()?.and_then(|_| standing(&folder).ok())?;
        if switch.plane == Plane::User || switch.ports.iter().all(|port| port.gates.is_none()) {
            return None;
        }
        let why = match time_loss::not_stopped(&switch) {
            _ if !folder.is_watched() => "no ontick switch run keeps it",
            Some(why) if to == GateOverride::Closed => why,
            _ => return None,
        };
        Some(format!("{name} ({why})"))
    };
    SwitchDir::all(home).into_iter().filter_map(one).collect()
}
