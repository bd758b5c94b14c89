//! The cyclic job of a field bus: a request each period, and its answer back in time, or not.
//!
//! A [`Requester`] hands a small frame over at each multiple of the period and waits for its answer; a [`Responder`], here
//! or on another machine, answers each at once and says how long the request was with it. The kernel's stamps of the frame
//! that leaves and of that which comes divide the way: [`Trip`].

mod cable;
mod datagram;
mod ethernet;
mod expectation;
mod message;
mod port;
mod requester;
mod responder;
mod stretch;
mod tally;
mod thread;
mod timebase;
mod trip;
mod waiting;

pub use cable::{Cable, CableError};
pub use datagram::{DatagramPort, LARGEST_DATAGRAM};
pub use ethernet::{EthernetError, EthernetPort, Station, Tag};
pub use message::{Message, OCTETS, Request, Residence};
pub use port::{Arrival, Port};
pub use requester::{Job, NoAnswer, Period, Requester, Turn};
pub use responder::{Responder, ResponderStats};
pub use stretch::{Stretch, measure_stretch};
pub use tally::Tally;
pub use thread::{ResponderThread, ThreadPlacement};
pub use timebase::{Monotonic, Timebase};
pub use trip::{Parts, Trip};
pub use waiting::{UnknownWaiting, Waiting};
