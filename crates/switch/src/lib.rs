//! A time-aware switch (IEEE 802.1Q clause 8.6.8.4, enhancements for scheduled traffic): one [`model`] of ports,
//! traffic classes and gates, data planes that carry it out, and the proof that they do.
#![deny(unsafe_code)]

pub mod apply;
mod bridge_entry;
pub mod check;
pub mod config;
pub mod egress;
pub mod ethtool;
pub mod features;
pub mod frame;
pub mod kernel;
pub mod link;
pub mod loops;
pub mod model;
pub mod network;
pub mod planning;
pub mod ports;
pub mod qdisc;
pub mod rules;
pub mod schedule;
pub mod target;
pub mod user;
pub mod validate;
pub mod verify;
pub mod wire;
pub mod yang;

pub use model::Switch;
pub use schedule::Schedule;
