//! Frames of random length and content through the core itself: nothing may break, get lost uncounted or grow.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ontick_rt::rtrb::RingBuffer;
use ontick_switch::user::core::{Channels, Core, PortConfig};
use ontick_switch::user::counters::Counters;
use ontick_switch::user::port::{Port, Received, Sent};
use ontick_switch::user::time::Time;
use ontick_tsn::model::Entry;
use ontick_tsn::schedule::Schedule;

use super::cables;
use crate::footprint;

/// Between two looks at the clock, in ns.
const STEP_NS: u64 = 400;

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// Frames that came in.
    pub frames: u64,
    /// Of those, and their copies, what went out.
    pub sent: u64,
    /// What was counted as dropped or was not to be forwarded.
    pub dropped: u64,
    /// Frames and copies of which nothing is known.
    pub unaccounted: u64,
    /// What the process grew by after the first tenth, in KiB.
    pub grown_kib: u64,
    pub took: Duration,
}

/// A port that makes frames up, and swallows those that go out.
struct RandomPort {
    state: u64,
    left: Rc<Cell<u64>>,
}

impl RandomPort {
    /// xorshift64 (Marsaglia 2003).
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
}

impl Port for RandomPort {
    fn receive(&mut self, slot: &mut [u8]) -> Received {
        let Some(left) = self.left.get().checked_sub(1) else { return Received::Nothing };
        self.left.set(left);
        let dice = self.next();
        // Now and then as long as a slot, or longer; mostly short, which is where headers are cut off.
        let octets = if dice % 16 == 0 { (dice >> 8) as usize % 2_200 } else { (dice >> 8) as usize % 96 };
        let Some(frame) = slot.get_mut(..octets) else { return Received::Oversized };
        for eight in frame.chunks_mut(8) {
            let random = self.next().to_le_bytes();
            eight.copy_from_slice(&random[..eight.len()]);
        }
        // Half of them look like something.
        if dice % 2 == 0 && octets > 18 {
            frame[..12].copy_from_slice(&[
                2,
                0,
                0,
                0,
                0,
                (dice >> 40) as u8 % 64,
                2,
                0,
                0,
                0,
                0,
                (dice >> 48) as u8 % 64,
            ]);
            let kinds = [[0x81, 0], [0x88, 0xa8], [0x08, 0], [0x86, 0xdd], [0x88, 0xb5]];
            frame[12..14].copy_from_slice(&kinds[(dice >> 56) as usize % kinds.len()]);
            frame[16..18].copy_from_slice(&kinds[(dice >> 32) as usize % kinds.len()]);
        }
        Received::Frame(octets)
    }

    fn send(&mut self, _frame: &[u8]) -> Sent {
        match self.next() % 64 {
            0 => Sent::Busy,
            1 => Sent::Refused,
            _ => Sent::Done,
        }
    }

    fn overflowed(&mut self) -> u64 {
        0
    }
}

struct Steady(u64);

impl Time for Steady {
    fn now_ns(&mut self) -> u64 {
        self.0 += STEP_NS;
        self.0
    }
}

/// Sends so many frames through.
pub fn run(frames: u64) -> Figures {
    let switch = cables::model(ontick_tsn::model::Socket::Packet);
    let entries = [Entry { open: 0x0f, for_ns: 300_000 }, Entry { open: 0xf0, for_ns: 200_000 }];
    let left = Rc::new(Cell::new(frames));
    let port = |seed: u64| RandomPort { state: seed, left: left.clone() };
    let attach = |seed, schedule| PortConfig { port: Some(port(seed)), rate: 10_000_000_000, schedule };
    let attachments = vec![attach(0x5eed, None), attach(0xfeed, Some(Schedule::new(0, &entries)))];
    let counters = Counters::new(2);
    let ((_tell, commands), (discarded, _), (stalls, _)) = (RingBuffer::new(1), RingBuffer::new(2), RingBuffer::new(1));
    let mut core = Core::new(&switch, attachments, Steady(0), &counters, Channels { commands, discarded, stalls }, 7);

    let began = Instant::now();
    let mut early_kib = None;
    while left.get() > 0 || !core.is_idle() {
        core.turn();
        if early_kib.is_none() && left.get() < frames / 10 * 9 {
            early_kib = Some(footprint::resident_kib());
        }
    }
    let (took, late_kib) = (began.elapsed(), footprint::resident_kib());
    let mut seen = Figures {
        frames,
        sent: 0,
        dropped: 0,
        unaccounted: 0,
        grown_kib: late_kib.saturating_sub(early_kib.unwrap_or(late_kib)),
        took,
    };
    for port in &counters.ports {
        let here = [&port.oversized, &port.malformed, &port.reserved, &port.filtered, &port.looped];
        seen.dropped += here.iter().map(|counter| counter.get()).sum::<u64>();
        for queue in &port.queues {
            seen.sent += queue.sent.get();
            seen.dropped += queue.dropped();
        }
    }
    // Two ports: each frame is for one place at most.
    seen.unaccounted = frames.abs_diff(seen.sent + seen.dropped);
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_is_somewhere() {
        let seen = run(200_000);
        assert_eq!(seen.unaccounted, 0, "{seen:?}");
        assert!(seen.sent > 1_000 && seen.dropped > 1_000, "{seen:?}");
    }
}
