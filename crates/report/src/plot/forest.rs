//! A forest plot: the gain of each candidate of a search with its interval, around the line of no effect.

use ontick_record::search::{Effect, Search, Verdict};

use super::frame::{Frame, Paper, QUIET, TEXT, path, px, text_width};
use super::palette::Ink;
use super::scale::{Scale, Tick, round_steps};
use crate::search::{quantity, verdict_of, verdict_on_member};
use crate::typeset::sentence;

pub(super) const NAME: &str = "Gain of each setting";
pub(super) const LACKING: &str = "no settings were searched in this run";

const ROW: f64 = 22.0;
const HELPS: Ink = Ink { colour: 0, dash: 0 };
const HURTS: Ink = Ink { colour: 1, dash: 0 };

/// A row of the plot.
enum Row<'a> {
    Head(&'static str),
    /// With its name here, and its verdict.
    Effect(&'a Effect, &'a str, String),
}

fn rows(of: &Search) -> Vec<Row<'_>> {
    let mut rows: Vec<Row> =
        of.effects.iter().map(|effect| Row::Effect(effect, &effect.name, verdict_of(of, effect))).collect();
    if let Some(together) = &of.together {
        // Its own name is that of all its members.
        rows.push(Row::Effect(together, "together", verdict_of(of, together)));
    }
    if !of.members.is_empty() {
        rows.push(Row::Head("what each member adds to the others of the set"));
        rows.extend(of.members.iter().map(|of_one| Row::Effect(of_one, &of_one.name, verdict_on_member(of, of_one))));
    }
    rows
}

/// How high it must be, with so much above it.
pub(crate) fn height(of: Option<&Search>, above: f64) -> f64 {
    above + of.map_or(0.0, |of| rows(of).len() as f64 * ROW).max(4.0 * ROW) + 62.0
}

pub(crate) fn draw(of: Option<&Search>, paper: &Paper) -> String {
    let mut frame = Frame::new(&Paper { has_legend: false, ..paper.clone() }, NAME, &[], 0.0);
    let Some(of) = of.filter(|of| !of.effects.is_empty()) else {
        frame.nothing(LACKING);
        return frame.finish();
    };
    let rows = rows(of);
    let name = |row: &Row| -> f64 {
        match row {
            Row::Effect(_, name, _) => text_width(name, 12.0).min(240.0),
            Row::Head(_) => 0.0,
        }
    };
    frame.left = 24.0 + rows.iter().map(name).fold(80.0, f64::max);
    let verdict = |row: &Row| match row {
        Row::Effect(_, _, verdict) => text_width(verdict, 12.0),
        Row::Head(_) => 0.0,
    };
    frame.right -= rows.iter().map(verdict).fold(0.0, f64::max).min(0.4 * paper.width) + 8.0;
    let (x, ticks) = axis(of, &rows, frame.left, frame.right);
    frame.x_axis(x, &ticks, &[], &sentence(&quantity(of)));
    // What is too little to be worth a setting.
    let (from, to) = (x.at(-of.smallest), x.at(of.smallest));
    let height = frame.bottom - frame.top;
    let (left, top, wide, high) = (px(from), px(frame.top), px(to - from), px(height));
    let band: [(&str, &dyn std::fmt::Display); 7] = [
        ("x", &left),
        ("y", &top),
        ("width", &wide),
        ("height", &high),
        ("class", &"quiet"),
        ("fill", &QUIET),
        ("fill-opacity", &0.13),
    ];
    frame.svg.empty("rect", &band);
    frame.rule((x.at(0.0), frame.top), (x.at(0.0), frame.bottom), "limit", QUIET);
    frame.curves("gains");
    let mut y = frame.top + ROW / 2.0;
    for row in &rows {
        match row {
            Row::Head(words) => frame.text(16.0, y + 6.0, words, &[("fill", &QUIET), ("class", &"quiet")]),
            Row::Effect(effect, name, verdict) => one(&mut frame, (x, y), effect, name, verdict),
        }
        y += ROW;
    }
    frame.svg.close();
    frame.finish()
}

/// Room for all that is bounded, and for the middles of the rest.
fn axis(of: &Search, rows: &[Row], from: f64, to: f64) -> (Scale, Vec<Tick>) {
    let mut far = 2.0 * of.smallest;
    for row in rows {
        if let Row::Effect(effect, ..) = row {
            let ends = [effect.gain, effect.low, effect.high];
            far = ends.into_iter().flatten().fold(far, |far: f64, value| far.max(value.abs()));
        }
    }
    let far = far * 1.05;
    let scale = Scale::linear(-far, far, from, to);
    let label = |value: f64| {
        let round = (value * 1e6).round() / 1e6;
        if round > 0.0 { format!("+{round}") } else { round.to_string().replace('-', "−") }
    };
    let steps = round_steps(far, ((to - from) / 140.0) as usize);
    let values = steps.iter().skip(1).rev().map(|value| -value).chain(steps.iter().copied());
    (scale, values.map(|value| Tick { at: scale.at(value), label: label(value) }).collect())
}

fn one(frame: &mut Frame, (x, y): (Scale, f64), effect: &Effect, name: &str, verdict: &str) {
    let ink = match effect.verdict {
        Verdict::Helps => Some(HELPS),
        Verdict::Hurts => Some(HURTS),
        Verdict::NoEffect | Verdict::Unsettled => None,
    };
    let (class, stroke) =
        ink.map_or(("stroke quiet".into(), QUIET), |ink| (format!("stroke {}", ink.class()), ink.stroke()));
    frame.svg.open("g", &[("class", &"curve"), ("data-name", &effect.name)]);
    frame.svg.leaf("title", &[], &format!("{}: {verdict}", effect.name));
    let end: [(&str, &dyn std::fmt::Display); 3] = [("text-anchor", &"end"), ("fill", &TEXT), ("class", &"word")];
    frame.text(frame.left - 8.0, y + 4.0, name, &end);
    frame.text(frame.right + 8.0, y + 4.0, verdict, &[("fill", &TEXT), ("class", &"word")]);
    if let Some(gain) = effect.gain {
        // Where nothing bounds it, the line has no end.
        let low = effect.low.map_or(frame.left, |low| x.at(low));
        let high = effect.high.map_or(frame.right, |high| x.at(high));
        let mut d = path(&[(low, y), (high, y)]);
        for (at, _) in [(low, effect.low), (high, effect.high)].into_iter().filter(|(_, bound)| bound.is_some()) {
            d += &path(&[(at, y - 4.0), (at, y + 4.0)]);
        }
        let dashes = if effect.verdict == Verdict::Unsettled { "3 3" } else { "none" };
        frame.svg.empty(
            "path",
            &[("d", &d), ("class", &class), ("stroke", &stroke), ("stroke-width", &1.6), ("stroke-dasharray", &dashes)],
        );
        match ink {
            Some(ink) => frame.dot((x.at(gain), y), 4.0, ink),
            None => {
                let (x, y) = (px(x.at(gain)), px(y));
                let dot: [(&str, &dyn std::fmt::Display); 5] =
                    [("cx", &x), ("cy", &y), ("r", &3.5), ("class", &"quiet"), ("fill", &QUIET)];
                frame.svg.empty("circle", &dot);
            }
        }
    }
    frame.svg.close();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::tests::search;

    #[test]
    fn each_effect_is_a_dot_with_its_interval() {
        let of = search();
        let svg = draw(Some(&of), &Paper::inline(900.0, height(Some(&of), 10.0)));
        let document = roxmltree::Document::parse(&svg).unwrap();
        // Five candidates, the set, and one member.
        let curves: Vec<_> = document.descendants().filter(|node| node.attribute("class") == Some("curve")).collect();
        assert_eq!(curves.len(), 7, "{svg}");
        assert_eq!(svg.matches("<circle").count(), 7, "{svg}");
        // The dot of what helps lies right of the line of no effect, that of what hurts left of it.
        let at = |name: &str| -> f64 {
            let curve = curves.iter().find(|curve| curve.attribute("data-name") == Some(name)).unwrap();
            let dot = curve.children().find(|node| node.has_tag_name("circle")).unwrap();
            dot.attribute("cx").unwrap().parse().unwrap()
        };
        assert!(at("governor") < at("compaction") && at("compaction") < at("irq-affinity"), "{svg}");
        assert!(draw(None, &Paper::inline(900.0, 200.0)).contains(LACKING));
    }
}
