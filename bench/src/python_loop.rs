//! A loop in Python beside the same loop in Rust.

use std::fs;

use ontick_record::compare::LIMIT_NS;

use crate::beside_rust::{Figures, Loops, Of, WIDE_LIMIT_NS, beside_this_program, folder};
use crate::goals::Goal;
use crate::show::percent_down;

/// Ticks within 10 µs, of all periods, with nothing beside.
const SHARE: f64 = 0.99;
/// What it is held against: the loop in Rust on the same machine, within 3 µs.
const WHERE_RUST_HAS: f64 = 0.995;

/// The loop for the interpreter that has the wheel.
pub fn build() -> Result<Loops, String> {
    let folder = folder()?;
    let python = beside_this_program("../python/bench/bin/python")?;
    if !python.exists() {
        return Err(format!("there is no {} yet (bench/run installs the wheel there)", python.display()));
    }
    let source = folder.path().join("python_loop.py");
    fs::write(&source, include_str!("../loops/python_loop.py")).map_err(|e| format!("{}: {e}", source.display()))?;
    let start = vec![python.display().to_string(), source.display().to_string()];
    Ok(Loops { language: "Python", start, folder })
}

/// Enough ticks within 10 µs on an idle machine, beside Rust's within 3 µs.
pub fn goals(all: &[Figures]) -> Vec<Goal> {
    let of = |figures: &Figures| {
        let python = figures.median(Of::Other, |series| series.share_in_time(WIDE_LIMIT_NS));
        let rust = figures.median(Of::Rust, |series| series.share_in_time(LIMIT_NS));
        let seen = python.zip(rust).map(|(python, rust)| {
            let both = format!("{} (Rust within 3us: {})", percent_down(python), percent_down(rust));
            (both, python >= SHARE)
        });
        Goal::new(
            "ticks within 10us, Python, idle",
            format!("≥ {} %, where Rust has {} % within 3us", SHARE * 100.0, WHERE_RUST_HAS * 100.0),
            seen,
        )
    };
    all.iter().filter(|figures| figures.load == "idle").map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beside_rust::tests::series;

    #[test]
    fn a_hundredth_may_be_late_and_only_idle_counts() {
        let goals = |late, load: &str| {
            let pairs = vec![(series(late, 1_000, 4_000), series(2, 1_000, 100))];
            goals(&[Figures { language: "Python", load: load.into(), pairs }])
        };
        assert_eq!((goals(10, "idle")[0].reached, goals(11, "idle")[0].reached), (Some(true), Some(false)));
        assert_eq!(goals(10, "idle")[0].seen, "99.000 % (Rust within 3us: 99.800 %)");
        assert!(goals(500, "all").is_empty());
    }
}
