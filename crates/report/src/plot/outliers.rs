//! Outliers over time, coloured by what made them late, with a lane for each CPU; and who had the CPU around the largest.

use std::fmt::Display;

use ontick_record::run::{Explained, Outlier};
use ontick_record::{Run, Series};

use super::frame::{Frame, Paper, QUIET, TEXT, px};
use super::palette::{Curve, Ink, nth};
use super::scale::{Scale, Tick, power_of_time, round_steps, time_steps};
use crate::bins::Decades;
use crate::causes::label;
use crate::typeset::{plain_time, time};

const LANE: f64 = 18.0;
/// Between the lanes and the plot above, with the numbers of its axis.
const BETWEEN: f64 = 50.0;
const PLOT: f64 = 190.0;
/// The largest outliers, each with a lane of its own.
const LARGEST: usize = 8;
/// Causes with an ink of their own; the rest share one.
const NAMED: usize = 6;
const UNKNOWN: &str = "cause not looked for";
const OTHER: &str = "other causes";

/// One mark: when, how late, why, where.
struct Mark<'a> {
    outlier: Outlier,
    cause: String,
    cpu: Option<u32>,
    series: &'a Series,
}

/// What is drawn of a run's outliers.
pub(crate) struct Timeline<'a> {
    marks: Vec<Mark<'a>>,
    causes: Vec<String>,
    cpus: Vec<Option<u32>>,
    largest: Vec<(&'a Explained, Option<u32>)>,
    /// Who ran, in the order in which they have inks.
    who: Vec<String>,
}

/// The outliers of a run, where it kept any.
pub(crate) fn timeline(run: &Run) -> Option<Timeline<'_>> {
    let mut marks = Vec::new();
    for series in &run.series {
        for outlier in &series.outliers {
            let cause = outlier.cause.and_then(|i| series.causes.get(i as usize));
            let cause = cause.map_or_else(|| UNKNOWN.into(), |cause| label(&cause.cause, &cause.detail));
            marks.push(Mark { outlier: *outlier, cause, cpu: series.settings.cpu, series });
        }
    }
    let explained = run.series.iter().flat_map(|s| s.explained.iter().map(|e| (e, s.settings.cpu)));
    let mut largest: Vec<_> = explained.filter(|(e, _)| !e.happened.is_empty()).collect();
    largest.sort_by_key(|(explained, _)| std::cmp::Reverse(explained.latency_ns));
    largest.truncate(LARGEST);
    if marks.is_empty() && largest.is_empty() {
        return None;
    }
    let causes = most_frequent(marks.iter().map(|mark| mark.cause.as_str()));
    for mark in &mut marks {
        if !causes.contains(&mark.cause) {
            mark.cause = OTHER.into();
        }
    }
    let mut cpus: Vec<Option<u32>> = marks.iter().map(|mark| mark.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let who = most_frequent(largest.iter().flat_map(|(e, _)| e.happened.iter().map(|h| h.what.as_str())));
    Some(Timeline { marks, causes, cpus, largest, who })
}

/// The most frequent names, and one for all others where there are more.
fn most_frequent<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match counted.iter_mut().find(|(known, _)| *known == name) {
            Some((_, n)) => *n += 1,
            None => counted.push((name, 1)),
        }
    }
    counted.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let more = counted.len() > NAMED;
    let named = counted.into_iter().take(NAMED).map(|(name, _)| name.to_owned());
    named.chain(more.then(|| OTHER.to_owned())).collect()
}

fn ink(names: &[String], name: &str) -> Ink {
    let other = names.iter().position(|known| known == OTHER).unwrap_or(0);
    nth(names.iter().position(|known| known == name).unwrap_or(other))
}

/// Paper as high as the picture needs to be, for a legend of a few rows.
pub(super) fn height(timeline: Option<&Timeline>, width: f64, above: f64) -> f64 {
    let Some(t) = timeline else { return 300.0 };
    let legend = if width > 600.0 { 30.0 } else { 100.0 };
    let plot = if t.marks.is_empty() { 0.0 } else { PLOT + BETWEEN + LANE * t.cpus.len() as f64 + 8.0 };
    let bars = if t.largest.is_empty() { 0.0 } else { 58.0 + legend + LANE * t.largest.len() as f64 + 34.0 };
    above + legend + 16.0 + plot + bars
}

pub(super) fn draw(timeline: Option<&Timeline>, paper: &Paper) -> String {
    let named = |names: &[String]| -> Vec<Curve<'_>> {
        let Some(series) = timeline.and_then(|t| t.marks.first()).map(|mark| mark.series) else { return Vec::new() };
        let curve = |name: &String| Curve { name: name.clone(), series, ink: ink(names, name), quantity: "latency" };
        names.iter().map(curve).collect()
    };
    let causes = timeline.map_or(&[][..], |t| &t.causes);
    let mut frame = Frame::new(paper, "Outliers over time", &named(causes), 6.0);
    let Some(t) = timeline else {
        frame.nothing("no outliers were kept in this run");
        return frame.finish();
    };
    if !t.marks.is_empty() {
        over_time(&mut frame, t);
    }
    if !t.largest.is_empty() {
        who_ran(&mut frame, t);
    }
    frame.finish()
}

fn over_time(frame: &mut Frame, t: &Timeline) {
    let first = t.marks.iter().map(|mark| mark.outlier.at_ns).min().unwrap_or(0);
    let seconds = |mark: &Mark| mark.outlier.at_ns.saturating_sub(first) as f64 / 1e9;
    let longest = t.marks.iter().map(seconds).fold(1e-3f64, f64::max);
    frame.bottom = frame.top + PLOT;
    // A single moment has no time before or after it: it stands in the middle.
    let at_once = t.marks.iter().all(|mark| mark.outlier.at_ns == first);
    let from = if at_once { -longest } else { 0.0 };
    let x = Scale::linear(from, longest, frame.left, frame.right - 6.0);
    let steps = time_steps(longest, ((frame.right - frame.left) / 80.0) as usize);
    let ticks = steps.into_iter().take(if at_once { 1 } else { usize::MAX });
    let ticks: Vec<Tick> = ticks.map(|(at, label)| Tick { at: x.at(at), label }).collect();
    let decades = Decades::of_values(t.marks.iter().map(|mark| mark.outlier.latency_ns));
    let y = Scale::log(f64::from(decades.low), f64::from(decades.high), frame.bottom, frame.top);
    frame.x_axis(x, &ticks, &[], "time since the first outlier");
    frame.y_axis(y, &y.powers(26.0, power_of_time), "latency");
    frame.svg.open("g", &[("class", &"outliers")]);
    for mark in &t.marks {
        let at = (x.at(seconds(mark)), y.at(mark.outlier.latency_ns as f64));
        frame.dot(at, 2.6, ink(&t.causes, &mark.cause));
    }
    frame.svg.close();
    frame.top = frame.bottom + BETWEEN;
    for (i, cpu) in t.cpus.iter().enumerate() {
        let top = frame.top + LANE * i as f64;
        lane_name(frame, top, &cpu.map_or_else(|| "any CPU".into(), |cpu| format!("CPU {cpu}")));
        for mark in t.marks.iter().filter(|mark| mark.cpu == *cpu) {
            let words = format!("{} late: {}", time(mark.outlier.latency_ns), mark.cause);
            bar(frame, (x.at(seconds(mark)) - 0.75, top + 3.0), 1.5, ink(&t.causes, &mark.cause), &words);
        }
    }
    frame.top += LANE * t.cpus.len() as f64 + 8.0;
}

/// A lane for each of the largest outliers: who had the CPU, from before the deadline on.
fn who_ran(frame: &mut Frame, t: &Timeline) {
    let words = "Who had the CPU around the largest";
    frame.text(16.0, frame.top + 18.0, words, &[("fill", &TEXT), ("font-weight", &600), ("class", &"word")]);
    let (mut at, mut y) = (frame.left, frame.top + 38.0);
    for who in &t.who {
        let wide = 34.0 + super::frame::text_width(who, 12.0);
        if at > frame.left && at + wide > frame.right {
            (at, y) = (frame.left, y + 17.0);
        }
        bar(frame, (at, y - 10.0), 14.0, ink(&t.who, who), who);
        frame.text(at + 20.0, y, &cut(who, 40), &[("fill", &TEXT), ("class", &"word")]);
        at += wide;
    }
    frame.top = y + 14.0;
    let happened = || t.largest.iter().flat_map(|(explained, _)| &explained.happened);
    let from = happened().map(|h| h.from_ns as f64).fold(0.0f64, f64::min);
    let to = happened().map(|h| h.from_ns as f64 + h.length_ns as f64).fold(1.0f64, f64::max);
    frame.bottom = frame.top + LANE * t.largest.len() as f64;
    let x = Scale::linear(from, to, frame.left, frame.right - 6.0);
    let steps = round_steps(to - from, ((frame.right - frame.left) / 80.0) as usize);
    let step = steps.get(1).copied().unwrap_or(to - from);
    let tick = |i: i64| {
        let at = i as f64 * step;
        let sign = if i < 0 { "\u{2212}" } else { "" };
        let label = if i == 0 { "0".into() } else { format!("{sign}{}", plain_time(at.abs().round() as u64)) };
        Tick { at: x.at(at), label }
    };
    // Counted from the deadline, to both sides.
    let ticks: Vec<Tick> = ((from / step).ceil() as i64..=(to / step).floor() as i64).map(tick).collect();
    frame.x_axis(x, &ticks, &[], "time from the deadline");
    for (i, (explained, cpu)) in t.largest.iter().enumerate() {
        let top = frame.top + LANE * i as f64;
        let cpu = cpu.map_or_else(String::new, |cpu| format!("{cpu}: "));
        lane_name(frame, top, &format!("{cpu}{}", time(explained.latency_ns)));
        for h in &explained.happened {
            let (begin, end) = (x.at(h.from_ns as f64), x.at(h.from_ns as f64 + h.length_ns as f64));
            let name = if t.who.contains(&h.what) { &h.what[..] } else { OTHER };
            let words = format!("{} for {}", h.what, time(h.length_ns));
            bar(frame, (begin, top + 3.0), (end - begin).max(0.6), ink(&t.who, name), &words);
        }
    }
    let zero = x.at(0.0);
    frame.rule((zero, frame.top - 3.0), (zero, frame.bottom), "limit", QUIET);
}

fn cut(words: &str, most: usize) -> String {
    match words.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.into(),
    }
}

fn lane_name(frame: &mut Frame, top: f64, name: &str) {
    let attributes: [(&str, &dyn Display); 5] =
        [("text-anchor", &"end"), ("fill", &TEXT), ("class", &"word"), ("font-size", &11), ("data-lane", &name)];
    frame.text(frame.left - 8.0, top + 13.0, name, &attributes);
    frame.rule((frame.left, top + LANE), (frame.right, top + LANE), "fine", "#eceef1");
}

/// A block in a lane, named for who points at it.
fn bar(frame: &mut Frame, (x, y): (f64, f64), wide: f64, ink: Ink, words: &str) {
    let class = format!("fill {}", ink.class());
    let attributes: [(&str, &dyn Display); 6] = [
        ("x", &px(x)),
        ("y", &px(y)),
        ("width", &px(wide)),
        ("height", &(LANE - 6.0)),
        ("fill", &ink.stroke()),
        ("class", &class),
    ];
    frame.svg.open("rect", &attributes);
    frame.svg.leaf("title", &[], words);
    frame.svg.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_outlier_stands_in_the_middle_of_its_axis() {
        let mut run = Run::new("ontick", "timer");
        let late = |at_ns| Outlier { at_ns, latency_ns: 40_000, cause: None };
        run.series.push(Series { outliers: vec![late(7)], ..Series::default() });
        let drawn = |run: &Run| {
            let timeline = timeline(run);
            let svg = draw(timeline.as_ref(), &Paper::inline(900.0, height(timeline.as_ref(), 900.0, 10.0)));
            let places =
                svg.split("<circle cx=\"").skip(1).map(|rest| rest.split('"').next().unwrap().parse().unwrap());
            (places.collect::<Vec<f64>>(), svg.matches("\u{202f}s</text>").count())
        };
        // The plot reaches from 72 to 872.
        assert_eq!(drawn(&run), (vec![472.0], 1));
        run.series[0].outliers.push(late(2_000_000_007));
        let (places, ticks) = drawn(&run);
        assert_eq!((places, ticks > 2), (vec![72.0, 872.0], true));
    }
}
