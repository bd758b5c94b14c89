//! What is said on the bus in one go, prepared beforehand.

use rustix::io::Errno;

/// Something that exchanges bytes with a converter.
pub trait Bus {
    /// Sends all frames and fills in what comes back meanwhile.
    fn exchange(&mut self, frames: &mut Frames) -> Result<(), Errno>;
}

/// Stretches of bytes, sent one after the other.
#[derive(Debug, Default)]
pub struct Frames {
    /// What is sent, one stretch behind the other.
    pub sent: Vec<u8>,
    /// What came back, byte for byte.
    pub received: Vec<u8>,
    /// How the bytes are cut.
    pub cuts: Vec<Cut>,
}

/// One stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Its length, in bytes.
    pub bytes: usize,
    /// The pause after it, in µs.
    pub pause_us: u16,
    /// Whether the converter is deselected after it.
    pub ends: bool,
}

impl Frames {
    /// Adds bytes after which the converter is deselected.
    pub fn frame(self, bytes: &[u8]) -> Self {
        self.stretch(bytes, 0, true)
    }

    /// Adds bytes after which it stays selected for a pause.
    pub fn part(self, bytes: &[u8], pause_us: u16) -> Self {
        self.stretch(bytes, pause_us, false)
    }

    /// Adds bytes after which the converter is deselected for a pause.
    pub fn rest(self, bytes: &[u8], pause_us: u16) -> Self {
        self.stretch(bytes, pause_us, true)
    }

    fn stretch(mut self, bytes: &[u8], pause_us: u16, ends: bool) -> Self {
        self.sent.extend(bytes);
        self.received.resize(self.sent.len(), 0);
        self.cuts.push(Cut { bytes: bytes.len(), pause_us, ends });
        self
    }
}
