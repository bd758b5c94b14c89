//! How a command ends, and the one sentence that says why it could not be done.

use std::error::Error;
use std::fmt::Display;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use ontick_record::Run;
use ontick_record::compare::{Decision, Verdict};

use crate::hints;

/// What was asked for was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// And every requirement was met.
    Met,
    /// But some requirement was not met.
    NotMet,
    /// Nothing was broken, but what some requirement is judged by did not happen: a load was not reached.
    NotProven,
    /// A program was run, which ended with this status.
    Ended(u8),
}

impl Outcome {
    pub fn of(run: &Run) -> Self {
        match run.met() {
            true => Outcome::Met,
            false if run.unproven() => Outcome::NotProven,
            false => Outcome::NotMet,
        }
    }

    /// What is worse weighs more than what nobody can tell.
    pub fn of_decisions(decisions: &[Decision]) -> Self {
        let any = |verdict: Verdict| decisions.iter().any(|decision| decision.verdict == verdict);
        if any(Verdict::Broken) {
            Outcome::NotMet
        } else if any(Verdict::CannotTell) {
            Outcome::NotProven
        } else {
            Outcome::Met
        }
    }
}

/// The exit status of a command that could not be done.
const NOT_POSSIBLE: u8 = 2;

/// Why a command could not be done, in one sentence.
#[derive(Debug)]
pub struct Failure {
    sentence: String,
    status: u8,
    /// What lines after the first begin with.
    indent: &'static str,
}

impl Failure {
    pub fn new(sentence: impl Display) -> Self {
        // A name with a line end must not begin a line that looks like another's.
        Self { sentence: sentence.to_string(), status: NOT_POSSIBLE, indent: "  " }
    }

    /// Several problems with a line for each, as compilers list them; no name in them has a line end.
    pub fn list(problems: impl Display) -> Self {
        Self { sentence: problems.to_string(), status: NOT_POSSIBLE, indent: "" }
    }

    /// With an exit status of its own.
    pub fn with_status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    /// What is wrong with the command line, without clap's frame around it.
    pub fn usage(error: &clap::Error) -> Self {
        if let Some(number) = negative_number(error) {
            return Self::new(format!("\"{number}\" is negative: no option takes a negative number (see --help)"));
        }
        let text = error.render().to_string();
        let sentence: Vec<&str> = text
            .lines()
            .map(str::trim)
            .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
            .filter(|line| !line.is_empty() && !line.starts_with("tip:"))
            .collect();
        let sentence = in_plain_words(sentence.join(" "), error);
        let meant = meant(error).map(|name| format!("did you mean {name}? ")).unwrap_or_default();
        Self::new(format!("{} ({meant}see --help)", sentence.strip_prefix("error: ").unwrap_or(&sentence)))
    }

    /// The lines to show, the first of which begins with the program's name.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let mut rest = self.sentence.lines();
        let first = format!("ontick: {}", rest.next().unwrap_or_default());
        std::iter::once(first).chain(rest.map(|line| format!("{}{line}", self.indent)))
    }

    pub fn exit_status(&self) -> ExitCode {
        ExitCode::from(self.status)
    }
}

/// What is wrong with a value, without the words of a programming language.
fn in_plain_words(sentence: String, error: &clap::Error) -> String {
    if let Some((wrong, values)) = sentence.split_once(" [possible values: ") {
        return format!("{wrong}: choose one of {}", values.trim_end_matches(']'));
    }
    let Some(reason) = error.source().map(ToString::to_string) else { return sentence };
    let plain = match reason.as_str() {
        "invalid digit found in string" => "it is no whole number".into(),
        "cannot parse integer from empty string" => "it is empty".into(),
        "number too large to fit in target type" => "it is too large a number".into(),
        range => match range.split_once(" is not in ").and_then(|(n, range)| Some((n, range.split_once("..")?))) {
            Some((n, (least, most))) => format!("{n} is not from {least} to {}", most.trim_start_matches('=')),
            None => return sentence,
        },
    };
    sentence.strip_suffix(&reason).map(|begin| format!("{begin}{plain}")).unwrap_or(sentence)
}

/// The most similar option, command or value that there is, where one is near.
fn meant(error: &clap::Error) -> Option<String> {
    let kinds = [
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ];
    kinds.into_iter().find_map(|(written, similar)| {
        let ContextValue::String(written) = error.get(written)? else { return None };
        let names = match error.get(similar)? {
            ContextValue::String(name) => std::slice::from_ref(name),
            ContextValue::Strings(names) => names,
            _ => return None,
        };
        names.iter().find(|name| is_near(written, name)).cloned()
    })
}

/// Whether one word may be meant by another: few letters differ, or it is cut short or goes on.
fn is_near(written: &str, name: &str) -> bool {
    let [written, name] = [written, name].map(|word| word.trim_start_matches('-'));
    let begins = written.len() >= 3 && (name.starts_with(written) || written.starts_with(name));
    begins || strsim::damerau_levenshtein(written, name) <= 1 + name.len() / 4
}

/// What looks like an option to clap and is meant as the value of one.
fn negative_number(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(word) if error.kind() == ErrorKind::UnknownArgument => {
            word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).then_some(word)
        }
        _ => None,
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        match hints::of(&error) {
            Some(command) => Self::new(format!("{error} ({command})")),
            None => Self::new(error),
        }
    }
}
