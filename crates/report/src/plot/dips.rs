//! Dips: of how many of each width both edges were detected.

use ontick_record::Run;

use super::frame::{Frame, Paper, path};
use super::palette::{Curve, nth};
use super::scale::{Scale, Tick, power_of_time};
use crate::dips::of;

pub(super) const NAME: &str = "Dips detected, by width";

pub(super) fn draw(run: &Run, paper: &Paper) -> String {
    let all = of(run);
    let name = |series: &ontick_record::Series| series.name.clone();
    let curves: Vec<Curve> = (all.iter().enumerate())
        .map(|(i, (series, _))| Curve { name: name(series), series, ink: nth(i), quantity: "dips" })
        .collect();
    let mut frame = Frame::new(paper, NAME, &curves, 4.0);
    let widths = || all.iter().flat_map(|(_, dip)| [dip.low_ns, dip.high_ns]).map(|ns| ns.max(1) as f64);
    let (Some(low), Some(high)) = (widths().reduce(f64::min), widths().reduce(f64::max)) else {
        frame.nothing("no dips were searched in this run");
        return frame.finish();
    };
    let x = Scale::log(low.log10().floor(), high.log10().ceil(), frame.left, frame.right);
    let y = Scale::linear(0.0, 100.0, frame.bottom, frame.top + 6.0);
    frame.x_axis(x, &x.powers(44.0, power_of_time), &x.between(), "width of a dip");
    let ticks: Vec<Tick> = [0, 25, 50, 75, 100]
        .map(|percent| Tick { at: y.at(f64::from(percent)), label: format!("{percent}\u{202f}%") })
        .into_iter()
        .collect();
    frame.y_axis(y, &ticks, "both edges detected");
    for ((_, dip), curve) in all.iter().zip(&curves) {
        let tried = dip.points.iter().filter(|point| point.dips > 0);
        let share = |both: u64, dips: u64| 100.0 * both as f64 / dips as f64;
        let points: Vec<(f64, f64)> = tried.map(|p| (x.at(p.width_ns as f64), y.at(share(p.both, p.dips)))).collect();
        frame.line(&path(&points), curve.ink, 2.0);
        points.into_iter().for_each(|at| frame.dot(at, 2.8, curve.ink));
    }
    frame.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dips::tests::run;
    use ontick_record::Measurement;

    #[test]
    fn each_width_that_was_tried_has_a_dot() {
        let run = run(&[("interrupt", Some(20_000), Some(1_000)), ("poll", Some(2_000), None)]);
        let svg = draw(&run, &Paper::inline(900.0, 400.0));
        assert_eq!((svg.matches("<circle").count(), svg.matches("class=\"line stroke").count()), (10, 2), "{svg}");
        let nothing = draw(&Run::new("ontick", Measurement::Timer), &Paper::inline(400.0, 300.0));
        assert!(nothing.contains("no dips"));
    }
}
