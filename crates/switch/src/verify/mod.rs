//! The proof: numbered flows of every class are sent through a switch, and their arrivals held against the gates.

pub mod analysis;
pub mod calibration;
mod causes;
pub mod flow;
pub mod frame_log;
mod guard_band;
pub mod namespace;
pub mod offered;
pub mod proof;
pub mod receiver;
pub mod sender;
mod shaping;
pub mod source_004_test;
pub mod testbed;
pub mod trial;
pub mod under_test;
