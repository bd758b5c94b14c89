//! Takes what comes to a station from the kernel, with its stamps.

use std::io;
use std::time::Duration;

use ontick_rt::clock::ClockId;
use ontick_switch::user::packet::{Frame, PacketReader, Stamps};
use ontick_switch::user::time::Distance;
use ontick_switch::user::udp::UdpReceiver;
use ontick_tsn::wire;

use super::listener::{Listener, Message, Received};
use crate::frame::ETHER_TYPE;

/// Frames that are taken before the caller has its turn.
const AT_ONCE: u32 = 10_000;
/// Octets of the largest datagram.
const LARGEST: usize = 65_536;

/// Frames of an interface.
#[derive(Debug)]
pub struct Reader {
    reader: PacketReader,
    ahead_ns: i64,
}

impl Reader {
    /// Of an open interface.
    pub fn new(reader: PacketReader) -> Self {
        let ahead_ns = tai_ahead_of_stamps_ns(reader.stamps());
        Self { reader, ahead_ns }
    }

    /// Who stamps frames.
    pub fn stamps(&self) -> Stamps {
        self.reader.stamps()
    }

    /// Takes the frames that are there, but not for ever, and shows each that is waited for; how many it took.
    pub fn take(&mut self, listener: &mut Listener, mut show: impl FnMut(&Message<'_>)) -> u32 {
        let (mut taken, ahead_ns) = (0, self.ahead_ns);
        while taken < AT_ONCE && self.reader.next(|frame| took(&frame, ahead_ns, listener, &mut show)).is_some() {
            taken += 1;
        }
        taken
    }

    /// Waits until a frame is there, or the time is over. Then is the time to look whether the clock was set, and what found
    /// no room.
    pub fn wait(&mut self, listener: &mut Listener, at_most: Duration) -> io::Result<bool> {
        listener.overflowed(self.reader.overflowed());
        let there = self.reader.wait(at_most);
        self.ahead_ns = tai_ahead_of_stamps_ns(self.reader.stamps());
        there
    }

    /// Counts what found no room; to be called once more at the end.
    pub fn count_overflowed(&mut self, listener: &mut Listener) {
        listener.overflowed(self.reader.overflowed());
    }
}

#[inline]
fn took(frame: &Frame<'_>, ahead_ns: i64, listener: &mut Listener, show: &mut impl FnMut(&Message<'_>)) {
    let bytes = frame.bytes;
    let header = wire::HEADER as usize;
    // The kernel has taken the tag out.
    let is_ours = bytes.get(12..14).is_some_and(|kind| kind == ETHER_TYPE.to_be_bytes());
    let data = if is_ours { &bytes[header..] } else { &[] };
    let tag = frame.tag.map(|tag| (tag.pcp(), tag.vlan()));
    let at_ns = frame.stamp_ns.saturating_add_signed(ahead_ns);
    if let Some(message) = listener.came(Received { data, tag, is_tagged_kind: true, at_ns }) {
        show(&message);
    }
}

/// Datagrams of a port.
#[derive(Debug)]
pub struct UdpReader {
    receiver: UdpReceiver,
    room: Vec<u8>,
    ahead_ns: i64,
}

impl UdpReader {
    /// Of an open port.
    pub fn new(receiver: UdpReceiver) -> Self {
        Self { receiver, room: vec![0; LARGEST], ahead_ns: tai_ahead_of_stamps_ns(Stamps::Software) }
    }

    /// As [`Reader::take`].
    pub fn take(&mut self, listener: &mut Listener, mut show: impl FnMut(&Message<'_>)) -> u32 {
        let mut taken = 0;
        while taken < AT_ONCE {
            let Some((octets, stamp_ns)) = self.receiver.next(&mut self.room) else { break };
            taken += 1;
            // The first ones of a machine may have no stamp: then it is now.
            let stamp_ns = stamp_ns.unwrap_or_else(|| ClockId::Realtime.now_ns());
            let at_ns = stamp_ns.saturating_add_signed(self.ahead_ns);
            let received = Received { data: &self.room[..octets], tag: None, is_tagged_kind: false, at_ns };
            if let Some(message) = listener.came(received) {
                show(&message);
            }
        }
        taken
    }

    /// As [`Reader::wait`]. Datagrams without room are not counted by the socket: they are missing.
    pub fn wait(&mut self, at_most: Duration) -> io::Result<bool> {
        let there = self.receiver.wait(at_most);
        self.ahead_ns = tai_ahead_of_stamps_ns(Stamps::Software);
        there
    }
}

/// How much TAI is ahead of the clock of stamps, in ns. A port's own clock is taken for TAI, which linuxptp keeps it on.
pub fn tai_ahead_of_stamps_ns(stamps: Stamps) -> i64 {
    match stamps {
        Stamps::Hardware => 0,
        // Whole seconds; what was read otherwise is the reading's error.
        Stamps::Software => {
            let ahead_ns = Distance::of(ClockId::Tai).ns() - Distance::of(ClockId::Realtime).ns();
            (ahead_ns as f64 / 1e9).round() as i64 * 1_000_000_000
        }
    }
}
