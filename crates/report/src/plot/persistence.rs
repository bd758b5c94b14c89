//! What an oscilloscope with infinite persistence would show, as in source 001: every trace of a series over the others
//! from the request on, where many passed brighter than where one did. A line has two levels, so the histogram of a
//! series holds all of its traces: each is low until its answer and high from then on.

use ontick_record::{Histogram, Measurement, Run, Series};

use super::frame::{Frame, Paper, path, px};
use super::scale::round_steps;
use crate::typeset::{count, plain_time, time};

const GROUND: &str = "#0a0f0d";
const GRATICULE: &str = "#26332d";
const WORDS: &str = "#c9d6cf";
/// Source 001's colours: the input is yellow, the output blue.
const INPUT: &str = "#ffe14d";
const OUTPUT: &str = "#58c4ff";
/// Steps of brightness.
const LEVELS: usize = 8;
/// Width of a bin, in pixels.
const BIN: f64 = 1.5;
/// Divisions to the right of the request, and to its left.
const DIVISIONS: f64 = 10.0;
const BEFORE: f64 = 1.0;

/// One screen: what it is called, and the traces that were laid over each other.
pub(crate) struct Screen<'a> {
    pub name: String,
    /// The channel that triggers, where it is another than the one that is looked at.
    input: Option<&'static str>,
    output: &'static str,
    /// The level goes down at the time that the histogram tells, as at a pulse's end.
    falls: bool,
    times: &'a Histogram,
    /// Traces without an answer.
    missed: u64,
    asked_ns: Option<u64>,
}

/// The screens of a run; none where nothing was requested of a line.
pub(crate) fn screens(run: &Run) -> Vec<Screen<'_>> {
    let named = run.series.iter().filter_map(|s| Some(Screen { name: s.name.clone(), ..of(run, s)? }));
    named.filter(|screen| screen.times.max_ns.is_some()).collect()
}

fn of<'a>(run: &Run, series: &'a Series) -> Option<Screen<'a>> {
    let answered = |input, output| Screen {
        name: String::new(),
        input: Some(input),
        output,
        falls: false,
        times: &series.latency,
        missed: series.missed,
        asked_ns: None,
    };
    match (&run.measurement, &series.pulse) {
        (Measurement::Response, _) => Some(answered("request", "answer")),
        (Measurement::Edge, _) => Some(answered("line", "program")),
        (Measurement::Pulse | Measurement::PulseTable, Some(pulse)) => Some(Screen {
            input: None,
            output: "pulse",
            falls: true,
            times: &pulse.width,
            missed: 0,
            asked_ns: Some(pulse.wanted_ns),
            ..answered("", "")
        }),
        _ => None,
    }
}

/// A screen on paper of this size.
pub(crate) fn draw(screen: &Screen, paper: &Paper) -> String {
    let name = format!("Persistence of {}", screen.name);
    let mut frame = Frame::new(paper, &name, &[], 0.0);
    (frame.left, frame.right) = (8.0, paper.width - 8.0);
    frame.bottom = paper.height - 4.0;
    let longest = screen.times.max_ns.unwrap_or(1).max(screen.asked_ns.unwrap_or(0)).max(1);
    let division = division_ns(longest);
    let screen_bottom = frame.bottom - 22.0;
    let wide = (frame.right - frame.left) / (BEFORE + DIVISIONS);
    let (left, right, top) = (frame.left, frame.right, frame.top);
    let x = |ns: f64| left + wide * (BEFORE + ns / division);
    let zero = x(0.0);
    let size = (right - left, frame.bottom - top);
    frame.svg.empty(
        "rect",
        &[
            ("x", &left),
            ("y", &top),
            ("width", &size.0),
            ("height", &px(size.1)),
            ("rx", &4),
            ("fill", &GROUND),
            ("class", &"screen"),
        ],
    );
    for k in 1..(BEFORE + DIVISIONS) as usize {
        let at = left + wide * k as f64;
        frame.rule((at, top + 4.0), (at, screen_bottom), "graticule", GRATICULE);
    }
    for k in 1..6 {
        let at = top + (screen_bottom - top) * f64::from(k) / 6.0;
        frame.rule((left + 4.0, at), (right - 4.0, at), "graticule", GRATICULE);
    }
    let rows = if screen.input.is_some() { 2.0 } else { 1.0 };
    let row = (screen_bottom - top) / rows;
    // High and low of the channel in this row.
    let levels = |i: f64| (top + row * (i + 0.30), top + row * (i + 0.82));
    let traces = screen.times.count().saturating_add(screen.missed);
    frame.svg.open("g", &[("class", &"traces"), ("data-traces", &traces), ("data-division-ns", &division)]);
    if let Some(input) = screen.input {
        let (high, low) = levels(0.0);
        trace(&mut frame, &[(left, low), (zero, low), (zero, high), (right, high)], INPUT, LEVELS);
        label(&mut frame, (left + 6.0, high - 6.0), input, INPUT);
    }
    let (high, low) = levels(rows - 1.0);
    let (before, after) = if screen.falls { (high, low) } else { (low, high) };
    if screen.falls {
        trace(&mut frame, &[(left, low), (zero, low), (zero, high)], OUTPUT, LEVELS);
    } else {
        trace(&mut frame, &[(left, before), (zero, before)], OUTPUT, LEVELS);
    }
    overlay(&mut frame, screen, (zero, right), (before, after), wide / division);
    label(&mut frame, (left + 6.0, high - 6.0), screen.output, OUTPUT);
    if let Some(asked) = screen.asked_ns {
        let at = x(asked as f64);
        frame.rule((at, top + 4.0), (at, screen_bottom), "limit", WORDS);
        label(&mut frame, (at + 4.0, top + 14.0), &format!("asked {}", plain_time(asked)), WORDS);
    }
    frame.svg.close();
    let words = format!(
        "{} a division · {} traces · longest {}{}",
        plain_time(division as u64),
        count(traces),
        screen.times.max_ns.map_or_else(|| "unknown".into(), time),
        if screen.missed > 0 { format!(" · {} without an answer", count(screen.missed)) } else { String::new() },
    );
    let at = frame.bottom - 7.0;
    frame.text(left + 8.0, at, &words, &[("fill", &WORDS), ("font-size", &11)]);
    frame.finish()
}

/// Round, and such that the longest is on the screen.
fn division_ns(longest: u64) -> f64 {
    let steps = round_steps(longest as f64 * 1.02, DIVISIONS as usize);
    steps.get(1).copied().unwrap_or(1.0).max(1.0)
}

/// The answers from the request to the screen's right edge.
fn overlay(frame: &mut Frame, screen: &Screen, (from, to): (f64, f64), (before, after): (f64, f64), per_ns: f64) {
    let bins = bins(screen.times, ((to - from) / BIN) as usize, BIN / per_ns);
    let total = screen.times.count().saturating_add(screen.missed).max(1);
    let mut drawn: Vec<String> = vec![String::new(); LEVELS + 1];
    let mut add = |n: f64, points: &[(f64, f64)]| {
        let level = brightness(n, total);
        if level > 0 {
            drawn[level].push_str(&path(points));
        }
    };
    let mut answered = 0.0;
    // Stretches of equal brightness are one line.
    let mut level_lines: [(f64, f64); 2] = [(from, total as f64), (from, 0.0)];
    for (i, n) in bins.iter().enumerate() {
        let at = from + (i as f64 + 0.5) * BIN;
        if *n > 0.0 {
            add(*n, &[(at, before), (at, after)]);
        }
        answered += n;
        for (line, now, y) in [(0, total as f64 - answered, before), (1, answered, after)] {
            let (begin, was) = level_lines[line];
            if brightness(now, total) != brightness(was, total) {
                add(was, &[(begin, y), (at, y)]);
                level_lines[line] = (at, now);
            }
        }
    }
    for (line, y) in [(0, before), (1, after)] {
        let (begin, was) = level_lines[line];
        if begin < to {
            add(was, &[(begin, y), (to, y)]);
        }
    }
    for (level, d) in drawn.iter().enumerate().filter(|(_, d)| !d.is_empty()) {
        stroke(frame, d, OUTPUT, level);
    }
}

/// Answers in each bin. A bucket that covers several is spread over them.
fn bins(times: &Histogram, bins: usize, wide_ns: f64) -> Vec<f64> {
    let mut counts = vec![0.0; bins.max(1)];
    let last = counts.len() - 1;
    let place = |ns: f64| ((ns / wide_ns) as usize).min(last);
    for bucket in times.buckets() {
        let high = times.max_ns.map_or(bucket.high_ns(), |max| max.min(bucket.high_ns())).max(bucket.low_ns);
        let (from, to) = (place(bucket.low_ns as f64), place(high as f64));
        let each = bucket.count as f64 / (to - from + 1) as f64;
        counts[from..=to].iter_mut().for_each(|n| *n += each);
    }
    counts[place(times.max_ns.unwrap_or(0) as f64)] += times.overflow as f64;
    counts
}

/// 0 for no trace, and from 1 for one to [`LEVELS`] for all, by the logarithm.
fn brightness(n: f64, total: u64) -> usize {
    if n < 1e-6 {
        return 0;
    }
    let share = n.max(1.0).ln() / (total as f64).max(2.0).ln();
    1 + (share.clamp(0.0, 1.0) * (LEVELS - 1) as f64).round() as usize
}

fn trace(frame: &mut Frame, points: &[(f64, f64)], colour: &str, level: usize) {
    stroke(frame, &path(points), colour, level);
}

fn stroke(frame: &mut Frame, d: &str, colour: &str, level: usize) {
    let opacity = 0.2 + 0.8 * level as f64 / LEVELS as f64;
    let class = format!("trace level{level}");
    frame.svg.empty(
        "path",
        &[
            ("d", &d),
            ("class", &class),
            ("fill", &"none"),
            ("stroke", &colour),
            ("stroke-opacity", &px(opacity)),
            ("stroke-width", &BIN),
        ],
    );
}

fn label(frame: &mut Frame, (x, y): (f64, f64), words: &str, colour: &str) {
    frame.text(x, y, words, &[("fill", &colour), ("font-size", &11)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(measurement: &str, times: &[(u64, u64)], missed: u64) -> Run {
        let mut run = Run::new("ontick", measurement);
        let mut series = Series { missed, ..Series::from("poll".to_string()) };
        times.iter().for_each(|(ns, n)| series.latency.add(*ns, 1, *n));
        run.series.push(series);
        run
    }

    /// The strokes that go from one level to the other: where, and how bright.
    fn edges(svg: &str) -> Vec<(f64, usize)> {
        let document = roxmltree::Document::parse(svg).unwrap();
        let strokes = document.descendants().filter(|n| n.attribute("stroke") == Some(OUTPUT));
        let mut edges = Vec::new();
        for node in strokes {
            let level = node.attribute("class").unwrap().rsplit("level").next().unwrap().parse().unwrap();
            for line in node.attribute("d").unwrap().split('M').filter(|l| !l.is_empty()) {
                let points: Vec<f64> = line.split(['L', ' ']).map(|n| n.parse().unwrap()).collect();
                if points.len() == 4 && points[0] == points[2] {
                    edges.push((points[0], level));
                }
            }
        }
        edges
    }

    #[test]
    fn one_late_answer_is_seen_beside_a_million() {
        let run = run("response", &[(10_000, 1_000_000), (90_000, 1)], 0);
        let drawn = draw(&screens(&run)[0], &Paper::inline(1_116.0, 235.0));
        let edges = edges(&drawn);
        assert_eq!(edges.iter().map(|e| e.1).collect::<Vec<_>>(), [1, LEVELS], "{drawn}");
        // 10 us a division of 100 pixels, the request after the first.
        assert!((edges[1].0 - 208.0).abs() < 2.0 && (edges[0].0 - 1_008.0).abs() < 2.0, "{edges:?}");
        assert!(drawn.contains("data-traces=\"1000001\"") && drawn.contains("data-division-ns=\"10000\""), "{drawn}");
    }

    #[test]
    fn a_request_without_an_answer_stays_low() {
        let levels = |missed| {
            let run = run("edge", &[(10_000, 100)], missed);
            draw(&screens(&run)[0], &Paper::inline(470.0, 235.0))
        };
        // The low level goes on beyond the answers only where some did not come.
        let reaches_the_end = |svg: &str| svg.matches("L462 ").count();
        assert_eq!((reaches_the_end(&levels(0)), reaches_the_end(&levels(3))), (2, 3));
        assert!(levels(3).contains("3 without an answer"));
    }

    #[test]
    fn brightness_is_a_logarithm() {
        assert_eq!([0.0, 1.0, 1e3, 1e6].map(|n| brightness(n, 1_000_000)), [0, 1, 5, 8]);
        assert!(screens(&run("timer", &[(1, 1)], 0)).is_empty());
    }
}
