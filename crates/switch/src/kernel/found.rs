//! A port that takes part, as it was found.

use crate::apply::Link;
use ontick_tsn::model::Port;

/// What taprio assumes of a port that does not report its rate.
const ASSUMED_RATE: u64 = 10_000_000;

pub(super) struct PortState<'a> {
    pub port: &'a Port,
    pub link: &'a Link,
    pub queues: Option<u32>,
    pub rate: Option<u64>,
}

impl PortState<'_> {
    /// The rate that taprio goes by.
    pub fn assumed_rate(&self) -> u64 {
        self.rate.unwrap_or(ASSUMED_RATE)
    }

    /// The rate that guard bands are made for.
    pub fn rate_for_guards(&self) -> u64 {
        self.port.rate.or(self.rate).unwrap_or(ASSUMED_RATE)
    }
}

/// Why nothing changes at a port that is gone: half a change would stand in the plan, and be set when the port is back.
pub(super) fn gone(port: &str) -> String {
    format!("port {port} is gone: what changes there can be set when it is back")
}
