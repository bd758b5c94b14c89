//! This crate's SVG to PNG, with a font of its own so that words appear on a machine without any.

mod canvas;
mod shapes;
mod words;

use roxmltree::Document;
use tiny_skia::{IntSize, Pixmap, Transform};

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
    /// The picture is larger than memory allows, or than any plot is, or has no area.
    #[error("a PNG of {width} by {height} pixels is none, or too large; use another scale between 0.1 and 8")]
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

/// The most pixels of a picture, 1 GiB: where the system promises memory that it does not have, nothing else refuses it.
const MOST_PIXELS: usize = 1 << 28;
/// Each in bytes.
const OF_PIXEL: usize = 4;

/// Draws an SVG of this crate as PNG; `scale` 2 gives twice the pixels each way. Of SVG it knows what plots have.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let document = Document::parse(svg)?;
    let root = document.root_element();
    let [width, height] = [shapes::length(root, "width")?, shapes::length(root, "height")?];
    let [across, down] = [width, height].map(|side| (side * scale).ceil() as u32);
    let too_large = || PngError::Size { width: across, height: down };
    let pixels = if (0.1..=8.0).contains(&scale) { blank(across, down) } else { None };
    let mut pixels = pixels.ok_or_else(too_large)?;
    Canvas { pixels: &mut pixels.as_mut(), scale }.draw(root, Transform::from_scale(scale, scale))?;
    let pixels = without_room_for_a_copy(pixels).ok_or_else(too_large)?;
    pixels.encode_png().map_err(|e| PngError::Encode(e.to_string()))
}

/// No ink yet; `None` where there is no memory for it. [`Pixmap::new`] would end the process then, and so would the encoder,
/// which copies all pixels: there is room for both from the beginning.
fn blank(across: u32, down: u32) -> Option<Pixmap> {
    let pixels = (across as usize).checked_mul(down as usize).filter(|pixels| *pixels <= MOST_PIXELS)?;
    let bytes = pixels.checked_mul(OF_PIXEL)?;
    let mut data = Vec::new();
    data.try_reserve_exact(bytes.checked_mul(2)?).ok()?;
    data.resize(bytes, 0);
    Pixmap::from_vec(data, IntSize::from_wh(across, down)?)
}

/// Gives that room back, for the encoder to take.
fn without_room_for_a_copy(pixels: Pixmap) -> Option<Pixmap> {
    let size = IntSize::from_wh(pixels.width(), pixels.height())?;
    let mut data = pixels.take();
    data.shrink_to_fit();
    Pixmap::from_vec(data, size)
}
