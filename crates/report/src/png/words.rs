//! Words as outlines.

use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// DejaVu Sans, reduced to the characters that plots use; see `font/README.md`.
static FONT: &[u8] = include_bytes!("../../font/DejaVuSans-subset.ttf");

/// Where a word's place lies in it, as in SVG.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A word's outline, its baseline at a place; `None` where nothing of it is visible.
pub(super) fn outline(words: &str, (x, y): (f32, f32), size: f32, anchor: Anchor) -> Option<Path> {
    let face = Face::parse(FONT, 0).ok()?;
    let scale = size / f32::from(face.units_per_em());
    let glyphs: Vec<GlyphId> = collapsed(words).chars().filter_map(|c| glyph(&face, c)).collect();
    let advance = |id: &GlyphId| f32::from(face.glyph_hor_advance(*id).unwrap_or(0)) * scale;
    let width: f32 = glyphs.iter().map(advance).sum();
    let start = match anchor {
        Anchor::Start => x,
        Anchor::Middle => x - width / 2.0,
        Anchor::End => x - width,
    };
    let mut pen = Pen { path: PathBuilder::new(), scale, x: start, y };
    for id in glyphs {
        face.outline_glyph(id, &mut pen);
        pen.x += advance(&id);
    }
    pen.path.finish()
}

/// Spaces at the ends are none, and several are one, as in SVG.
fn collapsed(words: &str) -> String {
    words.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What the font lacks is shown as such.
fn glyph(face: &Face, c: char) -> Option<GlyphId> {
    face.glyph_index(c).or_else(|| face.glyph_index('\u{fffd}'))
}

/// Draws a glyph at a place; the font's own coordinates rise upward.
struct Pen {
    path: PathBuilder,
    scale: f32,
    x: f32,
    y: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lie_where_their_anchor_says() {
        let bounds = |words, anchor| outline(words, (100.0, 50.0), 12.0, anchor).unwrap().bounds();
        let [start, middle, end] = [Anchor::Start, Anchor::Middle, Anchor::End].map(|anchor| bounds("latency", anchor));
        assert!(start.left() >= 100.0 && end.right() <= 100.0, "{start:?} {end:?}");
        assert!((middle.left() + middle.right() - 200.0).abs() < 2.0, "{middle:?}");
        // A y reaches below the line, an l does not; both are smaller than the size.
        assert!(start.bottom() > 50.0 && start.top() > 50.0 - 12.0);
        assert!(bounds("l", Anchor::Start).bottom() <= 50.1);
        assert_eq!(
            outline("  a  b ", (0.0, 0.0), 12.0, Anchor::Start),
            outline("a b", (0.0, 0.0), 12.0, Anchor::Start)
        );
        // Twice the size is twice as wide.
        let large = outline("latency", (100.0, 50.0), 24.0, Anchor::Start).unwrap().bounds();
        assert!((large.width() / start.width() - 2.0).abs() < 0.01);
    }

    #[test]
    fn every_character_of_a_plot_has_a_glyph() {
        let face = Face::parse(FONT, 0).unwrap();
        for c in "azAZ09µ·–…≥≤−\u{202f}°üéß".chars() {
            assert!(face.glyph_index(c).is_some(), "{c:?}");
        }
        // Others are shown as a sign of their own.
        assert_eq!(face.glyph_index('語'), None);
        assert!(outline("語", (0.0, 0.0), 12.0, Anchor::Start).is_some());
        assert_eq!(outline(" ", (0.0, 0.0), 12.0, Anchor::Start), None);
    }
}
