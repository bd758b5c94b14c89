//! A time-aware switch (IEEE 802.1Q clause 8.6.8.4, enhancements for scheduled traffic): data planes that do what a
//! [`Switch`](ontick_tsn::model::Switch) says, and the proof that they do.
#![deny(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod apply;
pub mod check;
pub mod clock;
pub mod features;
pub mod files;
pub mod kernel;
pub mod link;
pub mod loops;
pub mod ports;
pub mod qdisc;
pub mod user;
pub mod verify;

pub use ontick_ethtool as ethtool;
