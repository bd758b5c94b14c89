//! One time for all nodes of a network, by linuxptp: the files of its programs, the programs as children, and what they
//! say of the time.
//!
//! [`Node`] is what a node's `[time]` comes to, [`Node::ptp4l`], [`Node::phc2sys`] and [`Node::ts2phc`] the files. [`Linuxptp`] runs the
//! programs. A [`Client`] asks ptp4l, and [`Watch`] makes of its answers what a person wants to know: who gives the time, how
//! far this node is from it, and when that was lost.

mod client;
mod configuration;
mod holdover;
mod management;
mod programs;
mod pulse;
mod role;
mod socket;
mod stamping;
mod standing;
mod summary;
mod ts2phc;
mod watch;

pub use client::{Client, ClientError, Observation, Offset, PortObservation, PortProperties};
pub use configuration::{Node, NodeError};
pub use holdover::{Holdover, Verdict};
pub use management::{Addressing, ClockIdentity, PortState};
pub use programs::{Linuxptp, ProgramError, clock_programs};
pub use role::Role;
pub use socket::{SocketDir, SocketError, check_socket, report_path};
pub use stamping::{Stamping, StampingError, stamping};
pub use standing::Standing;
pub use summary::{Spread, Summary};
pub use ts2phc::PulseError;
pub use watch::{Event, Watch};
