//! What both ends of a wire must agree on.

use std::fmt;

use crate::code::Code;
use crate::frame::{CHECKSUM, HEADER_BYTES, LONGEST, MOST_BLOCKS, MOST_PARITY, Shape};
use crate::wave::{AROUND, PREAMBLE};

/// The first pulse of every frame is at least this long, in ns. A receiver does not learn from it, so one that
/// polls may nap between frames and still sees the second.
pub const WAKE_NS: u64 = 500_000;
/// Frames are cut so that they take about this long, if that is [`LEAST_BLOCKS`] of data: few enough are hit when
/// something stops either end for longer than parity mends, and a real-time thread that spins through one leaves
/// others their share of every second. In ns.
const FRAME_NS: u64 = 20_000_000;
const LEAST_BLOCKS: usize = 32;
/// Frames of a conversation, whose next word waits for them, in ns and bytes.
const BRISK_NS: u64 = 150_000_000;
const LEAST_BRISK: usize = 24;
/// Where no stretch is shorter than this, threads sleep in each, in ns.
pub const SLEPT_NS: u64 = 80_000;
/// Otherwise they spin, and rest for one part in so many of a frame after it.
const RESTED: u64 = 9;
/// Widths that a link can have, in ns.
const SHORTEST: std::ops::RangeInclusive<u64> = 300..=10_000_000;
const STEPS: std::ops::RangeInclusive<u64> = 100..=10_000_000;

/// Code and error correction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Pulses and gaps.
    pub code: Code,
    /// Parity blocks for every hundred with data.
    pub parity: u8,
    /// Bytes of the stream in one frame. The sender chooses them; the other end sees how many they are.
    pub payload: usize,
}

/// A setting that no link can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// A width is out of range.
    #[error("the shortest pulse must be from 300ns to 10ms, and steps from 100ns to 10ms")]
    Width,
    /// More parity than is of use.
    #[error("parity must be from 0 to {MOST_PARITY} percent")]
    Parity,
    /// A frame of nothing, or one that is too long.
    #[error("with this code and parity a frame has from 1 to {0} bytes of payload")]
    Payload(usize),
}

impl Setting {
    /// With frames of a usual length; refuses what would not work.
    pub fn new(code: Code, parity: u8) -> Result<Self, SettingError> {
        if !SHORTEST.contains(&code.shortest_ns) || !STEPS.contains(&code.step_ns) {
            return Err(SettingError::Width);
        }
        if parity > MOST_PARITY {
            return Err(SettingError::Parity);
        }
        let whole = Self { code, parity, payload: 1 };
        let payload = LEAST_BLOCKS * code.block_bytes() - CHECKSUM;
        let longer = (payload..=whole.longest()).step_by(code.block_bytes());
        let payload = longer.take_while(|payload| whole.frame_ns(*payload) <= FRAME_NS).last().unwrap_or(payload);
        Ok(Self { payload: payload.min(whole.longest()), ..whole })
    }

    /// With so many bytes of the stream in each frame.
    pub fn with_payload(self, payload: usize) -> Result<Self, SettingError> {
        let possible = (1..=self.longest()).contains(&payload);
        possible.then_some(Self { payload, ..self }).ok_or(SettingError::Payload(self.longest()))
    }

    /// With frames that take no longer than `BRISK_NS`, where such carry `LEAST_BRISK` bytes.
    pub fn brisk(self) -> Self {
        let shorter = (LEAST_BRISK..=self.payload).step_by(LEAST_BRISK);
        let payload = shorter.take_while(|payload| self.frame_ns(*payload) <= BRISK_NS).last().unwrap_or(LEAST_BRISK);
        Self { payload, ..self }
    }

    /// How its frames are cut.
    pub fn shape(self) -> Shape {
        Shape { block: self.code.block_bytes(), parity: self.parity }
    }

    /// The longest payload, whose blocks can be numbered.
    fn longest(self) -> usize {
        let fits = |payload: &usize| {
            let (data, parity, _) = self.shape().blocks(*payload);
            data + parity <= MOST_BLOCKS
        };
        (1..=LONGEST).rev().find(fits).unwrap_or(1)
    }

    /// How long a frame with so many bytes takes on average, in ns.
    pub fn frame_ns(self, payload: usize) -> u64 {
        let (data, parity, size) = self.shape().blocks(payload);
        let code = self.code;
        let symbols =
            (data + parity) * code.symbols(AROUND + size) + 2 * code.symbols(AROUND + HEADER_BYTES) + PREAMBLE;
        let marks = (data + parity + 3) as u64 * (code.mark_ns() + code.gap_ns(0));
        WAKE_NS + marks + (symbols as f64 * f64::from(code.bits()) * 1e9 / code.raw_rate()) as u64
    }

    /// How long the line rests after a frame that took `frame_ns`: never so short that the rest is not seen, and a
    /// tenth of the time where threads spin.
    pub fn pause_ns(self, frame_ns: u64) -> u64 {
        let share_ns = if self.code.shortest_ns < SLEPT_NS { frame_ns / RESTED } else { 0 };
        (self.code.idle_ns() * 3 / 2).max(share_ns)
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, parity {} %", self.code, self.parity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_long_as_the_code_is_fast() {
        let payload = |ns| Setting::new(Code::new("2x1", ns, ns).unwrap(), 0).unwrap().payload;
        assert!((200..600).contains(&payload(5_000)), "{}", payload(5_000));
        assert!((500..1_000).contains(&payload(1_000)), "{}", payload(1_000));
        assert_eq!([payload(100_000), payload(10_000_000)], [32 * 32 - 4; 2]);
    }

    #[test]
    fn brisk_frames_are_soon_over() {
        let setting = |ns| Setting::new(Code::new("2x1", ns, ns).unwrap(), 10).unwrap();
        assert_eq!(setting(2_000_000).brisk().payload, LEAST_BRISK);
        for ns in [1_000, 40_000, 100_000] {
            let (usual, brisk) = (setting(ns), setting(ns).brisk());
            assert!(brisk.frame_ns(brisk.payload) <= BRISK_NS || brisk.payload == LEAST_BRISK);
            assert!((LEAST_BRISK..=usual.payload).contains(&brisk.payload));
        }
    }

    #[test]
    fn what_would_not_work_is_refused() {
        let code = |ns| Code::new("2x1", ns, 100_000).unwrap();
        assert_eq!(Setting::new(code(100), 0), Err(SettingError::Width));
        assert_eq!(Setting::new(code(11_000_000), 0), Err(SettingError::Width));
        assert_eq!(Setting::new(code(1_000), 201), Err(SettingError::Parity));
        let setting = Setting::new(code(1_000), 0).unwrap();
        assert_eq!(setting.with_payload(0), Err(SettingError::Payload(4096)));
        assert_eq!(setting.with_payload(9).map(|setting| setting.payload), Ok(9));
    }

    /// Of frames with random bytes, which is what most streams look like.
    #[test]
    fn a_frame_takes_as_long_on_average_as_is_said() {
        use crate::frame::{Frame, Kind};
        use crate::wave::Wave;
        for (alphabet, parity, payload) in [("2x1", 0, 30), ("4x4", 50, 100), ("2x2", 20, 7)] {
            let code = Code::new(alphabet, 10_000, 10_000).unwrap();
            let setting = Setting::new(code, parity).unwrap();
            let mut random = 7u64;
            let mut byte = || {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (random >> 40) as u8
            };
            let sum_ns: u64 = (0..400)
                .map(|number| {
                    let frame = Frame { kind: Kind::Data, number, payload: (0..payload).map(|_| byte()).collect() };
                    Wave::new(&frame, setting.shape(), code).stretches.iter().map(|ns| u64::from(*ns)).sum::<u64>()
                })
                .sum();
            let (said_ns, is_ns) = (setting.frame_ns(payload) - WAKE_NS, sum_ns / 400);
            // Headers are of more zeros than ones, whose pulses are shorter.
            assert!((is_ns..is_ns + is_ns / 10).contains(&said_ns), "{alphabet}: {said_ns} {is_ns}");
        }
    }

    #[test]
    fn a_setting_is_said_as_it_is_given() {
        let setting = Setting::new(Code::SOURCE_002, 20).unwrap();
        assert_eq!(setting.to_string(), "2x1 from 100000 ns in steps of 100000 ns, parity 20 %");
    }
}
