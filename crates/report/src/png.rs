//! This crate's SVG to PNG, with a font of its own so that words appear on a machine without any.

mod canvas;
mod shapes;
mod words;

use roxmltree::Document;
use tiny_skia::{Pixmap, Transform};

use canvas::Canvas;

/// A plot could not be turned into pixels.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The text is not XML.
    #[error("the SVG cannot be drawn: {0}")]
    Svg(#[from] roxmltree::Error),
    /// Plots have no such element or attribute.
    #[error("the SVG cannot be drawn: {0} is not what a plot of ontick has")]
    Foreign(String),
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

/// Draws an SVG of this crate as PNG; `scale` 2 gives twice the pixels each way. Of SVG it knows what plots have.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let document = Document::parse(svg)?;
    let root = document.root_element();
    let [width, height] = [shapes::length(root, "width")?, shapes::length(root, "height")?];
    let [across, down] = [width, height].map(|side| (side * scale).ceil() as u32);
    let pixels = if (0.1..=8.0).contains(&scale) { Pixmap::new(across, down) } else { None };
    let mut pixels = pixels.ok_or(PngError::Size { width: across, height: down })?;
    Canvas { pixels: &mut pixels.as_mut(), scale }.draw(root, Transform::from_scale(scale, scale))?;
    pixels.encode_png().map_err(|e| PngError::Encode(e.to_string()))
}
