//! What became of a stream.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_record::Histogram;
use ontick_tsn::network::{NodeId, StreamId};

/// What became of one stream at one listener.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivered {
    /// The stream.
    pub stream: StreamId,
    /// The listener.
    pub listener: NodeId,
    /// When its last bit is there by the plan, from the beginning of the period; absent: the plan has no place for it.
    pub planned_ns: Option<u64>,
    /// Messages that the plan has for the time for which it was run; of a station that only listens, those that were sent.
    pub planned: u64,
    /// Messages that its talker sent.
    pub sent: u64,
    /// Messages that came wholly.
    pub received: u64,
    /// Frames that its talker sent, and those that came.
    pub frames: (u64, u64),
    /// Messages that came after their deadline.
    pub late: u64,
    /// Messages that came after the time that is planned, and what clocks may differ by.
    pub after_plan: u64,
    /// Messages that came before their period began, by the listener's clock.
    pub early: u64,
    /// Messages that came while the gate of the last link was not open for them.
    pub outside_window: u64,
    /// Frames that came behind one that was sent after them.
    pub out_of_order: u64,
    /// Frames that came twice.
    pub duplicates: u64,
    /// From the beginning of the period until the last bit, by the listener's clock.
    pub latency: Histogram,
}
