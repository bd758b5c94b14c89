//! Maxima over time: the largest latency of each stretch of the run.

use ontick_record::run::Maxima;

use super::frame::{Frame, Paper, path};
use super::latency_axis;
use super::palette::Curve;
use super::scale::{Scale, Tick, time_steps};
use crate::bins::Decades;

/// Few points are drawn as dots as well.
const DOTTED: usize = 90;

pub(super) fn draw(curves: &[Curve], paper: &Paper) -> String {
    let mut frame = Frame::new(paper, "Largest latency over time", curves, 4.0);
    let all = || curves.iter().chain(paper.axes_of);
    let seconds = all().map(|c| c.series.maxima.length_ns() as f64 / 1e9).fold(1.0f64, f64::max);
    let x = Scale::linear(0.0, seconds, frame.left, frame.right);
    let ticks: Vec<Tick> = time_steps(seconds, ((frame.right - frame.left) / 70.0) as usize)
        .into_iter()
        .map(|(at, label)| Tick { at: x.at(at), label })
        .collect();
    let seen = all().flat_map(|c| c.series.maxima.max_ns.iter().copied()).filter(|ns| *ns > 0);
    let y = latency_axis(&mut frame, curves, Decades::of_values(seen.clone()), |frame| {
        frame.x_axis(x, &ticks, &[], "time in the series");
    });
    if seen.count() == 0 {
        frame.nothing("no maxima over time were recorded");
        return frame.finish();
    }
    frame.curves("maximum");
    for curve in curves {
        let parts = parts(&curve.series.maxima, x, y);
        frame.svg.open("g", &[("class", &"curve"), ("data-name", &curve.name)]);
        frame.svg.leaf("title", &[], &curve.name);
        frame.line(&parts.iter().map(|p| path(p)).collect::<String>(), curve.ink, 1.3);
        if parts.iter().map(Vec::len).sum::<usize>() <= DOTTED {
            parts.into_iter().flatten().for_each(|at| frame.dot(at, 2.2, curve.ink));
        }
        frame.svg.close();
    }
    frame.svg.close();
    frame.in_time(y, false);
    frame.finish()
}

/// The stretches as points, broken where nothing was measured. Of stretches that share a pixel the
/// largest is drawn.
fn parts(maxima: &Maxima, x: Scale, y: Scale) -> Vec<Vec<(f64, f64)>> {
    let mut parts: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut broken = true;
    for stretch in maxima.stretches() {
        if stretch.max_ns == 0 {
            broken = true;
            continue;
        }
        if std::mem::take(&mut broken) {
            parts.push(Vec::new());
        }
        let middle_ns = stretch.from_ns as f64 + stretch.length_ns as f64 / 2.0;
        let at = (x.at(middle_ns / 1e9), y.at(stretch.max_ns as f64));
        let Some(part) = parts.last_mut() else { continue };
        match part.last_mut() {
            // Upward is smaller on paper.
            Some(last) if at.0 - last.0 < 0.7 => last.1 = last.1.min(at.1),
            _ => part.push(at),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_breaks_the_line_and_a_long_run_keeps_its_peaks() {
        let (x, y) = (Scale::linear(0.0, 4.0, 0.0, 400.0), Scale::log(2.0, 6.0, 200.0, 0.0));
        let track = |max_ns| Maxima { step_ns: 1_000_000_000, max_ns, ..Maxima::default() };
        assert_eq!(parts(&track(vec![500, 0, 700, 800]), x, y).iter().map(Vec::len).collect::<Vec<_>>(), [1, 2]);
        let short = Maxima { short: vec![(0, 500_000_000)], ..track(vec![500, 600]) };
        assert_eq!(parts(&short, x, y)[0].iter().map(|p| p.0).collect::<Vec<_>>(), [25.0, 100.0]);
        let mut long = vec![500; 40_000];
        long[17_123] = 90_000;
        let x = Scale::linear(0.0, 40_000.0, 0.0, 400.0);
        let drawn = parts(&track(long), x, y);
        assert!(drawn[0].len() < 700);
        assert!(drawn[0].iter().any(|p| (p.1 - y.at(90_000.0)).abs() < 1e-9));
    }
}
