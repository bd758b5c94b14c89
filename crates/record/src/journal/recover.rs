//! What a journal tells.

use std::io::{BufRead, Read};

use serde::de::{DeserializeOwned, Error as _};

use super::added::Added;
use super::so_far::{Header, JOURNAL, SoFar};
use crate::error::ParseError;
use crate::outliers::Outliers;
use crate::reading;
use crate::run::Run;

/// No line of a journal is longer, in bytes.
const LONGEST_LINE: u64 = 256 << 20;

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

pub(super) fn recover_lines(mut text: impl BufRead, longest: u64) -> Result<Run, ParseError> {
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
