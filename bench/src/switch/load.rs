//! One thread that sends numbered frames in at one port and counts those that come out at the other.

use std::time::{Duration, Instant};

use ontick_switch::user::packet::PacketPort;
use ontick_switch::user::port::{Port, Received, Sent};

/// Traffic classes, told apart by their PCP.
pub const CLASSES: usize = 8;
/// Frames that may be on their way. Rings hold more, so none is lost for want of room.
const ON_THE_WAY: u64 = 1_024;
/// Frames sent between two looks at what came.
const BURST: u64 = 16;
/// What has not come after so long is lost.
const PATIENCE: Duration = Duration::from_secs(2);
/// Where in a tagged frame its number stands.
const NUMBER: usize = 18;

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// Frames that were handed to the first port.
    pub sent: u64,
    /// Frames that came out.
    pub received: u64,
    /// Of those, how many came after a later one of their class, or twice.
    pub out_of_order: u64,
    /// From the first to the last.
    pub took: Duration,
}

impl Passed {
    /// Frames per second.
    pub fn rate(&self) -> f64 {
        self.received as f64 / self.took.as_secs_f64().max(1e-9)
    }
}

/// Sends `frames` frames of 64 octets (their check sequence included), each class in turn, as fast as they come out.
pub fn run(into: &mut PacketPort, out_of: &mut PacketPort, frames: u64) -> Passed {
    let (mut passed, began) = (Passed::default(), Instant::now());
    let mut frame = tagged();
    // The next number that is due in each class.
    let mut due = [0u64; CLASSES];
    let mut last = Instant::now();
    let mut slot = [0; 2048];
    while passed.received < frames {
        for _ in 0..BURST {
            if passed.sent == frames || passed.sent - passed.received >= ON_THE_WAY {
                break;
            }
            number(&mut frame, passed.sent);
            if into.send(&frame) != Sent::Done {
                break;
            }
            passed.sent += 1;
        }
        let mut came = false;
        while let Received::Frame(octets) = out_of.receive(&mut slot) {
            let Some((class, number)) = read(&slot[..octets]) else { continue };
            came = true;
            passed.received += 1;
            passed.out_of_order += u64::from(number < due[class]);
            due[class] = number + 1;
        }
        if came {
            last = Instant::now();
        } else if last.elapsed() > PATIENCE {
            break;
        }
    }
    passed.took = last - began;
    passed
}

/// Sends numbered frames for so long, each class in turn, without a look at what becomes of them.
pub fn flood(into: &mut PacketPort, duration: Duration) -> Duration {
    let (mut frame, began, mut sent) = (tagged(), Instant::now(), 0);
    loop {
        for _ in 0..BURST {
            number(&mut frame, sent);
            into.send(&frame);
            sent += 1;
        }
        let took = began.elapsed();
        if took >= duration {
            return took;
        }
    }
}

/// 60 octets with a VLAN tag; the check sequence makes 64.
pub fn tagged() -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..18].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 1, 0x88, 0xb5]);
    frame
}

/// Numbers a frame, which says its class, too.
pub fn number(frame: &mut [u8; 60], number: u64) {
    frame[14] = ((number % CLASSES as u64) as u8) << 5;
    frame[NUMBER..NUMBER + 8].copy_from_slice(&number.to_be_bytes());
}

/// The class and number of a frame of ours.
fn read(frame: &[u8]) -> Option<(usize, u64)> {
    let number = frame.get(NUMBER..NUMBER + 8)?.try_into().ok()?;
    (frame[12..14] == [0x81, 0] && frame[16..18] == [0x88, 0xb5])
        .then(|| (usize::from(frame[14] >> 5), u64::from_be_bytes(number)))
}
