//! `ontick compare`

use std::path::PathBuf;

use clap::Args;
use ontick_record::compare::{self as comparing, Comparison, Decision, RelativeRequirement, Side};
use ontick_record::{Run, store};
use ontick_report::{compare, decisions, html_of_several, junit_of_decisions};
use serde::Serialize;

use crate::attempts::Attempts;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Compare runs side by side; ratios are to the first.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick compare before.json cyclictest.hist --html compared.html\n  ontick compare base.json new.json --require 'p99 <= 1.2x' --junit compared.xml"
)]
pub struct Compare {
    /// Records, journals, or the output of cyclictest, rtla, oslat or others (`ontick import --help`)
    #[arg(required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// Write the comparison as HTML to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON instead of the table: each later run against the first
    #[arg(long)]
    json: bool,
    /// Exit with status 1 if, in any series, the second run's percentile is more than so many times the first's ("p99 <=
    /// 1.2x"), and with 3 if the records do not tell, with 95 % confidence (repeatable; for two runs)
    #[arg(long, value_name = "REQUIREMENT")]
    require: Vec<RelativeRequirement>,
    /// Write the requirements and how they were met to this file, as JUnit XML for continuous integration
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Compared<'a> {
    before: &'a str,
    against: Vec<Against<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    requirements: &'a [Decision],
}

/// A later run against the first.
#[derive(Serialize)]
struct Against<'a> {
    after: &'a str,
    #[serde(flatten)]
    comparison: Comparison,
}

/// The first run is compared with all others; there are at least two.
fn compared<'a>(named: &[compare::Named<'a>], requirements: &'a [Decision]) -> Option<Compared<'a>> {
    let (before, others) = named.split_first()?;
    let against = |after: &compare::Named<'a>| Against {
        after: after.name,
        comparison: comparing::compare(before.run, after.run),
    };
    Some(Compared { before: before.name, against: others.iter().map(against).collect(), requirements })
}

impl Compare {
    pub fn run(self) -> Result<Outcome, Failure> {
        let runs: Vec<Run> = self.files.iter().map(|file| store::read_any(file)).collect::<Result<_, _>>()?;
        let names: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        let named: Vec<compare::Named> =
            names.iter().zip(&runs).map(|(name, run)| compare::Named { name, run }).collect();
        let found = self.decide(&runs)?;
        let mut attempts = Attempts::default();
        if let Some(path) = &self.html {
            attempts.note(store::write_whole(path, html_of_several(&named).as_bytes()));
        }
        if let Some(path) = &self.junit {
            attempts.note(store::write_whole(path, junit_of_decisions("compare", &found).as_bytes()));
        }
        attempts.note(match self.json {
            true => terminal::print(&(serde_json::to_string_pretty(&compared(&named, &found))? + "\n")),
            false => {
                let style = terminal::style();
                terminal::print(&(compare::text(&named, &style) + &decisions(&found, &style)))
            }
        });
        attempts.end().map(|()| Outcome::of_decisions(&found))
    }

    /// Each series of both runs held against each requirement.
    fn decide(&self, runs: &[Run]) -> Result<Vec<Decision>, Failure> {
        if self.require.is_empty() {
            return Ok(Vec::new());
        }
        let [before, after] = runs else {
            return Err(Failure::new("--require is for two runs: the second is held against the first"));
        };
        let pairs = comparing::all_partners(before, after).map_err(|why| Failure::new(format!("--require: {why}")))?;
        let against = |requirement: &RelativeRequirement| {
            let requirement = *requirement;
            pairs.iter().map(move |(first, second)| {
                let sides = (Side::of(before, first), Side::of(after, second));
                requirement.decide((&first.name, sides.0), (&second.name, sides.1))
            })
        };
        Ok(self.require.iter().flat_map(against).collect())
    }
}
