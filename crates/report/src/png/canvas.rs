//! The elements of a plot, drawn one over the other.

use roxmltree::Node;
use tiny_skia::{
    FillRule, FilterQuality, LineJoin, Paint, Path, Pattern, Pixmap, PixmapMut, Shader, SpreadMode, Stroke, Transform,
};

use super::PngError;
use super::shapes::{self, foreign, inherited, inherited_length, length};
use super::words::{self, Anchor};

/// What an SVG's words are as large as, where it does not say.
const FONT_SIZE: f32 = 16.0;

/// Pixels that are drawn on.
pub(super) struct Canvas<'p, 'd> {
    pub pixels: &'p mut PixmapMut<'d>,
    /// Pixels for each unit of the drawing.
    pub scale: f32,
}

impl Canvas<'_, '_> {
    /// Draws an element and what is in it.
    pub fn draw(&mut self, node: Node, place: Transform) -> Result<(), PngError> {
        shapes::check(node)?;
        if inherited(node, "visibility") == Some("hidden") {
            return Ok(());
        }
        match node.tag_name().name() {
            "svg" => self.inside(node, place.pre_concat(shapes::panel(node)?)),
            "g" => self.inside(node, place),
            // What others refer to, and what is not drawn.
            "defs" | "title" => Ok(()),
            "rect" | "circle" | "line" | "path" => match shapes::outline(node)? {
                Some(outline) => self.shape(node, &outline, place),
                None => Ok(()),
            },
            "text" => {
                let at = (length(node, "x")?, length(node, "y")?);
                let size = inherited_length(node, "font-size", FONT_SIZE)?;
                match words::outline(node.text().unwrap_or_default(), at, size, anchor(node)?) {
                    Some(outline) => self.shape(node, &outline, place.pre_concat(shapes::turned(node)?)),
                    None => Ok(()),
                }
            }
            name => Err(PngError::Foreign(format!("<{name}>"))),
        }
    }

    fn inside(&mut self, node: Node, place: Transform) -> Result<(), PngError> {
        node.children().filter(Node::is_element).try_for_each(|child| self.draw(child, place))
    }

    fn shape(&mut self, node: Node, outline: &Path, place: Transform) -> Result<(), PngError> {
        let tile;
        let shader = match inherited(node, "fill").unwrap_or("#000000") {
            "none" => None,
            value => match value.strip_prefix("url(#").and_then(|rest| rest.strip_suffix(')')) {
                Some(id) => {
                    let (pixels, back) = self.tile(node, id)?;
                    tile = pixels;
                    Some(Pattern::new(tile.as_ref(), SpreadMode::Repeat, FilterQuality::Bilinear, 1.0, back))
                }
                None => {
                    let opacity = inherited_length(node, "fill-opacity", 1.0)?;
                    Some(Shader::SolidColor(shapes::colour(node, "fill", value, opacity)?))
                }
            },
        };
        // A line has no inside.
        if let Some(shader) = shader.filter(|_| !node.has_tag_name("line")) {
            self.pixels.fill_path(outline, &paint(shader), FillRule::Winding, place, None);
        }
        let colour = match inherited(node, "stroke") {
            None | Some("none" | "") => return Ok(()),
            Some(value) => shapes::colour(node, "stroke", value, inherited_length(node, "stroke-opacity", 1.0)?)?,
        };
        let round = inherited(node, "stroke-linejoin") == Some("round");
        let stroke = Stroke {
            width: inherited_length(node, "stroke-width", 1.0)?,
            line_join: if round { LineJoin::Round } else { LineJoin::Miter },
            dash: shapes::dashes(node)?,
            ..Stroke::default()
        };
        self.pixels.stroke_path(outline, &paint(Shader::SolidColor(colour)), &stroke, place, None);
        Ok(())
    }

    /// The square of a pattern in pixels, and what brings it back to the drawing's units.
    fn tile(&self, node: Node, id: &str) -> Result<(Pixmap, Transform), PngError> {
        let missing = || foreign(node, "fill", &format!("url(#{id})"));
        let named = |n: &Node| n.has_tag_name("pattern") && n.attribute("id") == Some(id);
        let pattern = node.document().descendants().find(named).ok_or_else(missing)?;
        shapes::check(pattern)?;
        let sides = [length(pattern, "width")?, length(pattern, "height")?];
        let [across, down] = sides.map(|side| (side * self.scale).ceil().min(1_000.0) as u32);
        let mut pixels = Pixmap::new(across, down).ok_or_else(missing)?;
        let (x, y) = (across as f32 / sides[0], down as f32 / sides[1]);
        let mut canvas = Canvas { pixels: &mut pixels.as_mut(), scale: self.scale };
        for child in pattern.children().filter(Node::is_element) {
            // A pattern in a pattern would have no end.
            if child.attribute("fill").is_some_and(|fill| fill.starts_with("url(")) {
                return Err(missing());
            }
            canvas.draw(child, Transform::from_scale(x, y))?;
        }
        Ok((pixels, Transform::from_scale(1.0 / x, 1.0 / y)))
    }
}

fn paint(shader: Shader) -> Paint {
    Paint { shader, anti_alias: true, ..Paint::default() }
}

fn anchor(node: Node) -> Result<Anchor, PngError> {
    const NAME: &str = "text-anchor";
    match inherited(node, NAME) {
        None | Some("start") => Ok(Anchor::Start),
        Some("middle") => Ok(Anchor::Middle),
        Some("end") => Ok(Anchor::End),
        Some(value) => Err(foreign(node, NAME, value)),
    }
}
