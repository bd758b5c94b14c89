//! What other tools measured, as a [`Run`]: cyclictest, oslat, hwlatdetect, jitterdebugger, rtla, zyclictest, isochron; and HdrHistogram's log.
//!
//! An importer is a file here with an `Importer`, and its line in `IMPORTERS`.
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
mod hlog;
mod hwlatdetect;
mod isochron;
mod jitterdebugger;
mod json;
mod lines;
mod oslat;
mod rtla;
mod rtla_osnoise;
mod rtla_top;
mod summary;
mod zyclictest;

use std::fmt;
use std::str::FromStr;

use crate::Run;

/// How one tool's output is recognised and read.
struct Importer {
    /// As a user names it.
    name: &'static str,
    /// As a sentence names it.
    tool: &'static str,
    /// Whether a text looks like it.
    wrote: fn(&str) -> bool,
    read: fn(&str) -> Result<Run, ImportError>,
}

/// All of them, in the order in which they are asked.
static IMPORTERS: [&Importer; 11] = [
    &hlog::IMPORTER,
    &rtla::IMPORTER,
    &rtla_osnoise::IMPORTER,
    &rtla_top::IMPORTER,
    &oslat::IMPORTER,
    &hwlatdetect::IMPORTER,
    &zyclictest::IMPORTER,
    &isochron::IMPORTER,
    &jitterdebugger::IMPORTER,
    &cyclictest::IMPORTER,
    &cyclictest::NANOSECONDS,
];

/// A tool whose output can be read.
#[derive(Clone, Copy)]
pub struct Format(&'static Importer);

impl Format {
    /// Every format.
    pub fn all() -> impl Iterator<Item = Format> {
        IMPORTERS.into_iter().map(Format)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl FromStr for Format {
    type Err = ImportError;

    fn from_str(text: &str) -> Result<Self, ImportError> {
        Format::all().find(|format| format.0.name == text).ok_or_else(|| {
            let known: Vec<String> = Format::all().map(|format| format.to_string()).collect();
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
    /// The tool that the text is taken to be from, with its version as far as it is known, where nobody named it.
    pub tool: Option<String>,
}

impl ImportError {
    fn new(problem: impl Into<String>) -> Self {
        Self { line: None, problem: problem.into(), tool: None }
    }

    fn at(line: usize, problem: impl Into<String>) -> Self {
        Self { line: Some(line), problem: problem.into(), tool: None }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(tool) = &self.tool {
            write!(f, "looks like {tool}, ")?;
        }
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
/// use ontick_record::import::detect;
/// assert_eq!(detect("# Histogram\n000000 000000\n").unwrap().to_string(), "cyclictest");
/// assert_eq!(detect("Dear diary"), None);
/// ```
pub fn detect(text: &str) -> Option<Format> {
    Format::all().find(|format| (format.0.wrote)(text))
}

/// The tool that a text seems to be from, where it is one that cannot be imported.
pub(crate) fn foreign_tool(text: &str) -> Option<String> {
    json::program(text).map(|program| with_version(&program, text))
}

fn with_version(tool: &str, text: &str) -> String {
    json::version(text).map_or_else(|| tool.to_owned(), |version| format!("{tool} {version}"))
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
    let Some(Format(importer)) = format.or_else(|| detect(text)) else {
        return Err(not_recognised(text));
    };
    let run = (importer.read)(text).and_then(|run| match crate::reading::check(&run) {
        Ok(()) => Ok(run),
        Err(problem) => Err(ImportError::new(problem)),
    });
    let seems = || format.is_none().then(|| with_version(importer.tool, text));
    let mut run = run.map_err(|error| ImportError { tool: seems(), ..error })?;
    run.notes.insert(0, format!("imported from {name}, written by {}; missed cycles are not counted there", run.tool));
    Ok(run)
}

fn not_recognised(text: &str) -> ImportError {
    match foreign_tool(text) {
        None if text.trim().is_empty() => ImportError::new("the file is empty"),
        Some(tool) => ImportError { tool: Some(tool), ..ImportError::new("whose output cannot be imported") },
        None => {
            let mut tools: Vec<&str> = IMPORTERS.iter().map(|importer| importer.tool).collect();
            tools.dedup();
            ImportError::new(format!("not recognised as output of {}", tools.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_line_where_it_has_one() {
        assert_eq!(ImportError::at(7, "is cut off").to_string(), "line 7: is cut off");
        assert_eq!(ImportError::new("is empty").to_string(), "is empty");
        let error = ImportError { tool: Some("oslat 2.40".into()), ..ImportError::at(7, "is cut off") };
        assert_eq!(error.to_string(), "looks like oslat 2.40, line 7: is cut off");
    }

    #[test]
    fn formats_are_named_and_no_others_are_known() {
        for format in Format::all() {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let why = "csv".parse::<Format>().unwrap_err().to_string();
        assert!(Format::all().all(|format| why.contains(&format.to_string())), "{why}");
    }
}
