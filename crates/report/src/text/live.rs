//! A run that is going on, as one screenful.

use ontick_record::Run;
use ontick_units::show;

use super::lines::{hanging, shortened};
use super::plot::EIGHTHS;
use super::samples::{Samples, samples};
use super::{Style, plot, table};
use crate::colour::Paint;
use crate::printable::printable;

/// With fewer rows not everything about samples can be shown.
const CROWDED: usize = 22;

/// A run at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// Holds the series that is measured.
    pub run: &'a Run,
    /// How much of the whole is done, 0 to 1; `None` where it goes on until it is ended.
    pub done: Option<f64>,
    /// The system's, over the last minute.
    pub load_average: Option<f64>,
    /// What is waited for, as long as nothing came.
    pub waits_for: Option<&'a str>,
    /// Where samples are handed on: who gets them.
    pub samples: Option<&'a Samples>,
}

/// The screen now: progress, table, samples on their way, histogram, and the largest latency of each of the last
/// seconds, in so many rows.
pub fn live(now: &Moment, style: &Style, rows: usize) -> String {
    let run = now.run;
    let mut text = progress(now, style);
    text.push('\n');
    match now.waits_for {
        Some(what) => text.push_str(&hanging("  ", "", &format!("waiting for {}", printable(what)), style.width)),
        None => text.push_str(&table::table(run, style)),
    }
    text.push('\n');
    // On a small screen who gets the samples matters more than when the worst came.
    let crowded = now.samples.is_some() && rows < CROWDED;
    let mut end = if crowded { String::new() } else { recent(run, style) };
    end.push_str(&format!("\n{}\n", shortened("Ctrl-C ends the run with what was measured so far.", style.width)));
    if let Some(on_their_way) = now.samples {
        let room = rows.saturating_sub(1 + text.lines().count() + 1 + end.lines().count());
        text.push_str(&samples(on_their_way, style, room));
        text.push('\n');
    }
    let plot = if now.waits_for.is_some() { String::new() } else { plot(run, style) };
    if !plot.is_empty() && text.lines().count() + plot.lines().count() + end.lines().count() < rows {
        text.push_str(&plot);
        text.push('\n');
    }
    text.push_str(&end);
    text.lines().take(rows.saturating_sub(1).max(1)).flat_map(|line| [line, "\n"]).collect()
}

fn progress(now: &Moment, style: &Style) -> String {
    const BAR: usize = 24;
    let done = now.done.map(|done| {
        let full = ((done.clamp(0.0, 1.0) * BAR as f64) as usize).min(BAR);
        let bar: String = (0..BAR).map(|i| if i < full { '█' } else { '░' }).collect();
        format!(" {bar} {:3.0}%", done * 100.0)
    });
    let elapsed = format!("{:.0}s", now.run.duration_ns as f64 / 1e9);
    let load = now.load_average.map(|load| format!(" · load average {load:.2}")).unwrap_or_default();
    let line = format!("{}{} · {elapsed}{load}", printable(now.run.measurement.as_str()), done.unwrap_or_default());
    shortened(&line, style.width) + "\n"
}

/// One column for each of the last seconds, its height the logarithm of the largest latency.
fn recent(run: &Run, style: &Style) -> String {
    let Some(series) = run.series.first().filter(|s| !s.maxima.max_ns.is_empty()) else { return String::new() };
    let maxima = &series.maxima.max_ns;
    let shown = &maxima[maxima.len().saturating_sub(style.width.saturating_sub(4))..];
    let (low, high) = shown.iter().fold((u64::MAX, 1), |(low, high), ns| (low.min((*ns).max(1)), high.max(*ns)));
    let span = (high as f64 / low as f64).log2().max(1.0);
    let height = |ns: u64| match ns {
        0 => 0,
        ns => 1 + ((ns as f64 / low as f64).log2() / span * 7.0).round() as usize,
    };
    let columns: String = shown.iter().map(|ns| EIGHTHS[height(*ns).min(8)]).collect();
    let step = series.maxima.step_ns as f64 / 1e9;
    let title = format!("largest latency per {step:.0}s, {} to {}", show(low), show(high));
    let paint = Paint(style.colour);
    format!("  {title}\n  {}\n", paint.notice(&columns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::Series;
    use ontick_record::run::Maxima;

    #[test]
    fn it_fits_the_screen_however_small() {
        let mut run = Run::new("ontick", "timer");
        let maxima =
            Maxima { step_ns: 1_000_000_000, max_ns: (0..500).map(|i| i * 100).collect(), ..Maxima::default() };
        let mut series = Series { name: "hybrid".into(), maxima, ..Series::default() };
        (1..1000).for_each(|i| series.latency.add(i * 37, 1, 1));
        run.series.push(series);
        let now = Moment { run: &run, done: Some(0.4), load_average: Some(1.5), waits_for: None, samples: None };
        for rows in [3, 10, 24, 60] {
            let screen = live(&now, &Style::default(), rows);
            assert!(screen.lines().count() < rows.max(2), "{rows}\n{screen}");
            assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
        }
        let whole = live(&now, &Style::default(), 60);
        assert!(whole.contains("p99") && whole.contains("per 1s") && whole.contains('┤'), "{whole}");
    }
}
