//! What happens to a switch while it is served.

use std::fmt;

use crate::user::loop_guard::QUIET;
use crate::user::running::CoreEvent;

/// What happened, for people and records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceEvent {
    /// A port's link came up.
    Up(String),
    /// A port's link went down; what waited for it was dropped.
    Down(String),
    /// A port's interface is gone.
    Gone(String),
    /// It is there again.
    Back(String),
    /// It is there again, but cannot be used.
    Unusable(String, String),
    /// It is joined outside with a port before it, and closed for as long as that is so.
    Loop(String),
    /// That is over.
    Reopened(String),
    /// Another program changed its settings; what came of it.
    Changed(String, String),
    /// Its interface did not take frames: how many since this was said last, and the octets of the last one.
    Refused(String, u64, u64),
    /// Copies of a stream's frames are missing (below zero: there are too many): how many since that was looked at anew.
    LatentError(String, i64),
    /// To the core, or its clock.
    Core(CoreEvent),
}

impl fmt::Display for ServiceEvent {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ServiceEvent::Up(port) => write!(f, "port {port}: the link is up"),
            ServiceEvent::Down(port) => write!(f, "port {port}: the link is down"),
            ServiceEvent::Gone(port) => write!(f, "port {port}: the interface is gone; the other ports go on"),
            ServiceEvent::Back(port) => write!(f, "port {port}: the interface is there again, and used"),
            ServiceEvent::Unusable(port, why) => write!(f, "port {port}: the interface is there again, but {why}"),
            ServiceEvent::Loop(port) => write!(
                f,
                "port {port}: it is joined outside with another port of this switch, which makes a loop; this port is closed \
                 until no probe has come back for at least {} s",
                QUIET.as_secs()
            ),
            ServiceEvent::Changed(port, what) => write!(f, "port {port}: {what}"),
            ServiceEvent::Refused(port, frames, octets) => write!(
                f,
                "port {port}: its interface did not take {frames} frames, the last one of {octets} octets; they are \
                 dropped (is the MTU at the other end smaller?)"
            ),
            ServiceEvent::LatentError(stream, missing @ 1..) => {
                write!(
                    f,
                    "stream {stream}: {missing} copies are missing, as one of its paths brings less than the others"
                )
            }
            ServiceEvent::LatentError(stream, missing) => {
                write!(
                    f,
                    "stream {stream}: {} copies too many came: it has more paths than the file says",
                    missing.abs()
                )
            }
            ServiceEvent::Reopened(port) => {
                write!(f, "port {port}: no probe comes back any more; the port is open again")
            }
            ServiceEvent::Core(CoreEvent::ClockSet(ns)) => {
                write!(f, "the clock was set by {:.6} s: gates follow it", *ns as f64 / 1e9)
            }
            ServiceEvent::Core(CoreEvent::Demoted) => {
                write!(f, "the core showed no sign of life and has lost its real-time priority")
            }
            ServiceEvent::Core(CoreEvent::Moved(why, cpu)) => write!(f, "{why}: the core goes on on CPU {cpu}"),
            ServiceEvent::Core(CoreEvent::Ended) => write!(f, "the core has ended"),
        }
    }
}
