//! What stands in the way of a proof.

use super::super::namespace::NamespaceError;
use super::super::trial::TrialError;
use super::super::under_test::{KernelPlaneError, UserPlaneError};
use crate::user::open::OpenError;

/// Why nothing was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// A namespace or something in it could not be made.
    #[error("{0}")]
    Namespace(#[from] NamespaceError),
    /// A port could not be opened.
    #[error("{0}")]
    Port(#[from] OpenError),
    /// The user data plane could not be started.
    #[error("{0}")]
    User(#[from] UserPlaneError),
    /// The kernel's data plane could not be set up.
    #[error("{0}")]
    Kernel(#[from] KernelPlaneError),
    /// A trial failed.
    #[error("{0}")]
    Trial(#[from] TrialError),
    /// The port that frames leave by has neither gates nor shaped classes.
    #[error(
        "port {0} has neither gates nor an idle-slope, so there is nothing to hold arrivals against: name one that has"
    )]
    NothingToHold(String),
    /// No class can have a flow.
    #[error("no class can be tested from outside: {0}")]
    NoFlows(String),
    /// When the cycles of a switch that runs already began is not known.
    #[error(
        "port {0}: `next second` does not tell when cycles began that do not divide a second: give its gates a base time"
    )]
    NoBase(String),
    /// Frames cannot go in where they come out.
    #[error("frames cannot go in and come out by the same port ({0})")]
    SamePort(String),
}
