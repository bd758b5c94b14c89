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
/// So many frames between two looks are too many to be woken for each,
const MANY: u32 = 32;
/// and the next look is so much later: 1 000 frames at a million a second, of a ring of thousands.
pub(super) const BETWEEN: Duration = Duration::from_millis(1);
/// Octets of the largest datagram.
const LARGEST: usize = 65_536;

/// Frames of an interface.
#[derive(Debug)]
pub struct Reader {
    reader: PacketReader,
    /// How much TAI is ahead of the kernel's stamps, in ns. Also where the interface stamps, single frames may have none of its.
    software_ahead_ns: i64,
    /// Frames since the last wait.
    taken: u32,
}

impl Reader {
    /// Of an open interface.
    pub fn new(reader: PacketReader) -> Self {
        Self { reader, software_ahead_ns: tai_ahead_of_stamps_ns(Stamps::Software), taken: 0 }
    }

    /// Who stamps frames.
    pub fn stamps(&self) -> Stamps {
        self.reader.stamps()
    }

    /// Takes the frames that are there, but not for ever, and shows each that is waited for; how many it took.
    pub fn take(&mut self, listener: &mut Listener, mut show: impl FnMut(&Message<'_>)) -> u32 {
        let (mut taken, software_ahead_ns) = (0, self.software_ahead_ns);
        while taken < AT_ONCE
            && self.reader.next(|frame| took(&frame, software_ahead_ns, listener, &mut show)).is_some()
        {
            taken += 1;
        }
        self.taken = self.taken.saturating_add(taken);
        taken
    }

    /// Waits until a frame is there, or the time is over. Then is the time to look whether the clock was set, and what found
    /// no room.
    pub fn wait(&mut self, listener: &mut Listener, at_most: Duration) -> io::Result<bool> {
        listener.overflowed(self.reader.overflowed());
        let there = self.reader.wait(at_most);
        self.software_ahead_ns = tai_ahead_of_stamps_ns(Stamps::Software);
        self.taken = 0;
        there
    }

    /// As [`Self::wait`], for whoever only counts what comes: while there are many frames, it sleeps by the clock. To wake a
    /// thread that waits for a frame costs whoever brings it: the interrupt's CPU, or over virtual Ethernet the sender.
    pub fn wait_for_many(&mut self, listener: &mut Listener, at_most: Duration) -> io::Result<()> {
        if self.is_flooded() {
            std::thread::sleep(at_most.min(BETWEEN));
            self.wait(listener, Duration::ZERO)?;
        } else {
            self.wait(listener, at_most)?;
        }
        Ok(())
    }

    pub(super) fn is_flooded(&self) -> bool {
        self.taken >= MANY
    }

    /// Counts what found no room; to be called once more at the end.
    pub fn count_overflowed(&mut self, listener: &mut Listener) {
        listener.overflowed(self.reader.overflowed());
    }
}

#[inline]
fn took(frame: &Frame<'_>, software_ahead_ns: i64, listener: &mut Listener, show: &mut impl FnMut(&Message<'_>)) {
    let bytes = frame.bytes;
    let header = wire::HEADER as usize;
    // The kernel has taken the tag out.
    let is_ours = bytes.get(12..14).is_some_and(|kind| kind == ETHER_TYPE.to_be_bytes());
    let data = if is_ours { &bytes[header..] } else { &[] };
    let tag = frame.tag.map(|tag| (tag.pcp(), tag.vlan()));
    let ahead_ns = match frame.stamps {
        Stamps::Hardware => 0,
        Stamps::Software => software_ahead_ns,
    };
    let (at_ns, stamps) = (frame.stamp_ns.saturating_add_signed(ahead_ns), frame.stamps);
    if let Some(message) = listener.came(Received { data, tag, is_tagged_kind: true, at_ns, stamps }) {
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
            let (data, stamps) = (&self.room[..octets], Stamps::Software);
            let received = Received { data, tag: None, is_tagged_kind: false, at_ns, stamps };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Expected;
    use crate::endpoint::header::Header;
    use crate::endpoint::planned::{Incoming, Way};

    /// An interface that stamps leaves a stamp out now and then: such a frame has the kernel's, which is of UTC.
    #[test]
    fn a_frame_counts_by_the_clock_of_its_own_stamp() {
        const AHEAD_NS: i64 = 37_000_000_000;
        let (planned_ns, at_ns) = (50_000_000_000, 50_000_100_000);
        let expected =
            Expected { stream: 0, listener: 1, parts: 1, deadline_ns: 500_000, planned_ns: None, window_ns: None };
        let (name, way) = (String::new(), Way { link: 0, links: 1 });
        let incoming = Incoming { expected, name, pcp: 0, vlan: 0, offset_ns: 0, period_ns: 1_000_000, way };
        let mut listener = Listener::new(vec![incoming], 7);
        let stamped = [(Stamps::Hardware, at_ns), (Stamps::Software, at_ns - AHEAD_NS as u64)];
        for (message, (stamps, stamp_ns)) in (0..).zip(stamped) {
            let planned_ns = planned_ns + message;
            let header = Header { plan: 7, stream: 0, part: 0, payload: 0, message, planned_ns, sent_ns: planned_ns };
            let mut bytes = [0; 60];
            bytes[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
            header.write(bytes[wire::HEADER as usize..].first_chunk_mut().unwrap());
            let frame = Frame { bytes: &bytes, tag: None, cut: false, stamp_ns, stamps };
            let mut came_ns = None;
            took(&frame, AHEAD_NS, &mut listener, &mut |of: &Message<'_>| came_ns = Some((of.at_ns, of.stamps)));
            assert_eq!(came_ns, Some((at_ns, stamps)));
        }
        let of = listener.arrivals()[0].delivered(2);
        assert_eq!((of.received, of.early, of.late), (2, 0, 0));
    }
}
