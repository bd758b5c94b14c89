//! A board's own registers, mapped: the quickest way to a line, and the barest.
//!
//! A write is one store, a read one load, and nothing else happens: no system call, no lock, no look at the line's
//! setting. What is given up for that: nothing notifies of edges, and the kernel does not know that a line is used.
//! Setting a line up changes words that other lines share. Programs of this library do that one at a time; a driver of
//! the kernel that sets up a line at the same moment can undo it.
//!
//! # Boards
//! | board | chip | lines | through |
//! | --- | --- | --- | --- |
//! | Raspberry Pi 0 to 3 | BCM2835, BCM2836, BCM2837 | 0–53 | `/dev/gpiomem`, `/dev/mem` |
//! | Raspberry Pi 4 | BCM2711 | 0–57 | `/dev/gpiomem`, `/dev/mem` |
//! | Raspberry Pi 5 | RP1 | 0–27 | `/dev/gpiomem0`, the chip's PCI Express region |
//! | BeagleBone | AM335x | bank × 32 + bit | `/dev/mem` |
//!
//! `reg:17` is GPIO17 as Raspberry Pi numbers it, and `reg:48` is GPIO1_16 of an AM335x. A board is recognised by its
//! device tree; others are refused. Drivers of the kernel that have the registers keep `/dev/mem` and PCI Express
//! regions to themselves unless it was booted with `iomem=relaxed`.
//!
//! An output whose pin serves a peripheral is refused; an input is read without taking the pin from the peripheral,
//! so a pulse that hardware times can be listened to.
//!
//! # When a write arrives
//! A store returns when the processor has handed it on, not when the line changes: it is *posted*. On a BCM283x that is
//! some tens of ns. On a **Pi 5** the registers are in another chip behind PCI Express, and three things show:
//! - writes are sent on as fast as the link takes them (20 million a second), so two writes that a program made 5 µs
//!   apart can come out 50 ns apart when the first had to wait;
//! - a read waits for its answer to come back over the link (0.4 µs and more), and for all writes before it;
//! - the link falls asleep when idle (ASPM), and the first access after that waits for it to wake, microseconds or
//!   more. `echo performance > /sys/module/pcie_aspm/parameters/policy` or `pcie_aspm=off` keeps it awake.
//!
//! [`Line::flush`](crate::Line::flush) reads back, so that a write has arrived when it returns; a pulse on a Pi 5 is only
//! as wide as it was meant when each of its edges is flushed.

mod am335x;
mod bcm;
mod board;
mod group;
mod layout;
mod lock;
mod pin;
#[cfg(test)]
mod recorder;
mod register_window;
mod rp1;
mod states;
mod tree;
mod window;

pub use crate::board::Board;
pub(crate) use group::{OutputPins, Pins};
pub use layout::Registers;
pub(crate) use pin::Pin;
pub(crate) use states::{PinState, pin_states};
pub use window::Window;
