//! What was sampled: the newest samples over time, and what frequencies are in them.

use ontick_record::run::Signal;

use super::frame::{Frame, Paper, path};
use super::palette::Ink;
use super::scale::{Scale, Tick, round_steps};
use crate::signal::{frequency, number, spectrum};

/// The samples. A hole in the line is a sample that is missing.
pub(super) fn over_time(signal: &Signal, paper: &Paper) -> String {
    let mut frame = Frame::new(paper, "Signal", &[], 4.0);
    let known = || signal.values.iter().flatten().copied().filter(|value| value.is_finite());
    let (low, high) = (known().fold(f64::MAX, f64::min), known().fold(f64::MIN, f64::max));
    if low > high {
        frame.nothing("no samples were kept");
        return frame.finish();
    }
    let (x, y) = (samples_axis(signal, &mut frame), values_axis(&mut frame, low, high, &title(signal)));
    for stretch in stretches(signal) {
        let points: Vec<(f64, f64)> = stretch.iter().map(|(at, value)| (x.at(*at as f64), y.at(*value))).collect();
        match points[..] {
            [only] => frame.dot(only, 1.6, INK),
            _ => frame.line(&path(&points), INK, 1.4),
        }
    }
    frame.finish()
}

/// The amplitude of each frequency, logarithmic.
pub(super) fn over_frequency(signal: &Signal, paper: &Paper) -> Option<String> {
    let lines = spectrum(signal)?;
    let highest = lines.last()?.0;
    let largest = lines.iter().map(|(_, amplitude)| *amplitude).fold(0.0, f64::max);
    if largest <= 0.0 {
        return None;
    }
    let mut frame = Frame::new(paper, "Spectrum", &[], 4.0);
    let x = Scale::linear(0.0, highest, frame.left, frame.right);
    let high = largest.log10().ceil();
    // What lies five decades below the strongest is noise of the reckoning as likely as of the signal.
    let y = Scale::log(high - 5.0, high, frame.bottom, frame.top);
    let steps = round_steps(highest, ((frame.right - frame.left) / 80.0) as usize);
    let ticks: Vec<Tick> = steps.into_iter().map(|hz| Tick { at: x.at(hz), label: frequency(hz) }).collect();
    frame.x_axis(x, &ticks, &[], "frequency");
    let unit = if signal.unit.is_empty() { "amplitude".into() } else { format!("amplitude ({})", signal.unit) };
    frame.y_axis(y, &y.powers(26.0, |power| number(10f64.powi(power))), &unit);
    let floor = 10f64.powf(high - 5.0);
    let points: Vec<(f64, f64)> = lines.iter().map(|(hz, amplitude)| (x.at(*hz), y.at(amplitude.max(floor)))).collect();
    frame.line(&path(&points), INK, 1.4);
    Some(frame.finish())
}

const INK: Ink = Ink { colour: 0, dash: 0 };

fn title(signal: &Signal) -> String {
    match &signal.unit[..] {
        "" => signal.channel.clone(),
        unit => format!("{} ({unit})", signal.channel),
    }
}

fn samples_axis(signal: &Signal, frame: &mut Frame) -> Scale {
    let last = signal.values.len().saturating_sub(1).max(1) as f64;
    let x = Scale::linear(0.0, last, frame.left, frame.right);
    let most = ((frame.right - frame.left) / 80.0) as usize;
    let (ticks, words): (Vec<Tick>, _) = match signal.step_ns.filter(|ns| *ns > 0) {
        Some(step_ns) => {
            let step_s = step_ns as f64 / 1e9;
            let seconds = round_steps(last * step_s, most);
            let label =
                |s: f64| if s == 0.0 { "0".into() } else { crate::typeset::plain_time((s * 1e9).round() as u64) };
            (seconds.into_iter().map(|s| Tick { at: x.at(s / step_s), label: label(s) }).collect(), "time")
        }
        None => {
            (round_steps(last, most).into_iter().map(|n| Tick { at: x.at(n), label: number(n) }).collect(), "sample")
        }
    };
    frame.x_axis(x, &ticks, &[], words);
    x
}

fn values_axis(frame: &mut Frame, low: f64, high: f64, title: &str) -> Scale {
    // A signal that does not change has room, too.
    let room = ((high - low) * 0.08).max(high.abs().max(low.abs()) * 1e-3).max(1e-12);
    let y = Scale::linear(low - room, high + room, frame.bottom, frame.top);
    let step = round_steps(high - low + 2.0 * room, 4).get(1).copied().unwrap_or(1.0);
    let first = ((low - room) / step).ceil();
    let values = (0..12).map(|k| (first + f64::from(k)) * step).take_while(|value| *value <= high + room);
    let ticks: Vec<Tick> = values.map(|value| Tick { at: y.at(value), label: number(value) }).collect();
    frame.y_axis(y, &ticks, title);
    y
}

/// Samples without a hole between them, each with its place.
fn stretches(signal: &Signal) -> Vec<Vec<(usize, f64)>> {
    let mut all: Vec<Vec<(usize, f64)>> = Vec::new();
    let mut goes_on = false;
    for (at, value) in signal.values.iter().enumerate() {
        match value.filter(|value| value.is_finite()) {
            Some(value) if goes_on => all.last_mut().expect("one has begun").push((at, value)),
            Some(value) => {
                all.push(vec![(at, value)]);
                goes_on = true;
            }
            None => goes_on = false,
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_sample_is_a_hole_in_the_line() {
        let values = vec![Some(1.0), Some(2.0), None, Some(3.0), None, Some(f64::NAN), Some(4.0), Some(5.0)];
        let signal = Signal { channel: "ramp".into(), step_ns: Some(1_000_000), values, ..Signal::default() };
        let drawn = over_time(&signal, &Paper::inline(900.0, 300.0));
        assert_eq!((drawn.matches("class=\"line ").count(), drawn.matches("<circle").count()), (2, 1), "{drawn}");
        assert!(drawn.contains(">ramp</text>") && !drawn.contains("NaN"), "{drawn}");
    }

    #[test]
    fn a_level_and_no_signal_at_all_can_be_drawn() {
        for values in [vec![Some(0.0); 9], vec![Some(-7.5); 9], vec![None; 9], Vec::new()] {
            let signal = Signal { values, ..Signal::default() };
            let drawn = over_time(&signal, &Paper::inline(400.0, 300.0));
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
    }
}
