//! What carries the frames: a data plane that is set up for it, or a switch that is at work already.

use crate::apply::SwitchDir;
use crate::user::CorePlacement;

/// What carries the frames.
#[derive(Debug, Clone)]
pub enum Carrier {
    /// The kernel where it can, else a dedicated core.
    Auto(CorePlacement),
    /// The kernel's bridge, classifier and taprio.
    Kernel,
    /// A dedicated core.
    User(CorePlacement),
    /// The kernel's bridge without gates, whatever the configuration says.
    Bridge,
    /// A switch that is at work already, on this machine or another: frames go to it by one interface of this machine
    /// and come back by another.
    Outside {
        /// Frames go out by this interface.
        send: String,
        /// And come back by this one.
        receive: String,
        /// Where what is known of the switch lies, if it is one of this machine.
        folder: Option<SwitchDir>,
    },
}

impl Carrier {
    /// Where a dedicated core would run.
    pub fn place(&self) -> Option<CorePlacement> {
        match self {
            Carrier::Auto(place) | Carrier::User(place) => Some(*place),
            Carrier::Kernel | Carrier::Bridge | Carrier::Outside { .. } => None,
        }
    }
}
