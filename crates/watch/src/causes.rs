//! Outliers by what made them late, since counting began: a small file that is replaced now and then.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ontick_record::output_file;
use serde::{Deserialize, Serialize};

/// Causes that are told apart by their detail; there are as many tasks as somebody likes to start.
const MOST: usize = 200;
/// Entries that are kept at all, whoever wrote the file.
const LIMIT: usize = 2 * MOST;
/// The detail of those beyond.
const OTHERS: &str = "others";
/// The file is replaced no more often.
const WRITTEN_EVERY: Duration = Duration::from_secs(5);

/// What made a sample late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Late {
    /// How late it was, in ns.
    pub latency_ns: u64,
    /// `softirq`, `another task`, …, as records name causes.
    pub cause: String,
    /// Which one, where there are several; else empty.
    pub detail: String,
}

impl Late {
    /// The cause in words: `softirq BLOCK`.
    pub fn name(&self) -> String {
        match self.detail.as_str() {
            "" => self.cause.clone(),
            detail => format!("{} {detail}", self.cause),
        }
    }
}

/// A cause, and how often it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counted {
    /// Its name.
    pub cause: String,
    /// Which one, where there are several; else empty.
    pub detail: String,
    /// Outliers that it made.
    pub count: u64,
    /// The largest, in ns.
    pub max_ns: u64,
    /// When it was found last, in seconds since 1970.
    pub last: u32,
}

/// All of them, with their file.
#[derive(Debug)]
pub struct Causes {
    path: PathBuf,
    counted: Vec<Counted>,
    unwritten: bool,
    written: Option<Instant>,
}

impl Causes {
    /// Takes up the file in a folder. One that cannot be read counts for nothing, and is replaced.
    pub fn open(folder: &Path) -> (Self, Option<String>) {
        let path = folder.join("causes.json");
        let (counted, damage) = match std::fs::read(&path) {
            Ok(text) => match read(&text) {
                Ok(counted) => (counted, None),
                Err(error) => (Vec::new(), Some(format!("{}: {error}; counting began anew", path.display()))),
            },
            Err(_) => (Vec::new(), None),
        };
        (Self { path, counted, unwritten: false, written: None }, damage)
    }

    /// Counts the outliers of a block.
    pub fn add(&mut self, at: u32, outliers: &[Late]) -> io::Result<()> {
        for late in outliers {
            let of = self.entry(late);
            of.count = of.count.saturating_add(1);
            of.max_ns = of.max_ns.max(late.latency_ns);
            of.last = at;
            self.unwritten = true;
        }
        match self.unwritten && self.written.is_none_or(|at| at.elapsed() >= WRITTEN_EVERY) {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn entry(&mut self, late: &Late) -> &mut Counted {
        let place = |of: &Self, detail: &str| {
            of.counted.iter().position(|counted| counted.cause == late.cause && counted.detail == detail)
        };
        let detail = match place(self, &late.detail).is_some() || self.counted.len() < MOST {
            true => late.detail.as_str(),
            false => OTHERS,
        };
        let index = place(self, detail).unwrap_or_else(|| {
            // Only a file of another program's has so many.
            self.counted.truncate(LIMIT - 1);
            self.counted.push(Counted { cause: late.cause.clone(), detail: detail.into(), ..Counted::default() });
            self.counted.len() - 1
        });
        &mut self.counted[index]
    }

    fn write(&mut self) -> io::Result<()> {
        output_file::replace(&self.path, &serde_json::to_vec(&self.counted)?)?;
        (self.unwritten, self.written) = (false, Some(Instant::now()));
        Ok(())
    }

    /// All of them, the most frequent first.
    pub fn all(&self) -> Vec<Counted> {
        let mut all = self.counted.clone();
        all.sort_by_key(|counted| std::cmp::Reverse(counted.count));
        all
    }
}

impl Drop for Causes {
    fn drop(&mut self) {
        if self.unwritten {
            // A full disk was reported before.
            let _ = self.write();
        }
    }
}

/// The content of such a file.
pub fn read(text: &[u8]) -> serde_json::Result<Vec<Counted>> {
    let mut counted: Vec<Counted> = serde_json::from_slice(text)?;
    counted.truncate(LIMIT);
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(cause: &str, detail: &str, latency_ns: u64) -> Late {
        Late { latency_ns, cause: cause.into(), detail: detail.into() }
    }

    #[test]
    fn causes_are_counted_and_taken_up_again() {
        let folder = tempfile::tempdir().unwrap();
        let (mut causes, damage) = Causes::open(folder.path());
        assert_eq!((causes.all(), damage), (Vec::new(), None));
        causes.add(7, &[late("softirq", "BLOCK", 300_000)]).unwrap();
        causes.add(8, &[late("steal", "", 900_000), late("steal", "", 400_000)]).unwrap();
        let all = causes.all();
        let of = |cause: &str, detail: &str, count, max_ns, last| Counted {
            cause: cause.into(),
            detail: detail.into(),
            count,
            max_ns,
            last,
        };
        assert_eq!(all, [of("steal", "", 2, 900_000, 8), of("softirq", "BLOCK", 1, 300_000, 7)]);
        // As after a kill: what was counted within the last seconds is not there.
        let (before, _) = Causes::open(folder.path());
        assert_eq!(before.all(), [of("softirq", "BLOCK", 1, 300_000, 7)]);
        drop(causes);
        assert_eq!(Causes::open(folder.path()).0.all(), all);
    }

    /// What cannot be kept is no less so at the next block.
    #[test]
    fn a_disk_that_takes_nothing_is_an_error_until_it_takes_something() {
        let folder = tempfile::tempdir().unwrap();
        let within = folder.path().join("gone");
        let (mut causes, _) = Causes::open(&within);
        causes.add(1, &[late("steal", "", 5)]).unwrap_err();
        causes.add(2, &[]).unwrap_err();
        std::fs::create_dir(&within).unwrap();
        causes.add(3, &[]).unwrap();
        assert_eq!(Causes::open(&within).0.all(), causes.all());
    }

    #[test]
    fn a_file_that_is_none_begins_anew_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("causes.json"), "[{").unwrap();
        let (causes, damage) = Causes::open(folder.path());
        assert!(causes.all().is_empty() && damage.unwrap().contains("counting began anew"));
    }

    #[test]
    fn many_names_are_not_remembered_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let (mut causes, _) = Causes::open(folder.path());
        let tasks: Vec<Late> = (0..1_000).map(|n| late("another task", &n.to_string(), 5)).collect();
        causes.add(1, &tasks).unwrap();
        let all = causes.all();
        assert_eq!((all.len(), all[0].detail.as_str(), all[0].count), (MOST + 1, OTHERS, 800));
    }
}
