//! How long frames take from one station to the other, at a steady rate.

use std::time::{Duration, Instant};

use ontick_rt::clock::ClockId;
use ontick_switch::user::packet::{PacketPort, PacketReader};
use ontick_switch::user::port::{Port, Sent};

/// Frames per second.
pub const RATE: u64 = 100_000;
/// What has not come after so long is lost.
const PATIENCE: Duration = Duration::from_secs(1);
/// Where in the frame the time of its sending stands.
const SENT: usize = 14;

/// What was seen.
pub struct Figures {
    /// From just before a frame was handed to the kernel until the kernel stamped its arrival, in ns; the least first.
    pub delays: Vec<u64>,
    pub sent: u64,
    pub received: u64,
}

impl Figures {
    /// What this share of the frames did not exceed, in ns.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let last = self.delays.len().checked_sub(1)?;
        self.delays.get((share * last as f64).ceil() as usize).copied()
    }
}

/// Sends frames of 64 octets for so long; both ends are looked after by the calling thread, which spins.
pub fn run(into: &mut PacketPort, out_of: &mut PacketReader, duration: Duration) -> Figures {
    let expected = (duration.as_secs_f64() * RATE as f64) as usize + 1;
    let mut seen = Figures { delays: Vec::with_capacity(expected), sent: 0, received: 0 };
    let mut frame = [0; 60];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb6]);
    let (began, interval) = (Instant::now(), Duration::from_nanos(1_000_000_000 / RATE));
    let mut due = Duration::ZERO;
    let mut last = began;
    loop {
        let passed = began.elapsed();
        if passed < duration && passed >= due {
            frame[SENT..SENT + 8].copy_from_slice(&ClockId::Realtime.now_ns().to_be_bytes());
            seen.sent += u64::from(into.send(&frame) == Sent::Done);
            // A thread that was held up does not make up for it: that would be another rate.
            due = (due + interval).max(passed);
            last = Instant::now();
        }
        let came = out_of.next(|frame| (frame.stamp_ns, sent(frame.bytes)));
        if let Some((stamp_ns, Some(sent_ns))) = came {
            seen.received += 1;
            seen.delays.push(stamp_ns.saturating_sub(sent_ns));
        }
        if passed >= duration && (seen.received == seen.sent || last.elapsed() > PATIENCE) {
            seen.delays.sort_unstable();
            return seen;
        }
    }
}

fn sent(frame: &[u8]) -> Option<u64> {
    let ours = frame.get(12..14)? == [0x88, 0xb6];
    let stamp = frame.get(SENT..SENT + 8)?.try_into().ok()?;
    ours.then(|| u64::from_be_bytes(stamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_what_was_seen() {
        let seen = Figures { delays: (1..=101).collect(), sent: 101, received: 101 };
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|share| seen.quantile(share)), [Some(1), Some(51), Some(100), Some(101)]);
        assert_eq!(Figures { delays: vec![], ..seen }.quantile(0.5), None);
    }
}
