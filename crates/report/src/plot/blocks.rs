//! The blocks of an interleaved comparison in the order in which they ran: a drift would show as a
//! slope that both sides share.

use super::frame::{Frame, Paper, path};
use super::latency_axis;
use super::palette::Curve;
use super::scale::{Scale, Tick};
use crate::bins::Decades;

pub(super) fn draw(curves: &[Curve], paper: &Paper) -> String {
    let mut frame = Frame::new(paper, "99th percentile of each block, in order", curves, 4.0);
    let blocks = || curves.iter().chain(paper.axes_of).flat_map(|c| &c.series.blocks);
    let last = blocks().map(|b| b.order).max().unwrap_or(0);
    let x = Scale::linear(-0.5, f64::from(last) + 0.5, frame.left, frame.right);
    let ticks: Vec<Tick> = (0..=last)
        .step_by(((last as usize + 1) * 24 / (frame.right - frame.left) as usize).max(1))
        .map(|order| Tick { at: x.at(f64::from(order)), label: (order + 1).to_string() })
        .collect();
    let y = latency_axis(&mut frame, curves, Decades::of_values(blocks().map(|b| b.p99_ns)), |frame| {
        frame.x_axis(x, &ticks, &[], "block, in the order of the run");
    });
    if blocks().next().is_none() {
        frame.nothing("the run was not measured in blocks");
        return frame.finish();
    }
    frame.curves("p99");
    for curve in curves {
        let mut points: Vec<(f64, f64)> =
            curve.series.blocks.iter().map(|b| (x.at(f64::from(b.order)), y.at(b.p99_ns as f64))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        frame.svg.open("g", &[("class", &"curve"), ("data-name", &curve.name)]);
        frame.svg.leaf("title", &[], &curve.name);
        frame.line(&path(&points), curve.ink, 1.0);
        points.into_iter().for_each(|at| frame.dot(at, 4.5, curve.ink));
        frame.svg.close();
    }
    frame.svg.close();
    frame.in_time(y, false);
    frame.finish()
}
