//! How long a frame is on its way through the kernel, at least, from the call that sends it to the driver's hands.

use std::time::{Duration, Instant};

use ontick_rt::clock::ClockId;
use rustix::net::{SendFlags, send};

use super::socket::Socket;
use crate::loops::Prober;
use crate::user::open::OpenError;
use crate::user::sys;

/// Frames that are sent to find out, in rounds with a pause between them: a processor may be slow for a while.
const ROUNDS: usize = 8;
const FRAMES: usize = 8;
const PAUSE: Duration = Duration::from_millis(5);
/// A driver that stamps does so within this.
const PATIENCE: Duration = Duration::from_millis(2);
/// Longer than that is no way through a kernel, in ns.
const MOST_NS: u64 = 10_000;
/// No bridge forwards what goes there (IEEE 802.1Q table 8-1).
const NEAREST_BRIDGE: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e];

/// The least time, in ns, from the beginning of the call that sends a frame until the driver stamped it, of some shortest
/// frames; nothing where the link is down or the driver stamps none. Nobody forwards these frames.
pub fn least_ns(interface: &str) -> Result<Option<u64>, OpenError> {
    let socket = Socket::new(interface, 0)?;
    socket.bypass_queueing()?;
    socket.start_sending()?;
    socket.stamp_sent()?;
    let mut frame = Prober::new().frame(0);
    frame[..NEAREST_BRIDGE.len()].copy_from_slice(&NEAREST_BRIDGE);
    let mut least_ns: Option<u64> = None;
    for number in 0..ROUNDS * FRAMES {
        if number > 0 && number % FRAMES == 0 {
            std::thread::sleep(PAUSE);
        }
        let begun_ns = ClockId::Realtime.now_ns();
        if send(&socket, &frame, SendFlags::DONTWAIT).is_err() {
            continue;
        }
        let Some(stamp_ns) = stamp(&socket) else { break };
        let took_ns = stamp_ns.checked_sub(begun_ns).filter(|took_ns| *took_ns <= MOST_NS);
        least_ns = least_ns.into_iter().chain(took_ns).min();
    }
    Ok(least_ns)
}

/// When the frame that was sent last left.
fn stamp(socket: &Socket) -> Option<u64> {
    let until = Instant::now() + PATIENCE;
    loop {
        match sys::sent_stamp(socket) {
            Ok(stamp) => return stamp,
            Err(_) if Instant::now() > until => return None,
            Err(_) => std::hint::spin_loop(),
        }
    }
}
