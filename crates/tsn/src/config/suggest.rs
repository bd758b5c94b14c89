//! What was probably meant.

/// `; did you mean …?`, or what is known where no word is near.
pub fn among(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        none if none.is_empty() && word.len() <= 64 && !known.is_empty() => format!(" (known: {})", known.join(", ")),
        hint => hint,
    }
}

/// `; did you mean …?`, or nothing where no word is near.
pub fn nearest(word: &str, known: &[&str]) -> String {
    // Quadratic in the lengths, and nobody means a word by a text.
    if word.len() > 64 {
        return String::new();
    }
    // Of two words half at least is alike: any letter is one change from any other.
    let near = |known: &&&str| {
        let changes = strsim::damerau_levenshtein(&word.to_lowercase(), known);
        changes <= 1 + known.len() / 4 && 2 * changes <= known.len().max(word.len())
    };
    // Between equals the first by name, wherever the list has it from.
    match known.iter().filter(near).min_by_key(|known| (strsim::damerau_levenshtein(word, known), **known)) {
        Some(known) => format!("; did you mean `{known}`?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn what_has_nothing_of_the_word_is_not_near() {
        assert_eq!(nearest("c", &["a", "b", "s1"]), "");
        assert_eq!(nearest("A", &["a", "b"]), "; did you mean `a`?");
        assert_eq!(nearest("s", &["a", "s1"]), "; did you mean `s1`?");
        assert_eq!(nearest("scren", &["camera", "screen"]), "; did you mean `screen`?");
    }
}
