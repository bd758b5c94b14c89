//! A stream of bytes through a sender and a receiver: [`one_way`], or [`repeated`] where a return line exists; and two
//! streams [`both_ways`].

pub mod both_ways;
mod feed;
pub mod one_way;
pub mod repeated;
mod silence;
#[cfg(test)]
mod tests;

pub use feed::Feed;

use std::io;
use std::time::Duration;

use ontick_gpio::Gone;

use crate::frame::Damage;
use crate::stream::TooLong;

/// A sender with nothing to send says so this often, so that nobody takes it for dead.
const KEEPALIVE: Duration = Duration::from_secs(1);
/// A receiver looks at its clock this often, in ns.
const GLANCE_NS: u64 = 50_000_000;

/// Why a transfer broke off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// The line is gone.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// The stream has too many frames.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// What is to be sent cannot be read.
    #[error("cannot read what is to be sent: {0}")]
    Input(io::Error),
    /// What was received cannot be written.
    #[error("cannot write what was received: {0}")]
    Output(io::Error),
}

/// What a sender did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// Bytes of the stream.
    pub bytes: u64,
    /// Frames, repeated ones among them.
    pub frames: u64,
    /// Frames that were sent again.
    pub repeated: u64,
    /// Everything left; with a return line: and arrived.
    pub complete: bool,
    /// The receiver did not answer for as long as was allowed.
    pub unanswered: bool,
}

/// What a receiver got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reception {
    /// Bytes that were handed on.
    pub bytes: u64,
    /// Frames that were read.
    pub frames: u64,
    /// Frames that were damaged.
    pub damaged: u64,
    /// Frames known to be missing, where nothing is repeated.
    pub missing: u64,
    /// Bytes that parity mended.
    pub mended: u64,
    /// Times that something was heard that was no frame.
    pub noise: u64,
    /// Frames of another stream, or out of order.
    pub foreign: u64,
    /// Any frame of the stream came.
    pub began: bool,
    /// The last frame came, and with a return line all before it.
    pub ended: bool,
}

impl Reception {
    /// Whether it is all there.
    pub fn complete(self) -> bool {
        self.ended && self.missing == 0
    }
}

/// What a receiver tells while it is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// A frame was damaged.
    Damaged(Damage),
    /// Frames are missing, as one that follows them came: the first, and how many.
    Missing(u32, u32),
}
