//! What is behind a line.

use std::fmt;

use crate::board::Board;

/// What is behind a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// A chip in shared memory: its figures say nothing about a board.
    Simulated,
    /// The kernel's character device.
    Chardev,
    /// The outside of a chip that the kernel simulates.
    GpioSim,
    /// The registers of this board.
    Registers(Board),
}

impl Backend {
    /// The name in records and beside every figure.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Simulated => "simulated",
            Backend::Chardev => "character device",
            Backend::GpioSim => "gpio-sim",
            Backend::Registers(board) => board.backend(),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
