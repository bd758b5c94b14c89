//! What is wrong with a file, each with its place.

use std::fmt;
use std::ops::Range;

use super::terms::Terms;

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
        // No name in a file begins a line.
        let line = |problem: &Problem| problem.in_file(file).replace(['\n', '\r'], " ");
        let mut lines: Vec<String> = self.problems.iter().take(LISTED).map(line).collect();
        if self.problems.len() > LISTED {
            lines.push(format!("and {} more", self.problems.len() - LISTED));
        }
        lines.join("\n")
    }
}

/// Proof that an error was reported, so that what was to be read need not be there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reported(());

/// Collects what is wrong with a text.
pub(crate) struct Report<'a> {
    text: &'a str,
    /// Where what is read comes from another text: what begins where in it, and where that stands in `text`.
    places: Vec<(usize, usize)>,
    terms: Terms,
    pub(crate) errors: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self::translated(text, Vec::new())
    }

    /// For a text that was made of another one, with places that ascend.
    pub(crate) fn translated(text: &'a str, places: Vec<(usize, usize)>) -> Self {
        Self { text, places, terms: Terms::File, errors: Vec::new(), warnings: Vec::new() }
    }

    /// For a text that nobody has before them, as it was made of YANG's elements.
    pub(crate) fn of_yang(text: &'a str) -> Self {
        Self { terms: Terms::Yang, ..Self::new(text) }
    }

    /// What sentences are to be written in.
    pub(crate) fn terms(&self) -> Terms {
        self.terms
    }

    pub(crate) fn error(&mut self, span: Range<usize>, what: impl fmt::Display) -> Reported {
        let problem = self.problem(span, what.to_string());
        self.errors.push(problem);
        Reported(())
    }

    pub(crate) fn warn(&mut self, span: Range<usize>, what: impl fmt::Display) {
        let problem = self.problem(span, what.to_string());
        self.warnings.push(problem);
    }

    /// The line of a place, for sentences that point to another one.
    pub(crate) fn line(&self, span: &Range<usize>) -> usize {
        self.place(span.start).0
    }

    /// ` on line 7`, for sentences that name what stands there; nothing where there are no lines.
    pub(crate) fn on_line(&self, span: &Range<usize>) -> String {
        match self.terms {
            Terms::File => format!(" on line {}", self.line(span)),
            Terms::Yang => String::new(),
        }
    }

    fn problem(&self, span: Range<usize>, what: String) -> Problem {
        let (line, column) = self.place(span.start);
        Problem { line, column, what }
    }

    /// Line and column of a place.
    pub(crate) fn place(&self, offset: usize) -> (usize, usize) {
        let offset = match self.places.partition_point(|(begin, _)| *begin <= offset) {
            0 => offset,
            n => self.places[n - 1].1,
        };
        let mut end = offset.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[begin..].chars().count() + 1)
    }
}
