//! What ontick takes besides time on its CPU: memory, room for the journal.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ontick_measure::Load;
use ontick_units::exact;

use crate::child::{self, Words};
use crate::side::Job;

/// One hour at 1 kHz.
const MANY: u64 = 3_600_000;
/// Bits of memory that the kernel may miscount: it sums pages in batches of 64 per CPU on small machines.
pub const MISCOUNT_KIB: u64 = 256;
/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// A run and the most memory that it held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// What was run.
    pub what: String,
    /// The most memory that it held, in KiB.
    pub peak_kib: u64,
    /// It held no more than the bench itself, so it may have held less.
    pub at_most: bool,
}

/// A short and a long run that should need the same memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    /// The short one.
    pub short: Memory,
    /// The long one.
    pub long: Memory,
}

impl Growth {
    /// Whether both held the same, as finely as the kernel counts.
    pub fn none(&self) -> bool {
        self.short.peak_kib.abs_diff(self.long.peak_kib) <= MISCOUNT_KIB
    }
}

/// Memory over time: the same run, short and long.
pub fn memory_over_time(job: &Job, short_ns: u64, long_ns: u64) -> Result<Growth, String> {
    let of = |ns: u64| memory(timer(job, &format!("--duration {}", exact(ns))), exact(ns));
    Ok(Growth { short: of(short_ns)?, long: of(long_ns)? })
}

/// Memory over samples: a thousandth of [`MANY`], and all of them.
pub fn memory_over_samples(job: &Job) -> Result<Growth, String> {
    // Acting on every deadline, passed or not, takes as many samples a second as the machine can.
    let job = Job { interval_ns: 2_000, ..job.clone() };
    let of = |n: u64| memory(timer(&job, &format!("--catch-up --count {n}")), format!("{n} samples, 2us apart"));
    Ok(Growth { short: of(MANY / 1_000)?, long: of(MANY)? })
}

fn memory(words: Words, what: String) -> Result<Memory, String> {
    let own = child::own_peak_kib();
    let peak_kib = child::run(&words)?.peak_kib;
    Ok(Memory { what, peak_kib, at_most: peak_kib <= own })
}

fn timer(job: &Job, more: &str) -> Words {
    let line = format!(
        "latency timer --interval {} --cpu {} --policy fifo:{} --json {more}",
        exact(job.interval_ns),
        job.cpu,
        job.priority
    );
    job.command(&line)
}

/// How fast the journal of a run grows while the load runs, in bytes per second.
pub fn journal(job: &Job, load: &Load, duration_ns: u64) -> Result<f64, String> {
    let folder = tempfile::Builder::new().prefix("ontick-bench-").tempdir();
    let folder = folder.map_err(|e| format!("no folder for a journal: {e} (set TMPDIR)"))?;
    let record = folder.path().join("run.json");
    let journal_file = ontick_record::journal::path_for(&record);
    let mut words = timer(job, &format!("--duration {}", exact(duration_ns)));
    words.extend(["--record".into(), record.display().to_string()]);

    let _load = load.start().map_err(|e| e.to_string())?;
    let done = AtomicBool::new(false);
    let sizes = std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(&journal_file, &done));
        let finished = child::run(&words);
        done.store(true, Relaxed);
        let sizes = watching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        finished.map(|_| sizes)
    })?;
    growth(&sizes).ok_or_else(|| "the journal did not grow; the run was too short".into())
}

/// When the journal came to which size.
fn watch(journal: &Path, done: &AtomicBool) -> Vec<(Duration, u64)> {
    let began = Instant::now();
    let mut sizes: Vec<(Duration, u64)> = Vec::new();
    while !done.load(Relaxed) {
        let size = fs::metadata(journal).map(|m| m.len()).unwrap_or(0);
        if size > sizes.last().map_or(0, |(_, last)| *last) {
            sizes.push((began.elapsed(), size));
        }
        std::thread::sleep(LOOK);
    }
    sizes
}

/// Bytes per second from the first appended second to the last; the head and the first sight of every
/// bucket come before.
fn growth(sizes: &[(Duration, u64)]) -> Option<f64> {
    let (_, [first, .., last]) = sizes.split_first()? else { return None };
    Some((last.1 - first.1) as f64 / (last.0 - first.0).as_secs_f64())
}

/// What this process holds in memory, in KiB.
pub fn resident_kib() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0);
    resident * rustix::param::page_size() as u64 / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory_of(peak_kib: u64) -> Memory {
        Memory { what: String::new(), peak_kib, at_most: false }
    }

    #[test]
    fn memory_is_the_same_up_to_the_miscount() {
        let none = |short, long| Growth { short: memory_of(short), long: memory_of(long) }.none();
        assert!(none(8_000, 8_000 + MISCOUNT_KIB));
        assert!(!none(8_000, 8_001 + MISCOUNT_KIB));
    }

    #[test]
    fn growth_leaves_the_head_out() {
        let at = |s: u64, size: u64| (Duration::from_secs(s), size);
        assert_eq!(growth(&[at(0, 2_000), at(1, 2_100), at(2, 2_150), at(3, 2_300)]), Some(100.0));
        assert_eq!(growth(&[at(0, 2_000), at(1, 2_100)]), None);
        assert_eq!(growth(&[]), None);
    }
}
