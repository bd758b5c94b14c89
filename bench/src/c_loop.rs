//! A loop in C through libontick beside the same loop in Rust.

use std::fs;
use std::process::Command;

use ontick_record::compare::LIMIT_NS;

use crate::beside_rust::{Figures, Loops, beside_this_program, folder, quantile};
use crate::goals::Goal;
use crate::show::times;

/// What the loop in C may be worse by.
const WITHIN: f64 = 0.10;

/// Compiles the loop in C as its users do.
pub fn build() -> Result<Loops, String> {
    let folder = folder()?;
    let library = beside_this_program("../libontick")?;
    let library = library.canonicalize().map_err(|_| "there is no libontick yet (make build-lib makes it)")?;
    let (source, c) = (folder.path().join("c_loop.c"), folder.path().join("c_loop"));
    let written = fs::write(&source, include_str!("../loops/c_loop.c"))
        .and_then(|()| fs::write(folder.path().join("ontick.h"), include_str!("../../crates/c/include/ontick.h")));
    written.map_err(|e| format!("{}: {e}", folder.path().display()))?;
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-o"]).arg(&c).arg("-I").arg(folder.path()).arg(&source);
    compiler.arg("-L").arg(&library).arg("-lontick").arg(format!("-Wl,-rpath,{}", library.display()));
    let output = compiler.output().map_err(|e| format!("cc: {e} (packaging/needs bench installs it)"))?;
    match output.status.success() {
        true => Ok(Loops { language: "C", start: vec![c.display().to_string()], folder }),
        false => Err(format!("the loop in C does not compile: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// Within a tenth of the loop in Rust: as many cycles within 3 µs, and no larger a median.
pub fn goals(all: &[Figures]) -> Vec<Goal> {
    let of = |figures: &Figures| {
        let share = figures.share_ratio(LIMIT_NS).map(|ratio| (times(ratio), ratio >= 1.0 - WITHIN));
        let median = figures.ratio(|series| quantile(series, 0.5));
        [
            Goal::new(format!("cycles within 3us, C / Rust, {}", figures.load), "at least ×0.90", share),
            Goal::new(
                format!("p50, C / Rust, {}", figures.load),
                "at most ×1.10",
                median.map(|ratio| (times(ratio), ratio <= 1.0 + WITHIN)),
            ),
        ]
    };
    all.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beside_rust::tests::series;

    #[test]
    fn a_loop_that_is_a_tenth_worse_misses_its_goal() {
        let reached = |late, p50_ns| {
            let pairs = vec![(series(late, 1_000, p50_ns), series(0, 1_000, 100))];
            let goals = goals(&[Figures { language: "C", load: "idle".into(), pairs }]);
            goals.into_iter().map(|goal| goal.reached).collect::<Vec<_>>()
        };
        assert_eq!(reached(100, 109), [Some(true), Some(true)]);
        assert_eq!(reached(101, 112), [Some(false), Some(false)]);
    }
}
