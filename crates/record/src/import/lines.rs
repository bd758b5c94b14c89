//! A text as numbered lines, as a terminal would have shown them.

use std::borrow::Cow;

use super::ImportError;

/// One line.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// From 1.
    pub number: usize,
    /// Without quotation marks of a mail, terminal control and white space around it.
    pub text: Cow<'a, str>,
    /// Whether it ends in a newline; the last line of a file that was cut off does not.
    pub whole: bool,
}

/// The lines of a text.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.split_inclusive('\n').enumerate().map(|(i, line)| {
        let text = match without_control(line) {
            Cow::Borrowed(text) => Cow::Borrowed(trim(text)),
            Cow::Owned(text) => Cow::Owned(trim(&text).into()),
        };
        Line { number: i + 1, text, whole: line.ends_with('\n') }
    })
}

fn trim(text: &str) -> &str {
    text.trim_start_matches(|c: char| c == '>' || c.is_whitespace()).trim_end()
}

/// Leaves out the cursor movements of a live display: `ESC [ 4 A`.
fn without_control(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        kept.push_str(&rest[..at]);
        rest = rest[at + 1..].trim_start_matches('[');
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == ';' || c == '?')).unwrap_or(rest.len());
        rest = &rest[end..];
        rest = rest.strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

impl Line<'_> {
    /// An error at this line.
    pub fn error(&self, problem: impl Into<String>) -> ImportError {
        ImportError::at(self.number, problem)
    }

    /// Refuses a line whose figures may lack their end.
    pub fn must_be_whole(&self) -> Result<(), ImportError> {
        if self.whole { Ok(()) } else { Err(self.error("the file is cut off in this line")) }
    }

    /// The numbers of the line after `skip` bytes; the line may hold nothing else.
    pub fn numbers(&self, skip: usize) -> Result<Vec<u64>, ImportError> {
        self.text[skip..]
            .split_whitespace()
            .map(|word| word.parse().map_err(|_| self.error(format!("\"{}\" is not a number", shorten(word)))))
            .collect()
    }
}

/// A piece of a foreign text, short and printable enough for an error message.
pub(super) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(24).map(|c| if c.is_control() { '?' } else { c }).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_and_quotation_marks_go() {
        let text = "\x1b[4Apolicy: fifo \r\n> > T: 0\x1b[K\n\x1b[0;31m\x1b";
        let found: Vec<_> = lines(text).map(|l| (l.number, l.text.into_owned(), l.whole)).collect();
        assert_eq!(found, [(1, "policy: fifo".into(), true), (2, "T: 0".into(), true), (3, "".into(), false)]);
    }

    #[test]
    fn figures_that_may_lack_their_end_are_refused() {
        let refused: Vec<_> = lines("max: 12\nmax: 1").map(|l| l.must_be_whole().map_err(|e| e.to_string())).collect();
        assert_eq!(refused, [Ok(()), Err("line 2: the file is cut off in this line".into())]);
    }
}
