//! The paper of a plot: title, legend, grid, axes. The curves are drawn into it by each plot.

use super::palette::{Curve, Ink};
use super::scale::{Scale, Tick};
use crate::figures::IN_TIME_NS;
use crate::markup::Markup;
use crate::typeset::plain_time;

/// How large a plot is, in CSS pixels, and what stands above it.
#[derive(Clone)]
pub(crate) struct Paper<'a> {
    pub width: f64,
    pub height: f64,
    /// Headline and the line below it; none inside a page that has its own.
    pub title: Option<(String, String)>,
    /// Whether the curves are named above the plot.
    pub has_legend: bool,
    /// Curves that the axes have room for though they are drawn elsewhere.
    pub axes_of: &'a [Curve<'a>],
}

impl Paper<'_> {
    /// As a page wants it, without a title.
    pub fn inline(width: f64, height: f64) -> Self {
        Self { width, height, title: None, has_legend: true, axes_of: &[] }
    }

    /// A document of its own.
    pub fn titled(width: f64, height: f64, title: (String, String)) -> Self {
        Self { title: Some(title), ..Self::inline(width, height) }
    }
}

const FONT: &str = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";
pub(crate) const TEXT: &str = "#24292f";
pub(crate) const QUIET: &str = "#5c6670";
const GRID: &str = "#e4e7eb";
const GRID_FINE: &str = "#f3f4f6";
const AXIS: &str = "#8a949e";
const LEGEND_ROW: f64 = 19.0;
/// The most of the height that a legend takes, but for its last row.
const MOST_LEGEND: f64 = 0.3;
/// Room for the numbers on the left and at the bottom, their titles included.
const LEFT: f64 = 72.0;
const BOTTOM: f64 = 46.0;
const RIGHT: f64 = 22.0;

/// Width of text in pixels, for placing only; no font is wider on average.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.58
}

/// A plot in the making.
pub(crate) struct Frame {
    pub svg: Markup,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    scales: [Option<Scale>; 2],
}

impl Frame {
    /// Paper with title and legend; `above` pixels stay free between legend and plot.
    pub fn new(paper: &Paper, name: &str, curves: &[Curve], above: f64) -> Self {
        let mut svg = Markup::default();
        let (width, height) = (paper.width, paper.height);
        svg.open(
            "svg",
            &[
                ("xmlns", &"http://www.w3.org/2000/svg"),
                ("viewBox", &format!("0 0 {width} {height}")),
                ("width", &width),
                ("height", &height),
                ("role", &"img"),
                ("aria-label", &name),
                ("font-family", &FONT),
                ("font-size", &12),
                ("class", &"plot"),
            ],
        );
        let mut frame =
            Self { svg, left: LEFT, right: width - RIGHT, top: 10.0, bottom: height - BOTTOM, scales: [None; 2] };
        if let Some((title, about)) = &paper.title {
            frame
                .svg
                .empty("rect", &[("width", &width), ("height", &height), ("fill", &"#ffffff"), ("class", &"paper")]);
            frame.text(16.0, 28.0, title, &[("font-size", &16), ("font-weight", &600), ("fill", &TEXT)]);
            frame.text(16.0, 46.0, about, &[("fill", &QUIET)]);
            frame.top = 62.0;
        }
        if paper.has_legend {
            frame.legend(curves);
        }
        frame.top += above;
        frame
    }

    fn legend(&mut self, curves: &[Curve]) {
        // On narrow paper every pixel counts.
        let from = if self.right > 600.0 { self.left } else { 16.0 };
        let (mut x, mut y) = (from, self.top + 8.0);
        // A legend never takes the plot's room.
        let lowest = self.top + (self.bottom - self.top) * MOST_LEGEND;
        for (i, curve) in curves.iter().enumerate() {
            let wide = 36.0 + text_width(&curve.name, 12.0) + 18.0;
            if x > from && x + wide > self.right + RIGHT {
                if y + LEGEND_ROW > lowest {
                    let more = format!("and {} more", curves.len() - i);
                    self.text(from, y + LEGEND_ROW + 4.0, &more, &[("fill", &QUIET), ("class", &"quiet")]);
                    y += LEGEND_ROW;
                    break;
                }
                (x, y) = (from, y + LEGEND_ROW);
            }
            let ink = curve.ink;
            self.svg.empty(
                "path",
                &[
                    ("d", &path(&[(x, y), (x + 26.0, y)])),
                    ("class", &format!("stroke {}", ink.class())),
                    ("stroke", &ink.stroke()),
                    ("stroke-width", &2.5),
                    ("stroke-dasharray", &ink.dashes()),
                ],
            );
            self.text(x + 33.0, y + 4.0, &curve.name, &[("fill", &TEXT), ("class", &"word")]);
            x += wide;
        }
        self.top = y + if curves.is_empty() { 0.0 } else { 16.0 };
    }

    /// Text at a place; more attributes as needed.
    pub fn text(&mut self, x: f64, y: f64, words: &str, more: &[(&str, &dyn std::fmt::Display)]) {
        let (x, y) = (px(x), px(y));
        let mut attributes: Vec<(&str, &dyn std::fmt::Display)> = vec![("x", &x), ("y", &y)];
        attributes.extend_from_slice(more);
        self.svg.leaf("text", &attributes, words);
    }

    /// The line of a curve, marked so that a program finds it.
    pub fn line(&mut self, d: &str, ink: Ink, width: f64) {
        self.svg.empty(
            "path",
            &[
                ("d", &d),
                ("class", &format!("line stroke {}", ink.class())),
                ("fill", &"none"),
                ("stroke", &ink.stroke()),
                ("stroke-width", &width),
                ("stroke-dasharray", &ink.dashes()),
                ("stroke-linejoin", &"round"),
            ],
        );
    }

    /// The limit that the verdict speaks of, upright or level, where it lies within the plot.
    pub fn in_time(&mut self, scale: Scale, upright: bool) {
        let at = scale.at(IN_TIME_NS as f64);
        let (low, high) = scale.span();
        if at <= low.min(high) || at >= low.max(high) {
            return;
        }
        let (from, to) =
            if upright { ((at, self.top), (at, self.bottom)) } else { ((self.left, at), (self.right, at)) };
        self.rule(from, to, "limit", QUIET);
        let (x, y) = if upright { (at - 4.0, self.top + 13.0) } else { (self.left + 42.0, at - 4.0) };
        self.text(
            x,
            y,
            &plain_time(IN_TIME_NS),
            &[("text-anchor", &"end"), ("fill", &QUIET), ("class", &"quiet"), ("font-size", &11)],
        );
    }

    /// A dot in a curve's ink.
    pub fn dot(&mut self, (x, y): (f64, f64), radius: f64, ink: Ink) {
        let class = format!("fill {}", ink.class());
        self.svg.empty(
            "circle",
            &[("cx", &px(x)), ("cy", &px(y)), ("r", &radius), ("class", &class), ("fill", &ink.stroke())],
        );
    }

    /// A filled box from its upper left corner.
    pub fn rectangle(&mut self, (x, y): (f64, f64), (wide, high): (f64, f64), fill: &str, stroke: &str) {
        let [x, y, wide, high] = [x, y, wide, high].map(px);
        self.svg.empty(
            "rect",
            &[("x", &x), ("y", &y), ("width", &wide), ("height", &high), ("fill", &fill), ("stroke", &stroke)],
        );
    }

    /// A thin straight line of the frame itself.
    pub fn rule(&mut self, from: (f64, f64), to: (f64, f64), class: &str, stroke: &str) {
        let dashes = if class == "limit" { "1 3" } else { "none" };
        let ((x1, y1), (x2, y2)) = ((px(from.0), px(from.1)), (px(to.0), px(to.1)));
        self.svg.empty(
            "line",
            &[
                ("x1", &x1),
                ("y1", &y1),
                ("x2", &x2),
                ("y2", &y2),
                ("class", &class),
                ("stroke", &stroke),
                ("stroke-dasharray", &dashes),
            ],
        );
    }

    /// The horizontal axis with its grid.
    pub fn x_axis(&mut self, scale: Scale, ticks: &[Tick], between: &[f64], title: &str) {
        self.scales[0] = Some(scale);
        between.iter().for_each(|x| self.rule((*x, self.top), (*x, self.bottom), "fine", GRID_FINE));
        for tick in ticks {
            self.rule((tick.at, self.top), (tick.at, self.bottom), "grid", GRID);
            self.text(
                tick.at,
                self.bottom + 17.0,
                &tick.label,
                &[("text-anchor", &"middle"), ("fill", &QUIET), ("class", &"quiet")],
            );
        }
        self.rule((self.left, self.bottom), (self.right, self.bottom), "axis", AXIS);
        let middle = 0.5 * (self.left + self.right);
        self.text(
            middle,
            self.bottom + 37.0,
            title,
            &[("text-anchor", &"middle"), ("fill", &TEXT), ("class", &"word")],
        );
    }

    /// The vertical axis with its grid; the title stands upright beside it.
    pub fn y_axis(&mut self, scale: Scale, ticks: &[Tick], title: &str) {
        self.scales[1] = Some(scale);
        for tick in ticks {
            self.rule((self.left, tick.at), (self.right, tick.at), "grid", GRID);
            self.text(
                self.left - 8.0,
                tick.at + 4.0,
                &tick.label,
                &[("text-anchor", &"end"), ("fill", &QUIET), ("class", &"quiet")],
            );
        }
        let middle = 0.5 * (self.top + self.bottom);
        let turned = format!("rotate(-90 16 {})", px(middle));
        self.text(
            14.0,
            middle,
            title,
            &[("text-anchor", &"middle"), ("transform", &turned), ("fill", &TEXT), ("class", &"word")],
        );
    }

    /// What the plot shows, for a program that reads it: opens the group that holds the curves.
    pub fn curves(&mut self, shows: &str) -> &mut Markup {
        let described = |s: &Option<Scale>| s.as_ref().map_or(String::new(), Scale::described);
        let [x, y] = [described(&self.scales[0]), described(&self.scales[1])];
        self.svg.open("g", &[("class", &"curves"), ("data-shows", &shows), ("data-x", &x), ("data-y", &y)])
    }

    /// Words in the middle, where there is nothing to draw.
    pub fn nothing(&mut self, words: &str) {
        let (x, y) = (0.5 * (self.left + self.right), 0.5 * (self.top + self.bottom));
        self.text(x, y, words, &[("text-anchor", &"middle"), ("fill", &QUIET), ("class", &"quiet")]);
    }

    pub fn finish(self) -> String {
        self.svg.finish()
    }
}

/// A path through points.
pub(crate) fn path(points: &[(f64, f64)]) -> String {
    let mut d = String::with_capacity(points.len() * 12);
    for (i, (x, y)) in points.iter().enumerate() {
        d.push(if i == 0 { 'M' } else { 'L' });
        d.push_str(&format!("{} {}", px(*x), px(*y)));
    }
    d
}

/// A coordinate with at most two decimals.
pub(crate) fn px(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
