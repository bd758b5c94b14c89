//! Arrivals at the far side of a switch: one by one as vertical lines over the windows of the gates, as in source 004,
//! and all of them folded onto one cycle. Where there were trials with gates and without, they stand side by side.

use ontick_record::switching::{Class, Switching, Trial};

use super::frame::{Frame, Paper, TEXT, path, text_width};
use super::palette::Ink;
use super::scale::{Scale, Tick, power_of_count, round_steps};
use crate::typeset::plain_time;

/// Between panels beside each other, with the numbers of the right one.
const BESIDE: f64 = 74.0;
/// Between panels one above the other, with numbers and title of the upper and the heading of the lower one.
const BETWEEN: f64 = 64.0;
const LEGEND: f64 = 22.0;
const HEADING: f64 = 18.0;
/// The lowest line of the folded plot: half a frame, so that one frame stands above it.
const FLOOR: f64 = 0.5;
/// More cycles than this cannot be distinguished.
const MOST_CYCLES: u64 = 100;
/// Narrower than this, trials stand one below the other.
const NARROW: f64 = 600.0;

/// Names of classes at the lanes: their size, and the least that is still read.
const NAME: f64 = 12.0;
const SMALLEST: f64 = 7.0;
/// What a lane's name has without making the plot narrower.
const NAME_ROOM: f64 = 62.0;

/// Paper as high as the picture needs to be.
pub(super) fn height(switch: Option<&Switching>, width: f64, titled: bool) -> f64 {
    let rows = if width < NARROW { 2 * switch.map_or(1, |switch| switch.trials.len()) } else { 2 };
    let above = if titled { 62.0 } else { 10.0 };
    above + LEGEND + rows as f64 * (HEADING + PANEL + BETWEEN) - 8.0
}

/// How much wider the left margin is for the longest name of a class, and the size of names that it makes whole.
fn name_margin(trials: &[Trial], width: f64) -> (f64, f64) {
    let names = trials.iter().flat_map(|trial| &trial.classes).map(|class| text_width(&class.name, NAME));
    let longest = names.fold(0.0, f64::max);
    let room = longest.clamp(NAME_ROOM, NAME_ROOM.max(width / 6.0));
    (room - NAME_ROOM, (NAME * room / longest.max(room)).max(SMALLEST))
}

const PANEL: f64 = 150.0;

pub(super) fn draw(switch: Option<&Switching>, paper: &Paper) -> String {
    let mut frame = Frame::new(paper, "Arrivals over the gates", &[], 0.0);
    let trials = switch.map_or(&[][..], |switch| &switch.trials);
    let (Some(switch), Some(first)) = (switch, trials.first()) else {
        frame.nothing("no frames went through a switch in this run");
        return frame.finish();
    };
    legend(&mut frame, first);
    let top = frame.top + LEGEND;
    let columns = if paper.width < NARROW { 1 } else { trials.len() };
    let (margin, name_size) = name_margin(trials, paper.width / columns as f64);
    let (left, right, beside) = (frame.left + margin, frame.right, BESIDE + margin);
    let wide = (right - left - (columns - 1) as f64 * beside) / columns as f64;
    for (i, trial) in trials.iter().enumerate() {
        let (column, row) = (i % columns, i / columns * 2);
        frame.left = left + column as f64 * (wide + beside);
        frame.right = frame.left + wide;
        for panel in 0..2 {
            frame.top = top + (row + panel) as f64 * (HEADING + PANEL + BETWEEN) + HEADING;
            frame.bottom = frame.top + PANEL;
            match panel {
                0 => one_by_one(&mut frame, switch, trial, name_size),
                _ => folded(&mut frame, switch, trial),
            }
        }
    }
    frame.finish()
}

fn ink(class: usize) -> Ink {
    Ink { colour: class, dash: 0 }
}

fn legend(frame: &mut Frame, trial: &Trial) {
    let (mut x, y) = (frame.left, frame.top + 8.0);
    for (i, class) in trial.classes.iter().enumerate() {
        block(frame, (x, y - 5.0), (x + 16.0, y + 5.0), i, 1.0);
        frame.text(x + 22.0, y + 4.0, &class.name, &[("fill", &TEXT), ("class", &"word")]);
        x += 22.0 + text_width(&class.name, 12.0) + 20.0;
        if x > frame.right - 60.0 {
            // The rest is reported by the lanes' names.
            return;
        }
    }
    frame.text(x, y + 4.0, "shaded: its window", &[("fill", &TEXT), ("class", &"quiet")]);
}

/// Which trial it is, and what is drawn. Without gates, the windows are those that are compared with.
fn titled(trial: &Trial, what: &str) -> String {
    format!("{}: {what}{}", trial.name, if trial.gates { "" } else { " (no window is in force)" })
}

/// As much as there is room for, in whole words: that no window is in force stands in the trial's name as well.
fn fitting(frame: &Frame, trial: &Trial, what: &str) -> String {
    let room = frame.right - frame.left;
    let all = [titled(trial, what), format!("{}: {what}", trial.name), trial.name.clone()];
    let fits = |words: &&String| text_width(words, 12.5) <= room;
    all.iter().find(fits).unwrap_or(&all[2]).clone()
}

fn heading(frame: &mut Frame, words: &str) {
    frame.text(frame.left, frame.top - 7.0, words, &[("fill", &TEXT), ("class", &"word"), ("font-weight", &600)]);
}

/// A filled rectangle in a class's colour.
fn block(frame: &mut Frame, from: (f64, f64), to: (f64, f64), class: usize, opacity: f64) {
    let d = format!("{}Z", path(&[from, (to.0, from.1), to, (from.0, to.1)]));
    let (name, fill) = (format!("fill {}", ink(class).class()), ink(class).stroke());
    frame.svg.empty("path", &[("d", &d), ("class", &name), ("fill", &fill), ("fill-opacity", &opacity)]);
}

/// The lane of a class: its upper and lower edge.
fn lane(frame: &Frame, class: usize, classes: usize) -> (f64, f64) {
    let high = (frame.bottom - frame.top) / classes.max(1) as f64;
    (frame.top + class as f64 * high, frame.top + (class + 1) as f64 * high)
}

/// A line for each frame, in the lane of its class.
fn one_by_one(frame: &mut Frame, switch: &Switching, trial: &Trial, size: f64) {
    let cycle_ns = switch.cycle_ns.max(1);
    let cycles = u64::from(trial.kept_cycles).clamp(1, MOST_CYCLES);
    let span_ns = cycle_ns.saturating_mul(cycles);
    let x = Scale::linear(0.0, span_ns as f64, frame.left, frame.right);
    let words = fitting(frame, trial, "each arrival a line");
    heading(frame, &words);
    frame.x_axis(x, &time_ticks(x, span_ns), &[], "time");
    for (i, class) in trial.classes.iter().enumerate() {
        let (top, bottom) = lane(frame, i, trial.classes.len());
        // One more at the beginning, for a window that goes on over the end of the cycle.
        for cycle in 0..=cycles {
            for (open_ns, length_ns) in &class.windows {
                let from = (cycle as f64 - 1.0) * cycle_ns as f64 + *open_ns as f64;
                let [from, to] = [from, from + *length_ns as f64].map(|at| x.at(at));
                if to > from {
                    block(frame, (from, top), (to, bottom), i, 0.16);
                }
            }
        }
        // Where lines would cover each other, one is drawn.
        let mut places: Vec<i64> = class.arrivals.iter().map(|ns| (x.at(*ns as f64) * 4.0).round() as i64).collect();
        places.dedup();
        let lines: String = places
            .into_iter()
            .map(|place| place as f64 / 4.0)
            .map(|x| path(&[(x, top + 3.0), (x, bottom - 3.0)]))
            .collect();
        named(frame, class, |frame| {
            let (name, stroke) = (format!("stroke {}", ink(i).class()), ink(i).stroke());
            let drawn: [(&str, &dyn std::fmt::Display); 5] =
                [("d", &lines), ("class", &name), ("fill", &"none"), ("stroke", &stroke), ("stroke-width", &0.7)];
            frame.svg.empty("path", &drawn);
        });
    }
    for (i, class) in trial.classes.iter().enumerate() {
        let (top, bottom) = lane(frame, i, trial.classes.len());
        let place = (frame.left - 8.0, 0.5 * (top + bottom) + size / 3.0);
        let drawn: [(&str, &dyn std::fmt::Display); 4] =
            [("text-anchor", &"end"), ("fill", &TEXT), ("class", &"word"), ("font-size", &size)];
        frame.text(place.0, place.1, &class.name, &drawn);
    }
}

/// All arrivals by their place in the cycle.
fn folded(frame: &mut Frame, switch: &Switching, trial: &Trial) {
    let cycle_ns = switch.cycle_ns.max(1);
    let x = Scale::linear(0.0, cycle_ns as f64, frame.left, frame.right);
    // All trials have the same scale, or they could not be compared.
    let classes = || switch.trials.iter().flat_map(|trial| &trial.classes);
    let all = || classes().flat_map(|class| class.folded.iter().copied());
    let top = (all().max().unwrap_or(1).max(1) as f64).log10().ceil().max(1.0);
    let y = Scale::log(FLOOR.log10(), top, frame.bottom, frame.top);
    let words = fitting(frame, trial, "all arrivals, folded onto one cycle");
    heading(frame, &words);
    for (i, class) in trial.classes.iter().enumerate() {
        for (open_ns, length_ns) in &class.windows {
            // What goes on over the end of the cycle is seen at its beginning.
            let end_ns = open_ns.saturating_add(*length_ns);
            let over_ns = end_ns.saturating_sub(cycle_ns);
            for (from, to) in [(*open_ns, end_ns.min(cycle_ns)), (0, over_ns)] {
                if to > from {
                    block(frame, (x.at(from as f64), frame.top), (x.at(to as f64), frame.bottom), i, 0.08);
                }
            }
        }
    }
    let bins = trial.classes.iter().map(|class| class.folded.len()).max().unwrap_or(0).max(1);
    let counts = y.powers(22.0, power_of_count);
    frame.x_axis(x, &time_ticks(x, cycle_ns), &[], "time in the cycle");
    frame.y_axis(y, &counts, &format!("frames in {}", plain_time(cycle_ns / bins as u64)));
    // The class with the most frames is behind all others, or it would hide them.
    let mut behind: Vec<(usize, &Class)> = trial.classes.iter().enumerate().collect();
    behind
        .sort_by_key(|(_, class)| std::cmp::Reverse(class.folded.iter().fold(0, |sum: u64, n| sum.saturating_add(*n))));
    for (i, class) in behind {
        let outline = stairs(frame, class, x, y, cycle_ns);
        named(frame, class, |frame| {
            let (name, fill) = (format!("fill {}", ink(i).class()), ink(i).stroke());
            frame.svg.empty("path", &[("d", &outline), ("class", &name), ("fill", &fill), ("fill-opacity", &0.75)]);
        });
    }
}

/// The bins of a class as stairs; where there are none, the line rests on the floor.
fn stairs(frame: &Frame, class: &Class, x: Scale, y: Scale, cycle_ns: u64) -> String {
    let wide = cycle_ns as f64 / class.folded.len().max(1) as f64;
    let mut d = String::new();
    let mut i = 0;
    while i < class.folded.len() {
        let run = class.folded[i..].iter().take_while(|n| **n > 0).count();
        if run == 0 {
            i += 1;
            continue;
        }
        let at = |i: usize| x.at(i as f64 * wide);
        let mut points = vec![(at(i), frame.bottom)];
        for (k, n) in class.folded[i..i + run].iter().enumerate() {
            points.push((at(i + k), y.at(*n as f64)));
            points.push((at(i + k + 1), y.at(*n as f64)));
        }
        points.push((at(i + run), frame.bottom));
        d.push_str(&path(&points));
        d.push('Z');
        i += run;
    }
    d
}

/// Marked so that a program finds it, and a person by pointing at it.
fn named(frame: &mut Frame, class: &Class, draw: impl FnOnce(&mut Frame)) {
    frame.svg.open("g", &[("class", &"curve"), ("data-name", &class.name)]);
    frame.svg.leaf("title", &[], &class.name);
    draw(frame);
    frame.svg.close();
}

pub(super) fn time_ticks(x: Scale, span_ns: u64) -> Vec<Tick> {
    let (from, to) = x.span();
    let most = (((to - from) / 62.0) as usize).max(2);
    // Never beyond the end: a whole number of steps.
    let steps = round_steps(span_ns as f64, most).into_iter().filter(|at| *at <= span_ns as f64 * 1.000_001);
    let label = |at: f64| if at > 0.0 { plain_time(at.round() as u64) } else { "0".into() };
    steps.map(|at| Tick { at: x.at(at), label: label(at) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_has_as_many_words_as_its_panel_has_room_for() {
        let trial = |name: &str, gates| Trial { name: name.into(), gates, ..Trial::default() };
        let trials = vec![trial("gates on", true), trial("gates off", false)];
        let switch = Switching { cycle_ns: 1_000_000, trials, ..Switching::default() };
        for (width, whole) in [(960.0, false), (1_600.0, true)] {
            let picture = draw(Some(&switch), &Paper::inline(width, height(Some(&switch), width, false)));
            let headings =
                picture.split("font-weight=\"600\"").skip(1).filter_map(|text| text.split(['>', '<']).nth(1));
            let headings: Vec<&str> = headings.collect();
            let has_all =
                |words: &&str| words.starts_with("gates off: all") && words.ends_with("(no window is in force)");
            assert_eq!(headings.iter().any(has_all), whole, "{headings:?}");
            assert!(headings.contains(&"gates on: all arrivals, folded onto one cycle"), "{headings:?}");
            let room = (width - 72.0 - 22.0 - BESIDE) / 2.0;
            assert!(headings.iter().all(|words| text_width(words, 12.0) <= room), "{room}: {headings:?}");
        }
    }

    #[test]
    fn names_are_whole_in_the_lanes_of_both_trials() {
        for longest in ["scheduled-7", "a-class-whose-name-is-rather-long"] {
            let class = |name: &str| Class { name: name.into(), folded: vec![1; 10], ..Class::default() };
            let classes = vec![class(longest), class("best-effort")];
            let trial =
                |name: &str, gates| Trial { name: name.into(), gates, classes: classes.clone(), ..Trial::default() };
            let trials = vec![trial("gates on", true), trial("gates off", false)];
            let switch = Switching { cycle_ns: 1_000_000, trials, ..Switching::default() };
            for width in [400.0, 800.0, 1_600.0] {
                let height = height(Some(&switch), width, false);
                let picture = draw(Some(&switch), &Paper::inline(width, height));
                // In the lane of each trial, beside legend and titles.
                for name in [longest, "best-effort"] {
                    let lanes = picture
                        .split("<text")
                        .filter(|text| text.contains("\"end\"") && text.contains(&format!(">{name}<")));
                    assert_eq!(lanes.count(), 2, "{name} at {width}: {picture}");
                }
                assert!(picture.contains(">gates on: each") && picture.contains(">gates off: each"));
                let (margin, size) = name_margin(&switch.trials, if width < NARROW { width } else { width / 2.0 });
                assert!(text_width("best-effort", size) <= NAME_ROOM + margin + 1.0, "{width}");
            }
        }
    }
}
