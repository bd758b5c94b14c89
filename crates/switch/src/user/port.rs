//! What the core needs of a port.

/// Frames that are handed over in one call at most.
pub const MAX_BURST: usize = 8;

/// A port of the user data plane. Nothing here may wait, allocate or take a lock.
pub trait Port {
    /// Takes the next frame that came in, from its first address on and with its VLAN tag in place, into `slot`.
    fn receive(&mut self, slot: &mut [u8]) -> Received;

    /// How long ago the frame that was received last came in, in ns, where the port knows more than that it is there.
    fn age_ns(&self) -> u64 {
        0
    }

    /// Hands a frame over to be sent at once.
    fn send(&mut self, frame: &[u8]) -> Sent;

    /// Hands frames over to be sent at once in their order, [`MAX_BURST`] at most, until one is not taken; how many were.
    /// Why that one was not is found out by handing it over alone.
    fn send_burst(&mut self, frames: &[&[u8]]) -> usize {
        frames.iter().take_while(|frame| self.send(frame) == Sent::Done).count()
    }

    /// Frames that came in and found no room, since this was last asked; a port of several queues may tell of one of
    /// them at a time. A system call of about 0.4 us: not for each turn.
    fn overflowed(&mut self) -> u64;
}

/// What came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// Nothing so far.
    Nothing,
    /// A frame of so many octets.
    Frame(usize),
    /// A frame that is longer than the slot, or was cut by the ring; it is gone.
    Oversized,
}

/// What became of a frame that was to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The kernel has it.
    Done,
    /// There is no room at the moment.
    Busy,
    /// The link is down, or the interface is gone.
    Down,
    /// The kernel does not take this frame: it is longer than the interface allows.
    Refused,
}
