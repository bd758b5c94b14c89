//! Leaves every output of the sample runs in the target folder, for people to look at.

mod sample;

use std::fs;
use std::path::PathBuf;

use ontick_report::{Style, text};

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("look");
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn texts() {
    let style = Style { colour: true, width: 80 };
    for (name, run) in [("prove", sample::prove()), ("methods", sample::methods()), ("single", sample::single())] {
        fs::write(folder().join(format!("{name}.txt")), text::summary(&run, &style)).unwrap();
    }
}
