//! The first pulses of a train as waveforms: what was asked for above what was got, and below by how much each edge of
//! each pulse came too early or too late.

use std::fmt::Display;

use ontick_record::Run;
use ontick_record::run::Pulse;

use super::frame::{Frame, Paper, QUIET, TEXT, path};
use super::palette::{Ink, nth};
use super::scale::{Scale, Tick, round_steps};
use crate::typeset::plain_time;

/// Pulses that are drawn as waveforms; all that were kept have their edges below.
const DRAWN: usize = 8;
const LANE: f64 = 34.0;
/// Room for the sign of the numbers on the left, beside what every picture has.
const SIGN: f64 = 16.0;

/// A series whose first pulses were kept.
pub(crate) struct Train<'a> {
    pub name: String,
    pulse: &'a Pulse,
}

/// An edge that was asked for at one time and came at another, in ns after the first pulse began.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Edges {
    asked_ns: u64,
    rose_ns: u64,
    fell_ns: u64,
}

/// The trains of a run; none where no pulse was kept by itself, as in records of before.
pub(crate) fn trains(run: &Run) -> Vec<Train<'_>> {
    let train = |s: &'_ ontick_record::Series| s.pulse.as_ref().is_some_and(|pulse| !pulse.first.is_empty());
    let trains = run.series.iter().filter(|s| train(s));
    trains.filter_map(|s| Some(Train { name: s.name.clone(), pulse: s.pulse.as_ref()? })).collect()
}

/// Each pulse beside the one that was asked for: the train begins with the first pulse, and one that was left out has
/// its place.
fn edges(pulse: &Pulse) -> Vec<Edges> {
    let period_ns = pulse.wanted_ns.saturating_add(pulse.gap_ns).max(1);
    let edge = |(rose_ns, width_ns): &(u64, u64)| Edges {
        asked_ns: rose_ns.saturating_add(period_ns / 2) / period_ns * period_ns,
        rose_ns: *rose_ns,
        fell_ns: rose_ns.saturating_add(*width_ns),
    };
    pulse.first.iter().map(edge).collect()
}

pub(crate) fn draw(train: &Train, paper: &Paper) -> String {
    let mut frame = Frame::new(paper, &format!("Pulses of {}", train.name), &[], 4.0);
    frame.left += SIGN;
    let edges = edges(train.pulse);
    let (left, right, bottom) = (frame.left, frame.right, frame.bottom);
    let shown = &edges[..edges.len().min(DRAWN)];
    let wanted_ns = train.pulse.wanted_ns;
    let last_ns = shown.iter().map(|e| e.fell_ns.max(e.asked_ns + wanted_ns)).max().unwrap_or(1);
    let x = Scale::linear(0.0, last_ns as f64 * 1.02, left + 4.0, right);
    let (top, middle) = (frame.top, frame.top + 2.0 * LANE + 8.0);
    frame.bottom = middle;
    frame.x_axis(x, &ticks(x, last_ns as f64 * 1.02, 80.0), &[], "time");
    let asked: Vec<(u64, u64)> = shown.iter().map(|e| (e.asked_ns, e.asked_ns + wanted_ns)).collect();
    let got: Vec<(u64, u64)> = shown.iter().map(|e| (e.rose_ns, e.fell_ns)).collect();
    for (place, (name, pulses)) in [("asked", asked), ("got", got)].into_iter().enumerate() {
        let low = top + LANE * (place + 1) as f64;
        let attributes: [(&str, &dyn Display); 3] = [("text-anchor", &"end"), ("fill", &TEXT), ("class", &"word")];
        frame.text(left - 8.0, low - 8.0, name, &attributes);
        let mut points = vec![(left, low)];
        for (rose, fell) in pulses {
            let (rose, fell) = (x.at(rose as f64), x.at(fell as f64));
            points.extend([(rose, low), (rose, low - LANE + 10.0), (fell, low - LANE + 10.0), (fell, low)]);
        }
        points.push((right, low));
        frame.svg.open("g", &[("class", &"waveform"), ("data-name", &name)]);
        frame.line(&path(&points), ink(place), 1.5);
        frame.svg.close();
    }
    (frame.top, frame.bottom) = (middle + 74.0, bottom);
    errors(&mut frame, &edges, wanted_ns);
    frame.finish()
}

/// By how much each edge came too late, pulse by pulse; below zero it was early.
fn errors(frame: &mut Frame, edges: &[Edges], wanted_ns: u64) {
    let rise = |e: &Edges| e.rose_ns as f64 - e.asked_ns as f64;
    let fall = |e: &Edges| e.fell_ns as f64 - (e.asked_ns + wanted_ns) as f64;
    let all = || edges.iter().flat_map(|e| [rise(e), fall(e)]);
    let (low, high) = (all().fold(0.0f64, f64::min), all().fold(1.0f64, f64::max));
    let room = (high - low) * 0.08;
    let x = Scale::linear(0.5, edges.len() as f64 + 0.5, frame.left, frame.right);
    let y = Scale::linear(low - room, high + room, frame.bottom, frame.top);
    let each = (edges.len() / 16 + 1).max(1);
    let pulses = (1..=edges.len()).step_by(each).map(|n| Tick { at: x.at(n as f64), label: n.to_string() });
    frame.x_axis(x, &pulses.collect::<Vec<_>>(), &[], "pulse");
    let step = round_steps(high - low, 4).get(1).copied().unwrap_or(1.0);
    let first = ((low - room) / step).ceil() as i64;
    let values = (first..).map(|k| k as f64 * step).take_while(|v| *v <= high + room);
    frame.y_axis(y, &values.map(|v| Tick { at: y.at(v), label: signed(v) }).collect::<Vec<_>>(), "edge, too late by");
    let zero = y.at(0.0);
    frame.rule((frame.left, zero), (frame.right, zero), "limit", QUIET);
    for (place, (name, of)) in
        [("rising edges", &rise as &dyn Fn(&Edges) -> f64), ("falling edges", &fall)].into_iter().enumerate()
    {
        // Beside each other, or the later would cover the earlier.
        let aside = if place == 0 { -2.5 } else { 2.5 };
        frame.svg.open("g", &[("class", &"edges"), ("data-name", &name)]);
        for (n, edge) in edges.iter().enumerate() {
            frame.dot((x.at(n as f64 + 1.0) + aside, y.at(of(edge))), 2.8, ink(place + 1));
        }
        frame.svg.close();
        let at = (frame.left + 12.0 + 110.0 * place as f64, frame.top - 8.0);
        frame.dot((at.0, at.1 - 4.0), 3.0, ink(place + 1));
        frame.text(at.0 + 8.0, at.1, name, &[("fill", &TEXT), ("class", &"word"), ("font-size", &11)]);
    }
}

/// What was asked is grey; what was got has the first colours.
fn ink(place: usize) -> Ink {
    match place {
        0 => nth(6),
        place => nth(place - 1),
    }
}

fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "−" } else { "" };
    if ns == 0.0 { "0".into() } else { format!("{sign}{}", plain_time(ns.abs().round() as u64)) }
}

fn ticks(x: Scale, last: f64, apart: f64) -> Vec<Tick> {
    let (from, to) = x.span();
    let steps = round_steps(last, ((to - from) / apart) as usize).into_iter().filter(|v| *v <= last);
    steps.map(|v| Tick { at: x.at(v), label: signed(v) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pulse(first: &[(u64, u64)]) -> Pulse {
        Pulse { wanted_ns: 100_000, gap_ns: 900_000, first: first.to_vec(), ..Pulse::default() }
    }

    #[test]
    fn a_pulse_that_was_left_out_has_its_place() {
        let pulse = pulse(&[(0, 100_100), (1_000_300, 99_000), (3_000_000, 100_000)]);
        let asked: Vec<u64> = edges(&pulse).iter().map(|e| e.asked_ns).collect();
        assert_eq!(asked, [0, 1_000_000, 3_000_000]);
    }

    #[test]
    fn numbers_with_a_sign_leave_room_for_the_title_beside_them() {
        for early_ns in [900, 1_260, 120_000] {
            let pulse = pulse(&[(0, 100_000), (1_000_000 - early_ns, 100_000)]);
            let svg = draw(&Train { name: "hybrid".into(), pulse: &pulse }, &Paper::inline(900.0, 400.0));
            let document = roxmltree::Document::parse(&svg).unwrap();
            let labels = document.descendants().filter(|n| n.attribute("text-anchor") == Some("end"));
            let begins = labels.map(|label| {
                let ends: f64 = label.attribute("x").unwrap().parse().unwrap();
                ends - crate::plot::frame::text_width(label.text().unwrap(), 12.0)
            });
            // The title is turned, and ends here.
            assert!(begins.fold(f64::MAX, f64::min) >= 20.0, "{svg}");
        }
    }

    #[test]
    fn both_edges_of_every_pulse_are_drawn() {
        let first: Vec<(u64, u64)> = (0..20).map(|n| (n * 1_000_000 + n * 10, 100_000 + n * 50)).collect();
        let pulse = pulse(&first);
        let svg = draw(&Train { name: "hybrid".into(), pulse: &pulse }, &Paper::inline(900.0, 400.0));
        let document = roxmltree::Document::parse(&svg).unwrap();
        let of =
            |class: &str| document.descendants().filter(|n| n.attribute("class") == Some(class)).collect::<Vec<_>>();
        let edges = of("edges");
        let dots = |n: &roxmltree::Node| n.children().filter(|c| c.has_tag_name("circle")).count();
        assert_eq!(edges.iter().map(dots).collect::<Vec<_>>(), [20, 20]);
        // The last pulse's rising edge is 190 ns late, its falling one 1140 ns: further up.
        let height =
            |n: &roxmltree::Node| n.last_element_child().unwrap().attribute("cy").unwrap().parse::<f64>().unwrap();
        assert!(height(&edges[1]) < height(&edges[0]) - 20.0, "{svg}");
        let waveforms = of("waveform");
        let corners =
            |n: &roxmltree::Node| n.first_element_child().unwrap().attribute("d").unwrap().matches('L').count();
        assert_eq!(waveforms.iter().map(corners).collect::<Vec<_>>(), [4 * DRAWN + 1; 2]);
    }
}
