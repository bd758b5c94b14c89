//! Latency histograms in a terminal: latency to the right, samples upward, both logarithmic.

use ontick_record::{Run, Series};
use ontick_units::show;

use super::lines::shortened;
use super::{Style, simulated};
use crate::bins::{Decades, log_bins};
use crate::buckets::{has_buckets, no_buckets};
use crate::printable::printable;

pub(super) const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Room for the numbers on the left, the axis line included.
const SCALE: usize = 8;
/// Room for the maximum on the right.
const MAX: usize = 12;

/// Plots every series of a run over the same axis, one below the other: a few with a scale of their
/// own, many as one line each.
pub fn plot(run: &Run, style: &Style) -> String {
    let measured: Vec<&Series> = run.series.iter().filter(|s| has_buckets(s)).collect();
    if measured.is_empty() {
        return format!("There is nothing to plot: {}.\n", no_buckets(run));
    }
    let axis = Decades::of(measured.iter().copied());
    let tall = measured.len() <= 4;
    let width = style.width.clamp(40, 160);
    let longest = measured.iter().map(|s| printable(&s.name).chars().count()).max().unwrap_or(0);
    let left = if tall { SCALE } else { 3 + longest.min(width / 3) };
    let columns = width - left - if tall { 4 } else { MAX };
    let bins: Vec<Vec<f64>> = measured.iter().map(|s| log_bins(&s.latency, axis, columns)).collect();
    let top = bins.iter().flatten().fold(1.0f64, |a, b| a.max(*b));
    let powers = (top.log10().ceil() as usize).max(1);
    let mut text = simulated(run, style);
    for (series, bins) in measured.iter().zip(&bins) {
        let name = printable(&series.name);
        let max = series.latency.max_ns.map_or(String::new(), |ns| format!("max {}", show(ns)));
        if tall {
            text.push_str(&format!("{:left$} {name} · {max}\n", ""));
            text.push_str(&bars(bins, powers, rows_per_power(measured.len(), powers)));
        } else {
            let name = shortened(&name, left - 3);
            let line: String = heights(bins, powers, 8).map(|h| EIGHTHS[h]).collect();
            text.push_str(&format!("{name:>0$} ┤{line} {max:>1$}\n", left - 2, MAX - 1));
        }
    }
    text.push_str(&scale(axis, left, columns));
    text
}

/// Few series are drawn tall, many low; a power of ten is never less than one row.
fn rows_per_power(series: usize, powers: usize) -> usize {
    (16 / (series * powers)).clamp(1, 3)
}

/// How high each bin is, in steps: one sample one step, and each power of ten equally more.
fn heights(bins: &[f64], powers: usize, steps: usize) -> impl Iterator<Item = usize> + '_ {
    bins.iter().map(move |n| match *n {
        0.0 => 0,
        n => 1 + (n.max(1.0).log10() / powers as f64 * (steps - 1) as f64).round() as usize,
    })
}

fn bars(bins: &[f64], powers: usize, rows_per_power: usize) -> String {
    let rows = powers * rows_per_power;
    let heights: Vec<usize> = heights(bins, powers, rows * 8).collect();
    let needed = heights.iter().max().map_or(1, |h| h.div_ceil(8)).max(1);
    let mut text = String::new();
    for row in (0..needed).rev() {
        let label = match row % rows_per_power {
            0 => power_label(row / rows_per_power),
            _ => String::new(),
        };
        let line: String = heights.iter().map(|h| EIGHTHS[h.saturating_sub(row * 8).min(8)]).collect();
        let line = format!("{label:>width$} ┤{line}", width = SCALE - 2);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// `1`, `10`, `100`, `1k`, `10k`, `1M`, ….
fn power_label(power: usize) -> String {
    let unit = ["", "k", "M", "G", "T", "P", "E"].get(power / 3).unwrap_or(&"");
    format!("{}{unit}", 10u32.pow((power % 3) as u32))
}

fn scale(axis: Decades, left: usize, columns: usize) -> String {
    let powers = (axis.high - axis.low) as usize;
    let column = |i: usize| (i * columns) / powers;
    let mut line: Vec<char> = vec!['─'; columns + 1];
    let mut labels = vec![' '; left + columns + 6];
    for i in 0..=powers {
        line[column(i)] = '┬';
        let label = power_name(axis.low + i as i32);
        let start = left - 1 + column(i).saturating_sub(label.len() / 2);
        label.chars().enumerate().for_each(|(k, c)| labels[start + k] = c);
    }
    let labels: String = labels.into_iter().collect();
    format!("{:>left$}{}\n{}\n", "└", line[1..].iter().collect::<String>(), labels.trim_end())
}

/// `100ns`, `1us`, `10ms`.
fn power_name(power: i32) -> String {
    let unit = ["ns", "us", "ms", "s"][(power / 3).clamp(0, 3) as usize];
    format!("{}{unit}", 10u64.pow((power - 3 * (power / 3).clamp(0, 3)) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_have_names() {
        assert_eq!([2, 3, 5, 6, 9, 10].map(power_name), ["100ns", "1us", "100us", "1ms", "1s", "10s"]);
        assert_eq!([0, 2, 3, 5, 6].map(power_label), ["1", "100", "1k", "100k", "1M"]);
    }

    #[test]
    fn a_single_sample_is_seen() {
        assert!(bars(&[1.0, 0.0, 100_000.0], 5, 1).lines().last().unwrap().ends_with("┤▁ █"));
    }
}
