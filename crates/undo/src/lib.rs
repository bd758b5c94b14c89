//! Change a machine and put it back: what every change of a machine needs, whatever it changes.
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]
#![deny(unsafe_code)]

pub mod guardian;
mod outcome;
pub mod privilege;
pub mod program;
pub mod record_log;
pub mod state_dir;
pub mod system_calls;
pub mod trust;

pub use outcome::Undone;
