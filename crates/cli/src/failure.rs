//! How a command ends, and the one sentence that says why it could not be done.

use std::fmt::Display;
use std::process::ExitCode;

use ontick_record::Run;

use crate::terminal;

/// What was asked for was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// And every requirement was met.
    Met,
    /// But some requirement was not met.
    NotMet,
    /// A program was run, which ended with this status.
    Ended(u8),
}

impl Outcome {
    pub fn of(run: &Run) -> Self {
        if run.met() { Outcome::Met } else { Outcome::NotMet }
    }
}

/// Why a command could not be done, in one sentence.
#[derive(Debug)]
pub struct Failure {
    sentence: String,
    /// What lines after the first begin with.
    indent: &'static str,
}

impl Failure {
    pub fn new(sentence: impl Display) -> Self {
        // A name with a line end must not begin a line that looks like another's.
        Self { sentence: sentence.to_string(), indent: "  " }
    }

    /// Several problems with a line for each, as compilers list them; no name in them has a line end.
    pub fn list(problems: impl Display) -> Self {
        Self { sentence: problems.to_string(), indent: "" }
    }

    /// What is wrong with the command line, without clap's frame around it.
    pub fn usage(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let sentence: Vec<&str> = text
            .lines()
            .map(str::trim)
            .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
            .filter(|line| !line.is_empty())
            .collect();
        let sentence = sentence.join(" ");
        Self::new(format!("{} (see --help)", sentence.strip_prefix("error: ").unwrap_or(&sentence)))
    }

    /// Says it, and gives the exit status.
    pub fn report(self) -> ExitCode {
        let mut lines = self.sentence.lines();
        terminal::say(&format!("ontick: {}", lines.next().unwrap_or_default()));
        lines.for_each(|line| terminal::say(&format!("{}{line}", self.indent)));
        ExitCode::from(2)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}
