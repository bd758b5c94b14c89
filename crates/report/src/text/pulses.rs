//! The tables of pulses: how wide they were, and by how much that was wrong.

use ontick_record::{Measurement, Run, Series};

use super::Style;
use super::lines::{hanging, shortened};
use crate::colour::Paint;
use crate::figures::latency;
use crate::number::count;
use crate::printable::printable;
use crate::pulses::{all_widths, notes, parts, widths};
use crate::reference_pulses;
use crate::times::Times;

const WIDTH: usize = 10;
const ERROR: usize = 7;
const MISSED: usize = 7;

/// All of it, with what must be known beside.
pub(super) fn pulses(run: &Run, style: &Style) -> String {
    let mut text =
        if run.measurement == Measurement::PulseTable { source_table(run, style) } else { table(run, style) };
    for sentence in notes(run) {
        text.push_str(&hanging("  ", "", &printable(&sentence), style.width));
    }
    text
}

/// Shortest, average and longest, the error's percentiles, and what was missed.
fn table(run: &Run, style: &Style) -> String {
    let times = Times::of(all_widths(run.series.iter()));
    // A blank precedes the longest.
    let longest = all_widths(run.series.iter()).filter_map(|width| width.max_ns).max();
    let width = WIDTH.max(1 + times.show(longest).chars().count());
    let missed = MISSED.max(1 + count(run.series.iter().map(|s| s.missed).max().unwrap_or(0)).len());
    let columns = 3 * width + 3 * ERROR + missed;
    let name = run.series.iter().map(|s| printable(&s.name).chars().count()).max().unwrap_or(0);
    let label = name.min(style.width.saturating_sub(2 + columns).max(10));
    let what = format!("{}, {}", if run.measurement == Measurement::Period { "period" } else { "width" }, times.unit);
    let mut text = format!("  {:label$}{what:>w$}{:>e$}\n", "", "error", w = 3 * width, e = 3 * ERROR);
    text.push_str(&format!("  {:label$}{:>width$}{:>width$}{:>width$}", "", "shortest", "average", "longest"));
    text.push_str(&format!("{:>ERROR$}{:>ERROR$}{:>ERROR$}{:>missed$}\n", "p50", "p99", "max", "missed"));
    for series in &run.series {
        text.push_str(&format!("  {:label$}", shortened(&printable(&series.name), label)));
        text.push_str(&row(series, times, [width, missed], style));
    }
    text
}

fn row(series: &Series, times: Times, [width, missed]: [usize; 2], style: &Style) -> String {
    let mut text: String = widths(series.pulse.as_ref(), times).iter().map(|cell| format!("{cell:>width$}")).collect();
    for ns in [series.latency.quantile(0.5), series.latency.quantile(0.99), series.latency.max_ns] {
        text.push_str(&format!("{:>ERROR$}", latency(ns)));
    }
    let missed = format!("{:>missed$}", count(series.missed));
    text.push_str(&if series.missed > 0 { Paint(style.colour).notice(&missed) } else { missed });
    text.push('\n');
    text
}

/// The table of source 003 with that source's own figures beside each width.
fn source_table(run: &Run, style: &Style) -> String {
    const LABEL: usize = 18;
    let paint = Paint(style.colour);
    let three =
        |cells: &[String; 3]| cells.iter().map(|cell| format!(" {cell:>w$}", w = WIDTH - 1)).collect::<String>();
    let heads = ["shortest", "average", "longest"].map(String::from);
    let mut text = format!("  {:LABEL$}{:>w$}{:>w$}\n", "", "idle, us", "loaded, us", w = 3 * WIDTH);
    text.push_str(&format!("  {:LABEL$}{}{}\n", "", three(&heads), three(&heads)));
    for part in parts(run) {
        text.push_str(&paint.notice(&format!("{} us\n", count(part.wanted_ns / 1_000))));
        let times = part.times();
        for (name, cells) in &part.rows {
            let cells =
                cells.map(|series| three(&series.map_or(Default::default(), |s| widths(s.pulse.as_ref(), times))));
            let line = format!("  {:LABEL$}{}{}", shortened(&printable(name), LABEL), cells[0], cells[1]);
            text.push_str(&format!("{}\n", line.trim_end()));
        }
        for row in reference_pulses::of(part.wanted_ns) {
            let label = match row.some_longer_than {
                "" => format!("source 003: {}", row.how),
                some => format!("source 003: {} (some > {some})", row.how),
            };
            let cells = [row.shortest, row.average, row.longest].map(String::from);
            text.push_str(&format!("  {:l$}{}\n", label, three(&cells), l = LABEL + 3 * WIDTH));
        }
    }
    text.push_str("  Source 003 measured on a Raspberry Pi 3 beside busy processes.\n");
    text
}

#[cfg(test)]
mod tests {
    use ontick_record::run::Pulse;

    use super::*;

    #[test]
    fn widths_of_a_row_have_as_many_decimals_and_a_blank_between_them() {
        let row = |widths_ns: [u64; 2]| {
            let mut pulse = Pulse::default();
            widths_ns.into_iter().for_each(|ns| pulse.width.add(ns, 1, 1));
            pulse.width.mean_ns = Some(widths_ns[0] as f64);
            let mut run = Run::new("ontick", Measurement::Pulse);
            run.series.push(Series {
                pulse: Some(pulse),
                missed: 1_000_000,
                ..Series::from("a line with a long name".to_owned())
            });
            let text = pulses(&run, &Style::default());
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            text.lines().last().unwrap().split_once('…').unwrap().1.to_owned()
        };
        assert_eq!(row([999_996, 1_000_950]), "  1 000.00  1 000.00  1 000.95      —      —      — 1 000 000");
        assert_eq!(
            row([999_999_000, 1_000_000_000]),
            "   999.9990   999.9990 1 000.0000      —      —      — 1 000 000"
        );
    }
}
