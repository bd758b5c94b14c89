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
    let near = |known: &&&str| strsim::damerau_levenshtein(&word.to_lowercase(), known) <= 1 + known.len() / 4;
    // Between equals the first by name, wherever the list has it from.
    match known.iter().filter(near).min_by_key(|known| (strsim::damerau_levenshtein(word, known), **known)) {
        Some(known) => format!("; did you mean `{known}`?"),
        None => String::new(),
    }
}
