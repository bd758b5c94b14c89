//! Requests to the kernel over netlink(7), and what it sends by itself: attributes put together and taken apart, messages,
//! sockets, and why a request was refused, in the kernel's own words. What attributes mean is left to who asks.
//!
//! ```
//! use ontick_netlink::{Attributes, Socket, attributes, u32_at};
//! // RTM_GETLINK (18) for the loopback by its name: struct ifinfomsg, then attributes (rtnetlink(7)).
//! const IFLA_IFNAME: u16 = 3;
//! let body = [vec![0; 16], Attributes::default().text(IFLA_IFNAME, "lo").into_octets()].concat();
//! let mut socket = Socket::open(ontick_netlink::Protocol::Route)?;
//! let mut index = None;
//! socket.ask(18, 0, &body, |answer| index = u32_at(answer.body, 4))?;
//! assert_eq!(index, Some(1));
//! # Ok::<(), std::io::Error>(())
//! ```
#![deny(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod attributes;
mod message;
mod receive;
mod refusal;
mod socket;

pub use attributes::{Attributes, attributes, number, text, u16_at, u32_at};
pub use message::{HEADER, Message, messages, request};
pub use receive::{Buffer, Received};
pub use refusal::{Refusal, errno};
pub use socket::{Protocol, Socket, listen};
