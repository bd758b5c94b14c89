//! Who answers a change, and how it comes to know of it.

use std::fmt;
use std::str::FromStr;

use crate::kmod::Context;

/// A mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
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
pub struct MethodError(String);

impl Method {
    /// Those of a program, on any lines.
    pub const PROGRAM: [Method; 3] = [Method::Poll, Method::Interrupt, Method::InterruptBusy];
    /// In the interrupt's thread, on any lines that the kernel module can take.
    pub const KERNEL: Method = Method::Kernel(Context::Threaded);

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Method::Poll => "poll",
            Method::Interrupt => "interrupt",
            Method::InterruptBusy => "interrupt-busy",
            Method::Kernel(Context::Threaded) => "kernel",
            Method::Kernel(Context::Hard) => "kernel-hard",
        }
    }
}

impl FromStr for Method {
    type Err = MethodError;

    fn from_str(text: &str) -> Result<Self, MethodError> {
        let kernel = [Method::KERNEL, Method::Kernel(Context::Hard)];
        Method::PROGRAM
            .into_iter()
            .chain(kernel)
            .find(|method| method.name() == text)
            .ok_or_else(|| MethodError(text.into()))
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
