//! A run that is still going on, as a file that only grows: `kill -9` loses at most the last second.
//!
//! The first line is `{"journal":"ontick-journal/1","run":{…}}`, the document so far; each further line is what the last
//! second added. When lines have filled some megabytes the file is begun anew, so that it stays small however long the
//! run. [`recover`] makes a [`Run`] of it again.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};

use crate::error::ParseError;
use crate::histogram::Bucket;
use crate::moments::Moments;
use crate::outliers::Outliers;
use crate::output_file;
use crate::reading;
use crate::run::{Cause, Outlier, Run, Series};

const JOURNAL: &str = "ontick-journal/1";

#[derive(Serialize, Deserialize)]
struct Header {
    journal: String,
    run: Run,
    /// Outliers so far, for each series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    outliers: Vec<Outliers>,
}

/// Lines are gathered into a new first one when there are so many bytes of them.
const GATHER_AT: u64 = 4 << 20;
/// No line of a journal is longer, in bytes.
const LONGEST_LINE: u64 = 256 << 20;

/// What was added to one series since the line before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Added {
    /// Index of the series in the run.
    pub series: usize,
    /// Since the beginning of the run, in ns.
    pub duration_ns: u64,
    /// Samples that came to each bucket.
    pub buckets: Vec<Bucket>,
    /// Smallest latency since the measurement began.
    pub min_ns: Option<u64>,
    /// Largest latency since the measurement began.
    pub max_ns: Option<u64>,
    /// Mean of the samples that came.
    pub mean_ns: Option<f64>,
    /// Standard deviation of the samples that came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_dev_ns: Option<f64>,
    /// Periods that were missed meanwhile.
    pub missed: u64,
    /// Largest latency of this second.
    pub second_max_ns: u64,
    /// Outliers of this second, as far as they were handed over; in the file, those among them that are to be kept.
    pub outliers: Vec<Outlier>,
    /// What the file has beside them, where it has not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptOutliers>,
    /// How many there were in all.
    #[serde(default)]
    #[serde(alias = "outliers_seen")]
    pub outlier_count: u64,
    /// Causes that were named for the first time; outliers refer to them by their index in the whole journal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseName>,
}

/// Of a second's outliers, what a journal keeps beside the worst.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptOutliers {
    /// Those that are in the sample of all outliers, with their places there.
    pub sampled: Vec<(u32, Outlier)>,
    /// How many had which cause.
    pub causes: Vec<(u32, u64)>,
}

/// What a cause is called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseName {
    /// `softirq`, `another task`, ….
    pub cause: String,
    /// Which one, where there are several; else empty.
    pub detail: String,
}

/// The journal of a run, beside the record that will replace it.
pub struct Journal {
    file: File,
    path: PathBuf,
    so_far: SoFar,
    /// Bytes of whole lines, and how many there may be before they are gathered.
    length: u64,
    gather_at: u64,
    /// A line could not be written: the file lacks what [`SoFar`] has.
    lacks: bool,
    /// Each line is to outlast a power cut.
    synced: bool,
}

/// All that was journalled.
struct SoFar {
    run: Run,
    outliers: Vec<Outliers>,
}

/// Where the journal of the record `path` is: `run.json` → `run.json.journal`.
pub fn path_for(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".journal");
    name.into()
}

impl Journal {
    /// Begins a journal for the record `path`. One that a killed run left there is not overwritten.
    pub fn create(path: &Path, run: &Run) -> io::Result<Self> {
        let path = path_for(path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path).map_err(|e| {
            if e.kind() == io::ErrorKind::AlreadyExists {
                let hint = "exists: the journal of a run that is going on or was killed (a report of it shows what was measured; then remove it)";
                io::Error::new(e.kind(), format!("{} {hint}", path.display()))
            } else {
                io::Error::new(e.kind(), format!("{}: {e}", path.display()))
            }
        })?;
        let outliers = run.series.iter().map(|_| Outliers::default()).collect();
        let so_far = SoFar { run: run.clone(), outliers };
        let first = so_far.first_line()?;
        let written = file.write_all(&first).and_then(|()| output_file::sync_folder_of(&path));
        if let Err(error) = written {
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        let length = first.len() as u64;
        Ok(Self { file, path, so_far, length, gather_at: length + GATHER_AT, lacks: false, synced: true })
    }

    /// Goes on with a run, whose journal at that place, if there is one, is replaced at once or not at all. Its lines
    /// outlast the end of the process; a power cut, only those that are older than the system's write-back (half a minute).
    pub fn resume(path: &Path, run: &Run) -> io::Result<Self> {
        let path = path_for(path);
        let outliers = run.series.iter().map(|_| Outliers::default()).collect();
        let so_far = SoFar { run: run.clone(), outliers };
        let first = so_far.first_line()?;
        let file = output_file::begin_anew(&path, &first)?;
        let length = first.len() as u64;
        Ok(Self { file, path, so_far, length, gather_at: length + GATHER_AT, lacks: false, synced: false })
    }

    /// Appends what a second added, as one write, so that a line is there whole or cut off at the end. Where that fails,
    /// on a full disk, say, the file stays as it was before; what it lacks comes as soon as there is room again.
    pub fn append(&mut self, added: &Added) -> io::Result<()> {
        let added = self.so_far.add(added.clone()).map_err(io::Error::other)?;
        if self.lacks || self.length >= self.gather_at {
            match self.gather() {
                Err(error) if self.lacks => return Err(error),
                Ok(()) => return Ok(()),
                // There is no room for two: the one goes on growing while it can.
                Err(_) => self.gather_at = self.length + GATHER_AT,
            }
        }
        let mut line = serde_json::to_vec(&added)?;
        line.push(b'\n');
        // A second that is on the disk outlasts a power cut, too.
        let sync = || if self.synced { self.file.sync_data() } else { Ok(()) };
        let written = (&self.file).write_all(&line).and_then(|()| sync());
        match written {
            Ok(()) => self.length += line.len() as u64,
            Err(_) => {
                self.lacks = true;
                let _ = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
            }
        }
        written
    }

    /// Begins the file anew with all that came so far in its first line.
    fn gather(&mut self) -> io::Result<()> {
        let first = self.so_far.first_line()?;
        self.file = output_file::begin_anew(&self.path, &first)?;
        self.length = first.len() as u64;
        (self.gather_at, self.lacks) = (self.length + GATHER_AT, false);
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the journal, once the record itself is safely written.
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_file(self.path)
    }
}

/// Whether a text begins as a journal does.
pub fn is_journal(text: &str) -> bool {
    begins_one(text.as_bytes())
}

pub(crate) fn begins_one(text: &[u8]) -> bool {
    text.starts_with(b"{\"journal\":")
}

/// The run as far as a journal tells; a last line that was cut off is left out.
pub fn recover(text: &str) -> Result<Run, ParseError> {
    recover_from(text.as_bytes())
}

/// As [`recover`], line by line, so that a journal may be larger than memory.
pub fn recover_from(text: impl BufRead) -> Result<Run, ParseError> {
    recover_lines(text, LONGEST_LINE)
}

fn recover_lines(mut text: impl BufRead, longest: u64) -> Result<Run, ParseError> {
    let unsound = |why: String| ParseError::Unsound { what: "sound journal", why };
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>| {
        line.clear();
        let read = text.by_ref().take(longest).read_until(b'\n', line).map_err(|e| unsound(e.to_string()))?;
        match read as u64 == longest && line.last() != Some(&b'\n') {
            true => Err(unsound("a line is longer than 256 MiB".into())),
            false => Ok(read > 0),
        }
    };
    next(&mut line)?;
    let header: Header = parsed(&line).map_err(|e| unsound(format!("line 1: {e}")))?;
    if header.journal != JOURNAL {
        return Err(ParseError::Version { found: header.journal, read: JOURNAL });
    }
    reading::check(&header.run).map_err(|e| unsound(format!("line 1: {e}")))?;
    let mut so_far = SoFar { run: header.run, outliers: header.outliers };
    so_far.outliers.resize_with(so_far.run.series.len(), Outliers::default);
    let mut number = 1;
    while next(&mut line)? {
        number += 1;
        match parsed::<Added>(&line) {
            Ok(added) => drop(so_far.add(added).map_err(|e| unsound(format!("line {number}: {e}")))?),
            Err(_) if line.last() != Some(&b'\n') => break,
            Err(e) => return Err(unsound(format!("line {number}: {e}"))),
        }
    }
    let mut run = so_far.into_run();
    reading::complete(&mut run);
    run.interrupted = true;
    run.notes.push("read from the journal of a run that did not end".into());
    Ok(run)
}

/// A line's document. It is read as text, as records are: to read bytes too would double what reads a run.
fn parsed<T: DeserializeOwned>(line: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_str(std::str::from_utf8(line).map_err(serde_json::Error::custom)?)
}

impl SoFar {
    fn first_line(&self) -> io::Result<Vec<u8>> {
        let header = Header { journal: JOURNAL.into(), run: self.run.clone(), outliers: self.outliers.clone() };
        let mut line = serde_json::to_vec(&header)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Takes in what a second added, and says what of it is to be written.
    fn add(&mut self, mut added: Added) -> Result<Added, String> {
        let none = "names a series that the run does not have";
        let outliers = self.outliers.get_mut(added.series).ok_or(none)?;
        let count = added.outliers.len() as u64;
        let kept = match added.kept.take() {
            Some(kept) => {
                for outlier in &added.outliers {
                    outliers.admit_to_worst(*outlier);
                }
                kept.sampled.iter().for_each(|(place, outlier)| outliers.put(*place, *outlier));
                kept
            }
            None => {
                let mut kept = KeptOutliers { causes: counted(&added.outliers), ..KeptOutliers::default() };
                added.outliers.retain(|outlier| {
                    let admission = outliers.admit(*outlier);
                    kept.sampled.extend(admission.place.map(|place| (place, *outlier)));
                    admission.worst
                });
                kept
            }
        };
        added.outlier_count = added.outlier_count.max(count);
        added.kept = Some(kept);
        apply(&mut self.run, &added)?;
        Ok(added)
    }

    fn into_run(mut self) -> Run {
        for (series, outliers) in self.run.series.iter_mut().zip(&self.outliers) {
            series.outliers.extend(outliers.all());
            describe_causes(series, outliers.sample());
        }
        self.run
    }
}

/// How many outliers have which cause.
fn counted(outliers: &[Outlier]) -> Vec<(u32, u64)> {
    let mut counts = std::collections::BTreeMap::new();
    outliers.iter().filter_map(|outlier| outlier.cause).for_each(|cause| *counts.entry(cause).or_insert(0) += 1);
    counts.into_iter().collect()
}

fn apply(run: &mut Run, added: &Added) -> Result<(), String> {
    let series = run.series.get_mut(added.series).ok_or("names a series that the run does not have")?;
    let latency = &mut series.latency;
    let before = latency.count();
    let (min_ns, max_ns, moments) = (latency.min_ns, latency.max_ns, latency.moments());
    // Bucket by bucket: a journal has a line for each second, and merging whole histograms would take
    // most of the time that reading an 18-hour run does.
    added.buckets.iter().for_each(|b| latency.add(b.low_ns, b.width_ns, b.count));
    latency.check().map_err(|e| e.to_string())?;
    // The buckets' edges are not as exact as what the recorder saw.
    let came = latency.count().saturating_sub(before);
    let new = added.mean_ns.map(|mean_ns| Moments { count: came, mean_ns, std_dev_ns: added.std_dev_ns });
    latency.min_ns = [min_ns, added.min_ns].into_iter().flatten().min().or(latency.min_ns);
    latency.max_ns = max_ns.max(added.max_ns).or(latency.max_ns);
    let moments = match (moments, new) {
        (None, new) if before == 0 => new,
        (Some(old), Some(new)) => Some(old.joined(new)),
        (old, _) => old,
    };
    latency.mean_ns = moments.map(|moments| moments.mean_ns);
    latency.std_dev_ns = moments.and_then(|moments| moments.std_dev_ns);
    series.missed = series.missed.saturating_add(added.missed);
    series.maxima.step_ns = 1_000_000_000;
    series.maxima.max_ns.push(added.second_max_ns);
    series.outlier_count = series.outlier_count.saturating_add(added.outlier_count);
    let named = added.causes.iter().cloned();
    series.causes.extend(named.map(|name| Cause { cause: name.cause, detail: name.detail, ..Cause::default() }));
    for (cause, count) in added.kept.iter().flat_map(|kept| &kept.causes) {
        if let Some(cause) = series.causes.get_mut(*cause as usize) {
            cause.count = cause.count.saturating_add(*count);
        }
    }
    run.duration_ns = run.duration_ns.max(added.duration_ns);
    Ok(())
}

/// How often each cause was is counted; the rest is reported by a fair sample of the outliers, and by the worst.
fn describe_causes(series: &mut Series, sample: &[Outlier]) {
    let known = series.causes.len();
    let all: u64 = series.causes.iter().map(|cause| cause.count).fold(0, u64::saturating_add);
    for (index, cause) in series.causes.iter_mut().enumerate() {
        let of_it = |outlier: &&Outlier| outlier.cause == Some(index as u32);
        let mut latencies: Vec<u64> = sample.iter().filter(of_it).map(|outlier| outlier.latency_ns).collect();
        latencies.sort_unstable();
        cause.share = cause.count as f64 / all.max(1) as f64;
        cause.max_ns = series.outliers.iter().filter(of_it).map(|outlier| outlier.latency_ns).max().unwrap_or(0);
        cause.p50_ns = latencies.get(latencies.len() / 2).copied().unwrap_or(cause.max_ns);
    }
    for outlier in &mut series.outliers {
        outlier.cause = outlier.cause.filter(|index| (*index as usize) < known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn journal(dir: &Path) -> (PathBuf, Journal) {
        let mut run = Run::new("ontick 0.1.0", "timer");
        run.series.push(Series { name: "hybrid".into(), ..Default::default() });
        let path = dir.join("run.json");
        let journal = Journal::create(&path, &run).unwrap();
        (path_for(&path), journal)
    }

    fn second(n: u64) -> Added {
        Added {
            duration_ns: n * 1_000_000_000,
            buckets: vec![Bucket { low_ns: 400, width_ns: 4, count: 1000 }],
            min_ns: Some(401),
            max_ns: Some(402),
            mean_ns: Some(400.0 + n as f64),
            second_max_ns: 402,
            outliers: vec![Outlier { at_ns: n, latency_ns: 402, cause: None }],
            ..Added::default()
        }
    }

    #[test]
    fn cut_anywhere_it_loses_only_the_last_line() {
        let dir = tempfile::tempdir().unwrap();
        let (path, mut journal) = journal(dir.path());
        (1..=3).for_each(|n| journal.append(&second(n)).unwrap());
        let text = std::fs::read_to_string(path).unwrap();
        let first_line = text.find('\n').unwrap() + 1;
        for end in first_line..=text.len() {
            let run = recover(&text[..end]).unwrap();
            // A line that lacks nothing but its newline is whole.
            let whole = text[..end].matches('\n').count() - 1;
            let seconds = run.series[0].latency.count() / 1000;
            assert!(
                seconds as usize == whole || serde_json::from_str::<Added>(text[..end].lines().last().unwrap()).is_ok()
            );
            assert!(run.interrupted);
        }
        let run = recover(&text).unwrap();
        assert_eq!(
            (run.series[0].latency.count(), run.duration_ns, run.series[0].outliers.len()),
            (3000, 3_000_000_000, 3)
        );
    }

    #[test]
    fn causes_are_counted_by_the_outliers_that_bear_them() {
        let dir = tempfile::tempdir().unwrap();
        let (path, mut journal) = journal(dir.path());
        let named = |cause: &str| CauseName { cause: cause.into(), detail: format!("of {cause}") };
        let outlier = |latency_ns, cause| Outlier { at_ns: 1, latency_ns, cause };
        journal
            .append(&Added { causes: vec![named("steal")], outliers: vec![outlier(30, Some(0))], ..second(1) })
            .unwrap();
        let later = vec![outlier(50, Some(1)), outlier(70, Some(0)), outlier(20, Some(1)), outlier(9, Some(7))];
        journal.append(&Added { causes: vec![named("softirq")], outliers: later, ..second(2) }).unwrap();
        let run = recover(&std::fs::read_to_string(path).unwrap()).unwrap();
        let series = &run.series[0];
        let reported: Vec<_> =
            series.causes.iter().map(|c| (c.cause.as_str(), c.count, c.share, c.p50_ns, c.max_ns)).collect();
        assert_eq!(reported, [("steal", 2, 0.5, 70, 70), ("softirq", 2, 0.5, 50, 50)]);
        assert_eq!(series.causes[1].detail, "of softirq");
        assert_eq!(series.outliers.iter().find(|outlier| outlier.latency_ns == 9).unwrap().cause, None);
    }

    #[test]
    fn a_journal_left_behind_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let (path, journal) = journal(dir.path());
        drop(journal);
        let error = Journal::create(&dir.path().join("run.json"), &Run::new("t", "m")).err().unwrap().to_string();
        assert!(error.contains("then remove it"), "{error}");
        assert!(path.exists());
    }

    #[test]
    fn a_mean_of_no_samples_gives_way_to_that_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let (path, mut journal) = journal(dir.path());
        journal.append(&Added { mean_ns: Some(7.0), buckets: Vec::new(), ..second(1) }).unwrap();
        journal.append(&second(2)).unwrap();
        let run = recover(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(run.series[0].latency.mean_ns, Some(402.0));
    }

    #[test]
    fn means_of_seconds_are_weighed_by_their_samples() {
        let dir = tempfile::tempdir().unwrap();
        let (path, mut journal) = journal(dir.path());
        for (count, mean_ns) in [(1, 400.0), (2, 403.0), (3, 410.0)] {
            let buckets = vec![Bucket { low_ns: 400, width_ns: 4, count }];
            journal.append(&Added { buckets, mean_ns: Some(mean_ns), ..second(1) }).unwrap();
        }
        let run = recover(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(run.series[0].latency.mean_ns, Some((400.0 + 2.0 * 403.0 + 3.0 * 410.0) / 6.0));
    }

    #[test]
    fn a_deviation_of_seconds_is_that_of_all_their_samples() {
        let dir = tempfile::tempdir().unwrap();
        let (path, mut journal) = journal(dir.path());
        // 2, 4, 4, 4 and 5, 5, 7, 9 us.
        for (mean_ns, square) in [(3_500.0, 0.75f64), (6_500.0, 2.75)] {
            let buckets = vec![Bucket { low_ns: 400, width_ns: 4, count: 4 }];
            let std_dev_ns = Some(square.sqrt() * 1e3);
            journal.append(&Added { buckets, mean_ns: Some(mean_ns), std_dev_ns, ..second(1) }).unwrap();
        }
        let run = recover(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let deviation = run.series[0].latency.std_dev_ns.unwrap();
        assert!((deviation - 2_000.0).abs() < 1e-6, "{deviation}");
        // A second from a program that kept none.
        journal.append(&second(1)).unwrap();
        let run = recover(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!((run.series[0].latency.std_dev_ns, run.series[0].latency.mean_ns.is_some()), (None, true));
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let dir = tempfile::tempdir().unwrap();
        let (path, mut journal) = journal(dir.path());
        journal.append(&second(1)).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let longest = text.lines().map(str::len).max().unwrap() as u64 + 1;
        assert_eq!(recover_lines(text.as_bytes(), longest), recover(&text));
        let why = recover_lines(text.as_bytes(), longest - 1).unwrap_err();
        assert!(why.to_string().contains("a line is longer than"), "{why}");
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let (path, mut journal) = journal(dir.path());
        (1..=3).for_each(|n| journal.append(&second(n)).unwrap());
        let text = std::fs::read_to_string(path).unwrap().replacen("duration_ns\":2", "duration_ns\":x", 1);
        assert!(recover(&text).unwrap_err().to_string().contains("line 3"));
    }

    #[test]
    fn the_run_in_a_journal_is_checked_as_a_record_is() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = journal(dir.path());
        let text = std::fs::read_to_string(path).unwrap();
        assert!(
            recover(&text.replace("ontick-run/1", "ontick-run/9")).unwrap_err().to_string().contains("ontick-run/9")
        );
        let unsorted = text.replace("\"buckets\":[]", "\"buckets\":[[400,4,7],[300,4,7]]");
        assert!(recover(&unsorted).unwrap_err().to_string().contains("ascending"));
    }

    /// A journal that no disk slows down, where the machine has memory for files.
    fn fast_folder() -> tempfile::TempDir {
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
    }

    /// A second of a method that sleeps, at 1 kHz: each wake-up is an outlier, and they spread over 50 buckets.
    fn sleeping_second(n: u64) -> Added {
        let latency_ns = |i: u64| 50_000 + (n * 1000 + i).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 40_000;
        let outliers = (0..1000).map(|i| Outlier {
            at_ns: n * 1_000_000_000 + i * 1_000_000,
            latency_ns: latency_ns(i),
            cause: Some((i % 2) as u32),
        });
        let causes = ["steal", "softirq"].map(|cause| CauseName { cause: cause.into(), detail: String::new() });
        Added {
            duration_ns: (n + 1) * 1_000_000_000,
            buckets: (0..50).map(|i| Bucket { low_ns: 50_000 + i * 800, width_ns: 800, count: 20 }).collect(),
            min_ns: Some(50_000),
            max_ns: Some(90_000),
            mean_ns: Some(70_000.0),
            second_max_ns: 90_000,
            outliers: outliers.collect(),
            outlier_count: 1000,
            causes: if n == 0 { causes.to_vec() } else { Vec::new() },
            ..Added::default()
        }
    }

    #[test]
    fn a_day_of_a_sleeping_method_stays_small_and_is_recovered() {
        const SECONDS: u64 = 86_400;
        let dir = fast_folder();
        let (path, mut journal) = journal(dir.path());
        let mut largest = 0;
        for n in 0..SECONDS {
            journal.append(&sleeping_second(n)).unwrap();
            largest = largest.max(journal.length);
        }
        // Killed: nothing more is written.
        drop(journal);
        assert!(largest < 16 << 20, "{largest} bytes");
        assert!(std::fs::metadata(&path).unwrap().len() <= largest);
        let run = crate::store::read(&path).unwrap();
        let series = &run.series[0];
        assert_eq!((run.duration_ns, run.interrupted), (SECONDS * 1_000_000_000, true));
        assert_eq!((series.latency.count(), series.outlier_count), (SECONDS * 1000, SECONDS * 1000));
        assert_eq!((series.latency.min_ns, series.latency.max_ns), (Some(50_000), Some(90_000)));
        assert_eq!(series.maxima.max_ns.len() as u64, SECONDS);
        assert!((1000..=2000).contains(&series.outliers.len()), "{}", series.outliers.len());
        assert!(series.outliers.iter().any(|outlier| outlier.latency_ns >= 89_990), "the worst are there");
        let causes: Vec<_> =
            series.causes.iter().map(|cause| (cause.cause.as_str(), cause.count, cause.share)).collect();
        assert_eq!(causes, [("steal", SECONDS * 500, 0.5), ("softirq", SECONDS * 500, 0.5)]);
        // Of all, not of the worst.
        assert!(series.causes.iter().all(|cause| (65_000..75_000).contains(&cause.p50_ns)), "{:?}", series.causes);
    }

    #[test]
    fn what_a_full_disk_did_not_take_comes_when_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let (path, mut journal) = journal(dir.path());
        journal.append(&second(1)).unwrap();
        let before = std::fs::read(&path).unwrap();
        journal.file = File::options().write(true).open("/dev/full").unwrap();
        let error = journal.append(&second(2)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(std::fs::read(&path).unwrap() == before, "what is there stays");
        journal.append(&second(3)).unwrap();
        journal.append(&second(4)).unwrap();
        let run = recover(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!((run.series[0].latency.count(), run.series[0].outliers.len()), (4000, 4));
    }

    #[test]
    fn a_journal_with_all_outliers_is_read_as_ever() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = journal(dir.path());
        let mut text = std::fs::read_to_string(path).unwrap();
        for n in 0..5 {
            text += &(serde_json::to_string(&sleeping_second(n)).unwrap() + "\n");
        }
        let run = recover(&text).unwrap();
        assert_eq!((run.series[0].outlier_count, run.series[0].causes[1].count), (5000, 2500));
        assert!(run.series[0].outliers.len() <= 2000);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(\\{\"journal\":)?.{0,64}\n?.{0,32}") {
            let _ = recover(&text);
        }
    }
}
