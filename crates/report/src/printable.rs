//! Text from a record, made harmless for terminals and line-based formats.

/// One line without anything that would steer a terminal or begin a line of its own.
pub fn printable(text: &str) -> String {
    let harmless = |c: char| match c {
        '\t' | '\n' | '\r' => ' ',
        // Control characters, and the marks that reorder text.
        c if c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
        {
            '\u{fffd}'
        }
        c => c,
    };
    text.chars().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_cannot_steer_the_terminal() {
        assert_eq!(printable("a\x1b[2Jb\u{202e}c\nd\u{9b}1m"), "a\u{fffd}[2Jb\u{fffd}c d\u{fffd}1m");
    }
}
