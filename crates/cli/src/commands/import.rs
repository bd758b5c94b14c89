//! `ontick import`

pub mod capture;

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use ontick_record::capture::{CaptureError, Format as CaptureFormat};
use ontick_record::import::{self, Format as ToolFormat};
use ontick_record::{Requirement, Run, store};

use crate::attempts::Attempts;
use crate::failure::{Failure, Outcome};
use crate::terminal;
use capture::CaptureFlags;

/// Convert a capture of a logic analyser, or what cyclictest, oslat, hwlatdetect, jitterdebugger, rtla, zyclictest or isochron wrote, into a record.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick import cyclictest.hist --to cyclictest.json\n  ontick import capture.sr --channel D0\n  ontick import capture.sr --channel D0 --asked 100us --period 1ms \\\n      --require 'max < 5us' --to pulses.json\n  ontick import capture.vcd --input D0 --output D1 --edges rising\n  ontick import digital.csv --channel 'Channel 0' --samplerate 24MHz\n\nCaptures are sigrok's sessions (.sr), value change dumps (.vcd), and tables (.csv) by sigrok, PulseView or Logic 2. Their figures are shown; the record goes to --to. What other tools wrote is printed as a record unless --to names a file (docs/instruments.md, docs/import.md)."
)]
pub struct Import {
    /// What the other tool or the instrument wrote
    file: PathBuf,
    /// The tool that wrote it, or the kind of capture (sr, vcd, csv), if that cannot be detected
    #[arg(long)]
    format: Option<Format>,
    /// Write the record to this file instead of printing it
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Print the record, which is JSON, also when it is written to a file
    #[arg(long)]
    json: bool,
    /// Exit with status 1 unless this holds: "99% < 3us", "p99.9 < 50us", "max < 100us" (repeatable)
    #[arg(long, value_name = "REQUIREMENT")]
    require: Vec<Requirement>,
    #[command(flatten)]
    capture: CaptureFlags,
}

/// What a file is.
#[derive(Debug, Clone, Copy)]
enum Format {
    Tool(ToolFormat),
    Capture(CaptureFormat),
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(format) = text.parse() {
            return Ok(Self::Capture(format));
        }
        let captures = CaptureFormat::ALL.map(CaptureFormat::name).join(", ");
        text.parse().map(Self::Tool).map_err(|error: import::ImportError| format!("{error}; captures are {captures}"))
    }
}

impl Import {
    pub fn run(self) -> Result<Outcome, Failure> {
        if let Some(of_frames) = self.require.iter().find(|requirement| requirement.frames().is_some()) {
            return Err(Failure::new(format!("--require \"{of_frames}\": no frames go through a switch here")));
        }
        let captured = match self.format {
            Some(Format::Tool(_)) => None,
            Some(Format::Capture(format)) => Some(format),
            None => capture::detect(&self.file)?,
        };
        match (captured, self.format) {
            (Some(format), _) => {
                let run = self.capture.read(&self.file, format)?;
                self.deliver(run, true)
            }
            (None, Some(Format::Tool(format))) => self.of_tool(Some(format)),
            (None, _) => self.of_tool(None),
        }
    }

    fn of_tool(&self, format: Option<ToolFormat>) -> Result<Outcome, Failure> {
        let name = self.file.display();
        if let (Some(option), CaptureError::Unknown) = (self.capture.first_used(), capture::none_of_them(&self.file)) {
            return Err(Failure::new(format!(
                "{name}: {option} is for captures of instruments, and this is none (name its kind with --format sr, vcd or csv)"
            )));
        }
        let text = store::read_text(&self.file)?;
        let run = import::read(&text, &name.to_string(), format).map_err(|error| match store::parse(&text) {
            Ok(_) => Failure::new(format!("{name} is a record already: ontick report {name} shows it")),
            Err(_) => Failure::new(format!("{name}: {error}")),
        })?;
        self.deliver(run, false)
    }

    /// Judges, writes and prints: of a capture the figures, else the record where it goes to no file.
    fn deliver(&self, mut run: Run, is_capture: bool) -> Result<Outcome, Failure> {
        run.requirements = self.require.iter().map(|requirement| requirement.judge(&run, &run.series)).collect();
        let mut attempts = Attempts::default();
        if let Some(path) = &self.to {
            attempts.note(store::write_whole(path, store::text(&run).as_bytes()));
        }
        if self.json || self.to.is_none() && !is_capture {
            attempts.note(terminal::print(&store::text(&run)));
        } else if is_capture {
            attempts.note(terminal::print(&ontick_report::text::summary(&run, &terminal::style())));
        }
        attempts.end().map(|()| Outcome::of(&run))
    }
}
