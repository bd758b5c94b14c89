//! Loops: two ports that are joined outside of the switch, so that a broadcast would go round for ever.
//!
//! [`known`] looks at what the machine knows of its own interfaces. [`probe`](crate::user::loop_probe::probe) sends a
//! frame out of each port and looks whether it comes in at another one, however that came about. A running switch does
//! the same with a [`Prober`]: the cable that closes the loop may be plugged in later.
//!
//! A switch outside that speaks the spanning tree protocol may take half a minute to let frames pass; a loop through it
//! is seen by the running switch's probes only.

mod known;
mod prober;

use std::fmt;

pub use known::known;
pub use prober::{ETHER_TYPE, Prober};

/// Two ports that are joined outside of the switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// One port.
    pub port: String,
    /// The other one.
    pub other: String,
    /// How they are joined.
    pub by: Joined,
}

/// How two ports are joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joined {
    /// They are the two ends of one veth pair.
    Pair,
    /// Both belong to this bridge of the machine.
    Bridge(String),
    /// What they are connected to belongs to this bridge of the machine.
    BridgeBehind(String),
    /// A frame that left by the one came in at the other.
    Outside,
}

impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { port, other, by } = self;
        match by {
            Joined::Pair => write!(f, "{port} and {other} are the two ends of one veth pair")?,
            Joined::Bridge(name) => write!(f, "{port} and {other} both belong to the bridge {name} already")?,
            Joined::BridgeBehind(name) => write!(f, "{port} and {other} both lead to the bridge {name}")?,
            Joined::Outside => write!(f, "what leaves by {port} comes in at {other}: they are connected outside")?,
        }
        f.write_str("; as ports of one switch they would make a loop. Leave one of them out, or separate them")
    }
}

#[cfg(test)]
mod tests;
