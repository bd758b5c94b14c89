//! `ontick switch …`

use clap::Subcommand;

use crate::failure::{Failure, Outcome};

/// A time-aware switch (IEEE 802.1Q, enhancements for scheduled traffic) out of this machine's network ports.
#[derive(Subcommand)]
pub enum Switch {}

impl Switch {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {}
    }
}
