//! The proof: numbered flows of every class are sent through a switch, and their arrivals held against the gates.

pub mod analysis;
pub mod flow;
pub mod namespace;
