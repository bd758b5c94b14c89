//! Who answers a change, and how it comes to know of it.

use crate::kmod::Context;
use crate::named_method::named_method;

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

impl Method {
    /// Those of a program, on any lines.
    pub const PROGRAM: [Method; 3] = [Method::Poll, Method::Interrupt, Method::InterruptBusy];
    /// In the interrupt's thread, on any lines that the kernel module can take.
    pub const KERNEL: Method = Method::Kernel(Context::Threaded);
    /// Every mechanism.
    pub const ALL: [Method; 5] =
        [Method::Poll, Method::Interrupt, Method::InterruptBusy, Method::KERNEL, Method::Kernel(Context::Hard)];

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

named_method!(Method, Method::ALL, "responses by");
