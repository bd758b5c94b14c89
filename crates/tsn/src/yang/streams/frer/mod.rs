//! Streams that take several paths (IEEE 802.1CB-2017), in `/ieee802-dot1cb-frer:frer` (IEEE 802.1CBcv-2021).
//!
//! All functions of a stream stand at the ports that its frames come in by. On the side of the link (out-facing) numbers are
//! read and copies are dropped, by one instance for all of these ports; on the side of the bridge (in-facing) frames get
//! their numbers and redundancy tags. The copies of a frame are alike, and leave by each `output-port` of the stream, so that
//! nothing stands in `stream-split`, which gives them stream_handles of their own.

mod export;
mod import;
#[cfg(test)]
mod tests;

pub(super) use export::export;
pub(super) use import::{Frer, Redundancy};

use crate::model::Stream;

/// Times are of milliseconds.
const MILLISECOND_NS: u64 = 1_000_000;

/// Why the functions of a stream cannot be written.
pub(super) fn unsaid(stream: &Stream) -> Option<&'static str> {
    let timeout_ns = stream.eliminate.map(|elimination| elimination.reset_timeout_ns);
    timeout_ns.filter(|ns| ns % MILLISECOND_NS != 0).map(|_| "`reset-timeout` is no whole number of milliseconds")
}
