//! Pictures as PNG: each kind is drawn, and as a browser draws it.
#![cfg(feature = "png")]

mod chromium;
mod pictures;
mod sample;

use ontick_report::{Plot, plot, png};
use pictures::Picture;
use tiny_skia::{IntRect, Pixmap};

fn pixels(bytes: &[u8]) -> Pixmap {
    Pixmap::decode_png(bytes).unwrap()
}

/// Width and height as the SVG has them.
fn size(svg: &str) -> [f32; 2] {
    let document = roxmltree::Document::parse(svg).unwrap();
    ["width", "height"].map(|side| document.root_element().attribute(side).unwrap().parse().unwrap())
}

#[test]
fn every_kind_of_picture_is_drawn() {
    for (name, svg) in pictures::all() {
        let drawn = pixels(&png(&svg, 0.2).unwrap_or_else(|e| panic!("{name}: {e}")));
        let expected = size(&svg).map(|side| (side * 0.2).ceil() as u32);
        assert_eq!([drawn.width(), drawn.height()], expected, "{name}");
        let inked = drawn.data().chunks(4).filter(|pixel| **pixel != [255; 4]).count();
        assert!(inked * 50 > drawn.pixels().len(), "{name}: {inked} pixels of {} have ink", drawn.pixels().len());
    }
}

/// Pictures are compared by the means of squares of so many pixels: edges are smoothed differently, while a stroke that is
/// missing, elsewhere or of another colour changes a mean.
const SQUARE: usize = 8;

/// The largest difference of a colour's mean in any square of two pictures, and where it is.
fn farthest(one: &Pixmap, other: &Pixmap) -> (u32, [usize; 2]) {
    assert_eq!([one.width(), one.height()], [other.width(), other.height()]);
    let mean = |picture: &Pixmap, [left, top]: [usize; 2]| {
        let mut sums = [0u32; 3];
        for y in top..top + SQUARE {
            let row = (y * picture.width() as usize + left) * 4;
            for pixel in picture.data()[row..row + SQUARE * 4].chunks(4) {
                sums.iter_mut().zip(pixel).for_each(|(sum, colour)| *sum += u32::from(*colour));
            }
        }
        sums.map(|sum| sum / (SQUARE * SQUARE) as u32)
    };
    let [across, down] = [one.width(), one.height()].map(|side| side as usize / SQUARE);
    let places = (0..down).flat_map(|y| (0..across).map(move |x| [x * SQUARE, y * SQUARE]));
    let differences = places.map(|place| {
        let (a, b) = (mean(one, place), mean(other, place));
        (a.iter().zip(b).map(|(a, b)| a.abs_diff(b)).max().unwrap_or(0), place)
    });
    differences.max().unwrap_or((0, [0, 0]))
}

/// Pictures as the browser draws them, with the font that PNG files have and its letters as far from each other as the font
/// says.
fn as_drawn_by(browser: &str, pictures: &[Picture]) -> Vec<Pixmap> {
    let font = concat!(env!("CARGO_MANIFEST_DIR"), "/font/DejaVuSans-subset.ttf");
    let mut page = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><style>@font-face {{ font-family: words; src: url(\"file://{font}\") }}
        svg text {{ font-family: words; font-weight: 400; font-synthesis: none; font-kerning: none }}
        body {{ margin: 0; background: #fff }} div > svg {{ display: block }}</style>"
    );
    let sizes: Vec<[u32; 2]> = pictures.iter().map(|(_, svg)| size(svg).map(|side| side.ceil() as u32)).collect();
    for ((_, svg), [_, height]) in pictures.iter().zip(&sizes) {
        page += &format!("<div style=\"height: {height}px\">{svg}</div>");
    }
    let width = sizes.iter().map(|size| size[0]).max().unwrap_or(1);
    let height: u32 = sizes.iter().map(|size| size[1]).sum();
    let window = format!("--window-size={width},{height}");
    // A font may come after the page has loaded, in no time of the page's own.
    let fonts = "--virtual-time-budget=10000";
    let options = ["--allow-file-access-from-files", "--hide-scrollbars", "--screenshot=drawn.png", &window, fonts];
    let folder = chromium::open(browser, &page, &options);
    let all = pixels(&std::fs::read(folder.path().join("drawn.png")).unwrap());
    let mut top = 0;
    let mut cut = |[width, height]: [u32; 2]| {
        let place = IntRect::from_xywh(0, top, width, height).unwrap();
        top += height as i32;
        all.clone_rect(place).unwrap_or_else(|| panic!("{place:?} is not in {}x{}", all.width(), all.height()))
    };
    sizes.into_iter().map(&mut cut).collect()
}

/// The browser's picture is no larger than so many pixels each way, so several are on a page.
const ON_A_PAGE: usize = 9;
/// Squares that are alike differ by less, of 255.
const ALIKE: u32 = 32;

#[test]
fn pictures_are_as_a_browser_draws_them() {
    let Some(browser) = chromium::chromium() else { return };
    for pictures in pictures::all().chunks(ON_A_PAGE) {
        for ((name, svg), expected) in pictures.iter().zip(as_drawn_by(browser, pictures)) {
            let (difference, place) = farthest(&pixels(&png(svg, 1.0).unwrap()), &expected);
            println!("{name}: {difference} at {place:?}");
            assert!(difference < ALIKE, "{name} differs by {difference} at {place:?}");
        }
    }
}

/// Proof that the test above can fail: each picture is changed in one way, and each is found out.
#[test]
fn another_picture_is_found_out() {
    let svg = plot::svg(&sample::prove(), Plot::Blocks);
    let drawn = |svg: &str| pixels(&png(svg, 1.0).unwrap());
    for (part, other) in [
        ("stroke=\"#0072b2\"", "stroke=\"#d55e00\""),
        ("<circle", "<circle visibility=\"hidden\""),
        ("<text", "<text visibility=\"hidden\""),
    ] {
        let changed = svg.replace(part, other);
        assert_ne!(changed, svg, "{part}");
        let (difference, _) = farthest(&drawn(&svg), &drawn(&changed));
        assert!(difference >= ALIKE, "{part}: {difference}");
    }
}
