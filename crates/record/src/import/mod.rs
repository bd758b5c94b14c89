//! What other tools measured, as a [`Run`]: cyclictest, jitterdebugger and rtla timerlat.
//!
//! What is read, and what it means here:
//! - A row of a tool's histogram becomes a bucket that covers all values the row stands for. In whole
//!   microseconds, 41 covers 41 000 to 41 999 ns: these tools cut, they do not round.
//! - The minimum is the lower end of the tool's figure and the maximum the upper end, so neither promises
//!   more than was seen; a maximum of 95 us is 95 999 ns. The mean is that of the cut values, at most 1 us
//!   too low. It is taken from the rows where they hold every sample, else it is the tool's own.
//! - Samples that a tool counted but has no row for are [overflow](crate::Histogram::overflow). A summary
//!   (`C: 1000 Min: 3 Avg: 5 Max: 95`) is all overflow: its count, minimum, mean and maximum are known and
//!   its percentiles are not, and nothing is made up for them.
//! - Settings are those that the file tells. The tools do not count missed cycles; a note says so.

mod command;
mod cyclictest;
mod cyclictest_json;
mod figures;
mod jitterdebugger;
mod json;
mod lines;
mod rtla;
mod summary;

use std::fmt;
use std::str::FromStr;

use crate::Run;

/// A tool whose output can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// cyclictest: histogram (`-h`, `-H`, `--histfile`), `--json`, or its `T:` summary lines.
    Cyclictest,
    /// The same from a run with `-N` (nanoseconds), where the text does not show it: a histogram alone.
    CyclictestNanoseconds,
    /// jitterdebugger: `results.json`.
    Jitterdebugger,
    /// `rtla timerlat hist`.
    RtlaTimerlat,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 4] =
        [Format::Cyclictest, Format::CyclictestNanoseconds, Format::Jitterdebugger, Format::RtlaTimerlat];
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Format::Cyclictest => "cyclictest",
            Format::CyclictestNanoseconds => "cyclictest-ns",
            Format::Jitterdebugger => "jitterdebugger",
            Format::RtlaTimerlat => "rtla-timerlat",
        })
    }
}

impl FromStr for Format {
    type Err = ImportError;

    fn from_str(text: &str) -> Result<Self, ImportError> {
        Format::ALL.into_iter().find(|f| f.to_string() == text).ok_or_else(|| {
            let known: Vec<String> = Format::ALL.iter().map(Format::to_string).collect();
            ImportError::new(format!("\"{text}\" is not a format that can be imported (use {})", known.join(", ")))
        })
    }
}

/// A text could not be read as a tool's output: where, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// The line, from 1; `None` where the whole text is meant.
    pub line: Option<usize>,
    /// What is wrong with it.
    pub problem: String,
}

impl ImportError {
    fn new(problem: impl Into<String>) -> Self {
        Self { line: None, problem: problem.into() }
    }

    fn at(line: usize, problem: impl Into<String>) -> Self {
        Self { line: Some(line), problem: problem.into() }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl std::error::Error for ImportError {}

/// The tool that wrote a text, if it is one of those that can be imported.
///
/// ```
/// use ontick_record::import::{Format, detect};
/// assert_eq!(detect("# Histogram\n000000 000000\n"), Some(Format::Cyclictest));
/// assert_eq!(detect("Dear diary"), None);
/// ```
pub fn detect(text: &str) -> Option<Format> {
    if rtla::wrote(text) {
        Some(Format::RtlaTimerlat)
    } else if jitterdebugger::wrote(text) {
        Some(Format::Jitterdebugger)
    } else if cyclictest_json::wrote(text) || cyclictest::wrote(text) {
        Some(Format::Cyclictest)
    } else {
        None
    }
}

/// Reads a tool's output; without a format it is [detected](detect). `name` says in the run's notes where
/// it came from.
///
/// ```
/// let text = "T: 0 (  976) P:80 I:500 C: 100000 Min:     23 Act:   40 Avg:   37 Max:      95";
/// let run = ontick_record::import::read(text, "forum.txt", None).unwrap();
/// let latency = &run.series[0].latency;
/// assert_eq!((latency.count(), latency.max_ns), (100_000, Some(95_999)));
/// assert_eq!(latency.quantile(0.99), None);
/// ```
pub fn read(text: &str, name: &str, format: Option<Format>) -> Result<Run, ImportError> {
    let format = format.or_else(|| detect(text)).ok_or_else(|| {
        ImportError::new("not recognised as output of cyclictest, jitterdebugger or rtla timerlat hist")
    })?;
    let mut run = match format {
        Format::Cyclictest | Format::CyclictestNanoseconds if cyclictest_json::wrote(text) => {
            cyclictest_json::read(text)
        }
        Format::Cyclictest => cyclictest::read(text, false),
        Format::CyclictestNanoseconds => cyclictest::read(text, true),
        Format::Jitterdebugger => jitterdebugger::read(text),
        Format::RtlaTimerlat => rtla::read(text),
    }?;
    crate::reading::check(&run).map_err(ImportError::new)?;
    run.notes.insert(0, format!("imported from {name}, written by {}; missed cycles are not counted there", run.tool));
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_line_where_it_has_one() {
        assert_eq!(ImportError::at(7, "is cut off").to_string(), "line 7: is cut off");
        assert_eq!(ImportError::new("is empty").to_string(), "is empty");
    }

    #[test]
    fn formats_are_named_and_no_others_are_known() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let why = "csv".parse::<Format>().unwrap_err().to_string();
        assert!(Format::ALL.iter().all(|format| why.contains(&format.to_string())), "{why}");
    }
}
