//! Captures of a logic analyser with many edges: how long `ontick import` takes for all times between them, beside the
//! decoder `timing` of sigrok-cli, which also makes the files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use ontick_record::compare::{Spread, paired};
use ontick_record::store;

use crate::child::{self, Finished, Words};
use crate::goals::Goal;
use crate::page::{Page, Table};
use crate::side::Job;

/// What the analyser is said to sample at, in Hz: what the cheapest ones reach.
const RATE_HZ: u64 = 24_000_000;
/// Samples from an edge to the next: of so many kinds, from so many on.
const SHORTEST: u64 = 3;
const KINDS: u64 = 15;
/// The goal holds for so many edges.
const EDGES: u64 = 10_000_000;
const AT_MOST: Duration = Duration::from_secs(2);

/// How much is imported.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Edges of each file.
    pub edges: u64,
    /// Rounds in which each program reads each of its files once.
    pub rounds: u32,
}

/// A file in one of the formats, and what reading it took.
pub struct Read {
    name: &'static str,
    bytes: u64,
    edges: u64,
    ours: Vec<Finished>,
    /// Where the peer reads that file in bearable time.
    theirs: Vec<Finished>,
}

/// Measures both formats.
pub fn measure(job: &Job, size: Size, page: &mut Page) -> Result<Vec<Read>, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("a folder for the captures: {e}"))?;
    let raw = folder.path().join("raw");
    write_samples(&raw, size.edges).map_err(|e| format!("{}: {e}", raw.display()))?;
    let mut all = Vec::new();
    for (name, format) in [("sr", "srzip"), ("vcd", "vcd")] {
        let file = folder.path().join(format!("edges.{name}"));
        child::run(&words(&format!(
            "sigrok-cli -I binary:numchannels=8:samplerate={RATE_HZ} -i {} -O {format} -o {}",
            raw.display(),
            file.display()
        )))?;
        let bytes = file.metadata().map_err(|e| format!("{}: {e}", file.display()))?.len();
        let mut read = Read { name, bytes, edges: size.edges, ours: Vec::new(), theirs: Vec::new() };
        for round in 0..size.rounds {
            for is_ours in [round % 2 == 0, round % 2 != 0] {
                if is_ours {
                    read.ours.push(child::run(&ours(job, &file))?);
                } else if name == "sr" {
                    read.theirs.push(child::run(&theirs(&file))?);
                }
            }
        }
        read.agree()?;
        all.push(read);
    }
    page.heading(&format!("Captures of {} edges", size.edges));
    let folder = Path::new("FOLDER");
    page.commands(&[
        ours(&crate::shown(job), &folder.join("edges.sr")).join(" "),
        theirs(&folder.join("edges.sr")).join(" "),
    ]);
    page.table(&table(&all));
    page.words(&format!(
        "{} rounds, each program first in turn; seconds from fork to end, the median (least to most). sigrok-cli wrote both files, of the same samples at {} MHz, {SHORTEST} to {} of them from edge to edge. It prints a line for each time, ontick adds all up; both found the same number of times, and the same sum.",
        size.rounds,
        RATE_HZ / 1_000_000,
        SHORTEST + KINDS - 1
    ));
    Ok(all)
}

fn words(line: &str) -> Words {
    line.split_whitespace().map(String::from).collect()
}

fn ours(job: &Job, file: &Path) -> Words {
    words(&format!("{} import {} --channel 0 --json", job.ontick.display(), file.display()))
}

fn theirs(file: &Path) -> Words {
    words(&format!("sigrok-cli -i {} -P timing:data=0 -A timing=time", file.display()))
}

/// One octet for each sample, the channel in its lowest bit.
fn write_samples(file: &Path, edges: u64) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
    // An edge needs a level before it.
    let mut level = 0u8;
    for held in lengths().take(edges as usize + 1) {
        out.write_all(&[level; (SHORTEST + KINDS) as usize][..held as usize])?;
        level ^= 1;
    }
    out.flush()
}

/// Samples from edge to edge, the same each time (Knuth's linear congruential generator).
fn lengths() -> impl Iterator<Item = u64> {
    let step =
        |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    std::iter::successors(Some(1), step).map(|state| SHORTEST + (state >> 33) % KINDS)
}

/// How many times between edges, and their sum in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Total {
    times: u64,
    sum_ns: f64,
}

impl Total {
    /// Whether both mean the same: whole nanoseconds on one side, thousandths of what is shown on the other.
    fn agrees(self, other: Self) -> bool {
        self.times == other.times && (self.sum_ns - other.sum_ns).abs() <= self.times as f64
    }
}

/// In ontick's record.
fn in_record(printed: &str) -> Result<Total, String> {
    let run = store::parse(printed).map_err(|e| format!("ontick's result: {e}"))?;
    let mut total = Total { times: 0, sum_ns: 0.0 };
    // Times from one rising edge to the next are sums of two.
    let is_between = |name: &str| name.ends_with(" high") || name.ends_with(" low");
    for series in run.series.iter().filter(|series| is_between(&series.name)) {
        total.times += series.latency.count();
        total.sum_ns += series.latency.mean().unwrap_or(0.0) * series.latency.count() as f64;
    }
    Ok(total)
}

/// In sigrok's lines, such as `timing-1: 708.333 ns (1.412 MHz)`.
fn in_lines(printed: &str) -> Result<Total, String> {
    let mut total = Total { times: 0, sum_ns: 0.0 };
    for line in printed.lines() {
        let mut words = line.split_whitespace().skip(1);
        let of = |value: Option<&str>, unit: Option<&str>| {
            let scale = match unit? {
                "ns" => 1.0,
                "μs" | "µs" => 1e3,
                "ms" => 1e6,
                _ => return None,
            };
            Some(value?.parse::<f64>().ok()? * scale)
        };
        let ns = of(words.next(), words.next()).ok_or_else(|| format!("sigrok-cli said \"{line}\""))?;
        total.times += 1;
        total.sum_ns += ns;
    }
    Ok(total)
}

impl Read {
    /// Every reading found the same, and what was written.
    fn agree(&self) -> Result<(), String> {
        let written = Total {
            times: self.edges - 1,
            sum_ns: lengths().skip(1).take(self.edges as usize - 1).sum::<u64>() as f64 * 1e9 / RATE_HZ as f64,
        };
        let ours = self.ours.iter().map(|read| in_record(&read.stdout).map(|total| ("ontick", total)));
        let theirs = self.theirs.iter().map(|read| in_lines(&read.stdout).map(|total| ("sigrok-cli", total)));
        for read in ours.chain(theirs) {
            let (who, total) = read?;
            if !total.agrees(written) {
                return Err(format!("{who} found {total:?} in edges.{}, into which went {written:?}", self.name));
            }
        }
        Ok(())
    }

    fn seconds(of: &[Finished]) -> Option<Spread> {
        paired(of.iter().map(|read| read.wall.as_secs_f64()))
    }

    fn ratio(&self) -> Option<Spread> {
        paired(
            self.ours
                .iter()
                .zip(&self.theirs)
                .map(|(ours, theirs)| theirs.wall.as_secs_f64() / ours.wall.as_secs_f64()),
        )
    }
}

fn table(all: &[Read]) -> Table {
    let spread = |spread: Option<Spread>, decimals: usize| {
        spread.map_or("—".into(), |Spread { median, min, max, .. }| {
            format!("{median:.decimals$} ({min:.decimals$} to {max:.decimals$})")
        })
    };
    let mut table = Table::new(&["file", "MB", "ontick, s", "most memory, MB", "sigrok-cli, s", "times as fast"]);
    for read in all {
        let peak = read.ours.iter().map(|read| read.peak_kib).max().unwrap_or(0);
        table.row([
            read.name.into(),
            format!("{:.1}", read.bytes as f64 / 1e6),
            spread(Read::seconds(&read.ours), 2),
            format!("{:.1}", peak as f64 * 1_024.0 / 1e6),
            spread(Read::seconds(&read.theirs), 1),
            spread(read.ratio(), 0),
        ]);
    }
    table
}

/// All times between 10⁷ edges within two seconds.
pub fn goals(all: &[Read]) -> Vec<Goal> {
    let goal = |read: &Read| {
        let seen = Read::seconds(&read.ours).filter(|_| read.edges >= EDGES);
        let seen = seen.map(|seen| (format!("{:.2} s", seen.median), seen.median <= AT_MOST.as_secs_f64()));
        Goal::new(format!("import of {EDGES} edges from a .{}", read.name), format!("at most {AT_MOST:?}"), seen)
    };
    all.iter().map(goal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(stdout: &str, seconds: f64) -> Finished {
        let wall = Duration::from_secs_f64(seconds);
        Finished { stdout: stdout.into(), wall, cpu: wall, peak_kib: 0 }
    }

    #[test]
    fn sigrok_s_lines_are_added_up() {
        let printed = "timing-1: 708.333 ns (1.412 MHz)\ntiming-1: 1.250 μs (800.000 kHz)\n";
        assert_eq!(in_lines(printed), Ok(Total { times: 2, sum_ns: 1_958.333 }));
        assert_eq!(in_lines("timing-1: 3 weeks"), Err("sigrok-cli said \"timing-1: 3 weeks\"".into()));
    }

    #[test]
    fn a_reading_that_lacks_a_time_is_no_reading() {
        let of = |edges: u64, lines: usize| {
            let line = |samples: u64| format!("timing-1: {:.3} ns (1 MHz)\n", samples as f64 * 1e9 / RATE_HZ as f64);
            let printed: String = lengths().skip(1).take(lines).map(line).collect();
            Read { name: "sr", bytes: 0, edges, ours: vec![], theirs: vec![finished(&printed, 1.0)] }
        };
        assert_eq!(of(100, 99).agree(), Ok(()));
        assert!(of(100, 98).agree().unwrap_err().starts_with("sigrok-cli found"));
    }

    #[test]
    fn the_goal_is_for_all_edges() {
        let of =
            |edges, seconds| Read { name: "vcd", bytes: 0, edges, ours: vec![finished("", seconds)], theirs: vec![] };
        let reached = |read| goals(&[read])[0].reached;
        assert_eq!(
            [reached(of(EDGES, 1.9)), reached(of(EDGES, 2.1)), reached(of(100, 0.1))],
            [Some(true), Some(false), None]
        );
    }
}
