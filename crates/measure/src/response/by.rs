//! Who answers a change, and how it comes to know of it.

use std::fmt;
use std::str::FromStr;

use crate::kmod::Context;

/// A mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The program reads the line again and again.
    Poll,
    /// The program sleeps until it is notified.
    Interrupt,
    /// The program asks for notifications again and again, without sleeping.
    InterruptBusy,
    /// The kernel module, in the interrupt's thread or in the interrupt itself.
    Kernel(Context),
}

/// A name that is no mechanism's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "responses by \"{0}\": there is no such mechanism (choose one of poll, interrupt, interrupt-busy, kernel, kernel-hard)"
)]
pub struct ByError(String);

impl By {
    /// Those of a program, on any lines.
    pub const PROGRAM: [By; 3] = [By::Poll, By::Interrupt, By::InterruptBusy];
    /// In the interrupt's thread, on any lines that the kernel module can take.
    pub const KERNEL: By = By::Kernel(Context::Threaded);

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            By::Poll => "poll",
            By::Interrupt => "interrupt",
            By::InterruptBusy => "interrupt-busy",
            By::Kernel(Context::Threaded) => "kernel",
            By::Kernel(Context::Hard) => "kernel-hard",
        }
    }
}

impl FromStr for By {
    type Err = ByError;

    fn from_str(text: &str) -> Result<Self, ByError> {
        let kernel = [By::KERNEL, By::Kernel(Context::Hard)];
        By::PROGRAM.into_iter().chain(kernel).find(|by| by.name() == text).ok_or_else(|| ByError(text.into()))
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
