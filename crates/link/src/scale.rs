//! What the widths of a sender look like when they arrive.

use crate::code::{Code, MARK_STEPS};
use crate::wave::PREAMBLE;

/// Stretches of a preamble.
pub const STRETCHES: usize = 2 * PREAMBLE;
/// Stretches of a preamble that may be off.
const MOST_OFF: usize = 2;

/// The widths of pulses, or of gaps.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scale {
    /// Of value 0, in ns.
    pub shortest_ns: f64,
    /// From one value to the next, in ns.
    pub step_ns: f64,
    /// The greatest value.
    pub longest: u32,
}

/// What a width stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Width {
    /// A value, and how far off it is in half steps: above 1 it would have been taken for another.
    Value(u32, f64),
    /// A mark.
    Mark,
    /// What takes its symbol back.
    Cancelled,
    /// Nothing that is sent.
    Odd,
}

impl Scale {
    /// Reads a width.
    pub fn read(&self, ns: f64) -> Width {
        let steps = (ns - self.shortest_ns) / self.step_ns;
        let value = steps.round().clamp(0.0, f64::from(self.longest));
        let over = steps - f64::from(self.longest);
        let mark = MARK_STEPS as f64;
        match steps - value {
            off if off.abs() <= 1.0 => Width::Value(value as u32, off * 2.0),
            _ if (mark - 1.0..mark + 1.0).contains(&over) => Width::Mark,
            _ if over >= mark + 1.0 => Width::Cancelled,
            _ => Width::Odd,
        }
    }
}

/// The widths of pulses and gaps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scales {
    /// Of pulses.
    pub pulse: Scale,
    /// Of gaps.
    pub gap: Scale,
}

impl Scales {
    /// As the code has them.
    pub fn of(code: Code) -> Self {
        let scale = |longest| Scale { shortest_ns: code.shortest_ns as f64, step_ns: code.step_ns as f64, longest };
        Self { pulse: scale(code.longest_pulse()), gap: scale(code.longest_gap()) }
    }

    /// Learns them from the stretches of a preamble; `None` if it is none.
    pub fn learn(stretches: &[u64], code: Code) -> Option<Self> {
        // The first pulse is left out: a receiver may have begun to listen in it, and it may be longer to wake one.
        let every_fourth = |from: usize| stretches.get(..STRETCHES).into_iter().flatten().skip(from).step_by(4);
        let middle = |from: usize| {
            let mut picked: Vec<u64> = every_fourth(from).copied().collect();
            picked.sort_unstable();
            picked.get(picked.len() / 2).map(|ns| *ns as f64)
        };
        let (short_pulse, short_gap, long_pulse, long_gap) = (middle(4)?, middle(1)?, middle(2)?, middle(3)?);
        let nominal = Self::of(code);
        let scale = |short_ns: f64, long_ns: f64, nominal: Scale| {
            let step_ns = match nominal.longest {
                // One width tells nothing of steps.
                0 => nominal.step_ns,
                longest => (long_ns - short_ns) / f64::from(longest),
            };
            let is_step = (0.5..2.0).contains(&(step_ns / nominal.step_ns));
            let is_short = (nominal.shortest_ns / 4.0..4.0 * nominal.shortest_ns + 1e5).contains(&short_ns);
            (is_step && is_short).then_some(Scale { shortest_ns: short_ns, step_ns, ..nominal })
        };
        let scales = Self {
            pulse: scale(short_pulse, long_pulse, nominal.pulse)?,
            gap: scale(short_gap, long_gap, nominal.gap)?,
        };
        // Four stretches that look alike may be chance; sixteen that follow the pattern are not.
        let off = |from: usize, ns: f64, step_ns: f64| {
            every_fourth(from).filter(|stretch| (**stretch as f64 - ns).abs() > step_ns / 2.0).count()
        };
        let (pulse_step, gap_step) = (scales.pulse.step_ns, scales.gap.step_ns);
        let all_off = off(4, short_pulse, pulse_step)
            + off(2, long_pulse, pulse_step)
            + off(1, short_gap, gap_step)
            + off(3, long_gap, gap_step);
        (all_off <= MOST_OFF).then_some(scales)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frame, Kind, Shape};
    use crate::wave::Wave;

    fn preamble(code: Code) -> Vec<u64> {
        let frame = Frame { kind: Kind::Data, number: 0, payload: vec![] };
        let wave = Wave::new(&frame, Shape { block: 8, parity: 0 }, code);
        wave.stretches[..STRETCHES].iter().map(|ns| u64::from(*ns)).collect()
    }

    #[test]
    fn a_preamble_tells_overheads_and_drift() {
        let code = Code::new("4x4", 20_000, 10_000).unwrap();
        let mut heard = preamble(code);
        heard[0] = 500_000;
        heard.iter_mut().enumerate().for_each(|(n, ns)| {
            *ns = *ns * 101 / 100;
            *ns = if n % 2 == 0 { *ns + 4_000 } else { *ns - 4_000 };
        });
        heard[6] += 7_000;
        let scales = Scales::learn(&heard, code).unwrap();
        assert_eq!((scales.pulse.shortest_ns, scales.gap.shortest_ns), (24_200.0, 16_200.0));
        assert_eq!((scales.pulse.step_ns, scales.gap.step_ns), (10_100.0, 10_100.0));
    }

    #[test]
    fn what_is_no_preamble_is_not_learned_from() {
        let code = Code::new("4x4", 20_000, 10_000).unwrap();
        let whole = preamble(code);
        assert!(Scales::learn(&whole[..15], code).is_none());
        assert!(Scales::learn(&[20_000; 16], code).is_none());
        let mut shifted = whole.clone();
        shifted.drain(2..4);
        shifted.extend([20_000, 20_000]);
        assert!(Scales::learn(&shifted, code).is_none(), "half of it is a symbol late");
    }

    #[test]
    fn widths_are_values_marks_or_odd() {
        let scale = Scales::of(Code::new("4x1", 1_000, 500).unwrap()).pulse;
        assert_eq!(scale.read(2_000.0), Width::Value(2, 0.0));
        assert!(matches!(scale.read(2_100.0), Width::Value(2, off) if (off - 0.4).abs() < 1e-9));
        assert_eq!(scale.read(3_500.0), Width::Mark);
        assert_eq!(scale.read(3_100.0), Width::Mark);
        assert_eq!([scale.read(100.0), scale.read(300.0)], [Width::Odd; 2]);
        assert_eq!([scale.read(4_100.0), scale.read(9e9)], [Width::Cancelled; 2]);
    }
}
