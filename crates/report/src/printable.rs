//! Text from a record, a file or a process's name, made harmless for terminals and line-based formats.

use crate::colour;

/// Control characters, and marks that reorder or break lines of text.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line without anything that would steer a terminal or begin a line of its own.
pub fn printable(text: &str) -> String {
    let harmless = |c: char| match c {
        '\t' | '\n' | '\r' => ' ',
        c if steers(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(harmless).collect()
}

/// Text of several lines without anything that would steer a terminal, but for this crate's own colours where it has them.
pub fn printable_lines(text: &str, has_colour: bool) -> String {
    if !text.contains(|c| steers(c) && c != '\n') {
        return text.into();
    }
    let mut harmless = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let own = colour::SEQUENCES.iter().find(|sequence| has_colour && rest.starts_with(**sequence));
        let length = own.map_or(c.len_utf8(), |sequence| sequence.len());
        match c {
            _ if own.is_some() => harmless.push_str(&rest[..length]),
            '\n' | '\t' => harmless.push(c),
            c if steers(c) => harmless.push('\u{fffd}'),
            c => harmless.push(c),
        }
        rest = &rest[length..];
    }
    harmless
}

/// A document in JSON or TOML, where such characters are only in strings, with their escapes: it says the same.
pub fn escaped(document: &str) -> String {
    let mut escaped = String::with_capacity(document.len());
    for c in document.chars() {
        match c {
            '\n' | '\t' | '\r' => escaped.push(c),
            // All of them are in the first plane.
            c if steers(c) => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_cannot_steer_the_terminal() {
        assert_eq!(printable("a\x1b[2Jb\u{202e}c\nd\u{9b}1m"), "a\u{fffd}[2Jb\u{fffd}c d\u{fffd}1m");
    }

    #[test]
    fn lines_stay_lines_and_only_own_colours_colours() {
        let text = "a\x1b[31mb\x1b[0m\n\x1b]0;title\x07\x1b[8mc\r\u{2066}";
        let harmless = "\n\u{fffd}]0;title\u{fffd}\u{fffd}[8mc\u{fffd}\u{fffd}";
        assert_eq!(printable_lines(text, true), format!("a\x1b[31mb\x1b[0m{harmless}"));
        assert_eq!(printable_lines(text, false), format!("a\u{fffd}[31mb\u{fffd}[0m{harmless}"));
    }

    #[test]
    fn a_document_says_the_same_with_escapes() {
        let name = "n\u{9b}31m\u{202e}\u{7f}\u{2028}ä\x1b";
        let document = serde_json::to_string(name).unwrap();
        let safe = escaped(&document);
        assert!(!safe.contains(steers), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), name);
    }
}
