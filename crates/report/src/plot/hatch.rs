//! Patterns that tell filled shapes of one colour apart, as dashes do with lines.

use std::fmt::Display;

use super::palette::Ink;
use crate::markup::Markup;

/// The side of a pattern's square.
const TILE: f64 = 6.0;
/// White lines in that square, by the ink's dash; the first ink has none.
const LINES: [Option<(&str, &str)>; 4] = [
    None,
    Some(("hatch-rising", "M-1,1L1,-1M0,6L6,0M5,7L7,5")),
    Some(("hatch-upright", "M3,-1V7")),
    Some(("hatch-crossed", "M0,0L6,6M6,0L0,6M-1,1L1,-1M5,7L7,5M-1,5L1,7M5,-1L7,1")),
];

fn lines(ink: Ink) -> Option<(&'static str, &'static str)> {
    LINES[ink.dash % LINES.len()]
}

/// Describes the patterns that shapes of these inks need, each once.
pub(crate) fn define(svg: &mut Markup, inks: impl Iterator<Item = Ink>) {
    let mut needed: Vec<_> = inks.filter_map(lines).collect();
    needed.sort_unstable();
    needed.dedup();
    if needed.is_empty() {
        return;
    }
    svg.open("defs", &[]);
    for (id, d) in needed {
        let units: &dyn Display = &"userSpaceOnUse";
        svg.open("pattern", &[("id", &id), ("width", &TILE), ("height", &TILE), ("patternUnits", units)]);
        svg.empty("path", &[("d", &d), ("fill", &"none"), ("stroke", &"#ffffff"), ("stroke-width", &1.3)]);
        svg.close();
    }
    svg.close();
}

/// Draws the ink's pattern over a shape with these attributes, whose edges stay.
pub(crate) fn cover(svg: &mut Markup, ink: Ink, shape: &[(&str, &dyn Display)]) {
    let Some((id, _)) = lines(ink) else { return };
    let fill = format!("url(#{id})");
    let edge: [(&str, &dyn Display); 2] = [("stroke", &ink.stroke()), ("stroke-width", &0.6)];
    let paint: [(&str, &dyn Display); 2] = [("fill", &fill), ("pointer-events", &"none")];
    svg.empty("rect", &[shape, &edge, &paint].concat());
}

#[cfg(test)]
mod tests {
    use super::super::palette::nth;
    use super::*;

    #[test]
    fn the_first_28_differ_in_colour_or_pattern() {
        let all: Vec<_> = (0..28).map(nth).map(|ink| (ink.stroke(), lines(ink))).collect();
        assert!(all.iter().enumerate().all(|(i, one)| !all[..i].contains(one)));
    }

    #[test]
    fn each_pattern_that_is_drawn_is_described_once() {
        let mut svg = Markup::default();
        svg.open("svg", &[]);
        define(&mut svg, (0..28).map(nth));
        (0..28).for_each(|n| cover(&mut svg, nth(n), &[]));
        let svg = svg.finish();
        assert_eq!(svg.matches("<pattern ").count(), 3, "{svg}");
        for (id, _) in LINES.into_iter().flatten() {
            let counts = [format!("id=\"{id}\""), format!("url(#{id})")].map(|part| svg.matches(&part).count());
            assert_eq!(counts, [1, 7], "{svg}");
        }
    }
}
