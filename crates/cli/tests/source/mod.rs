//! Rust sources, as the rules about them read them.

/// The text before its module of tests, which is below the rest of a file by this house's custom.
pub fn without_tests(text: &str) -> &str {
    let begins =
        |at: &usize| text[*at..].lines().nth(1).is_some_and(|line| line.contains("mod ") && line.ends_with('{'));
    let at = text.match_indices("#[cfg(test)]").map(|(at, _)| at).find(begins);
    at.map_or(text, |at| &text[..at])
}
