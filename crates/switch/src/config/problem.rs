//! What is wrong with a file, each with its place.

use std::fmt;
use std::ops::Range;

/// Further problems are not listed: the first ones are what has to be mended.
const LISTED: usize = 50;

/// Something wrong, or doubtful, at a place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From 1 on.
    pub line: usize,
    /// From 1 on, in characters.
    pub column: usize,
    /// What is wrong there, and what would be right.
    pub what: String,
}

impl Problem {
    /// With the file's name, as compilers write it.
    pub fn in_file(&self, file: &str) -> String {
        format!("{file}:{self}")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what)
    }
}

/// Why no switch could be made of a text: everything that is wrong with it, in the order of the lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.in_file("line"))]
pub struct Errors {
    /// At least one.
    pub problems: Vec<Problem>,
}

impl Errors {
    /// One line for each, with the file's name.
    pub fn in_file(&self, file: &str) -> String {
        let mut lines: Vec<String> = self.problems.iter().take(LISTED).map(|problem| problem.in_file(file)).collect();
        if self.problems.len() > LISTED {
            lines.push(format!("and {} more", self.problems.len() - LISTED));
        }
        lines.join("\n")
    }
}

/// Proof that an error was reported, so that what was to be read need not be there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reported(());

/// Collects what is wrong with a text.
pub(super) struct Report<'a> {
    text: &'a str,
    pub(super) errors: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
}

impl<'a> Report<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, errors: Vec::new(), warnings: Vec::new() }
    }

    pub(super) fn error(&mut self, span: Range<usize>, what: impl Into<String>) -> Reported {
        let problem = self.problem(span, what.into());
        self.errors.push(problem);
        Reported(())
    }

    pub(super) fn warn(&mut self, span: Range<usize>, what: impl Into<String>) {
        let problem = self.problem(span, what.into());
        self.warnings.push(problem);
    }

    /// The line of a place, for sentences that point to another one.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        self.place(span.start).0
    }

    fn problem(&self, span: Range<usize>, what: String) -> Problem {
        let (line, column) = self.place(span.start);
        Problem { line, column, what }
    }

    fn place(&self, offset: usize) -> (usize, usize) {
        let mut end = offset.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[begin..].chars().count() + 1)
    }
}
