//! Changes with a way back: a [`Plan`] is an ordered list of steps, whichever data plane it is for.
//!
//! Everything that a step changes was looked at when the plan was made, and the [`Undo`]s of a step are in the
//! [`Journal`] before it begins. So whatever ends an application (a refusal, a signal, SIGKILL), [`revert`] knows what
//! there was before. What a step should have brought about is written down as well ([`Expect`]), to be compared with
//! what there is: at once after the step, and later, when somebody asks or watches.

mod act;
#[cfg(test)]
pub(crate) mod double;
mod execute;
mod expect;
mod filters;
mod gates_message;
mod host;
mod journal;
mod network;
pub(crate) mod openvswitch;
pub mod port;
mod qdiscs;
pub mod quoted;
mod restore;
mod sessions;
mod snapshot;
mod startup;
mod switch_dir;
mod time_loss;
mod unconfirmed;
mod undo;

use serde::{Deserialize, Serialize};

pub use act::Act;
pub(crate) use execute::carry_out;
pub use execute::{ApplyError, Reverted, UndoneStep, apply, revert};
pub use expect::{Difference, Expect, StreamActions, differences};
pub(crate) use filters::{FIRST_PREFERENCE, Hook, preferences_at};
pub(crate) use gates_message::tc_can_set;
pub use host::{Host, Link, Live, Refused, links};
pub(crate) use host::{not_installed, parsed};
pub use journal::{Entry, Journal, JournalError};
pub(crate) use qdiscs::{qdiscs, root_of};
pub use sessions::{Configuration, ConfigurationLock, Held, Session};
pub use snapshot::Snapshot;
pub use startup::StartupFile;
pub use switch_dir::{Lock, SwitchDir, SwitchDirError, Watcher};
pub use time_loss::TimeLoss;
pub use unconfirmed::Unconfirmed;
pub use undo::{Iface, Undo};

/// What is to be done, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The switch's name.
    pub name: String,
    /// The steps, each of which relies on those before it.
    pub steps: Vec<Step>,
    /// What whoever applies it should know, as sentences.
    pub notes: Vec<String>,
    /// Ports with addresses of their own: connections over them stop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disconnects: Vec<String>,
}

/// One change that makes sense to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What it is for: `port lan1: no offloads that merge frames`.
    pub what: String,
    /// What is done, in order.
    pub acts: Vec<Act>,
    /// How all of it is undone, whether it was done, was done in part, or had not begun; the last one first.
    pub undos: Vec<Undo>,
    /// What there is afterwards.
    pub expects: Vec<Expect>,
    /// The port whose loss makes the step void; without one it stands for the switch as a whole.
    pub port: Option<String>,
}

impl Step {
    /// A step that still does nothing.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), acts: Vec::new(), undos: Vec::new(), expects: Vec::new(), port: None }
    }

    /// The same, for one port.
    pub fn of(port: &str, what: impl Into<String>) -> Self {
        Self { port: Some(port.into()), ..Self::new(format!("port {port}: {}", what.into())) }
    }

    /// With one more thing done.
    pub fn act(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }

    /// With one more thing to undo.
    pub fn undo(mut self, undo: Undo) -> Self {
        self.undos.push(undo);
        self
    }

    /// With one more thing to be true afterwards.
    pub fn expect(mut self, expect: Expect) -> Self {
        self.expects.push(expect);
        self
    }
}
