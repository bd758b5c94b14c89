//! A loop in C through libontick beside the same loop in Rust, in pairs of blocks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ontick_measure::Load;
use ontick_record::compare::{LIMIT_NS, paired};
use ontick_record::{Series, store};
use ontick_units::show;

use crate::child::{self, Words};
use crate::goals::Goal;
use crate::page::Table;
use crate::show::{percent_down, times};
use crate::side::Job;
use crate::versus::load_name;

/// What the loop in C may be worse by.
const WITHIN: f64 = 0.10;

/// The two programs, built.
pub struct Loops {
    c: PathBuf,
    rust: PathBuf,
    folder: tempfile::TempDir,
}

/// The same job under one load: the loop in C and the one in Rust, pair by pair.
pub struct Figures {
    load: String,
    pairs: Vec<(Series, Series)>,
}

/// Compiles the loop in C as its users do; the one in Rust is beside this program.
pub fn build() -> Result<Loops, String> {
    let folder = tempfile::Builder::new().prefix("ontick-bench-").tempdir();
    let folder = folder.map_err(|e| format!("no folder for the loop in C: {e} (set TMPDIR)"))?;
    let beside = std::env::current_exe().map_err(|e| format!("where this program is cannot be told: {e}"))?;
    let (rust, library) = (beside.with_file_name("ontick-bench-rust-loop"), beside.with_file_name("../libontick"));
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
        true => Ok(Loops { c, rust, folder }),
        false => Err(format!("the loop in C does not compile: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

fn command(program: &Path, job: &Job, record: &Path) -> Words {
    let cycles = job.duration_ns / job.interval_ns;
    let words = [program.display().to_string(), job.cpu.to_string(), job.priority.to_string()];
    words.into_iter().chain([job.interval_ns.to_string(), cycles.to_string(), record.display().to_string()]).collect()
}

fn block(program: &Path, job: &Job, loops: &Loops) -> Result<Series, String> {
    let record = loops.folder.path().join("record.json");
    child::run(&command(program, job, &record))?;
    let mut run = store::read(&record).map_err(|e| e.to_string())?;
    run.series.pop().ok_or_else(|| "the loop's record has no series".into())
}

/// Measures pairs under a load, A B, B A, ….
pub fn measure(loops: &Loops, job: &Job, load: &Load, pairs: u32) -> Result<Figures, String> {
    let running = load.start().map_err(|e| e.to_string())?;
    let mut figures = Figures { load: load_name(load), pairs: Vec::new() };
    for pair in 0..pairs {
        let sides = if pair % 2 == 0 { [&loops.c, &loops.rust] } else { [&loops.rust, &loops.c] };
        let [first, second] = [block(sides[0], job, loops)?, block(sides[1], job, loops)?];
        figures.pairs.push(if pair % 2 == 0 { (first, second) } else { (second, first) });
        if let Some(status) = running.ended() {
            return Err(format!("the load {} ended before the blocks did ({status})", figures.load));
        }
    }
    Ok(figures)
}

fn quantile(series: &Series, q: f64) -> f64 {
    series.latency.quantile(q).unwrap_or(0).max(1) as f64
}

impl Figures {
    fn median(&self, c: bool, of: impl Fn(&Series) -> f64) -> f64 {
        let side = self.pairs.iter().map(|pair| of(if c { &pair.0 } else { &pair.1 }));
        paired(side).map_or(0.0, |spread| spread.median)
    }

    /// The median of the ratios, C to Rust.
    fn ratio(&self, of: impl Fn(&Series) -> f64) -> Option<f64> {
        paired(self.pairs.iter().map(|(c, rust)| of(c) / of(rust))).map(|spread| spread.median)
    }

    fn share_ratio(&self) -> Option<f64> {
        self.ratio(|series| series.share_in_time(LIMIT_NS))
    }
}

/// Both loops under each load, and C's figures divided by Rust's.
pub fn table(all: &[Figures]) -> Table {
    let mut table = Table::new(&["median of blocks", "blocks", "p50", "p99", "p99.9", "< 3us"]);
    for figures in all {
        for (name, c) in [("C", true), ("Rust", false)] {
            let latency = |q| show(figures.median(c, |series| quantile(series, q)).round() as u64);
            table.row([
                format!("{}: {name}", figures.load),
                figures.pairs.len().to_string(),
                latency(0.5),
                latency(0.99),
                latency(0.999),
                percent_down(figures.median(c, |series| series.share_in_time(LIMIT_NS))),
            ]);
        }
        let ratio = |q| figures.ratio(|series| quantile(series, q)).map_or("—".into(), times);
        table.row([
            format!("{}: C / Rust, pair by pair", figures.load),
            figures.pairs.len().to_string(),
            ratio(0.5),
            ratio(0.99),
            ratio(0.999),
            figures.share_ratio().map_or("—".into(), times),
        ]);
    }
    table
}

/// Within a tenth of the loop in Rust: as many cycles within 3 µs, and no larger a median.
pub fn goals(all: &[Figures]) -> Vec<Goal> {
    let of = |figures: &Figures| {
        let share = figures.share_ratio().map(|ratio| (times(ratio), ratio >= 1.0 - WITHIN));
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

    fn series(late: u64, of: u64, p50_ns: u64) -> Series {
        let mut series = Series::default();
        series.latency.add(p50_ns, 1, of - late);
        series.latency.add(1_000_000, 1, late);
        series
    }

    #[test]
    fn a_loop_that_is_a_tenth_worse_misses_its_goal() {
        let reached = |late, p50_ns| {
            let pairs = vec![(series(late, 1_000, p50_ns), series(0, 1_000, 100))];
            let goals = goals(&[Figures { load: "idle".into(), pairs }]);
            goals.into_iter().map(|goal| goal.reached).collect::<Vec<_>>()
        };
        assert_eq!(reached(100, 110), [Some(true), Some(true)]);
        assert_eq!(reached(101, 111), [Some(false), Some(false)]);
    }
}
