//! Leaves every output of the sample runs in the target folder, for people to look at.

mod sample;

use std::fs;
use std::path::PathBuf;

use ontick_report::compare::{self, Named};
use ontick_report::{Plot, Style, cyclictest_hist, html, html_of_several, openmetrics, plot, png, rows, text};

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("look");
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn texts() {
    let style = Style { colour: true, width: 80 };
    for (name, run) in [("prove", sample::prove()), ("methods", sample::methods()), ("single", sample::single())] {
        fs::write(folder().join(format!("{name}.txt")), text::summary(&run, &style) + "\n" + &text::plot(&run, &style))
            .unwrap();
    }
}

#[test]
fn formats() {
    let run = sample::prove();
    fs::write(folder().join("prove.metrics"), openmetrics(&run)).unwrap();
    fs::write(folder().join("prove.hist"), cyclictest_hist(&run, Some(400))).unwrap();
    fs::write(folder().join("prove.rows"), rows(&run)).unwrap();
    let (a, b) = (sample::single(), sample::methods());
    let named = [Named { name: "single.json", run: &a }, Named { name: "methods.json", run: &b }];
    fs::write(folder().join("compare.txt"), compare::text(&named, &Style::default())).unwrap();
}

#[test]
fn plots() {
    let plots = [
        ("latency", Plot::Latency),
        ("percentiles", Plot::Percentiles),
        ("maxima", Plot::Maxima),
        ("blocks", Plot::Blocks),
    ];
    for (name, run) in [("prove", sample::prove()), ("methods", sample::methods()), ("single", sample::single())] {
        for (kind, plot) in plots {
            fs::write(folder().join(format!("{name}-{kind}.svg")), plot::svg(&run, plot)).unwrap();
        }
        fs::write(folder().join(format!("{name}.html")), html(&run)).unwrap();
    }
    let (a, b) = (sample::single(), sample::prove());
    let named = [Named { name: "single.json", run: &a }, Named { name: "prove.json", run: &b }];
    fs::write(folder().join("compare.html"), html_of_several(&named)).unwrap();
    fs::write(folder().join("hostile.html"), html(&sample::hostile())).unwrap();
    let svg = plot::svg(&sample::prove(), Plot::Latency);
    fs::write(folder().join("prove-latency.png"), png(&svg, 1.5).unwrap()).unwrap();
}
