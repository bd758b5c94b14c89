//! What was probably meant.

/// `; did you mean …?`, or nothing where no word is near.
pub(crate) fn among(word: &str, known: &[&str]) -> String {
    let near = |known: &&&str| strsim::damerau_levenshtein(&word.to_lowercase(), known) <= 1 + known.len() / 4;
    match known.iter().filter(near).min_by_key(|known| strsim::damerau_levenshtein(word, known)) {
        // Quadratic in the lengths, and nobody means a word by a text.
        _ if word.len() > 64 => String::new(),
        Some(known) => format!("; did you mean `{known}`?"),
        None if known.is_empty() => String::new(),
        None => format!(" (known: {})", known.join(", ")),
    }
}
