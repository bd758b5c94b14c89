//! What is asked of a capture of an instrument.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::{Args, ValueEnum};
use ontick_record::capture::{self, CaptureError, Changes, Format, Job, Rate, Subject};
use ontick_record::{Run, store::StoreError};

use crate::failure::Failure;
use crate::flags;

/// Options for captures of instruments alone.
#[derive(Args, Debug, Default)]
pub struct CaptureFlags {
    /// Of a capture: the channel whose pulses are measured, by its name or its number from 0
    #[arg(long, value_name = "CHANNEL", conflicts_with_all = ["input", "output"])]
    channel: Option<String>,
    /// How wide each pulse on the channel was asked to be: the errors are measured
    #[arg(long, value_name = "TIME", value_parser = flags::time, conflicts_with_all = ["input", "output"])]
    asked: Option<u64>,
    /// How far the beginnings of pulses were asked to be apart, as a time or a rate: with --asked, pulses that are missing
    /// are counted; alone, the errors of the periods are measured
    #[arg(long, value_name = "TIME|RATE", value_parser = flags::interval, conflicts_with_all = ["input", "output"])]
    period: Option<u64>,
    /// Of a capture: the channel whose changes are answered on that of --output; the response times are measured
    #[arg(long, value_name = "CHANNEL", requires = "output")]
    input: Option<String>,
    /// Of a capture: the channel that answers that of --input
    #[arg(long, value_name = "CHANNEL", requires = "input")]
    output: Option<String>,
    /// Which changes of the input count
    #[arg(long, value_enum, requires = "input")]
    edges: Option<EdgesName>,
    /// Pulses are low; or the output is high while the input is low
    #[arg(long)]
    inverse: bool,
    /// The rate at which the instrument sampled, such as 24MHz, where the file does not say, or says it wrongly
    #[arg(long, value_name = "RATE")]
    samplerate: Option<Rate>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum EdgesName {
    Rising,
    Falling,
    Both,
}

impl From<EdgesName> for Changes {
    fn from(name: EdgesName) -> Self {
        match name {
            EdgesName::Rising => Changes::Rising,
            EdgesName::Falling => Changes::Falling,
            EdgesName::Both => Changes::Both,
        }
    }
}

impl CaptureFlags {
    /// An option that was passed, if any was.
    pub fn first_used(&self) -> Option<&'static str> {
        let used = [
            (self.channel.is_some(), "--channel"),
            (self.asked.is_some(), "--asked"),
            (self.period.is_some(), "--period"),
            (self.input.is_some(), "--input"),
            (self.inverse, "--inverse"),
            (self.samplerate.is_some(), "--samplerate"),
        ];
        used.into_iter().find_map(|(used, option)| used.then_some(option))
    }

    /// Reads and measures a capture.
    pub fn read(&self, path: &Path, format: Format) -> Result<Run, Failure> {
        let job = Job { subject: self.subject()?, rate: self.samplerate };
        let file = open(path)?;
        let name = path.display();
        capture::read(file, &name.to_string(), Some(format), &job).map_err(|error| {
            let option = match &error {
                CaptureError::NoneNamed { .. } => " (--channel D0, or --input D0 --output D1)",
                CaptureError::Lacking(_) if self.samplerate.is_none() => " (--samplerate 24MHz)",
                CaptureError::TooFew { .. } if self.input.is_some() && !self.inverse => " (--inverse)",
                _ => "",
            };
            Failure::new(format!("{name}: {error}{option}"))
        })
    }

    fn subject(&self) -> Result<Subject, Failure> {
        let (channel, inverse) = (self.channel.clone(), self.inverse);
        if self.asked == Some(0) {
            return Err(Failure::new("--asked: a pulse is wider than 0"));
        }
        Ok(match (&self.input, &self.output, self.asked, self.period) {
            (Some(input), Some(output), ..) => Subject::Response {
                input: input.clone(),
                output: output.clone(),
                changes: self.edges.map_or(Changes::Both, Changes::from),
                inverse,
            },
            (_, _, Some(width_ns), Some(period_ns)) if period_ns <= width_ns => {
                return Err(Failure::new(
                    "--period must be longer than --asked: one pulse ends before the next begins",
                ));
            }
            (_, _, Some(width_ns), period_ns) => Subject::Widths { channel, width_ns, period_ns, inverse },
            (_, _, None, Some(period_ns)) => Subject::Period { channel, period_ns, inverse },
            _ if inverse => {
                return Err(Failure::new(
                    "--inverse says what a pulse or an answer is: use it with --asked, --period or --input (without, times at either level are shown)",
                ));
            }
            _ => Subject::Intervals { channel },
        })
    }
}

/// A file that is none of a folder.
pub fn open(path: &Path) -> Result<File, StoreError> {
    let io = |error| StoreError::Io { path: path.into(), error };
    let file = File::open(path).map_err(io)?;
    match file.metadata().map_err(io)?.is_dir() {
        true => Err(io(std::io::ErrorKind::IsADirectory.into())),
        false => Ok(file),
    }
}

/// The kind of capture that a file is, if it is one.
pub fn detect(path: &Path) -> Result<Option<Format>, StoreError> {
    Ok(beginning(path)?.and_then(|begin| capture::detect(&begin)))
}

/// That this file is no capture, and why.
pub fn none_of_them(path: &Path) -> CaptureError {
    match beginning(path) {
        Ok(Some(begin)) => CaptureError::none_of_them(&begin),
        _ => CaptureError::Unknown,
    }
}

/// What tells of a file what it is; of a pipe nothing does, as its beginning can be read only once.
fn beginning(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let io = |error| StoreError::Io { path: path.into(), error };
    let file = open(path)?;
    if !file.metadata().map_err(io)?.is_file() {
        return Ok(None);
    }
    let mut begin = Vec::new();
    file.take(capture::BEGIN as u64).read_to_end(&mut begin).map_err(io)?;
    Ok(Some(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_blank_lines_is_as_empty_as_one_of_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        for (text, is_empty) in [("", true), ("\n \r\n\n", true), ("\nDear diary\n", false)] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(detect(&file).unwrap(), None);
            assert_eq!(matches!(none_of_them(&file), CaptureError::Empty), is_empty, "{text:?}");
        }
        assert!(matches!(none_of_them(&folder.path().join("none")), CaptureError::Unknown));
    }
}
