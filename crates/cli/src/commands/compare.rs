//! `ontick compare`

use std::path::PathBuf;

use clap::Args;
use ontick_record::compare::Comparison;
use ontick_record::{Run, store};
use ontick_report::{compare, html_of_several};
use serde::Serialize;

use crate::attempts::Attempts;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Compare runs side by side; ratios are to the first.
#[derive(Args)]
#[command(after_help = "Example:\n  ontick compare before.json cyclictest.hist --html compared.html")]
pub struct Compare {
    /// Records, journals, or cyclictest, jitterdebugger or rtla output
    #[arg(required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// Write the comparison as HTML to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON instead of the table: each later run against the first
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Compared<'a> {
    before: &'a str,
    against: Vec<Against<'a>>,
}

/// A later run against the first.
#[derive(Serialize)]
struct Against<'a> {
    after: &'a str,
    #[serde(flatten)]
    comparison: Comparison,
}

/// The first run stands before all others; there are at least two.
fn compared<'a>(named: &[compare::Named<'a>]) -> Option<Compared<'a>> {
    let (before, others) = named.split_first()?;
    let against = |after: &compare::Named<'a>| Against {
        after: after.name,
        comparison: ontick_record::compare::compare(before.run, after.run),
    };
    Some(Compared { before: before.name, against: others.iter().map(against).collect() })
}

impl Compare {
    pub fn run(self) -> Result<Outcome, Failure> {
        let runs: Vec<Run> = self.files.iter().map(|file| store::read_any(file)).collect::<Result<_, _>>()?;
        let names: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        let named: Vec<compare::Named> =
            names.iter().zip(&runs).map(|(name, run)| compare::Named { name, run }).collect();
        let mut attempts = Attempts::default();
        if let Some(path) = &self.html {
            attempts.note(store::write_whole(path, html_of_several(&named).as_bytes()));
        }
        attempts.note(match self.json {
            true => terminal::print(&(serde_json::to_string_pretty(&compared(&named))? + "\n")),
            false => terminal::print(&compare::text(&named, &terminal::style())),
        });
        attempts.end().map(|()| Outcome::Met)
    }
}
