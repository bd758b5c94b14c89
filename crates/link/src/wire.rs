//! Frames as durations on a line, and back.
//!
//! A line is low between frames. A frame begins with [`PREAMBLE`] symbols, alternately all shortest and all
//! longest, from which a receiver learns what the sender's widths look like when they arrive: overheads,
//! clocks that differ, slow edges. Then come the bits, most significant first, and a last short pulse that ends
//! the last gap. After that the line stays low for at least [`Code::idle_ns`].

use crate::code::Code;
use crate::frame::{Damage, Frame};

/// Symbols before the first bit.
pub const PREAMBLE: usize = 8;

/// High and low stretches of one frame in ns, alternately, beginning and ending with a high one.
pub fn durations(bytes: &[u8], code: Code) -> Vec<u64> {
    let mut durations = Vec::with_capacity(2 * (PREAMBLE + bytes.len() * 8 / code.bits() as usize + 2));
    for n in 0..PREAMBLE {
        let (pulse, gap) = if n % 2 == 0 { (0, 0) } else { (code.longest_pulse(), code.longest_gap()) };
        durations.extend([code.pulse_ns(pulse), code.gap_ns(gap)]);
    }
    let mut bits = Bits::new(bytes);
    while let Some(pulse) = bits.take(code.pulse_bits.into()) {
        let gap = bits.take(code.gap_bits.into()).unwrap_or(0);
        durations.extend([code.pulse_ns(pulse), code.gap_ns(gap)]);
    }
    durations.push(code.pulse_ns(0));
    durations
}

/// Bits of bytes, most significant first; the last are filled up with zeros.
struct Bits<'a> {
    bytes: &'a [u8],
    next: usize,
}

impl<'a> Bits<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, next: 0 }
    }

    fn take(&mut self, count: usize) -> Option<u32> {
        if self.next >= self.bytes.len() * 8 {
            return None;
        }
        let mut value = 0;
        for _ in 0..count {
            let bit = self.bytes.get(self.next / 8).map_or(0, |byte| byte >> (7 - self.next % 8) & 1);
            value = value << 1 | u32::from(bit);
            self.next += 1;
        }
        Some(value)
    }
}

/// What a receiver made of the stretches between two idle times.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// A whole frame.
    Frame {
        /// It.
        frame: Frame,
        /// Bytes that parity mended.
        mended: usize,
        /// How it looked on the wire.
        look: Look,
    },
    /// A frame that cannot be used.
    Damaged {
        /// What is wrong with it.
        damage: Damage,
        /// How it looked on the wire.
        look: Look,
    },
    /// No frame at all: too short, or without a preamble.
    Noise {
        /// Stretches that were heard.
        stretches: usize,
    },
}

/// How a frame looked on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Look {
    /// The shortest pulse as it arrived, in ns, and from one width to the next.
    pub pulse: Scale,
    /// The same for gaps.
    pub gap: Scale,
    /// Stretches much shorter than any that are sent: noise, taken out again.
    pub glitches: u32,
    /// Stretches much longer than any that are sent: an edge was missed, or the sender was held up.
    pub too_long: u32,
    /// The greatest distance of a stretch from the width it was taken for, as a share of half a step: above
    /// 1 it would have been taken for another.
    pub worst: f32,
}

/// What the widths of a frame are, as they arrive.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scale {
    /// Of value 0, in ns.
    pub shortest_ns: f64,
    /// From one value to the next, in ns.
    pub step_ns: f64,
}

impl Scale {
    /// From the shortest and the longest of `values + 1` widths.
    fn between(shortest_ns: f64, longest_ns: f64, values: u32) -> Self {
        Self { shortest_ns, step_ns: (longest_ns - shortest_ns) / f64::from(values.max(1)) }
    }

    /// The value whose width is nearest, and how far off it is in half steps.
    fn nearest(self, ns: f64, values: u32, tolerance_ns: f64) -> (u32, f64) {
        if values == 0 {
            return (0, (ns - self.shortest_ns) / tolerance_ns);
        }
        let steps = (ns - self.shortest_ns) / self.step_ns;
        let value = steps.round().clamp(0.0, f64::from(values));
        (value as u32, (steps - value) * 2.0)
    }
}

/// Reads what was heard between two idle times: high and low stretches in ns, alternately, beginning and ending
/// with a high one.
pub fn read(stretches: &[u64], code: Code) -> Heard {
    let (clean, glitches) = without_glitches(stretches, code.shortest_ns / 4);
    let Some((pulse, gap)) = learn(&clean, code) else {
        return Heard::Noise { stretches: stretches.len() };
    };
    let mut look = Look { pulse, gap, glitches, ..Look::default() };
    let bytes = bytes_of(&clean[2 * PREAMBLE..], code, &mut look);
    match Frame::decode(&bytes) {
        Ok((frame, mended)) => Heard::Frame { frame, mended, look },
        Err(damage) => Heard::Damaged { damage, look },
    }
}

/// The bytes of a frame as they came, before anything is mended; `None` if there is no preamble.
pub fn raw_bytes(stretches: &[u64], code: Code) -> Option<Vec<u8>> {
    let (clean, _) = without_glitches(stretches, code.shortest_ns / 4);
    let (pulse, gap) = learn(&clean, code)?;
    Some(bytes_of(&clean[2 * PREAMBLE..], code, &mut Look { pulse, gap, ..Look::default() }))
}

/// Merges a stretch that is shorter than any that is sent with those around it.
fn without_glitches(stretches: &[u64], shortest_ns: u64) -> (Vec<u64>, u32) {
    let (mut clean, mut glitches): (Vec<u64>, u32) = (Vec::with_capacity(stretches.len()), 0);
    let mut rest = stretches.iter();
    while let Some(stretch) = rest.next() {
        match clean.last_mut() {
            Some(before) if *stretch < shortest_ns => {
                glitches += 1;
                *before = before.saturating_add(*stretch).saturating_add(*rest.next().unwrap_or(&0));
            }
            _ => clean.push(*stretch),
        }
    }
    (clean, glitches)
}

/// Learns both scales from the preamble; `None` if there is none.
fn learn(stretches: &[u64], code: Code) -> Option<(Scale, Scale)> {
    let preamble = stretches.get(..2 * PREAMBLE)?;
    // The first pulse is left out: a receiver may have begun to listen in it.
    let pick = |from: usize| {
        let mut picked: Vec<u64> = preamble.iter().skip(from).step_by(4).copied().collect();
        picked.sort_unstable();
        picked[picked.len() / 2] as f64
    };
    let (short_pulse, short_gap, long_pulse, long_gap) = (pick(4), pick(1), pick(2), pick(3));
    let pulse = Scale::between(short_pulse, long_pulse, code.longest_pulse());
    let gap = Scale::between(short_gap, long_gap, code.longest_gap());
    let (step_ns, shortest_ns) = (code.step_ns as f64, code.shortest_ns as f64);
    let is_step = |scale: Scale, values: u32| values == 0 || (0.5..2.0).contains(&(scale.step_ns / step_ns));
    let is_short = |scale: Scale| scale.shortest_ns > shortest_ns / 4.0 && scale.shortest_ns < 4.0 * shortest_ns + 1e5;
    let fits = is_step(pulse, code.longest_pulse()) && is_step(gap, code.longest_gap());
    (fits && is_short(pulse) && is_short(gap)).then_some((pulse, gap))
}

fn bytes_of(stretches: &[u64], code: Code, look: &mut Look) -> Vec<u8> {
    let (mut bytes, mut pending, mut bits) = (Vec::with_capacity(stretches.len() / 4), 0u64, 0u32);
    let mut put = |value: u32, count: u8| {
        pending = pending << count | u64::from(value);
        bits += u32::from(count);
        while bits >= 8 {
            bits -= 8;
            bytes.push((pending >> bits) as u8);
        }
    };
    let tolerance_ns = code.step_ns.min(code.shortest_ns) as f64 / 2.0;
    let see = |look: &mut Look, scale: Scale, ns: u64, values: u32| {
        let (value, off) = scale.nearest(ns as f64, values, tolerance_ns);
        if off > 2.0 {
            look.too_long += 1;
        } else {
            look.worst = look.worst.max(off.abs() as f32);
        }
        value
    };
    // The last pulse only ends the gap before it.
    for symbol in stretches.chunks_exact(2) {
        let pulse = see(look, look.pulse, symbol[0], code.longest_pulse());
        let gap = see(look, look.gap, symbol[1], code.longest_gap());
        put(pulse, code.pulse_bits);
        put(gap, code.gap_bits);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::Kind;

    fn codes() -> impl Strategy<Value = Code> {
        (0u8..=4, 0u8..=4, 5_000u64..200_000, 2_000u64..100_000).prop_filter_map(
            "a symbol carries a bit",
            |(pulse_bits, gap_bits, shortest_ns, step_ns)| {
                (pulse_bits + gap_bits > 0).then_some(Code { pulse_bits, gap_bits, shortest_ns, step_ns })
            },
        )
    }

    fn frame(payload: Vec<u8>) -> Frame {
        Frame { kind: Kind::Data, number: 3, payload }
    }

    fn payload() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 0..200)
    }

    proptest! {
        /// A receiver with a clock that is off, behind overheads that lengthen pulses and shorten gaps, and with
        /// jitter below half a step reads what was sent.
        #[test]
        fn frames_come_through_overheads_drift_and_jitter(
            code in codes(),
            payload in payload(),
            drift in -0.01f64..0.01,
            overhead in 0.0f64..0.2,
            seed in any::<u64>(),
        ) {
            let frame = frame(payload);
            let mut random = seed | 1;
            let mut heard = Vec::new();
            let overhead_ns = overhead * code.shortest_ns as f64;
            for (n, ns) in durations(&frame.encode(0), code).into_iter().enumerate() {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let jitter = ((random >> 40) as f64 / (1u64 << 24) as f64 - 0.5) * 0.3 * code.step_ns.min(code.shortest_ns) as f64;
                let overhead_ns = if n % 2 == 0 { overhead_ns } else { -overhead_ns };
                heard.push((ns as f64 * (1.0 + drift) + overhead_ns + jitter).max(1.0) as u64);
            }
            match read(&heard, code) {
                Heard::Frame { frame: read, .. } => prop_assert_eq!(read, frame),
                other => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn a_glitch_in_a_stretch_is_taken_out(code in codes(), payload in payload(), at in any::<prop::sample::Index>()) {
            let frame = frame(payload);
            let mut heard = durations(&frame.encode(0), code);
            let at = at.index(heard.len());
            let (whole, glitch) = (heard[at], (code.shortest_ns / 10).max(1));
            let first = (whole - glitch) / 2;
            prop_assume!(first >= code.shortest_ns / 4 && whole - glitch - first >= code.shortest_ns / 4);
            heard.splice(at..=at, [first, glitch, whole - glitch - first]);
            match read(&heard, code) {
                Heard::Frame { frame: read, look, .. } => {
                    prop_assert_eq!(read, frame);
                    prop_assert_eq!(look.glitches, 1);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }

        /// A pulse that was missed makes one long gap of two: nothing wrong is handed on.
        #[test]
        fn missed_pulses_never_make_wrong_frames(
            code in codes(),
            payload in payload(),
            missed in proptest::collection::vec(any::<prop::sample::Index>(), 1..4),
            parity in (0u8..=16),
        ) {
            let frame = frame(payload);
            let mut heard = durations(&frame.encode(parity), code);
            for index in missed {
                let at = index.index(heard.len() - 2);
                let merged = heard[at] + heard[at + 1] + heard[at + 2];
                heard.splice(at..at + 3, [merged]);
                if heard.len() < 4 {
                    break;
                }
            }
            if let Heard::Frame { frame: read, .. } = read(&heard, code) {
                prop_assert_eq!(read, frame);
            }
        }

        #[test]
        fn anything_is_answered(stretches in proptest::collection::vec(0u64..1_000_000_000, 0..300), code in codes()) {
            let _ = read(&stretches, code);
        }
    }

    #[test]
    fn wrong_symbols_are_mended_by_parity_and_told() {
        let code = Code::SOURCE_002;
        let frame = frame((0..100).collect());
        let mut heard = durations(&frame.encode(16), code);
        for symbol in [40usize, 333, 700] {
            let pulse = &mut heard[2 * (PREAMBLE + symbol)];
            *pulse = if *pulse == 100_000 { 200_000 } else { 100_000 };
        }
        match read(&heard, code) {
            Heard::Frame { frame: read, mended, .. } => assert_eq!((read, mended), (frame, 3)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_sender_that_was_held_up_damages_one_symbol() {
        let code = Code::SOURCE_002;
        let frame = frame((0..100).collect());
        let mut heard = durations(&frame.encode(8), code);
        heard[2 * (PREAMBLE + 300)] += 5_000_000;
        match read(&heard, code) {
            Heard::Frame { frame: read, look, .. } => assert_eq!((read, look.too_long), (frame, 1)),
            other => panic!("{other:?}"),
        }
    }
}
