//! Change a machine and put it back: what every change of a machine needs, whatever it changes.

pub mod state_dir;
pub mod trust;
