//! Queueing disciplines and filters that somebody sets (tc(8)).

use ontick_netlink::{Message, attributes, text, u32_at};

/// Something was done to the queueing disciplines or filters of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrafficChange {
    /// Index of the interface.
    pub index: u32,
    /// It was taken away; otherwise it is new or has changed.
    pub deleted: bool,
    /// It is a filter; otherwise a queueing discipline.
    pub filter: bool,
    /// Its kind: `taprio`, `clsact`, `flower`, …
    pub kind: String,
    /// Where it is.
    pub place: AttachPoint,
    /// Netlink port of who asked for it, mostly the number of the process (`tc`'s is over by now); 0: the kernel.
    pub by: u32,
}

/// Where a queueing discipline is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachPoint {
    /// It is the interface's own.
    Root,
    /// It holds filters for what comes in, and for what goes out before it is queued (`clsact`, `ingress`).
    Filters,
    /// It is below this class of another one: major number in the upper 16 bits, minor number in the lower.
    Below(u32),
}

impl TrafficChange {
    /// What a message of the group `RTNLGRP_TC` says.
    pub(super) fn read(message: &Message<'_>) -> Option<Self> {
        /// Octets of `struct tcmsg`.
        const TRAFFIC: usize = 20;
        /// The upper half of all handles below `clsact` and `ingress`, and the handle that these have themselves.
        const FILTERS: u32 = 0xffff_0000;
        let (deleted, filter) = match message.kind {
            libc::RTM_NEWQDISC => (false, false),
            libc::RTM_DELQDISC => (true, false),
            libc::RTM_NEWTFILTER => (false, true),
            libc::RTM_DELTFILTER => (true, true),
            _ => return None,
        };
        let parent = u32_at(message.body, 12)?;
        let kind = attributes(message.body.get(TRAFFIC..)?).find(|(kind, _)| *kind == libc::TCA_KIND);
        let place = match parent {
            u32::MAX => AttachPoint::Root,
            parent if parent & FILTERS == FILTERS => AttachPoint::Filters,
            parent => AttachPoint::Below(parent),
        };
        Some(Self {
            index: u32_at(message.body, 4)?,
            deleted,
            filter,
            kind: kind.map(|(_, value)| text(value)).unwrap_or_default(),
            place,
            by: message.port,
        })
    }
}
