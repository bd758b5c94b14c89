//! Leaves every output of the sample runs in the target folder, for people to look at.

mod sample;

use std::fs;
use std::path::PathBuf;

use ontick_report::compare::{self, Named};
use ontick_report::{Style, cyclictest_hist, openmetrics, rows, text};

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
