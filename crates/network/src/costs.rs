//! What a simulated machine takes for its work.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_tsn::egress::EgressTiming;

/// Times of a switch's core, and of a talker, in ns. A pair is the least and the most: each time is drawn in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// Looking at the clock.
    pub look_ns: u64,
    /// Taking a frame in.
    pub take_in_ns: u64,
    /// Handing a frame over; it is on the link at the end of it.
    pub hand_over_ns: (u64, u64),
    /// From a frame's last bit at the connector until the core can take it in.
    pub ingress_ns: (u64, u64),
    /// From a talker's planned time until its frame's first bit is on the link.
    pub talker_ns: (u64, u64),
    /// From one frame of a talker's message to the next, at least.
    pub talker_spacing_ns: u64,
}

/// A core that takes 100 ns for a frame from its ring, and 250 to 400 ns for one to a port, serves eight ports within
/// what plans for the user data plane allow.
impl Costs {
    /// Of machines that a plan with this timing is for.
    pub fn within(timing: &EgressTiming) -> Self {
        Self {
            look_ns: 20,
            take_in_ns: 100,
            hand_over_ns: (250, 400),
            ingress_ns: (0, timing.forwarding_ns / 5),
            talker_ns: (0, timing.latest_ns()),
            talker_spacing_ns: timing.spacing_ns,
        }
    }

    /// Of machines that need no time: what a formula on paper reckons with. (The core still takes a nanosecond to look.)
    pub const NONE: Self = Self {
        look_ns: 1,
        take_in_ns: 0,
        hand_over_ns: (0, 0),
        ingress_ns: (0, 0),
        talker_ns: (0, 0),
        talker_spacing_ns: 0,
    };
}
