//! What a node is in the network's time.

use super::client::Observation;
use super::management::{ClockIdentity, PortState};

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It gives the time.
    Grandmaster,
    /// It has another one's time.
    Follower {
        /// Whose.
        grandmaster: ClockIdentity,
        /// The port by which it comes, from 1.
        port: u16,
    },
    /// Neither: it waits for a master, or for its clock to be in step.
    Unsynchronized,
}

impl Role {
    /// As it was observed. A clock that is only measured never gets in step, and follows as soon as it has a master.
    pub fn of(seen: &Observation, free_running: bool) -> Self {
        let by = |state: PortState| seen.ports.iter().find(|port| port.state == state);
        if seen.grandmaster == seen.own {
            return match by(PortState::Master) {
                Some(_) => Self::Grandmaster,
                None => Self::Unsynchronized,
            };
        }
        let measured = by(PortState::Uncalibrated).filter(|_| free_running && seen.offset.is_some());
        match by(PortState::Slave).or(measured) {
            Some(port) => Self::Follower { grandmaster: seen.grandmaster, port: port.number },
            None => Self::Unsynchronized,
        }
    }
}
