//! What both ends of a wire must agree on.

use std::fmt;

use crate::code::Code;
use crate::frame::{Frame, LONGEST, MOST_PARITY};
use crate::wire::PREAMBLE;

/// The first pulse of every frame is at least this long, in ns. A receiver does not learn from it, so one that
/// polls may nap between frames and still sees the second.
pub const WAKE_NS: u64 = 500_000;
/// Frames are cut so that they take about this long: few enough are hit when something stops either end for a
/// moment, and a real-time thread that spins through one leaves others their share of every second. In ns.
const FRAME_NS: u64 = 150_000_000;
const SHORTEST_PAYLOAD: usize = 32;
const LONGEST_PAYLOAD: usize = 1024;
/// Widths that a link can have, in ns.
const WIDTHS: std::ops::RangeInclusive<u64> = 500..=10_000_000;

/// Code and error correction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Pulses and gaps.
    pub code: Code,
    /// Reed–Solomon bytes per codeword of data.
    pub parity: u8,
    /// Bytes of the stream in one frame. The sender chooses them; the other end sees how many they are.
    pub payload: usize,
}

/// A setting that no link can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// A width is out of range.
    #[error("pulses and steps must be from 500ns to 10ms")]
    Width,
    /// More parity than is of use.
    #[error("parity must be from 0 to {MOST_PARITY} bytes per 255")]
    Parity,
    /// A frame of nothing, or one that is too long.
    #[error("a frame has from 1 to {LONGEST} bytes of payload")]
    Payload,
}

impl Setting {
    /// With frames of a usual length; refuses what would not work.
    pub fn new(code: Code, parity: u8) -> Result<Self, SettingError> {
        if !WIDTHS.contains(&code.shortest_ns) || !WIDTHS.contains(&code.step_ns) {
            return Err(SettingError::Width);
        }
        if parity > MOST_PARITY {
            return Err(SettingError::Parity);
        }
        let whole = Self { code, parity, payload: SHORTEST_PAYLOAD };
        let fits = |payload: &usize| whole.frame_ns(*payload) <= FRAME_NS;
        let payload = (SHORTEST_PAYLOAD..=LONGEST_PAYLOAD).rev().step_by(8).find(fits).unwrap_or(SHORTEST_PAYLOAD);
        Ok(Self { payload, ..whole })
    }

    /// With so many bytes of the stream in each frame.
    pub fn with_payload(self, payload: usize) -> Result<Self, SettingError> {
        let possible = (1..=LONGEST).contains(&payload);
        possible.then_some(Self { payload, ..self }).ok_or(SettingError::Payload)
    }

    /// How long a frame with so many bytes takes on average, in ns.
    pub fn frame_ns(self, payload: usize) -> u64 {
        let symbols = Frame::length(payload, self.parity) as f64 * 8.0 / f64::from(self.code.bits()) + PREAMBLE as f64;
        WAKE_NS + (symbols * f64::from(self.code.bits()) * 1e9 / self.code.raw_rate()) as u64
    }

    /// How long the line stays low after a frame that took `frame_ns`: a tenth of the time, and never so short
    /// that the frame does not end.
    pub fn pause_ns(self, frame_ns: u64) -> u64 {
        (self.code.idle_ns() * 3 / 2).max(frame_ns / 9)
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, parity {}", self.code, self.parity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_long_as_the_code_is_fast() {
        let payload = |ns| Setting::new(Code::new("2x1", ns, ns).unwrap(), 0).unwrap().payload;
        assert_eq!(payload(1_000), LONGEST_PAYLOAD);
        assert!((40..60).contains(&payload(100_000)), "{}", payload(100_000));
        assert_eq!(payload(10_000_000), SHORTEST_PAYLOAD);
    }

    #[test]
    fn what_would_not_work_is_refused() {
        let code = |ns| Code::new("2x1", ns, 100_000).unwrap();
        assert_eq!(Setting::new(code(100), 0), Err(SettingError::Width));
        assert_eq!(Setting::new(code(11_000_000), 0), Err(SettingError::Width));
        assert_eq!(Setting::new(code(1_000), 129), Err(SettingError::Parity));
        let setting = Setting::new(code(1_000), 0).unwrap();
        assert_eq!(setting.with_payload(0), Err(SettingError::Payload));
        assert_eq!(setting.with_payload(9).map(|setting| setting.payload), Ok(9));
    }
}
