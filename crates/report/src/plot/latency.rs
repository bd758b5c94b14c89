//! The latency plot: latency to the right, samples upward, the worst case of each series marked.

use super::frame::{Frame, Paper, TEXT, path, text_width};
use super::palette::{Curve, common_quantity};
use super::scale::{Scale, power_of_count, power_of_time};
use crate::bins::{Decades, log_bins};
use crate::typeset::time;

const LABEL_ROW: f64 = 15.0;
/// Between the plot and the lowest label, which may stand above the numbers of the vertical axis.
const ABOVE: f64 = 11.0;
/// With more curves than this, only the worst of all has its words.
const LABELLED: usize = 4;
/// The lowest line of the plot: half a sample, so that one sample stands above it.
const FLOOR: f64 = 0.5;

pub(super) fn draw(curves: &[Curve], paper: &Paper) -> String {
    draw_beside(curves, None, paper)
}

/// The curves, and a mark at the maximum of `bound`, which has no samples of its own.
pub(super) fn draw_beside(curves: &[Curve], bound: Option<&Curve>, paper: &Paper) -> String {
    let marked: Vec<Curve> = curves.iter().chain(bound).cloned().collect();
    let axis = Decades::of(curves.iter().chain(paper.axes_of).map(|c| c.series));
    let bound_high = bound.and_then(|bound| bound.series.latency.max_ns).map(|ns| Decades::of_values([ns]).high);
    let axis = Decades { high: bound_high.map_or(axis.high, |high| axis.high.max(high)), ..axis };
    let frame_x = |frame: &Frame| Scale::log(f64::from(axis.low), f64::from(axis.high), frame.left, frame.right);
    // Where the labels go depends on the width alone, how many rows they need on where they go.
    let marks = {
        let probe = Frame::new(paper, "", &[], 0.0);
        marks(&marked, frame_x(&probe), probe.right)
    };
    let rows = marks.iter().filter_map(|m| m.label.as_ref().map(|(_, row, _)| row + 1)).max().unwrap_or(0);
    let mut frame = Frame::new(paper, "Latency: samples by latency", curves, rows as f64 * LABEL_ROW + ABOVE);
    let x = frame_x(&frame);
    let bins = ((frame.right - frame.left) / 5.0) as usize;
    let count = |curves: &[Curve]| curves.iter().map(|c| log_bins(&c.series.latency, axis, bins)).collect();
    let (counted, beside): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (count(curves), count(paper.axes_of));
    let top = counted.iter().chain(&beside).flatten().fold(1.0f64, |a, b| a.max(*b));
    let y = Scale::log(FLOOR.log10(), top.log10().ceil().max(1.0), frame.bottom, frame.top);
    frame.x_axis(x, &x.powers(44.0, power_of_time), &x.between(), common_quantity(curves));
    frame.y_axis(y, &y.powers(26.0, power_of_count), "samples");
    frame.in_time(x, true);
    if top <= 1.0 && counted.iter().flatten().all(|n| *n == 0.0) {
        frame.nothing("no samples");
        return frame.finish();
    }
    frame.curves("samples");
    for (curve, counts) in curves.iter().zip(&counted) {
        steps(&mut frame, curve, counts, y, curves.len() <= LABELLED);
    }
    frame.svg.close();
    marks.iter().for_each(|mark| mark.draw(&mut frame));
    frame.finish()
}

/// A series as stairs; where bins are empty the line rests on the floor.
fn steps(frame: &mut Frame, curve: &Curve, counts: &[f64], y: Scale, filled: bool) {
    let wide = (frame.right - frame.left) / counts.len() as f64;
    let edge = |i: usize| frame.left + i as f64 * wide;
    // One sample spread over several bins is drawn as one, or it would vanish below the floor.
    let height = |n: f64| y.at(n.max(1.0));
    let mut line = String::new();
    let mut area = String::new();
    let mut i = 0;
    while i < counts.len() {
        let run = counts[i..].iter().take_while(|n| **n > 0.0).count();
        if run == 0 {
            i += 1;
            continue;
        }
        let mut points = vec![(edge(i), frame.bottom)];
        for (k, n) in counts[i..i + run].iter().enumerate() {
            points.push((edge(i + k), height(*n)));
            points.push((edge(i + k + 1), height(*n)));
        }
        points.push((edge(i + run), frame.bottom));
        line.push_str(&path(&points));
        area.push_str(&path(&points));
        area.push('Z');
        i += run;
    }
    frame.svg.open("g", &[("class", &"curve"), ("data-name", &curve.name)]);
    frame.svg.leaf("title", &[], &curve.name);
    if filled {
        let class = format!("fill {}", curve.ink.class());
        frame
            .svg
            .empty("path", &[("d", &area), ("class", &class), ("fill", &curve.ink.stroke()), ("fill-opacity", &0.10)]);
    }
    frame.line(&line, curve.ink, 1.5);
    frame.svg.close();
}

/// The worst case of a series: where it is, and its words with their row and where they begin.
struct Mark<'a> {
    curve: &'a Curve<'a>,
    at: f64,
    label: Option<(String, usize, f64)>,
}

/// Places the labels to the left of their lines, in rows such that no label covers another, nor a line
/// that comes down from a row above it.
fn marks<'a>(curves: &'a [Curve<'a>], x: Scale, right: f64) -> Vec<Mark<'a>> {
    let mut known: Vec<(u64, &Curve)> = curves.iter().filter_map(|c| Some((c.series.latency.max_ns?, c))).collect();
    known.sort_by_key(|(ns, _)| *ns);
    let silent = if known.len() <= LABELLED { 0 } else { known.len() - 1 };
    let mut marks: Vec<Mark> = Vec::new();
    for (i, (ns, curve)) in known.into_iter().enumerate() {
        let at = x.at(ns as f64);
        // On narrow paper the colour alone says whose it is.
        let words = match curves.len() {
            n if n > 1 && right > 600.0 => format!("max {} {}", time(ns), curve.name),
            _ => format!("max {}", time(ns)),
        };
        let wide = text_width(&words, 11.0);
        let from = (at - wide - 4.0).max(4.0).min(right - wide);
        let in_the_way = marks.iter().filter(|m| m.at > from - 8.0).filter_map(|m| m.label.as_ref());
        let row = in_the_way.map(|(_, row, _)| row + 1).max().unwrap_or(0);
        marks.push(Mark { curve, at, label: (i >= silent).then_some((words, row, from + wide)) });
    }
    marks
}

impl Mark<'_> {
    fn draw(&self, frame: &mut Frame) {
        let ink = self.curve.ink;
        let class = format!("stroke {}", ink.class());
        let top = match &self.label {
            Some((words, row, end)) => {
                let y = frame.top - *row as f64 * LABEL_ROW - ABOVE;
                frame.text(
                    *end,
                    y,
                    words,
                    &[("text-anchor", &"end"), ("fill", &TEXT), ("class", &"word"), ("font-size", &11)],
                );
                y - 9.0
            }
            None => frame.bottom - 9.0,
        };
        frame.rule((self.at, top), (self.at, frame.bottom), &class, ink.stroke());
    }
}
