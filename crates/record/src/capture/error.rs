//! Why a capture could not be read or measured.

use std::io;

use super::BEGIN;

/// A capture could not be read, or what was asked of it is not in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file could not be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is none of the formats.
    #[error(
        "neither a sigrok session (.sr), a value change dump (.vcd), a table of levels (.csv) nor a list of changes, \
         which begins with \"time_ns,line,level\""
    )]
    Unknown,
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// A line of a text is wrong.
    #[error("line {line}: {problem}")]
    Line {
        /// Which, from 1.
        line: u64,
        /// What is wrong with it, and what is right.
        problem: String,
    },
    /// The archive of a session is damaged.
    #[error("offset {offset}: {problem}")]
    Archive {
        /// Where in the file, in bytes.
        offset: u64,
        /// What is wrong there.
        problem: &'static str,
    },
    /// A file inside the archive is missing or wrong.
    #[error("{part}: {problem}")]
    Part {
        /// Its name in the archive.
        part: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The text as a whole lacks something.
    #[error("{0}")]
    Lacking(&'static str),
    /// No channel was named, and there are several.
    #[error("it has the channels {}: name one", listed(.channels))]
    NoneNamed {
        /// Those that there are.
        channels: Vec<String>,
    },
    /// There is no such channel.
    #[error("there is no channel \"{named}\" (there are {})", listed(.channels))]
    NoChannel {
        /// The name or number.
        named: String,
        /// Those that there are.
        channels: Vec<String>,
    },
    /// Several channels have the name.
    #[error("several channels are called \"{named}\": name one of {}", listed(.channels))]
    Ambiguous {
        /// The name.
        named: String,
        /// Their full names.
        channels: Vec<String>,
    },
    /// Several channels have the name, and nothing else by which they could be told apart.
    #[error("several channels are called \"{named}\": name one by its number, of {}", listed(&.places.iter().map(usize::to_string).collect::<Vec<_>>()))]
    SameName {
        /// The name.
        named: String,
        /// Their numbers.
        places: Vec<usize>,
    },
    /// A response is between two channels.
    #[error("\"{0}\" is both input and output: name two channels")]
    SameChannel(String),
    /// A channel's first level comes later than those of others, or never.
    #[error("it does not say at which level {0} begins")]
    NoLevel(String),
    /// More changes than can be held.
    #[error("it has more than {most} changes, which are the most that are held: cut it in pieces")]
    TooMany {
        /// The most.
        most: usize,
    },
    /// Too little happened on the channel.
    #[error("channel {channel} has {edges} in it: {needed}")]
    TooFew {
        /// The channel.
        channel: String,
        /// How many edges, in words.
        edges: String,
        /// What has to be there.
        needed: &'static str,
    },
}

impl CaptureError {
    /// What begins so, in its first [`BEGIN`] bytes, is none of the formats.
    pub fn none_of_them(begin: &[u8]) -> Self {
        // Behind so many blanks there may be more.
        let is_whole = begin.len() < BEGIN;
        if is_whole && begin.trim_ascii().is_empty() { Self::Empty } else { Self::Unknown }
    }

    pub(super) fn line(line: u64, problem: impl Into<String>) -> Self {
        Self::Line { line, problem: problem.into() }
    }

    pub(super) fn part(part: &str, problem: impl Into<String>) -> Self {
        Self::Part { part: part.into(), problem: problem.into() }
    }
}

/// Names that fit a sentence: a capture of a simulation may have thousands.
fn listed(names: &[String]) -> String {
    const MOST: usize = 32;
    let shown: Vec<&str> = names.iter().take(MOST).map(String::as_str).collect();
    match names.len() {
        0 => "none".into(),
        n if n > MOST => format!("{} and {} more", shown.join(", "), n - MOST),
        _ => shown.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_blank_to_its_end_is_empty() {
        let is_empty = |begin: &[u8]| matches!(CaptureError::none_of_them(begin), CaptureError::Empty);
        assert!(is_empty(b"") && is_empty(b"\n \r\n\t\n") && is_empty(&[b'\n'; BEGIN - 1]));
        assert!(!is_empty(b"\n\nDear diary") && !is_empty(&[b'\n'; BEGIN]));
    }

    #[test]
    fn an_error_names_its_place_and_lists_no_more_than_can_be_read() {
        assert_eq!(CaptureError::line(7, "is cut off").to_string(), "line 7: is cut off");
        let channels: Vec<String> = (0..40).map(|i| format!("D{i}")).collect();
        let text = CaptureError::NoChannel { named: "X".into(), channels }.to_string();
        assert!(text.ends_with("D30, D31 and 8 more)"), "{text}");
        let text = CaptureError::NoneNamed { channels: Vec::new() }.to_string();
        assert_eq!(text, "it has the channels none: name one");
    }
}
