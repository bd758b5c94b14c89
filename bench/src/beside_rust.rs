//! A loop in another language through ontick beside the same loop in Rust, in pairs of blocks.

use std::path::{Path, PathBuf};

use ontick_measure::Load;
use ontick_record::compare::{LIMIT_NS, paired};
use ontick_record::{Series, store};
use ontick_units::show;

use crate::child::{self, Words};
use crate::page::Table;
use crate::show::{percent_down, times};
use crate::side::Job;
use crate::versus::load_name;

/// The second limit of the tables: what a loop in an interpreter is held against.
pub const WIDE_LIMIT_NS: u64 = 10_000;

/// The two programs.
pub struct Loops {
    /// As the tables call the other language.
    pub language: &'static str,
    /// What starts its loop; the job follows.
    pub start: Words,
    /// Where records go, and what was built.
    pub folder: tempfile::TempDir,
}

/// The same job under one load: the other loop and the one in Rust, pair by pair.
pub struct Figures {
    pub language: &'static str,
    pub load: String,
    pub pairs: Vec<(Series, Series)>,
}

/// A side of the pairs.
#[derive(Clone, Copy)]
pub enum Of {
    Other,
    Rust,
}

/// A folder for what is built and recorded.
pub fn folder() -> Result<tempfile::TempDir, String> {
    let folder = tempfile::Builder::new().prefix("ontick-bench-").tempdir();
    folder.map_err(|e| format!("no folder for the loops: {e} (set TMPDIR)"))
}

/// A file beside this program, in the folder of what was built.
pub fn beside_this_program(name: &str) -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|e| format!("where this program is cannot be told: {e}"))?;
    Ok(this.with_file_name(name))
}

fn block(start: &[String], job: &Job, folder: &Path) -> Result<Series, String> {
    let (record, cycles) = (folder.join("record.json"), job.duration_ns / job.interval_ns);
    let job = [job.cpu.to_string(), job.priority.to_string(), job.interval_ns.to_string(), cycles.to_string()];
    let words: Words = start.iter().cloned().chain(job).chain([record.display().to_string()]).collect();
    child::run(&words)?;
    let mut run = store::read(&record).map_err(|e| e.to_string())?;
    run.series.pop().ok_or_else(|| "the loop's record has no series".into())
}

/// Measures pairs under a load, A B, B A, ….
pub fn measure(loops: &Loops, job: &Job, load: &Load, pairs: u32) -> Result<Figures, String> {
    let rust = vec![beside_this_program("ontick-bench-rust-loop")?.display().to_string()];
    let running = load.start().map_err(|e| e.to_string())?;
    let mut figures = Figures { language: loops.language, load: load_name(load), pairs: Vec::new() };
    for pair in 0..pairs {
        let sides = if pair % 2 == 0 { [&loops.start, &rust] } else { [&rust, &loops.start] };
        let one = |side: &Words| block(side, job, loops.folder.path());
        let [first, second] = [one(sides[0])?, one(sides[1])?];
        figures.pairs.push(if pair % 2 == 0 { (first, second) } else { (second, first) });
        if let Some(status) = running.ended() {
            return Err(format!("the load {} ended before the blocks did ({status})", figures.load));
        }
    }
    Ok(figures)
}

/// The value that a share `q` of the samples does not exceed, in ns. Those of a bucket are taken as evenly spread over it: of
/// two loops with medians of 4.4 and 4.6 ns, whole nanoseconds would have one a quarter later than the other.
pub fn quantile(series: &Series, q: f64) -> f64 {
    let (latency, mut before) = (&series.latency, 0.0);
    let rank = q * latency.count() as f64;
    for bucket in latency.buckets() {
        let count = bucket.count as f64;
        if count > 0.0 && before + count >= rank {
            return bucket.low_ns as f64 + bucket.width_ns as f64 * (rank - before) / count;
        }
        before += count;
    }
    latency.quantile(q).unwrap_or(0).max(1) as f64
}

/// Tenths of a nanosecond count where there are few.
fn shown(ns: f64) -> String {
    if ns < 100.0 { format!("{ns:.1}ns") } else { show(ns.round() as u64) }
}

impl Figures {
    /// The median over the blocks of one side.
    pub fn median(&self, side: Of, of: impl Fn(&Series) -> f64) -> Option<f64> {
        let blocks = self.pairs.iter().map(|(other, rust)| match side {
            Of::Other => of(other),
            Of::Rust => of(rust),
        });
        paired(blocks).map(|spread| spread.median)
    }

    /// The median of the ratios, the other loop to the one in Rust.
    pub fn ratio(&self, of: impl Fn(&Series) -> f64) -> Option<f64> {
        paired(self.pairs.iter().map(|(other, rust)| of(other) / of(rust))).map(|spread| spread.median)
    }

    pub fn share_ratio(&self, limit_ns: u64) -> Option<f64> {
        self.ratio(|series| series.share_in_time(limit_ns))
    }
}

/// Both loops under each load, and the other's figures divided by Rust's.
pub fn table(all: &[Figures]) -> Table {
    let mut table = Table::new(&["median of blocks", "blocks", "p50", "p99", "p99.9", "< 3us", "< 10us"]);
    for figures in all {
        let name = |what: &str| [format!("{}: {what}", figures.load), figures.pairs.len().to_string()];
        for (language, side) in [(figures.language, Of::Other), ("Rust", Of::Rust)] {
            let median = |of: &dyn Fn(&Series) -> f64| figures.median(side, of);
            let latency = |q| median(&|series| quantile(series, q)).map_or("—".into(), shown);
            let share = |limit_ns| median(&|series| series.share_in_time(limit_ns)).map_or("—".into(), percent_down);
            let cells = [latency(0.5), latency(0.99), latency(0.999), share(LIMIT_NS), share(WIDE_LIMIT_NS)];
            table.row(name(language).into_iter().chain(cells));
        }
        let ratio = |q| figures.ratio(|series| quantile(series, q)).map_or("—".into(), times);
        let share = |limit_ns| figures.share_ratio(limit_ns).map_or("—".into(), times);
        let cells = [ratio(0.5), ratio(0.99), ratio(0.999), share(LIMIT_NS), share(WIDE_LIMIT_NS)];
        table.row(name(&format!("{} / Rust, pair by pair", figures.language)).into_iter().chain(cells));
    }
    table
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// So many cycles, some of them a millisecond late.
    pub fn series(late: u64, of: u64, p50_ns: u64) -> Series {
        let mut series = Series::default();
        series.latency.add(p50_ns, 1, of - late);
        series.latency.add(1_000_000, 1, late);
        series
    }

    #[test]
    fn samples_of_a_bucket_are_spread_over_it() {
        let mut series = Series::default();
        (0..10).for_each(|ns| series.latency.add(ns, 1, 10));
        assert_eq!([0.45, 0.5, 0.99, 1.0].map(|q| quantile(&series, q)), [4.5, 5.0, 9.9, 10.0]);
        series.latency.add(1_000, 8, 400);
        assert_eq!(quantile(&series, 0.6), 1_004.0);
        assert_eq!([4.46, 99.9, 100.4].map(shown), ["4.5ns", "99.9ns", "100ns"]);
        assert_eq!(quantile(&Series::default(), 0.5), 1.0);
    }

    #[test]
    fn figures_are_taken_pair_by_pair() {
        let pairs = vec![(series(0, 100, 900), series(0, 100, 100)), (series(50, 100, 100), series(0, 100, 100))];
        let figures = Figures { language: "C", load: "idle".into(), pairs };
        assert_eq!(figures.ratio(|series| quantile(series, 0.5).floor()), Some((9.0 + 1.01) / 2.0));
        assert_eq!((figures.share_ratio(LIMIT_NS), figures.share_ratio(WIDE_LIMIT_NS)), (Some(0.75), Some(0.75)));
        assert_eq!(figures.median(Of::Rust, |series| quantile(series, 0.5)), Some(100.5));
        let text = format!("{:?}", table(&[figures]));
        assert!(text.contains("C / Rust, pair by pair") && text.contains("75.000 %"), "{text}");
    }
}
