//! SVG to PNG, with a font of its own so that words appear on a machine without any.

use std::sync::Arc;

use resvg::{tiny_skia, usvg};

/// DejaVu Sans, reduced to the characters that plots use; see `font/README.md`.
static FONT: &[u8] = include_bytes!("../font/DejaVuSans-subset.ttf");

/// A plot could not be turned into pixels.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The text is not a drawing.
    #[error("the SVG cannot be drawn: {0}")]
    Svg(#[from] usvg::Error),
    /// The picture is larger than memory allows, or has no area.
    #[error("a PNG of {width} by {height} pixels cannot be made; use a scale between 0.1 and 8")]
    Size {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
    /// The pixels could not be encoded.
    #[error("the PNG cannot be written: {0}")]
    Encode(String),
}

/// Draws an SVG of this crate as PNG; `scale` 2 gives twice the pixels each way.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let mut options = usvg::Options { font_family: "DejaVu Sans".into(), ..Default::default() };
    Arc::make_mut(&mut options.fontdb).load_font_data(FONT.to_vec());
    let tree = usvg::Tree::from_str(svg, &options)?;
    let size = tree.size();
    let [width, height] = [size.width(), size.height()].map(|side| (side * scale).ceil() as u32);
    let pixels = if (0.1..=8.0).contains(&scale) { tiny_skia::Pixmap::new(width, height) } else { None };
    let mut pixels = pixels.ok_or(PngError::Size { width, height })?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| PngError::Encode(e.to_string()))
}
