//! Lines through the kernel's character device (GPIO uAPI v2, Linux 5.10 and later).
//!
//! Built on `gpiocdev-uapi`, the lower half of `gpiocdev`: one safe function for each request of the kernel,
//! none of which allocates, with the kernel's own error numbers. (`gpiocdev` 0.8 itself drops events: its
//! `read_edge_event` reads up to eight at once and returns the first.)
//!
//! The kernel numbers the edges of a line as it takes them, keeps the newest 1024 and drops the oldest: what
//! is missing between two numbers is exactly what was dropped. Edges that follow each other so closely that
//! the interrupt handler takes them for one have no number; nobody counts those.

mod chip;
mod errno;
mod find;
mod group;
mod holder;
mod pin;
mod states;

pub(crate) use find::find;
pub(crate) use group::{OutputPins, Pins};
pub(crate) use pin::Pin;
pub(crate) use states::{LineState, chips, line_states};
