//! A signal in a terminal: time to the right, its values upward, in dots of Braille (two columns and four rows of
//! them in every character).

use ontick_units::show;

use super::Style;
use super::lines::shortened;
use crate::colour::Paint;
use crate::printable::printable;

/// A channel's last values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// The channel, and of how many.
    pub channel: String,
    /// Their unit.
    pub unit: String,
    /// Oldest first.
    pub values: Vec<f64>,
    /// From one to the next, in ns, where that is known.
    pub step_ns: Option<u64>,
}

/// Bits of a Braille character's dots, by column and row.
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
const BLANK: u32 = 0x2800;

/// A title and the signal, in so many lines. As many of the last values as there are columns of dots: one each, so
/// that a picture of few samples per period is still one.
pub(super) fn trace(trace: &Trace, style: &Style, lines: usize) -> Vec<String> {
    let (low, high) = bounds(&trace.values);
    let labels = [label(high, high - low), label(low, high - low)];
    let left = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0) + 2;
    let columns = style.width.saturating_sub(left + 2);
    let rows = lines.saturating_sub(1);
    let shown = &trace.values[trace.values.len().saturating_sub(2 * columns)..];
    let (low, high) = bounds(shown);
    let labels = [label(high, high - low), label(low, high - low)];
    let paint = Paint(style.colour);
    let mut text = vec![shortened(&title(trace, shown.len(), &labels), style.width)];
    if shown.is_empty() {
        return text;
    }
    for (row, line) in dots(shown, (low, high), columns, rows).into_iter().enumerate() {
        let label = match row {
            // A constant has one value, where it is drawn.
            _ if low == high && row == (rows - 1) / 2 => &labels[0],
            _ if low == high => "",
            0 => &labels[0],
            _ if row + 1 == rows => &labels[1],
            _ => "",
        };
        text.push(format!("{label:>left$} ┤{}", paint.good(line.trim_end_matches('\u{2800}'))));
    }
    text
}

fn title(trace: &Trace, shown: usize, [high, low]: &[String; 2]) -> String {
    let channel = printable(&trace.channel);
    if shown == 0 {
        return format!("  {channel}: no sample yet");
    }
    let unit = if trace.unit.is_empty() { String::new() } else { format!(" {}", printable(&trace.unit)) };
    let time = trace.step_ns.map(|step_ns| format!(" ({})", show(step_ns * shown as u64))).unwrap_or_default();
    let values = if low == high { format!("{high}{unit}") } else { format!("{low} to {high}{unit}") };
    format!("  {channel}: {values} in the last {shown} samples{time}")
}

fn bounds(values: &[f64]) -> (f64, f64) {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low <= high { (low, high) } else { (0.0, 0.0) }
}

/// A value with as many decimals as tell it apart within `span`.
fn label(value: f64, span: f64) -> String {
    let size = if span > 0.0 { span } else { value.abs() };
    let decimals = if size > 0.0 { 2.0 - size.log10().floor() } else { 0.0 };
    if decimals > 12.0 || value.abs() >= 1e12 {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.*}", decimals.max(0.0) as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text };
    if text == "-0" { "0".into() } else { text }
}

/// The values as a connected line.
fn dots(values: &[f64], (low, high): (f64, f64), columns: usize, rows: usize) -> Vec<String> {
    let mut cells = vec![vec![0; columns]; rows];
    let highest = (4 * rows).saturating_sub(1);
    let height = |value: f64| match high > low {
        true => ((value - low) / (high - low) * highest as f64).round() as usize,
        false => highest / 2,
    };
    let mut last = None;
    for (x, value) in values.iter().enumerate() {
        let Some(y) = value.is_finite().then(|| height(*value).min(highest)) else {
            last = None;
            continue;
        };
        // Up to where the one before it was, so that steps are seen as such.
        let (from, to) = match last {
            Some(last) if last + 1 < y => (last + 1, y),
            Some(last) if y + 1 < last => (y, last - 1),
            _ => (y, y),
        };
        for y in from..=to {
            let from_top = highest - y;
            cells[from_top / 4][x / 2] |= DOTS[x % 2][from_top % 4];
        }
        last = Some(y);
    }
    let drawn = |bits: &u32| char::from_u32(BLANK + bits).unwrap_or(' ');
    cells.iter().map(|row| row.iter().map(drawn).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_climbs_from_corner_to_corner() {
        let values: Vec<f64> = (0..8).map(f64::from).collect();
        assert_eq!(dots(&values, (0.0, 7.0), 4, 2), ["⠀⠀⡠⠊", "⡠⠊⠀⠀"]);
    }

    #[test]
    fn a_step_is_a_line_and_a_constant_one_in_the_middle() {
        assert_eq!(dots(&[0.0, 1.0], (0.0, 1.0), 1, 2), ["⢸", "⡸"]);
        assert_eq!(dots(&[5.0; 4], (5.0, 5.0), 2, 1), ["⠤⠤"]);
    }

    #[test]
    fn values_are_told_apart_but_not_longer_than_needed() {
        assert_eq!([label(1.0, 2.0), label(-0.987_654, 2.0), label(3.300_152, 0.000_03)], ["1", "-0.99", "3.300152"]);
        assert_eq!([label(12_345.6, 9_000.0), label(0.0, 0.0), label(-0.000_01, 2.0)], ["12346", "0", "0"]);
        assert_eq!(label(1e-15, 1e-15), "1.000e-15");
    }

    #[test]
    fn what_is_no_number_leaves_a_hole() {
        assert_eq!(bounds(&[f64::NAN, 1.0, f64::INFINITY, 3.0]), (1.0, 3.0));
        assert_eq!(bounds(&[]), (0.0, 0.0));
        assert_eq!(dots(&[0.0, f64::NAN, 0.0, 1.0], (0.0, 1.0), 2, 1), ["⡀⡸"]);
    }
}
