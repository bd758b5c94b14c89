//! Who is at the other end of each cable, by LLDP (IEEE 802.1AB), held against the file of a network.
//!
//! [`ask`] has `lldpcli` ask a running lldpd, [`neighbours`] and [`listening`] read its answers, and [`compare`] holds a
//! [`Machine`] against the links of its nodes.

mod answer;
mod ask;
mod compare;
mod sentences;

pub use answer::{AnswerError, Heard, Listening, listening, neighbours};
pub use ask::{AskError, ask};
pub use compare::{Machine, compare};
