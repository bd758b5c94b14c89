//! Machines by how late they are: a strip for each kind, on one axis.

use super::frame::{Frame, Paper, QUIET, TEXT, px};
use super::palette::Ink;
use super::scale::{Scale, power_of_time};
use crate::bins::Decades;

/// Machines of a kind.
pub(crate) struct Strip {
    pub name: String,
    /// Each machine's latency, ascending, in ns.
    pub machines_ns: Vec<u64>,
    /// Those of them that stand apart.
    pub apart_ns: Vec<u64>,
}

const NAME: f64 = 16.0;
const BAND: f64 = 22.0;
const GAP: f64 = 8.0;
const BELOW: f64 = 50.0;
/// Of more machines than this, dots would hide each other.
const DOTTED: usize = 300;
const USUAL: Ink = Ink { colour: 0, dash: 0 };
const APART: Ink = Ink { colour: 1, dash: 0 };

/// A strip for each kind: where half and where nine of ten machines lie, and a dot for each where they are few.
pub(crate) fn machines(strips: &[Strip], width: f64) -> String {
    let height = 14.0 + strips.len() as f64 * (NAME + BAND + GAP) + BELOW;
    let paper = Paper { has_legend: false, ..Paper::inline(width, height) };
    let mut frame = Frame::new(&paper, "Machines by their 99.99th percentile", &[], 0.0);
    frame.left = 16.0;
    let axis = Decades::of_values(strips.iter().flat_map(|strip| strip.machines_ns.iter().copied()));
    let x = Scale::log(f64::from(axis.low), f64::from(axis.high), frame.left, frame.right);
    frame.x_axis(x, &x.powers(44.0, power_of_time), &x.between(), "p99.99 of a machine");
    frame.curves("machines");
    let mut top = frame.top;
    for strip in strips {
        frame.text(frame.left, top + 11.0, &strip.name, &[("fill", &TEXT), ("class", &"word"), ("font-size", &11)]);
        band(&mut frame, strip, x, top + NAME);
        top += NAME + BAND + GAP;
    }
    frame.svg.close();
    frame.finish()
}

fn band(frame: &mut Frame, strip: &Strip, x: Scale, top: f64) {
    let all = &strip.machines_ns;
    let at = |share: f64| all.get(((all.len() as f64 * share) as usize).min(all.len().saturating_sub(1))).copied();
    let (Some(low), Some(middle), Some(high)) = (at(0.05), at(0.5), at(0.95)) else { return };
    let place = |ns: u64| x.at(ns.max(1) as f64);
    let (from, to) = (place(low), place(high));
    let class = format!("fill {}", USUAL.class());
    frame.svg.empty(
        "rect",
        &[
            ("x", &px(from)),
            ("y", &px(top + 3.0)),
            ("width", &px((to - from).max(1.0))),
            ("height", &px(BAND - 6.0)),
            ("class", &class),
            ("fill", &USUAL.stroke()),
            ("fill-opacity", &0.16),
        ],
    );
    if all.len() <= DOTTED {
        for (n, ns) in all.iter().enumerate().filter(|(_, ns)| !strip.apart_ns.contains(ns)) {
            // Spread by the golden ratio, so that neighbours do not cover each other.
            let down = (n as f64 * 0.618_034).fract() * (BAND - 8.0) + 4.0;
            frame.dot((place(*ns), top + down), 1.7, USUAL);
        }
    }
    let at_middle = place(middle);
    let class = format!("stroke {}", USUAL.class());
    frame.rule((at_middle, top), (at_middle, top + BAND), &class, USUAL.stroke());
    for ns in &strip.apart_ns {
        diamond(frame, (place(*ns), top + BAND / 2.0));
    }
    if all.len() > DOTTED {
        let words = format!("{} machines", crate::typeset::count(all.len() as u64));
        let end: [(&str, &dyn std::fmt::Display); 4] =
            [("text-anchor", &"end"), ("fill", &QUIET), ("class", &"quiet"), ("font-size", &11)];
        frame.text(frame.right, top - NAME + 11.0, &words, &end);
    }
}

/// Its form tells it from a dot without any colour.
fn diamond(frame: &mut Frame, (x, y): (f64, f64)) {
    let d = format!("M{} {}l5 5l-5 5l-5 -5Z", px(x), px(y - 5.0));
    let class = format!("fill {}", APART.class());
    frame.svg.empty("path", &[("d", &d), ("class", &class), ("fill", &APART.stroke())]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(machines_ns: Vec<u64>, apart_ns: Vec<u64>) -> String {
        machines(&[Strip { name: "Pi & co".into(), machines_ns, apart_ns }], 600.0)
    }

    #[test]
    fn each_of_few_machines_has_its_dot_and_those_apart_their_diamond() {
        let svg = drawn((0..40).map(|n| 20_000 + n * 100).chain([900_000]).collect(), vec![900_000]);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let of = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
        assert_eq!((of("circle"), of("rect")), (40, 1));
        assert_eq!(svg.matches("l5 5l-5 5l-5 -5Z").count(), 1);
    }

    #[test]
    fn many_machines_are_a_band_and_none_is_no_fault() {
        let svg = drawn((0..5_000).map(|n| 20_000 + n).collect(), Vec::new());
        assert!(svg.contains("machines") && !svg.contains("<circle"), "{svg}");
        assert!(!drawn(Vec::new(), Vec::new()).contains("<rect"));
    }
}
