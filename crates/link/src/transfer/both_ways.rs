//! Bytes in both directions, without an end, through a sender and a receiver of one process.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use ontick_rt::clock::ClockId;

use super::Broken;
use super::repeated::timeout_ns;
use crate::duplex::{AROUND, Duplex};
use crate::frame::{Frame, Kind};
use crate::setting::Setting;
use crate::{Decoded, Receiver, Sender};

/// Frames that wait for the line at a time: one follows another at once, and an answer need not wait for long.
const AHEAD: u64 = 2;
/// How often the terminal is looked at, in ns.
const GLANCE_NS: u64 = 1_000_000;
/// Most bytes that are read at once.
const PIECE: usize = 4_096;

/// Where the bytes come from and go to. Neither waits.
pub trait Port {
    /// What there is to send now; nothing is 0 bytes.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;
    /// How many of the bytes were taken.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
}

/// What went through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// Bytes that were read from the port, and taken over.
    pub sent: u64,
    /// Bytes that arrived and were handed on.
    pub received: u64,
    /// Frames that were sent again.
    pub repeated: u64,
    /// Frames that were damaged.
    pub damaged: u64,
    /// Times that something was heard that was no frame.
    pub noise: u64,
    /// Times that the other end was restarted.
    pub anew: u64,
}

/// Runs until `stop`. The session is one that no end of this wire had before; `anew` is called when the other end was
/// started anew.
pub fn run(
    (sender, receiver): (&mut Sender, &mut Receiver),
    setting: Setting,
    session: u32,
    port: &mut impl Port,
    stop: &AtomicBool,
    mut anew: impl FnMut(),
) -> Result<Passed, Broken> {
    // The answer, too, waits for what is on its line before it.
    let wait_ns = timeout_ns(setting) + AHEAD * turn_ns(setting);
    let mut duplex = Duplex::new(setting.payload.saturating_sub(AROUND), wait_ns, session);
    let (mut passed, mut piece) = (Passed::default(), [0; PIECE]);
    while !stop.load(Ordering::Relaxed) {
        passed.received += hand_on(&mut duplex, port)?;
        let room = duplex.room().min(PIECE);
        let read = if room > 0 { port.read(&mut piece[..room]).map_err(Broken::Input)? } else { 0 };
        duplex.write(&piece[..read]);
        passed.sent += read as u64;

        let now_ns = ClockId::Monotonic.now_ns();
        while sender.waiting() < AHEAD {
            let Some(frame) = duplex.next(now_ns) else { break };
            let left_ns = left_ns(&frame, setting, sender.waiting(), now_ns);
            if !sender.send(&frame, stop)? {
                break;
            }
            duplex.sent(frame.kind, left_ns);
        }
        match receiver.next(now_ns + GLANCE_NS, stop)? {
            Some(Decoded::Frame { frame, .. }) => {
                let is_anew = duplex.take(frame);
                passed.anew += u64::from(is_anew);
                if is_anew {
                    anew();
                }
            }
            Some(Decoded::Damaged { .. }) => passed.damaged += 1,
            Some(Decoded::Noise { .. }) => passed.noise += 1,
            None => {}
        }
    }
    passed.repeated = duplex.repeated();
    Ok(passed)
}

/// A frame as long as any and the pause after it, in ns.
fn turn_ns(setting: Setting) -> u64 {
    let frame_ns = setting.frame_ns(setting.payload);
    frame_ns + setting.pause_ns(frame_ns)
}

/// When a frame will have left at the latest, behind so many that wait for the line.
fn left_ns(frame: &Frame, setting: Setting, waiting: u64, now_ns: u64) -> u64 {
    let own_ns = if frame.kind == Kind::Acknowledgement { 0 } else { setting.frame_ns(frame.payload.len()) };
    now_ns + waiting * turn_ns(setting) + own_ns
}

/// As much as the port takes.
fn hand_on(duplex: &mut Duplex, port: &mut impl Port) -> Result<u64, Broken> {
    let mut count = 0;
    while !duplex.unread().is_empty() {
        match port.write(duplex.unread()).map_err(Broken::Output)? {
            0 => break,
            taken => {
                duplex.consume(taken);
                count += taken as u64;
            }
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;

    #[test]
    fn a_frame_leaves_behind_those_that_wait() {
        let setting = Setting::new(Code::SOURCE_002, 0).unwrap().with_payload(40).unwrap();
        let (whole_ns, own_ns) = (setting.frame_ns(40), setting.frame_ns(16));
        let turn_ns = whole_ns + setting.pause_ns(whole_ns);
        assert!(own_ns > 0 && whole_ns > own_ns && turn_ns > whole_ns, "{own_ns} {whole_ns} {turn_ns}");
        let left = |kind, waiting| left_ns(&Frame { kind, number: 1, payload: vec![0; 16] }, setting, waiting, 1_000);
        assert_eq!(left(Kind::Data, 0), 1_000 + own_ns);
        assert_eq!(left(Kind::Asking, 2), 1_000 + 2 * turn_ns + own_ns);
        // Nobody waits for an answer to an answer.
        assert_eq!([left(Kind::Acknowledgement, 0), left(Kind::Acknowledgement, 1)], [1_000, 1_000 + turn_ns]);
    }
}
