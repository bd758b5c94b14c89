//! A run that is still going on, as a file that only grows: `kill -9` loses at most the last second.
//!
//! The first line is `{"journal":"ontick-journal/1","run":{…}}`, the document without samples; each
//! further line is what the last second added. [`recover`] makes a [`Run`] of it again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::histogram::Bucket;
use crate::output_file;
use crate::run::{Cause, Outlier, Run, Series};

const JOURNAL: &str = "ontick-journal/1";

#[derive(Serialize, Deserialize)]
struct Header {
    journal: String,
    run: Run,
}

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
    /// Periods that were missed meanwhile.
    pub missed: u64,
    /// Largest latency of this second.
    pub second_max_ns: u64,
    /// Outliers of this second, as far as they were handed over.
    pub outliers: Vec<Outlier>,
    /// How many there were in all.
    #[serde(default)]
    pub outliers_seen: u64,
    /// Causes that were named for the first time; outliers refer to them by their index in the whole journal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseName>,
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
}

/// Where the journal of the record `path` stands: `run.json` → `run.json.journal`.
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
                let hint = "exists: the journal of a run that is going on or was killed (read it with ontick report, then remove it)";
                io::Error::new(e.kind(), format!("{} {hint}", path.display()))
            } else {
                io::Error::new(e.kind(), format!("{}: {e}", path.display()))
            }
        })?;
        let header = Header { journal: JOURNAL.into(), run: run.clone() };
        writeln!(file, "{}", serde_json::to_string(&header)?)?;
        output_file::sync_folder_of(&path)?;
        Ok(Self { file, path })
    }

    /// Appends what a second added, as one write, so that a line is there whole or cut off at the end.
    pub fn append(&mut self, added: &Added) -> io::Result<()> {
        let mut line = serde_json::to_vec(added)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        // A second that is on the disk outlasts a power cut, too.
        self.file.sync_data()
    }

    /// Removes the journal, once the record itself is safely written.
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_file(self.path)
    }
}

/// Whether a text begins as a journal does.
pub fn is_journal(text: &str) -> bool {
    text.starts_with("{\"journal\":")
}

/// The run as far as a journal tells; a last line that was cut off is left out.
pub fn recover(text: &str) -> Result<Run, String> {
    let mut lines = text.split_inclusive('\n').enumerate();
    let first = lines.next().map(|(_, line)| line).unwrap_or_default();
    let header: Header = serde_json::from_str(first).map_err(|e| format!("not a sound journal: line 1: {e}"))?;
    if header.journal != JOURNAL {
        return Err(format!("written in the format \"{}\", this ontick reads \"{JOURNAL}\"", header.journal));
    }
    let mut run = header.run;
    crate::store::check(&run).map_err(|e| format!("not a sound journal: line 1: {e}"))?;
    for (i, line) in lines {
        match serde_json::from_str::<Added>(line) {
            Ok(added) => apply(&mut run, added).map_err(|e| format!("line {}: {e}", i + 1))?,
            Err(_) if !line.ends_with('\n') => break,
            Err(e) => return Err(format!("not a sound journal: line {}: {e}", i + 1)),
        }
    }
    run.series.iter_mut().for_each(count_causes);
    run.interrupted = true;
    run.notes.push("read from the journal of a run that did not end".into());
    Ok(run)
}

fn apply(run: &mut Run, added: Added) -> Result<(), String> {
    let series = run.series.get_mut(added.series).ok_or("names a series that the run does not have")?;
    let latency = &mut series.latency;
    let (before, min_ns, max_ns, mean_ns) = (latency.count() as f64, latency.min_ns, latency.max_ns, latency.mean_ns);
    // Bucket by bucket: a journal has a line for each second, and merging whole histograms would take
    // most of the time that reading an 18-hour run does.
    added.buckets.iter().for_each(|b| latency.add(b.low_ns, b.width_ns, b.count));
    latency.check()?;
    // The buckets' edges are not as exact as what the recorder saw.
    let came = latency.count() as f64 - before;
    latency.min_ns = [min_ns, added.min_ns].into_iter().flatten().min().or(latency.min_ns);
    latency.max_ns = max_ns.max(added.max_ns).or(latency.max_ns);
    latency.mean_ns = match (mean_ns, added.mean_ns) {
        (None, mean) if before == 0.0 => mean,
        (Some(old), Some(new)) if before + came > 0.0 => Some((old * before + new * came) / (before + came)),
        (old, _) => old,
    };
    series.missed = series.missed.saturating_add(added.missed);
    series.maxima.step_ns = 1_000_000_000;
    series.maxima.max_ns.push(added.second_max_ns);
    series.outliers_seen = series.outliers_seen.saturating_add(added.outliers_seen.max(added.outliers.len() as u64));
    series.outliers.extend(added.outliers);
    let named =
        added.causes.into_iter().map(|name| Cause { cause: name.cause, detail: name.detail, ..Cause::default() });
    series.causes.extend(named);
    run.duration_ns = run.duration_ns.max(added.duration_ns);
    Ok(())
}

/// Causes stand in a journal by name; how often each was is told by the outliers.
fn count_causes(series: &mut Series) {
    let known = series.causes.len();
    let mut latencies = vec![Vec::new(); known];
    for outlier in &mut series.outliers {
        outlier.cause = outlier.cause.filter(|index| (*index as usize) < known);
        if let Some(index) = outlier.cause {
            latencies[index as usize].push(outlier.latency_ns);
        }
    }
    let all: usize = latencies.iter().map(Vec::len).sum();
    for (cause, mut latencies) in series.causes.iter_mut().zip(latencies) {
        latencies.sort_unstable();
        cause.count = latencies.len() as u64;
        cause.share = latencies.len() as f64 / all.max(1) as f64;
        cause.p50_ns = latencies.get(latencies.len() / 2).copied().unwrap_or(0);
        cause.max_ns = latencies.last().copied().unwrap_or(0);
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
        let named = |cause: &str| CauseName { cause: cause.into(), detail: String::new() };
        let outlier = |latency_ns, cause| Outlier { at_ns: 1, latency_ns, cause };
        journal
            .append(&Added { causes: vec![named("steal")], outliers: vec![outlier(30, Some(0))], ..second(1) })
            .unwrap();
        let later = vec![outlier(50, Some(1)), outlier(70, Some(0)), outlier(20, Some(1)), outlier(9, Some(7))];
        journal.append(&Added { causes: vec![named("softirq")], outliers: later, ..second(2) }).unwrap();
        let run = recover(&std::fs::read_to_string(path).unwrap()).unwrap();
        let series = &run.series[0];
        let told: Vec<_> =
            series.causes.iter().map(|c| (c.cause.as_str(), c.count, c.share, c.p50_ns, c.max_ns)).collect();
        assert_eq!(told, [("steal", 2, 0.5, 70, 70), ("softirq", 2, 0.5, 50, 50)]);
        assert_eq!(series.outliers.last().unwrap().cause, None);
    }

    #[test]
    fn a_journal_left_behind_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let (path, journal) = journal(dir.path());
        drop(journal);
        let error = Journal::create(&dir.path().join("run.json"), &Run::new("t", "m")).err().unwrap().to_string();
        assert!(error.contains("ontick report"), "{error}");
        assert!(path.exists());
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let (path, mut journal) = journal(dir.path());
        (1..=3).for_each(|n| journal.append(&second(n)).unwrap());
        let text = std::fs::read_to_string(path).unwrap().replacen("duration_ns\":2", "duration_ns\":x", 1);
        assert!(recover(&text).unwrap_err().contains("line 3"));
    }

    #[test]
    fn the_run_in_a_journal_is_checked_as_a_record_is() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = journal(dir.path());
        let text = std::fs::read_to_string(path).unwrap();
        assert!(recover(&text.replace("ontick-run/1", "ontick-run/9")).unwrap_err().contains("ontick-run/9"));
        let unsorted = text.replace("\"buckets\":[]", "\"buckets\":[[400,4,7],[300,4,7]]");
        assert!(recover(&unsorted).unwrap_err().contains("ascending"));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(\\{\"journal\":)?.{0,64}\n?.{0,32}") {
            let _ = recover(&text);
        }
    }
}
