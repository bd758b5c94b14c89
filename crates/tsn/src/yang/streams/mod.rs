//! Streams of a bridge.
//!
//! Which frames are of a stream stands in `/ieee802-dot1cb-stream-identification:stream-identity` (IEEE 802.1CBcv-2021), and
//! what they may be in `flow-meters`, `stream-filters` and `stream-gates` of
//! `/ieee802-dot1q-bridge:bridges/bridge/component`, from `ieee802-dot1q-psfp-bridge` (IEEE 802.1Qcw-2023). A number, the
//! stream_handle, joins both, and those of `frer`.

mod export;
mod frer;
mod import;
mod merge;
mod numbers;
#[cfg(test)]
mod tests;

use crate::model::Stream;

pub(super) use export::export;
pub use export::stream_handles;
pub(super) use import::import;
pub use import::{ImportedStream, Paths};
pub(super) use merge::merge;

/// The name of a stream that is known by its stream_handle alone.
fn name(handle: u32) -> String {
    format!("stream{handle}")
}

/// Why a document cannot say which frames are of a stream, or what becomes of them.
pub(super) fn unsaid(stream: &Stream) -> Option<&'static str> {
    if stream.from.is_some() {
        return Some("no stream identification of IEEE 802.1CB-2017 has both `to` and `from`");
    }
    frer::unsaid(stream)
}
