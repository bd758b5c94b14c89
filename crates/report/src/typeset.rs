//! Numbers with their units as print sets them: a narrow space that does not break, and `µs`.

use ontick_units::show;

/// A time as print sets it: `41.2 µs`, with a narrow space that does not break.
pub(crate) fn time(ns: u64) -> String {
    spaced(&show(ns))
}

/// A time without idle zeros: `5 s`, `61 µs`.
pub(crate) fn plain_time(ns: u64) -> String {
    spaced(&crate::number::plain(ns))
}

/// A count in groups of three that no line end parts.
pub(crate) fn count(n: u64) -> String {
    number(&crate::number::count(n))
}

/// A count or a share that is already in words: `30 000`, `99.91%`.
pub(crate) fn number(shown: &str) -> String {
    shown.replace(' ', "\u{202f}").replace('%', "\u{202f}%")
}

fn spaced(shown: &str) -> String {
    let unit = shown.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(shown.len());
    let (number, unit) = shown.split_at(unit);
    format!("{number}\u{202f}{}", unit.replace("us", "µs"))
}

/// Times inside a sentence as print sets them: `61us` becomes `61 µs`, `3 us` becomes `3 µs`.
pub(crate) fn sentence(text: &str) -> String {
    let mut set = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let number_before = set.ends_with(|c: char| c.is_ascii_digit());
        let words = rest.strip_prefix(' ').unwrap_or(rest);
        let unit = ["ns", "us", "ms", "s"].into_iter().find(|u| {
            words.strip_prefix(u).is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
        });
        match unit.filter(|_| number_before) {
            Some(unit) => {
                set.push('\u{202f}');
                set.push_str(if unit == "us" { "µs" } else { unit });
                rest = &words[unit.len()..];
            }
            // A count in groups of three stays in one piece.
            None if number_before && c == ' ' && words.starts_with(|c: char| c.is_ascii_digit()) => {
                set.push('\u{202f}');
                rest = words;
            }
            None => {
                set.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    // A number stays with its percent sign.
    set.replace(" %", "\u{202f}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn print_has_a_space_before_the_unit() {
        assert_eq!(
            [time(41_200), time(87), plain_time(5_000_000_000)],
            ["41.2\u{202f}µs", "87\u{202f}ns", "5\u{202f}s"]
        );
    }

    #[test]
    fn print_sets_units() {
        let set = sentence(
            "hybrid wait (margin 61us) · within 3 us in 9.5 % of 2 sessions, 5s each · Pi3us2 · 30 000 cycles",
        );
        assert_eq!(
            set.replace('\u{202f}', "_"),
            "hybrid wait (margin 61_µs) · within 3_µs in 9.5_% of 2 sessions, 5_s each · Pi3us2 · 30_000 cycles"
        );
    }
}
