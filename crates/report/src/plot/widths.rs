//! Pulses by width: the bulk of them on a linear axis around what was asked for, the few beyond in words.

use ontick_record::Histogram;

use super::frame::{Frame, Paper, QUIET, TEXT, path};
use super::palette::Curve;
use super::scale::{Scale, Tick, power_of_count, round_steps};
use crate::typeset::{count, plain_time, time};

/// The lowest line of the plot: half a pulse, so that one stands above it.
const FLOOR: f64 = 0.5;
/// Share of the pulses that the axis has room for at least.
const BULK: f64 = 0.95;
/// The axis ends no further than this many times the width that was asked for, unless the bulk is there.
const FAR: f64 = 1.5;

pub(super) fn draw(curves: &[Curve], paper: &Paper) -> String {
    draw_on_axes_of(curves, curves, paper)
}

/// With axes that have room for all of some curves, of which only those of a panel are drawn.
pub(super) fn draw_on_axes_of(all: &[Curve], curves: &[Curve], paper: &Paper) -> String {
    let mut frame = Frame::new(paper, "Pulses by width", curves, 14.0);
    let of = |curves: &'_ [Curve<'_>]| span(&curves.iter().filter_map(pulse).collect::<Vec<_>>());
    let pulses: Vec<_> = curves.iter().filter_map(|c| Some((c, c.series.pulse.as_ref()?))).collect();
    let Some((low, high)) = of(all) else {
        frame.nothing("no pulses were measured");
        return frame.finish();
    };
    let x = Scale::linear(low, high, frame.left, frame.right);
    let bins = ((frame.right - frame.left) / 4.0) as usize;
    let counted: Vec<(Vec<f64>, u64)> = pulses.iter().map(|(_, p)| bins_of(&p.width, low, high, bins)).collect();
    let highest = |(_, width): (u64, &Histogram)| bins_of(width, low, high, bins).0.into_iter().fold(1.0f64, f64::max);
    let top = all.iter().filter_map(pulse).map(highest).fold(1.0f64, f64::max);
    let y = Scale::log(FLOOR.log10(), top.log10().ceil().max(1.0), frame.bottom, frame.top);
    frame.x_axis(x, &ticks(x, low, high), &[], "width");
    frame.y_axis(y, &y.powers(26.0, power_of_count), "pulses");
    let wanted = pulses.iter().map(|(_, p)| p.wanted_ns).collect::<std::collections::BTreeSet<_>>();
    for ns in wanted {
        let at = x.at(ns as f64);
        frame.rule((at, frame.top - 4.0), (at, frame.bottom), "limit", QUIET);
        let words = format!("asked {}", plain_time(ns));
        let quiet: [(&str, &dyn std::fmt::Display); 4] =
            [("text-anchor", &"middle"), ("fill", &QUIET), ("class", &"quiet"), ("font-size", &11)];
        frame.text(at.clamp(frame.left + 30.0, frame.right - 30.0), frame.top - 7.0, &words, &quiet);
    }
    frame.curves("samples");
    let wide = (frame.right - frame.left) / bins as f64;
    for ((curve, _), (counts, _)) in pulses.iter().zip(&counted) {
        let mut line = String::new();
        for run in runs(counts) {
            let at = |i: usize| frame.left + i as f64 * wide;
            let mut points = vec![(at(run.start), frame.bottom)];
            run.clone().for_each(|i| points.extend([at(i), at(i + 1)].map(|x| (x, y.at(counts[i].max(1.0))))));
            points.push((at(run.end), frame.bottom));
            line.push_str(&path(&points));
        }
        frame.svg.open("g", &[("class", &"curve"), ("data-name", &curve.name)]);
        frame.svg.leaf("title", &[], &curve.name);
        frame.line(&line, curve.ink, 1.5);
        frame.svg.close();
    }
    frame.svg.close();
    let beyond: u64 = counted.iter().map(|(_, beyond)| beyond).sum();
    let longest = pulses.iter().filter_map(|(_, p)| p.width.max_ns).max();
    if let Some(longest) = longest.filter(|_| beyond > 0) {
        let words = format!("{} beyond, up to {} →", count(beyond), time(longest));
        let attributes: [(&str, &dyn std::fmt::Display); 4] =
            [("text-anchor", &"end"), ("fill", &TEXT), ("class", &"word beyond"), ("font-size", &11)];
        frame.text(frame.right, frame.top + 12.0, &words, &attributes);
    }
    frame.finish()
}

/// How wide pulses should have been, and how wide they were.
fn pulse<'a>(curve: &Curve<'a>) -> Option<(u64, &'a Histogram)> {
    curve.series.pulse.as_ref().map(|p| (p.wanted_ns, &p.width))
}

/// Where the axis begins and ends.
fn span(pulses: &[(u64, &Histogram)]) -> Option<(f64, f64)> {
    let low = pulses.iter().flat_map(|(wanted, width)| [Some(*wanted), width.min_ns]).flatten().min()? as f64;
    let wanted = pulses.iter().map(|(wanted, _)| *wanted).max()? as f64;
    let mut all = Histogram::default();
    pulses.iter().for_each(|(_, width)| all.merge(width));
    let longest = all.max_ns.map_or(wanted, |ns| ns as f64);
    let bulk = all.quantile(BULK).map_or(wanted, |ns| ns as f64);
    let high = wanted.max(if longest <= wanted * FAR { longest } else { bulk });
    let room = ((high - low) * 0.06).max(high * 0.001).max(1.0);
    Some(((low - room).max(0.0), high + room))
}

/// Pulses in each bin, and how many lie beyond the last.
fn bins_of(width: &Histogram, low: f64, high: f64, bins: usize) -> (Vec<f64>, u64) {
    let (mut counts, mut beyond) = (vec![0.0; bins], width.overflow);
    for bucket in width.buckets() {
        let middle = 0.5 * (bucket.low_ns as f64 + bucket.high_ns() as f64);
        let middle = width.max_ns.map_or(middle, |max| middle.min(max as f64));
        match (middle - low) / (high - low) * bins as f64 {
            at if at >= bins as f64 => beyond += bucket.count,
            at => counts[at.max(0.0) as usize] += bucket.count as f64,
        }
    }
    (counts, beyond)
}

/// Where bins that hold something stand in a row.
fn runs(counts: &[f64]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for (i, _) in counts.iter().enumerate().filter(|(_, n)| **n > 0.0) {
        match runs.last_mut() {
            Some(run) if run.end == i => run.end = i + 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs
}

fn ticks(x: Scale, low: f64, high: f64) -> Vec<Tick> {
    let (from, to) = x.span();
    let steps = round_steps(high - low, ((to - from) / 90.0) as usize);
    let step = steps.get(1).copied().unwrap_or(1.0);
    let first = (low / step).ceil();
    let values = (0..).map(|i| (first + f64::from(i)) * step).take_while(|at| *at <= high);
    values.map(|at| Tick { at: x.at(at), label: exactly(at, high) }).collect()
}

/// A time with all its figures, in the unit that fits the largest.
fn exactly(ns: f64, largest: f64) -> String {
    let (length, unit) = match largest {
        ns if ns < 1e3 => (1.0, "ns"),
        ns if ns < 1e6 => (1e3, "µs"),
        ns if ns < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{}\u{202f}{unit}", (ns / length * 1e4).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pulse_is_lost() {
        let mut width = Histogram::default();
        width.add(99_900, 10, 40);
        width.add(100_100, 10, 959);
        width.add(7_340_000, 1_000, 1);
        let (low, high) = span(&[(100_000, &width)]).unwrap();
        assert!(low > 99_000.0 && low < 99_900.0 && high > 100_110.0 && high < 101_000.0, "{low} {high}");
        let (counts, beyond) = bins_of(&width, low, high, 50);
        assert_eq!((counts.iter().sum::<f64>(), beyond), (999.0, 1));
    }

    #[test]
    fn neighbouring_ticks_are_told_apart() {
        let x = Scale::linear(99_200.0, 101_200.0, 60.0, 860.0);
        let labels: Vec<String> = ticks(x, 99_200.0, 101_200.0).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels.join(" "), "99.5\u{202f}µs 100\u{202f}µs 100.5\u{202f}µs 101\u{202f}µs");
    }

    #[test]
    fn a_pulse_a_little_too_long_is_on_the_axis() {
        let mut width = Histogram::default();
        width.add(100_000, 1, 999);
        width.add(140_000, 1, 1);
        assert!(span(&[(100_000, &width)]).unwrap().1 > 140_000.0);
        assert_eq!(span(&[]), None);
    }
}
