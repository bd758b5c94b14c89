//! `ontick switch …`

mod check;
mod export;
mod file;
mod import;

use clap::Subcommand;

use crate::failure::{Failure, Outcome};

/// A time-aware switch (IEEE 802.1Q, enhancements for scheduled traffic) out of this machine's network ports.
#[derive(Subcommand)]
pub enum Switch {
    Check(check::Check),
    Export(export::Export),
    Import(import::Import),
}

impl Switch {
    /// Whether it has to do with the running machine, not with files alone.
    pub fn meets_the_machine(&self) -> bool {
        match self {
            Switch::Check(_) => true,
            Switch::Export(_) | Switch::Import(_) => false,
        }
    }

    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Switch::Check(check) => check.run(),
            Switch::Export(export) => export.run(),
            Switch::Import(import) => import.run(),
        }
    }
}
