//! Delays: what was got over what was asked for, both axes logarithmic, with room for none at all on the left.

use super::frame::{Frame, Paper, QUIET, path};
use super::palette::{Curve, nth};
use super::scale::{Scale, Tick, power_of_time};
use super::time_axis;
use crate::bins::Decades;
use crate::delays::{Delays, got};

pub(super) fn draw(delays: Option<&Delays>, paper: &Paper) -> String {
    let Some(delays) = delays else {
        let mut frame = Frame::new(paper, NAME, &[], 4.0);
        frame.nothing("no delays were measured");
        return frame.finish();
    };
    let curves: Vec<Curve> = (delays.methods.iter().enumerate())
        .filter_map(|(i, method)| {
            let series = delays.rows.iter().find_map(|(_, cells)| cells[i])?;
            Some(Curve { name: method.to_string(), series, ink: nth(i), quantity: "delay" })
        })
        .collect();
    let mut frame = Frame::new(paper, NAME, &curves, 4.0);
    let lengths = || delays.rows.iter().map(|(asked_ns, _)| *asked_ns);
    let shortest = lengths().find(|ns| *ns > 0).unwrap_or(1_000) as f64;
    let longest = lengths().max().unwrap_or(0).max(1_000) as f64;
    // A decade more on the left has room for a delay of none.
    let low = shortest.log10().floor() - if lengths().any(|ns| ns == 0) { 1.0 } else { 0.0 };
    let x = Scale::log(low, longest.log10().ceil().max(low + 1.0), frame.left, frame.right);
    let ticks = ticks(x, low, lengths().any(|ns| ns == 0));
    let values = delays.rows.iter().flat_map(|(_, cells)| cells.iter().flatten());
    let values = values.flat_map(|s| [got(s, 0.5), got(s, 0.99)]).flatten().filter(|ns| *ns > 0);
    let y = time_axis(&mut frame, "got", Decades::of_values(values), |frame| {
        frame.x_axis(x, &ticks, &x.between(), "asked for");
    });
    asked(&mut frame, x, y, (shortest, longest));
    for (i, curve) in curves.iter().enumerate() {
        let points = |share: f64| -> Vec<(f64, f64)> {
            let point =
                |(asked_ns, cells): &(u64, Vec<Option<_>>)| Some((x.at(*asked_ns as f64), got(cells[i]?, share)?));
            delays.rows.iter().filter_map(point).map(|(at, ns)| (at, y.at(ns as f64))).collect()
        };
        let (medians, upper) = (points(0.5), points(0.99));
        let mut around = medians.clone();
        around.extend(upper.into_iter().rev());
        let class = format!("fill {}", curve.ink.class());
        let fill = curve.ink.stroke();
        frame.svg.empty("path", &[("d", &path(&around)), ("class", &class), ("fill", &fill), ("fill-opacity", &0.13)]);
        frame.line(&path(&medians), curve.ink, 2.0);
        medians.into_iter().for_each(|at| frame.dot(at, 2.8, curve.ink));
    }
    frame.finish()
}

const NAME: &str = "Delays, asked for and got";

fn ticks(x: Scale, low: f64, none: bool) -> Vec<Tick> {
    let mut ticks = x.powers(44.0, power_of_time);
    if none {
        // The first power of ten stands for none.
        if let Some(first) = ticks.iter_mut().find(|tick| tick.at == x.at(10f64.powf(low))) {
            first.label = "0".into();
        }
    }
    ticks
}

/// What was asked for, as a line.
fn asked(frame: &mut Frame, x: Scale, y: Scale, (from, to): (f64, f64)) {
    let d = path(&[(x.at(from), y.at(from)), (x.at(to), y.at(to))]);
    let fixed: [(&str, &dyn std::fmt::Display); 6] = [
        ("d", &d),
        ("class", &"limit"),
        ("fill", &"none"),
        ("stroke", &QUIET),
        ("stroke-width", &1.2),
        ("stroke-dasharray", &"4 4"),
    ];
    frame.svg.empty("path", &fixed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delays::{of, tests::run};

    fn drawn(points: &[(&str, u64, u64)]) -> String {
        let run = run(points);
        draw(of(&run).as_ref(), &Paper::inline(900.0, 480.0))
    }

    #[test]
    fn each_method_has_a_line_with_a_dot_for_each_delay() {
        let svg = drawn(&[("usleep", 0, 53_000), ("usleep", 20_000, 54_000), ("spin", 0, 40), ("spin", 20_000, 40)]);
        assert_eq!((svg.matches("class=\"line stroke").count(), svg.matches("<circle").count()), (2, 4), "{svg}");
        assert!(svg.contains(">0</text>") && svg.contains("asked for"), "{svg}");
    }

    #[test]
    fn a_single_delay_of_none_is_a_picture_too() {
        assert_eq!(drawn(&[("usleep", 0, 53_000)]).matches("<circle").count(), 1);
        assert!(draw(None, &Paper::inline(400.0, 300.0)).contains("no delays"));
    }
}
