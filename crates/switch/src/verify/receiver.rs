//! Takes arrivals from a ring and holds them against the gates.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::analysis::{Analysis, Arrival};
use super::flow::{Flow, Reading};
use super::frame_log::FrameLog;
use crate::user::packet::{Frame, PacketReader, Stamps};

/// Looks up from waiting so often.
const PATIENCE: Duration = Duration::from_millis(20);
/// Frames that are taken before it looks up again.
const AT_ONCE: u32 = 10_000;
/// So much of a frame is looked at: all headers and the mark.
const LOOKED_AT: usize = 160;
const ADDRESSES: usize = 12;

/// What came in besides frames in good order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strays {
    /// Frames of each flow that were changed on their way.
    pub damaged: Vec<u64>,
    /// Frames of somebody else.
    pub foreign: u64,
    /// Frames that found the ring full: lost by this receiver, not by the switch.
    pub overflowed: u64,
}

/// What the gates' clock is ahead of those that stamp, in ns. An interface that stamps may leave a stamp out: the frame then
/// has the kernel's.
#[derive(Debug, Clone, Copy)]
pub struct Ahead {
    /// Of the kernel's stamps.
    pub of_software_ns: i64,
    /// Of the interface's.
    pub of_hardware_ns: i64,
}

impl Ahead {
    fn of(self, stamps: Stamps) -> i64 {
        match stamps {
            Stamps::Software => self.of_software_ns,
            Stamps::Hardware => self.of_hardware_ns,
        }
    }
}

/// Receives flows on one interface.
pub struct Receiver<'a> {
    reader: PacketReader,
    flows: &'a [Flow],
    ahead: Ahead,
    strays: Strays,
    log: FrameLog,
}

impl<'a> Receiver<'a> {
    /// Arrivals of `flows`, whose stamps become times of the gates' clock by adding what that is ahead. Each of them is kept
    /// in the log.
    pub fn new(reader: PacketReader, flows: &'a [Flow], ahead: Ahead, log: FrameLog) -> Self {
        let strays = Strays { damaged: vec![0; flows.len()], ..Strays::default() };
        Self { reader, flows, ahead, strays, log }
    }

    /// Receives until all has been sent and `enough` says, of what came and for how long nothing has, that no more will.
    /// `look` is shown the analysis now and then.
    pub fn receive(
        mut self,
        analysis: &mut Analysis,
        all_sent: &AtomicBool,
        enough: impl Fn(&Analysis, Duration) -> bool,
        mut look: impl FnMut(&Analysis),
    ) -> std::io::Result<(Strays, FrameLog)> {
        // When the last frame was sent or received; from then on it may be quiet.
        let mut last = None;
        loop {
            // Asked before the ring is: what was sent before it was set is in the ring then.
            let sent = all_sent.load(Relaxed);
            if self.take(analysis) > 0 {
                last = None;
            } else if sent && enough(analysis, last.get_or_insert_with(Instant::now).elapsed()) {
                break;
            }
            look(analysis);
            self.reader.wait(PATIENCE)?;
        }
        self.strays.overflowed += self.reader.overflowed();
        Ok((self.strays, self.log))
    }

    /// Takes the frames that are there, but not for ever; how many it were.
    fn take(&mut self, analysis: &mut Analysis) -> u32 {
        let (flows, ahead, strays, log) = (self.flows, self.ahead, &mut self.strays, &mut self.log);
        let mut taken = 0;
        while taken < AT_ONCE && self.reader.next(|frame| judge(frame, flows, ahead, strays, analysis, log)).is_some() {
            taken += 1;
        }
        taken
    }
}

fn judge(frame: Frame, flows: &[Flow], ahead: Ahead, strays: &mut Strays, analysis: &mut Analysis, log: &mut FrameLog) {
    let at_ns = frame.stamp_ns.saturating_add_signed(ahead.of(frame.stamps));
    let mut room = [0; LOOKED_AT];
    let (bytes, octets) = on_the_wire(&frame, &mut room);
    let on_link_ns = analysis.on_link(at_ns, octets as u32);
    for (place, flow) in flows.iter().enumerate() {
        match flow.read(bytes, octets, at_ns) {
            Reading::Other => {}
            Reading::Damaged => return strays.damaged[place] += 1,
            Reading::Frame(mark) => {
                let arrival = Arrival { flow: place, number: mark.number, sent_ns: mark.sent_ns, at_ns };
                let judgement = analysis.take(arrival, on_link_ns);
                return log.add(arrival, on_link_ns, judgement);
            }
        }
    }
    strays.foreign += 1;
}

/// The beginning of a frame with its tag put back, and the whole frame's length.
fn on_the_wire<'a>(frame: &Frame<'a>, room: &'a mut [u8; LOOKED_AT]) -> (&'a [u8], usize) {
    let (octets, bytes) = (frame.bytes.len(), frame.bytes);
    match frame.tag {
        Some(tag) if octets >= ADDRESSES => {
            let tag = tag.octets();
            let behind = ADDRESSES + tag.len();
            let rest = (octets - ADDRESSES).min(LOOKED_AT - behind);
            room[..ADDRESSES].copy_from_slice(&bytes[..ADDRESSES]);
            room[ADDRESSES..behind].copy_from_slice(&tag);
            room[behind..behind + rest].copy_from_slice(&bytes[ADDRESSES..ADDRESSES + rest]);
            (&room[..behind + rest], octets + tag.len())
        }
        _ => (bytes, octets),
    }
}
