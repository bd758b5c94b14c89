//! What a user of the program feels besides its timing: its size, and how long small things take.

use std::fs;
use std::path::Path;

use ontick_record::compare::{Spread, paired};
use ontick_record::run::{Outlier, Series};
use ontick_record::{Run, store};

use crate::child;
use crate::goals::Goal;
use crate::page::{Page, Table};
use crate::side::Job;

/// Starts of which the median is taken.
const STARTS: u32 = 20;
/// 27 hours and 47 minutes at 1 kHz.
const SAMPLES: u64 = 100_000_000;
/// As many outliers as a record keeps of such a run: the worst thousand, and a thousand of all.
const OUTLIERS: u64 = 2_000;

const SIZE_MB: f64 = 8.0;

/// Something small that the program does.
struct Small {
    what: &'static str,
    line: String,
    /// Within so many milliseconds.
    goal_ms: f64,
}

/// How long each took, in ms, and how large the file is, in MB.
pub struct Figures {
    took: Vec<(Small, Spread)>,
    size_mb: f64,
}

/// Measures each.
pub fn measure(job: &Job, page: &mut Page) -> Result<Figures, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("a folder for a report: {e}"))?;
    let record = folder.path().join("long.json");
    fs::write(&record, store::text(&long_run())).map_err(|e| format!("{}: {e}", record.display()))?;
    let size = fs::metadata(&job.ontick).map_err(|e| format!("{}: {e}", job.ontick.display()))?.len();
    let mut figures = Figures { took: Vec::new(), size_mb: size as f64 / 1e6 };
    for small in all(folder.path()) {
        let words = job.command(&small.line);
        figures.took.push((small, times(&words)?));
    }
    let nothing = times(&["true".into()])?;

    page.heading("The program: its size, and how long small things take");
    let shown = crate::shown(job);
    page.commands(&all(Path::new("FOLDER")).map(|small| shown.command(&small.line).join(" ")));
    page.table(&figures.table());
    page.words(&format!(
        "From fork to end, {STARTS} times each; true, a program that does nothing, takes {:.1} ms. The file that was measured has {:.1} MB. The record of {SAMPLES} samples is made up: it has as many buckets, maxima and outliers as one of a run of 28 hours.",
        nothing.median, figures.size_mb
    ));
    Ok(figures)
}

fn all(folder: &Path) -> [Small; 3] {
    let folder = folder.display();
    [
        Small { what: "start", line: "--version".into(), goal_ms: 2.0 },
        Small { what: "check", line: "check --json".into(), goal_ms: 30.0 },
        Small {
            what: "HTML report of 10^8 samples",
            line: format!("report {folder}/long.json --html {folder}/long.html"),
            goal_ms: 1_000.0,
        },
    ]
}

/// From the start of a program to its end, in ms. `check` ends with 1 where it found something.
fn times(words: &[String]) -> Result<Spread, String> {
    let times: Result<Vec<f64>, String> =
        (0..STARTS).map(|_| child::run_whether_met(words).map(|finished| finished.wall.as_secs_f64() * 1e3)).collect();
    paired(times?).ok_or_else(|| "nothing was timed".into())
}

/// A run at 1 kHz: latencies that fall off like those of a real one, over a thousand buckets.
fn long_run() -> Run {
    let mut series = Series { name: "hybrid".into(), outlier_count: 100_000, ..Series::default() };
    series.settings.interval_ns = 1_000_000;
    series.settings.outlier_threshold_ns = 10_000;
    let mut left = SAMPLES;
    for bucket in 0..1_000 {
        let count = if bucket == 999 { left } else { left.div_ceil(50) };
        series.latency.add(40 + bucket * 90, 90, count);
        left -= count;
    }
    let seconds = SAMPLES / 1_000;
    let varied = |n: u64, of: u64| n.wrapping_mul(2_654_435_761) % of;
    series.maxima.step_ns = 1_000_000_000;
    series.maxima.max_ns = (0..seconds).map(|n| 3_000 + varied(n, 80_000)).collect();
    let outlier = |n: u64| Outlier {
        at_ns: n * seconds * 1_000_000_000 / OUTLIERS,
        latency_ns: 10_000 + varied(n, 900_000),
        cause: None,
    };
    series.outliers = (0..OUTLIERS).map(outlier).collect();
    Run { series: vec![series], duration_ns: seconds * 1_000_000_000, ..Run::new("made up", "latency timer") }
}

impl Figures {
    fn table(&self) -> Table {
        let mut table = Table::new(&["", "ms, median", "least", "most"]);
        for (small, took) in &self.took {
            let cells = [took.median, took.min, took.max].map(|ms| format!("{ms:.1}"));
            table.row(std::iter::once(small.what.into()).chain(cells));
        }
        table
    }
}

/// Of the small things and of the size.
pub fn goals(figures: &Figures) -> Vec<Goal> {
    let timed = figures.took.iter().map(|(small, took)| {
        let seen = (format!("{:.1} ms", took.median), took.median <= small.goal_ms);
        Goal::new(small.what, format!("≤ {} ms", small.goal_ms), Some(seen))
    });
    let size = (format!("{:.1} MB", figures.size_mb), figures.size_mb <= SIZE_MB);
    timed.chain([Goal::new("size of the file", format!("≤ {SIZE_MB} MB"), Some(size))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_made_up_run_is_one_of_a_day() {
        let run = store::parse(&store::text(&long_run())).unwrap();
        assert_eq!(run.series[0].latency.count(), SAMPLES);
        assert_eq!(run.series[0].maxima.max_ns.len() as u64, SAMPLES / 1_000);
    }

    #[test]
    fn starting_a_program_takes_time() {
        let spread = times(&["true".into()]).unwrap();
        assert!(spread.pairs == STARTS as usize && spread.min > 0.0);
    }

    #[test]
    fn each_goal_can_be_missed() {
        let of = |ms: f64, size_mb| {
            let took = all(Path::new("")).into_iter().map(|small| (small, paired([ms]).unwrap())).collect();
            goals(&Figures { took, size_mb }).into_iter().map(|goal| goal.reached).collect::<Vec<_>>()
        };
        assert_eq!(of(2.0, 8.0), [Some(true); 4]);
        assert_eq!(of(31.0, 8.1), [Some(false), Some(false), Some(true), Some(false)]);
        assert_eq!(of(1_001.0, 1.0)[2], Some(false));
    }
}
