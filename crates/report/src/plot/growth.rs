//! How figures grow with a number: panels over each other, all axes linear from zero.

use super::frame::{Frame, Paper, path};
use super::palette::Ink;
use super::scale::{Scale, Tick, round_steps};

/// What grows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Growth {
    /// Headline.
    pub title: String,
    /// The line below it.
    pub about: String,
    /// What it grows with.
    pub with: String,
    /// From above to below.
    pub panels: Vec<Panel>,
}

/// One figure.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Panel {
    /// With its unit.
    pub name: String,
    /// The number and the figure, in order.
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 900.0;
const PANEL: f64 = 240.0;
/// Between panels, for the numbers of the axis.
const BETWEEN: f64 = 30.0;

/// Draws it as an SVG document of its own, on white.
pub fn growth(growth: &Growth) -> String {
    let height = 62.0 + (PANEL + BETWEEN) * growth.panels.len().max(1) as f64 + 30.0;
    let title = (growth.title.clone(), growth.about.clone());
    let mut frame = Frame::new(&Paper::titled(WIDTH, height, title), &growth.title, &[], 8.0);
    if growth.panels.iter().all(|panel| panel.points.is_empty()) {
        frame.nothing("nothing was measured");
        return frame.finish();
    }
    let most = |of: fn(&(f64, f64)) -> f64, points: &[(f64, f64)]| points.iter().map(of).fold(0.0f64, f64::max);
    let far = growth.panels.iter().map(|panel| most(|point| point.0, &panel.points)).fold(0.0, f64::max);
    let last = growth.panels.len() - 1;
    for (place, panel) in growth.panels.iter().enumerate() {
        frame.bottom = frame.top + PANEL - 10.0;
        let (x, across) = axis(far, frame.left, frame.right, 110.0);
        let (y, up) = axis(most(|point| point.1, &panel.points), frame.bottom, frame.top, 40.0);
        frame.x_axis(x, &across, &[], if place == last { &growth.with } else { "" });
        frame.y_axis(y, &up, &panel.name);
        frame.curves(&panel.name);
        let ink = Ink { colour: place, dash: 0 };
        let points: Vec<(f64, f64)> = panel.points.iter().map(|(with, figure)| (x.at(*with), y.at(*figure))).collect();
        frame.line(&path(&points), ink, 1.6);
        points.into_iter().for_each(|at| frame.dot(at, 3.0, ink));
        frame.svg.close();
        frame.top += PANEL + BETWEEN;
    }
    frame.finish()
}

/// From zero to the most that is shown, with round ticks.
fn axis(most: f64, from: f64, to: f64, apart: f64) -> (Scale, Vec<Tick>) {
    let scale = Scale::linear(0.0, most, from, to);
    let label = |value: f64| ((value * 1e6).round() / 1e6).to_string();
    let room = ((to - from).abs() / apart).max(1.0) as usize;
    let ticks = round_steps(most, room).into_iter().map(|value| Tick { at: scale.at(value), label: label(value) });
    (scale, ticks.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let (scale, ticks) = axis(0.031, 0.0, 310.0, 100.0);
        assert_eq!(ticks.iter().map(|tick| tick.label.as_str()).collect::<Vec<_>>(), ["0", "0.02"]);
        assert_eq!((scale.at(0.031), scale.at(0.0)), (310.0, 0.0));
    }

    #[test]
    fn every_point_of_every_panel_is_drawn() {
        let panel = |name: &str, points: &[(f64, f64)]| Panel { name: name.into(), points: points.to_vec() };
        let panels = vec![panel("time, s", &[(100.0, 1.0), (200.0, 2.5)]), panel("memory", &[(100.0, 7.0)])];
        let drawn = growth(&Growth { title: "t".into(), about: "a".into(), with: "streams".into(), panels });
        let document = roxmltree::Document::parse(&drawn).unwrap();
        assert_eq!(document.descendants().filter(|node| node.has_tag_name("circle")).count(), 3);
        assert!(growth(&Growth::default()).contains("nothing was measured"));
    }
}
