//! Another program's words at the end of a sentence of ours: `tc says "Specified qdisc kind is unknown"`.

/// More of them than this helps nobody.
const LONGEST: usize = 2_000;

/// What `program` said, on one line, without the parts that repeat that it is an error.
pub fn quoted(program: &str, said: &str) -> String {
    let plain = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("Error: ").unwrap_or(line);
        line.trim_end_matches('.').replace('"', "'")
    };
    // `tc -batch` adds at which line of its input it stopped.
    let of_use = |line: &String| !line.is_empty() && !line.starts_with("Command failed -:");
    let words = said.lines().map(plain).filter(of_use).collect::<Vec<_>>().join("; ");
    match words.char_indices().nth(LONGEST) {
        _ if words.is_empty() => format!("{program} says nothing of the reason"),
        Some((end, _)) => format!("{program} says \"{}…\"", &words[..end]),
        None => format!("{program} says \"{words}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_programs_are_quoted_on_one_line() {
        for (said, quote) in [
            (
                "Error: Specified qdisc kind is unknown.\nCommand failed -:1\n",
                "tc says \"Specified qdisc kind is unknown\"",
            ),
            (
                "Garbage instead of arguments \"8 ...\". Try \"ip link help\".\n",
                "tc says \"Garbage instead of arguments '8 ...'. Try 'ip link help'\"",
            ),
            (
                "RTNETLINK answers: Operation not permitted\n\n",
                "tc says \"RTNETLINK answers: Operation not permitted\"",
            ),
            ("one\n  two\n", "tc says \"one; two\""),
            ("", "tc says nothing of the reason"),
        ] {
            assert_eq!(quoted("tc", said), quote);
        }
        assert!(quoted("tc", &"ä".repeat(3_000)).ends_with("ä…\""));
    }
}
