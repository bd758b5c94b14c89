//! The samples of a signal: what frequencies are in them.

use std::f64::consts::TAU;

use ontick_record::run::Signal;

/// Fewer samples without a hole say nothing about frequencies.
const LEAST: usize = 32;
/// The reckoning takes the square of their number.
const MOST: usize = 4096;

/// Frequency in Hz and amplitude, from 0 to half of the sampling rate; none of samples without a rate, or too few without
/// a hole. The mean is left out, and a Hann window keeps one frequency from spreading over all.
pub(crate) fn spectrum(signal: &Signal) -> Option<Vec<(f64, f64)>> {
    let rate = 1e9 / signal.step_ns.filter(|ns| *ns > 0)? as f64;
    let stretches = signal.values.split(|value| value.is_none_or(|value| !value.is_finite()));
    let longest = stretches.max_by_key(|stretch| stretch.len()).filter(|stretch| stretch.len() >= LEAST)?;
    let values: Vec<f64> = longest.iter().rev().take(MOST).rev().flatten().copied().collect();
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let window = |i: usize| 0.5 - 0.5 * (TAU * i as f64 / n as f64).cos();
    let windowed: Vec<f64> = values.iter().enumerate().map(|(i, value)| (value - mean) * window(i)).collect();
    let amplitude = |k: usize| {
        let (step, mut angle) = (TAU * k as f64 / n as f64, 0.0f64);
        let (mut re, mut im) = (0.0, 0.0);
        for value in &windowed {
            (re, im) = (re + value * angle.cos(), im - value * angle.sin());
            angle += step;
        }
        // Twice for the negative frequencies, twice as the window halves the sum.
        4.0 * re.hypot(im) / n as f64
    };
    Some((0..=n / 2).map(|k| (k as f64 * rate / n as f64, amplitude(k))).collect())
}

/// The strongest frequency, in Hz: where a parabola through the highest line and its neighbours has its top, as the signal's
/// own lies between two lines in general.
pub(crate) fn strongest(signal: &Signal) -> Option<f64> {
    let lines = spectrum(signal)?;
    let inner = 1..lines.len().checked_sub(1)?;
    let at = inner.max_by(|a, b| lines[*a].1.total_cmp(&lines[*b].1))?;
    let [before, top, after] = [at - 1, at, at + 1].map(|i| lines[i].1.max(f64::MIN_POSITIVE).ln());
    let bend = before - 2.0 * top + after;
    let beside = if bend < 0.0 { (0.5 * (before - after) / bend).clamp(-0.5, 0.5) } else { 0.0 };
    (lines[at].1 > 0.0).then_some(lines[at].0 + beside * (lines[1].0 - lines[0].0))
}

/// `50 Hz`, `2.5 kHz`
pub(crate) fn frequency(hz: f64) -> String {
    match hz {
        hz if hz >= 1e6 => format!("{}\u{202f}MHz", number(hz / 1e6)),
        hz if hz >= 1e3 => format!("{}\u{202f}kHz", number(hz / 1e3)),
        hz => format!("{}\u{202f}Hz", number(hz)),
    }
}

/// A number as an axis has it: no more digits than it needs.
pub(crate) fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e6).contains(&magnitude) {
        return format!("{value:.0e}");
    }
    let digits = (2 - magnitude.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(of: impl Fn(f64) -> f64, samples: usize) -> Signal {
        let values = (0..samples).map(|i| Some(of(i as f64 / 1_000.0))).collect();
        Signal { channel: "x".into(), step_ns: Some(1_000_000), values, ..Signal::default() }
    }

    #[test]
    fn a_sine_is_a_line_of_its_amplitude_at_its_frequency() {
        let signal = sampled(|t| 3.0 + 2.0 * (TAU * 50.0 * t).sin() + 0.5 * (TAU * 200.0 * t).cos(), 500);
        let lines = spectrum(&signal).unwrap();
        let at = |hz: f64| lines.iter().find(|(of, _)| (of - hz).abs() < 0.1).unwrap().1;
        assert!((at(50.0) - 2.0).abs() < 1e-6 && (at(200.0) - 0.5).abs() < 1e-6, "{} {}", at(50.0), at(200.0));
        assert!(at(100.0) < 1e-6 && at(0.0) < 1e-6, "nothing elsewhere: {} {}", at(100.0), at(0.0));
        assert_eq!((lines.len(), lines.last().unwrap().0), (251, 500.0));
        assert!((strongest(&signal).unwrap() - 50.0).abs() < 0.01);
        // Between two lines, 2 Hz apart.
        let between = strongest(&sampled(|t| (TAU * 50.8 * t).sin(), 500)).unwrap();
        assert!((between - 50.8).abs() < 0.1, "{between}");
    }

    #[test]
    fn the_longest_stretch_without_a_hole_counts() {
        let mut signal = sampled(|t| (TAU * 100.0 * t).sin(), 200);
        signal.values[40] = None;
        assert_eq!(spectrum(&signal).unwrap().len(), 159 / 2 + 1);
        (0..200).step_by(20).for_each(|i| signal.values[i] = None);
        assert!(spectrum(&signal).is_none(), "19 samples in a row");
        assert!(spectrum(&Signal { step_ns: None, ..sampled(|t| t, 100) }).is_none(), "edges have no rate");
    }

    #[test]
    fn numbers_have_the_digits_that_they_need() {
        let all = [0.0, 0.5, -0.25, 1.0, 12.5, 200.0, 123_456.0, 1e-9, 2e7].map(number);
        assert_eq!(all, ["0", "0.5", "−0.25", "1", "12.5", "200", "123456", "1e-9", "2e7"]);
        assert_eq!([50.0, 2_500.0, 1e6].map(frequency), ["50\u{202f}Hz", "2.5\u{202f}kHz", "1\u{202f}MHz"]);
    }
}
