//! The percentile plot: each further "nine" of the samples one step to the right, latency upward.

use ontick_record::Series;

use super::frame::{Frame, Paper, TEXT, path};
use super::latency_axis;
use super::palette::Curve;
use super::scale::{Scale, Tick};
use crate::bins::Decades;
use crate::typeset::time;

pub(super) fn draw(curves: &[Curve], paper: &Paper) -> String {
    let mut frame = Frame::new(paper, "Latency by percentile", curves, 14.0);
    let all = || curves.iter().chain(paper.axes_of).map(|c| c.series);
    let samples = all().map(|s| s.latency.count()).max().unwrap_or(0);
    let x = Scale::log(0.0, (samples.max(10) as f64).log10(), frame.left, frame.right);
    let y = latency_axis(&mut frame, curves, Decades::of(all()), |frame| {
        frame.x_axis(x, &shares(x), &[], "share of the samples that are not later");
    });
    if samples == 0 {
        frame.nothing("no samples");
        return frame.finish();
    }
    frame.curves("latency");
    for curve in curves {
        let points = stairs(curve.series, x, y);
        let end = points.last().copied();
        frame.svg.open("g", &[("class", &"curve"), ("data-name", &curve.name)]);
        frame.svg.leaf("title", &[], &curve.name);
        frame.line(&path(&points), curve.ink, 1.8);
        end.into_iter().for_each(|end| frame.dot(end, 3.2, curve.ink));
        frame.svg.close();
    }
    frame.svg.close();
    frame.in_time(y, false);
    ends(&mut frame, curves, y);
    frame.finish()
}

/// The largest of each series in words above its end, where there is room for them.
fn ends(frame: &mut Frame, curves: &[Curve], y: Scale) {
    let room = if frame.right > 600.0 { 20.0 } else { 36.0 };
    let mut largest: Vec<u64> = curves.iter().filter_map(|c| c.series.latency.max_ns).collect();
    largest.sort_unstable();
    // Among many curves only the worst case can be known from the rest.
    let labelled = if largest.len() > 4 { 1 } else { largest.len() };
    let mut above = frame.top - room + 3.0;
    for ns in largest.into_iter().rev().take(labelled) {
        let at = y.at(ns as f64);
        if at - above >= room {
            let words = format!("max {}", time(ns));
            let attributes: [(&str, &dyn std::fmt::Display); 4] =
                [("text-anchor", &"end"), ("fill", &TEXT), ("class", &"word"), ("font-size", &11)];
            frame.text(frame.right, at - 8.0, &words, &attributes);
        }
        above = at;
    }
}

/// The r-th smallest of n samples stands at n / (n - r + 1), so the largest stands at n. A bucket's
/// samples all have its upper edge, which never flatters.
fn stairs(series: &Series, x: Scale, y: Scale) -> Vec<(f64, f64)> {
    let h = &series.latency;
    let n = h.count();
    let place = |rank: u64| x.at(n as f64 / (n - rank + 1) as f64);
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut below = 0u64;
    for b in h.buckets() {
        let at = y.at(h.max_ns.map_or(b.high_ns(), |max| b.high_ns().min(max)) as f64);
        let ends = [(place(below + 1), at), (place(below + b.count), at)];
        below += b.count;
        for point in ends {
            // Less than a fifth of a pixel cannot be seen.
            if points.last().is_none_or(|l| (l.0 - point.0).abs() > 0.2 || (l.1 - point.1).abs() > 0.2) {
                points.push(point);
            }
        }
    }
    // Samples beyond the last bucket have no value of their own but the maximum, where it is known.
    if let Some(max) = h.max_ns.filter(|_| h.overflow > 0) {
        points.extend([(place(below + 1), y.at(max as f64)), (x.at(n as f64), y.at(max as f64))]);
    }
    points
}

/// `0 %`, `50 %`, `90 %`, `99 %`, `99.9 %`, ….
fn shares(x: Scale) -> Vec<Tick> {
    let mut ticks = x.powers(52.0, share);
    let half = Tick { at: x.at(2.0), label: "50 %".into() };
    if ticks.iter().all(|t| (t.at - half.at).abs() > 32.0) {
        ticks.insert(1.min(ticks.len()), half);
    }
    ticks
}

fn share(power: i32) -> String {
    match power {
        0 => "0 %".into(),
        1 => "90 %".into(),
        2 => "99 %".into(),
        p => format!("99.{} %", "9".repeat(p as usize - 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nines_are_counted() {
        assert_eq!([0, 1, 2, 3, 5].map(share), ["0 %", "90 %", "99 %", "99.9 %", "99.999 %"]);
    }

    #[test]
    fn the_largest_stands_at_the_right_end() {
        let mut s = Series::default();
        s.latency.add(100, 1, 999);
        s.latency.add(9_000, 1, 1);
        let (x, y) = (Scale::log(0.0, 3.0, 0.0, 300.0), Scale::log(2.0, 4.0, 200.0, 0.0));
        let points = stairs(&s, x, y);
        assert_eq!(points.first(), Some(&(0.0, 200.0)));
        let (px, py) = points[points.len() - 1];
        assert!((px - 300.0).abs() < 0.5 && (py - y.at(9_000.0)).abs() < 0.5, "{points:?}");
    }
}
