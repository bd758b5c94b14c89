//! From a value to a place on paper, and where the ticks are.

use crate::typeset::plain_time;

/// An axis: the values at its ends and the places of these ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Linear,
    /// `low` and `high` are powers of ten.
    Log,
}

/// A place on an axis with a line, and with a label where it is a main one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub at: f64,
    pub label: String,
}

impl Scale {
    /// Evenly spaced values.
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { kind: Kind::Linear, low, high, from, to }
    }

    /// Evenly spaced powers of ten, from `10^low` to `10^high`.
    pub fn log(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { kind: Kind::Log, low, high, from, to }
    }

    /// The place of a value; values beyond the ends lie on the ends.
    pub fn at(&self, value: f64) -> f64 {
        let inner = match self.kind {
            Kind::Linear => value,
            Kind::Log => value.max(f64::MIN_POSITIVE).log10(),
        };
        let share = ((inner - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + share * (self.to - self.from)
    }

    /// Where the axis begins and ends on paper.
    pub fn span(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    /// The value at the end of a linear axis.
    pub fn value_at_end(&self) -> f64 {
        self.high
    }

    /// How a program inverts the scale: `log 2 6 60 840`.
    pub fn described(&self) -> String {
        let kind = if self.kind == Kind::Log { "log" } else { "linear" };
        format!("{kind} {} {} {} {}", self.low, self.high, self.from, self.to)
    }

    /// Main ticks of a logarithmic axis, one per power of ten, or fewer where less than `apart` pixels
    /// would lie between them.
    pub fn powers(&self, apart: f64, label: impl Fn(i32) -> String) -> Vec<Tick> {
        let (low, high) = (self.low.ceil() as i32, self.high.floor() as i32);
        let room = ((self.to - self.from).abs() / apart).max(1.0);
        let step = (f64::from(high - low) / room).ceil().max(1.0) as usize;
        (low..=high).step_by(step).map(|p| Tick { at: self.at(10f64.powi(p)), label: label(p) }).collect()
    }

    /// The lines between powers of ten: 2, 3, … 9 times each.
    pub fn between(&self) -> Vec<f64> {
        let powers = self.low.floor() as i32..self.high.ceil() as i32;
        let values = powers.flat_map(|p| (2..10).map(move |k| f64::from(k) * 10f64.powi(p)));
        values.filter(|v| (self.low..=self.high).contains(&v.log10())).map(|v| self.at(v)).collect()
    }
}

/// Round steps for a linear axis: 1, 2 or 5 times a power of ten, about `most` of them (three at least).
pub(crate) fn round_steps(high: f64, most: usize) -> Vec<f64> {
    let rough = high.max(f64::MIN_POSITIVE) / most.max(3) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|s| *s >= rough * 0.999_999).unwrap_or(rough);
    (0..).map(|i| f64::from(i) * step).take_while(|v| *v <= high * 1.000_001).take(most + 2).collect()
}

/// Round steps of a time axis in seconds, and the words for them: seconds, minutes, hours or days.
pub(crate) fn time_steps(seconds: f64, most: usize) -> Vec<(f64, String)> {
    let (unit, length, steps): (_, f64, &[f64]) = match seconds {
        s if s <= 120.0 => ("s", 1.0, &[]),
        s if s <= 7_200.0 => ("min", 60.0, &[1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0]),
        s if s <= 172_800.0 => ("h", 3_600.0, &[1.0, 2.0, 3.0, 4.0, 6.0, 12.0]),
        _ => ("d", 86_400.0, &[]),
    };
    let high = seconds / length;
    let named = |v: f64| (v * length, format!("{}\u{202f}{unit}", (v * 1e6).round() / 1e6));
    match steps.iter().find(|s| high / **s <= most as f64) {
        Some(step) => (0..=most).map(|i| i as f64 * step).take_while(|v| *v <= high * 1.000_001).map(named).collect(),
        None => round_steps(high, most).into_iter().map(named).collect(),
    }
}

/// `100 ns`, `1 µs`, `10 ms`: the label of a power of ten of nanoseconds.
pub(crate) fn power_of_time(power: i32) -> String {
    plain_time(10u64.saturating_pow(power.max(0) as u32))
}

/// `1`, `10`, `1 000`, `10⁶`: the label of a power of ten of samples.
pub(crate) fn power_of_count(power: i32) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    match power {
        0..=2 => 10u32.pow(power as u32).to_string(),
        3..=5 => format!("{}\u{202f}000", 10u32.pow(power as u32 - 3)),
        _ => {
            let raised: String =
                power.unsigned_abs().to_string().bytes().map(|d| RAISED[(d - b'0') as usize]).collect();
            format!("10{raised}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn labels_are_what_people_write() {
        assert_eq!(
            [2, 3, 5, 6, 9].map(power_of_time),
            ["100 ns", "1 µs", "100 µs", "1 ms", "1 s"].map(|s| s.replace(' ', "\u{202f}"))
        );
        assert_eq!(
            [0, 2, 3, 5, 6, 12].map(power_of_count),
            ["1", "100", "1\u{202f}000", "100\u{202f}000", "10⁶", "10¹²"]
        );
    }

    #[test]
    fn long_times_step_in_hours() {
        let labels: Vec<String> =
            time_steps(18.0 * 3_600.0, 8).into_iter().map(|(_, l)| l.replace('\u{202f}', " ")).collect();
        assert_eq!(labels, ["0 h", "3 h", "6 h", "9 h", "12 h", "15 h", "18 h"]);
    }

    proptest! {
        #[test]
        fn steps_lie_within_and_are_few(high in 1e-3f64..1e9, most in 3usize..20) {
            let steps = round_steps(high, most);
            prop_assert!(steps.len() >= 2 && steps.len() <= most + 2, "{steps:?}");
            prop_assert!(steps.iter().all(|s| *s <= high * 1.00001));
            let named = time_steps(high, most);
            prop_assert!(!named.is_empty() && named.len() <= most + 2);
            prop_assert!(named.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 != w[1].1), "{named:?}");
        }

        #[test]
        fn places_stay_on_the_axis(value in any::<f64>(), low in -3.0f64..5.0, span in 0.0f64..9.0) {
            for scale in [Scale::log(low, low + span, 60.0, 800.0), Scale::linear(low, low + span, 60.0, 800.0)] {
                prop_assume!(!value.is_nan());
                let at = scale.at(value);
                prop_assert!((60.0..=800.0).contains(&at));
            }
        }

        #[test]
        fn powers_never_crowd(low in 0i32..4, span in 1i32..14, width in 60.0f64..900.0) {
            let scale = Scale::log(f64::from(low), f64::from(low + span), 0.0, width);
            let ticks = scale.powers(44.0, power_of_time);
            prop_assert!(!ticks.is_empty());
            prop_assert!(ticks.windows(2).all(|w| w[1].at - w[0].at >= 30.0), "{ticks:?}");
        }
    }
}
