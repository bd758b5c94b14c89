//! What the attributes of an element say: lengths, colours, dashes, the outline of a shape.

use roxmltree::Node;
use tiny_skia::{Color, Path, PathBuilder, Rect, StrokeDash, Transform};

use super::PngError;

/// What is drawn of an element with this name.
fn drawn(element: &str) -> &'static [&'static str] {
    match element {
        "svg" => &["x", "y", "width", "height", "viewBox"],
        "pattern" => &["width", "height", "patternUnits"],
        "rect" => &["x", "y", "width", "height", "rx"],
        "circle" => &["cx", "cy", "r"],
        "line" => &["x1", "y1", "x2", "y2"],
        "path" => &["d"],
        "text" => &["x", "y", "transform"],
        _ => &[],
    }
}

/// What elements around may say too.
const INHERITED: [&str; 10] = [
    "fill",
    "fill-opacity",
    "font-size",
    "stroke",
    "stroke-dasharray",
    "stroke-linejoin",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
    "visibility",
];
/// What changes no pixel here: there is one font, of one weight.
const UNDRAWN: [&str; 6] = ["class", "font-family", "font-weight", "id", "pointer-events", "role"];

/// Refuses an element with an attribute that would change the picture and is not drawn.
pub(super) fn check(node: Node) -> Result<(), PngError> {
    let of_element = drawn(node.tag_name().name());
    let is_known = |name: &str| {
        [of_element, &INHERITED, &UNDRAWN].iter().any(|names| names.contains(&name))
            || ["aria-", "data-"].iter().any(|start| name.starts_with(start))
    };
    match node.attributes().find(|attribute| !is_known(attribute.name())) {
        Some(attribute) => Err(foreign(node, attribute.name(), attribute.value())),
        None => Ok(()),
    }
}

/// An attribute that is not understood.
pub(super) fn foreign(node: Node, name: &str, value: &str) -> PngError {
    PngError::Foreign(format!("{name}=\"{value}\" of <{}>", node.tag_name().name()))
}

/// The attribute of an element, or that of the innermost one around it.
pub(super) fn inherited<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.ancestors().find_map(|around| around.attribute(name))
}

/// A number in an attribute.
pub(super) fn number(node: Node, name: &str, value: &str) -> Result<f32, PngError> {
    value.trim().parse().ok().filter(|n: &f32| n.is_finite()).ok_or_else(|| foreign(node, name, value))
}

/// A length of the element itself; 0 where it has none.
pub(super) fn length(node: Node, name: &str) -> Result<f32, PngError> {
    node.attribute(name).map_or(Ok(0.0), |value| number(node, name, value))
}

/// A length that elements around may set too.
pub(super) fn inherited_length(node: Node, name: &str, otherwise: f32) -> Result<f32, PngError> {
    inherited(node, name).map_or(Ok(otherwise), |value| number(node, name, value))
}

/// `#rrggbb`, with an opacity.
pub(super) fn colour(node: Node, name: &str, value: &str, opacity: f32) -> Result<Color, PngError> {
    let digits = value.strip_prefix('#').filter(|digits| digits.len() == 6);
    let rgb = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let [_, red, green, blue] = rgb.ok_or_else(|| foreign(node, name, value))?.to_be_bytes();
    let mut colour = Color::from_rgba8(red, green, blue, 255);
    colour.apply_opacity(opacity);
    Ok(colour)
}

/// `6 3`: drawn and left out in turn.
pub(super) fn dashes(node: Node) -> Result<Option<StrokeDash>, PngError> {
    const NAME: &str = "stroke-dasharray";
    match inherited(node, NAME) {
        None | Some("none") => Ok(None),
        Some(value) => {
            let lengths = value.split(' ').map(|word| number(node, NAME, word)).collect::<Result<_, _>>()?;
            StrokeDash::new(lengths, 0.0).map(Some).ok_or_else(|| foreign(node, NAME, value))
        }
    }
}

/// `rotate(-90 16 200)`
pub(super) fn turned(node: Node) -> Result<Transform, PngError> {
    const NAME: &str = "transform";
    let Some(value) = node.attribute(NAME) else { return Ok(Transform::identity()) };
    let inner = value.strip_prefix("rotate(").and_then(|rest| rest.strip_suffix(')'));
    let words = inner.ok_or_else(|| foreign(node, NAME, value))?.split(' ');
    match words.map(|word| number(node, NAME, word)).collect::<Result<Vec<_>, _>>()?[..] {
        [degrees, x, y] => Ok(Transform::from_rotate_at(degrees, x, y)),
        _ => Err(foreign(node, NAME, value)),
    }
}

/// Where a drawing lies in the one around it, and how large its own units are there.
pub(super) fn panel(node: Node) -> Result<Transform, PngError> {
    const NAME: &str = "viewBox";
    let place = Transform::from_translate(length(node, "x")?, length(node, "y")?);
    let Some(value) = node.attribute(NAME) else { return Ok(place) };
    let units = value.split(' ').map(|word| number(node, NAME, word)).collect::<Result<Vec<_>, _>>()?;
    match units[..] {
        [0.0, 0.0, width, height] if width > 0.0 && height > 0.0 => {
            Ok(place.pre_scale(length(node, "width")? / width, length(node, "height")? / height))
        }
        _ => Err(foreign(node, NAME, value)),
    }
}

/// The outline of a shape; `None` where it has no extent.
pub(super) fn outline(node: Node) -> Result<Option<Path>, PngError> {
    let lengths = |names: [&str; 4]| -> Result<[f32; 4], PngError> {
        let mut found = [0.0; 4];
        for (place, name) in found.iter_mut().zip(names) {
            *place = length(node, name)?;
        }
        Ok(found)
    };
    match node.tag_name().name() {
        "rect" => {
            let [x, y, width, height] = lengths(["x", "y", "width", "height"])?;
            let radius = length(node, "rx")?.min(width / 2.0).min(height / 2.0);
            Ok(Rect::from_xywh(x, y, width, height).and_then(|rect| rounded(rect, radius)))
        }
        "circle" => {
            let [x, y, radius, _] = lengths(["cx", "cy", "r", ""])?;
            Ok(PathBuilder::from_circle(x, y, radius))
        }
        "line" => {
            let [x1, y1, x2, y2] = lengths(["x1", "y1", "x2", "y2"])?;
            let mut path = PathBuilder::new();
            path.move_to(x1, y1);
            path.line_to(x2, y2);
            Ok(path.finish())
        }
        _ => {
            let data = node.attribute("d").unwrap_or_default();
            path(data).ok_or_else(|| foreign(node, "d", &data.chars().take(40).collect::<String>()))
        }
    }
}

fn rounded(rect: Rect, radius: f32) -> Option<Path> {
    if radius <= 0.0 {
        return Some(PathBuilder::from_rect(rect));
    }
    let (left, top, right, bottom) = (rect.left(), rect.top(), rect.right(), rect.bottom());
    // Where the arc's control points are for a cubic curve to be round within a thousandth.
    let pull = radius * (1.0 - 0.552_285);
    let mut path = PathBuilder::new();
    path.move_to(left + radius, top);
    path.line_to(right - radius, top);
    path.cubic_to(right - pull, top, right, top + pull, right, top + radius);
    path.line_to(right, bottom - radius);
    path.cubic_to(right, bottom - pull, right - pull, bottom, right - radius, bottom);
    path.line_to(left + radius, bottom);
    path.cubic_to(left + pull, bottom, left, bottom - pull, left, bottom - radius);
    path.line_to(left, top + radius);
    path.cubic_to(left, top + pull, left + pull, top, left + radius, top);
    path.close();
    path.finish()
}

/// Path data of straight lines: M, L, V, H, Z, and l. `None` where it is none; an empty path is `Some(None)`.
fn path(data: &str) -> Option<Option<Path>> {
    let mut path = PathBuilder::new();
    let (mut x, mut y) = (0.0, 0.0);
    let mut rest = data.trim_start();
    while let Some(command) = rest.chars().next() {
        let after = rest.get(1..)?;
        let end = after.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(after.len());
        let numbers = after[..end].split([' ', ',']).filter(|word| !word.is_empty());
        let numbers: Vec<f32> =
            numbers.map(|n| n.parse().ok().filter(|n: &f32| n.is_finite())).collect::<Option<_>>()?;
        match (command, &numbers[..]) {
            ('M' | 'L', [to_x, to_y]) => (x, y) = (*to_x, *to_y),
            ('l', [by_x, by_y]) => (x, y) = (x + by_x, y + by_y),
            ('H', [to_x]) => x = *to_x,
            ('V', [to_y]) => y = *to_y,
            ('Z', []) => {}
            _ => return None,
        }
        match command {
            'M' => path.move_to(x, y),
            'Z' => path.close(),
            _ => path.line_to(x, y),
        }
        rest = &after[end..];
    }
    Some(path.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(data: &str) -> Vec<(f32, f32)> {
        path(data).unwrap().unwrap().points().iter().map(|p| (p.x, p.y)).collect()
    }

    #[test]
    fn what_would_change_the_picture_is_not_left_out() {
        let judged =
            |svg: &str| check(roxmltree::Document::parse(svg).unwrap().root_element()).map_err(|e| e.to_string());
        for known in ["<g class='a' data-b='1' aria-label='c' fill='#ffffff'/>", "<text transform='rotate(1 2 3)'/>"] {
            judged(known).unwrap();
        }
        for (foreign, named) in [
            ("<g opacity='0.5'/>", "opacity=\"0.5\" of <g>"),
            ("<g transform='scale(2)'/>", "transform=\"scale(2)\" of <g>"),
            ("<circle x='1'/>", "x=\"1\" of <circle>"),
        ] {
            assert!(judged(foreign).unwrap_err().contains(named), "{foreign}");
        }
    }

    #[test]
    fn lines_are_read_in_each_spelling() {
        assert_eq!(ends("M1 2L3 4"), [(1.0, 2.0), (3.0, 4.0)]);
        assert_eq!(ends("M-1,1L1,-1M0,6V7"), [(-1.0, 1.0), (1.0, -1.0), (0.0, 6.0), (0.0, 7.0)]);
        assert_eq!(ends("M10 5l5 5l-5 5H2Z"), [(10.0, 5.0), (15.0, 10.0), (10.0, 15.0), (2.0, 15.0)]);
        assert_eq!(path(""), Some(None));
        for foreign in ["M1", "M1 2C1 2 3 4 5 6", "M1 NaN", "M1 2 3", "1 2", "Mé 1"] {
            assert_eq!(path(foreign), None, "{foreign}");
        }
    }
}
