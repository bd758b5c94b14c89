//! A schedule as a network would carry it out: gates, and when talkers send.

use crate::network::{LinkId, StreamId};

/// When a gate is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Of this link's sender,
    pub link: LinkId,
    /// of this queue.
    pub queue: u8,
    /// From this time of the cycle on, in ns,
    pub begin_ns: u64,
    /// until then.
    pub end_ns: u64,
    /// The link's cycle, in ns.
    pub cycle_ns: u64,
}

/// When a talker sends, and which queues its message uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Send {
    /// Of this stream.
    pub stream: StreamId,
    /// From the beginning of the period, in ns.
    pub offset_ns: u64,
    /// On each link of its route.
    pub queues: Vec<(LinkId, u8)>,
}

/// Gates, sendings and routes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// In any order. A link without any has its gates open always, and is for what is not scheduled.
    pub windows: Vec<Window>,
    /// One for each stream; several if its messages take turns.
    pub sends: Vec<Send>,
    /// Links of each stream, in any order.
    pub routes: Vec<Vec<LinkId>>,
}
