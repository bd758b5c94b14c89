//! What goes into the core and comes out of it while it runs.

use ontick_rt::rtrb::{Consumer, Producer};
use ontick_tsn::model::{CLASSES, GateOverride};
use ontick_tsn::schedule::Schedule;

use super::streams::Streams;
use crate::user::shaper::Credits;

/// How a port is to be used.
pub struct PortConfig<P> {
    /// The port itself; absent while its interface is gone.
    pub port: Option<P>,
    /// Bits per second of its link.
    pub rate: u64,
    /// Its gates.
    pub schedule: Option<Schedule>,
}

/// What the core is asked while it runs.
pub enum Command<P> {
    /// A port's gates change at the list's base time; without a list, all open at once.
    Gates(usize, Option<Schedule>),
    /// A port takes frames of each queue with so much data at most; those that wait already go.
    Sizes(usize, [u32; CLASSES]),
    /// A port's classes have other idle slopes from now on; without credits none is shaped.
    IdleSlopes(usize, Option<Box<Credits>>),
    /// All gates of all ports open or close at once, whatever their lists say; nothing has them follow their lists again.
    Force(Option<GateOverride>),
    /// A port's link came up or went down.
    Link(usize, bool),
    /// A port is closed, as it makes a loop, or a port as any other again.
    Close(usize, bool),
    /// A port's link has another rate now, in bits per second.
    Rate(usize, u64),
    /// A port's interface is gone, or is there again with this rate.
    Replace(usize, Option<P>, u64),
    /// Frames may be handed over to a port so many ns before their gate opens, as they take longer until they leave.
    Ahead(usize, u64),
    /// Other streams, made by [`Streams::after`] from those before; none where frames of none are known any more.
    Streams(Option<Box<Streams>>),
    /// Send a probe out of every port, to see whether one comes in at another.
    Probe,
}

impl<P> Command<P> {
    /// The port that it is about.
    pub fn port(&self) -> Option<usize> {
        match self {
            Command::Gates(port, _)
            | Command::Sizes(port, _)
            | Command::IdleSlopes(port, _)
            | Command::Link(port, _)
            | Command::Close(port, _)
            | Command::Rate(port, _)
            | Command::Replace(port, ..)
            | Command::Ahead(port, _) => Some(*port),
            Command::Force(_) | Command::Streams(_) | Command::Probe => None,
        }
    }
}

/// What the core has no use for any more; whoever takes it may free memory.
pub enum Discarded<P> {
    /// Gate control lists.
    Schedules([Option<Schedule>; 2]),
    /// Credits of shaped classes.
    Credits(Box<Credits>),
    /// A port.
    Port(P),
    /// What was done with frames of streams.
    Streams(Box<Streams>),
}

/// A stretch of time in which the core did not run, or in which it handed a frame over that ended after its gate closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Stall {
    /// When it was last seen at work, on the switch's clock, in ns.
    pub from_ns: u64,
    /// When it was at work again.
    pub until_ns: u64,
}

/// The ends of the core's channels.
pub struct Channels<P> {
    /// What it gets.
    pub commands: Consumer<Command<P>>,
    /// What it gives back.
    pub discarded: Producer<Discarded<P>>,
    /// When it was kept from its work, or a frame went out late.
    pub stalls: Producer<Stall>,
}
