//! Samples as bytes.

pub(crate) mod binary;
mod csv;
mod ndjson;

pub use binary::{Binary, Entry, ReadError};
pub use csv::Csv;
pub use ndjson::Ndjson;

#[cfg(feature = "arrow")]
pub(crate) use binary::{described, entry, record_bytes};
#[cfg(feature = "arrow")]
pub(crate) use ndjson::description;

use std::fmt;
use std::str::FromStr;

use crate::Channel;

/// One sample, with its time on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedSample<'a> {
    /// Number of its slot.
    pub number: u64,
    /// When its sources were read: on the monotonic clock, in ns.
    pub monotonic_ns: u64,
    /// And on the TAI clock, in ns.
    pub tai_ns: u64,
    /// From the trigger until then, in ns.
    pub latency_ns: u64,
    /// One per channel, as read.
    pub raw: &'a [i64],
}

/// Samples that are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// How many.
    pub missed: u64,
    /// Why.
    pub why: Why,
}

/// Why samples are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// They were never taken: the timed thread came too late, or edges were not notified.
    Late,
    /// They were taken and found the ring full.
    Full,
    /// This client was too slow for them.
    Slow,
}

impl Why {
    /// All reasons, by their number in binary files.
    pub const ALL: [Why; 3] = [Why::Late, Why::Full, Why::Slow];

    /// The name in text formats.
    pub fn name(self) -> &'static str {
        match self {
            Why::Late => "late",
            Why::Full => "ring full",
            Why::Slow => "slow client",
        }
    }
}

impl Gap {
    /// One for each reason for which samples are missing; how many by reason, as [`Why::ALL`] has them.
    pub fn each(missed: [u64; 3]) -> impl Iterator<Item = Self> {
        let gaps = missed.into_iter().zip(Why::ALL).map(|(missed, why)| Self { missed, why });
        gaps.filter(|gap| gap.missed > 0)
    }
}

/// Turns samples into bytes. Every call appends whole records.
pub trait Encode: Send + Sync {
    /// What every reader gets first.
    fn begin(&self, out: &mut Vec<u8>);
    /// A sample.
    fn sample(&self, sample: &TimedSample, out: &mut Vec<u8>);
    /// A gap before the next sample.
    fn gap(&self, gap: Gap, out: &mut Vec<u8>);
}

/// The formats that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One JSON object a line.
    Ndjson,
    /// A heading and a line per sample; gaps are comments.
    Csv,
    /// Records of fixed length.
    Binary,
    /// Arrow IPC: a file, or a stream where it goes elsewhere.
    Arrow,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 4] = [Format::Ndjson, Format::Csv, Format::Binary, Format::Arrow];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Ndjson => "ndjson",
            Format::Csv => "csv",
            Format::Binary => "binary",
            Format::Arrow => "arrow",
        }
    }

    /// The format that a file's name asks for.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "ndjson" | "jsonl" => Some(Format::Ndjson),
            "csv" => Some(Format::Csv),
            "ontick" | "bin" => Some(Format::Binary),
            "arrow" | "feather" => Some(Format::Arrow),
            _ => None,
        }
    }

    /// The format in which samples come to the sinks of this one. Arrow has many samples in a batch, which each
    /// sink makes of records for itself.
    pub fn carrier(self) -> Self {
        if self == Format::Arrow { Format::Binary } else { self }
    }

    /// Encodes samples of these channels, as their [`carrier`](Self::carrier).
    pub fn encoder(self, channels: &[Channel]) -> Box<dyn Encode> {
        match self {
            Format::Ndjson => Box::new(Ndjson::new(channels)),
            Format::Csv => Box::new(Csv::new(channels)),
            Format::Binary | Format::Arrow => Box::new(Binary::new(channels)),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that is no format's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no format (choose one of {names})", names = Format::ALL.map(Format::name).join(", "))]
pub struct FormatError(String);

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let found = Format::ALL.into_iter().find(|format| format.name() == text);
        found.ok_or_else(|| FormatError(text.into()))
    }
}
