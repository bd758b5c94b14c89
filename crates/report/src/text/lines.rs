//! Lines that fit: wrapping with a hanging indent, parts that stay whole, names cut to size.

use crate::printable::printable;

/// A label (shown as `label`, or as `painted` where that is not empty), then words, wrapped at `width`
/// with later lines under the first word.
pub(crate) fn hanging(label: &str, painted: &str, words: &str, width: usize) -> String {
    wrapped(label, painted, &pieces(words), width)
}

/// Names with blanks between them, wrapped at `width` behind an indent. Each is a word, also where it looks like a part of a
/// number.
pub(super) fn wrapped_names(indent: &str, names: &str, width: usize) -> String {
    let names: Vec<String> = names.split(' ').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    wrapped(indent, "", &names, width)
}

fn wrapped(label: &str, painted: &str, words: &[String], width: usize) -> String {
    let indent = label.chars().count();
    let mut text = if painted.is_empty() { label.to_string() } else { painted.to_string() };
    let mut column = indent;
    for (i, word) in words.iter().enumerate() {
        let length = word.chars().count();
        if i > 0 && column + 1 + length > width {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        } else if i > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(&word.replace(GLUE, " "));
        column += length;
    }
    text.push('\n');
    text
}

/// Lines that are longer than `width` wrapped, each under what stands behind its label: the first word and the two spaces
/// or more behind it, or the spaces that it begins with.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let mut all = String::new();
    for line in text.lines() {
        if line.chars().count() <= width {
            all.push_str(line);
            all.push('\n');
            continue;
        }
        let begin = line.len() - line.trim_start().len();
        let behind = |gap: usize| gap + line[gap..].len() - line[gap..].trim_start().len();
        let label =
            line[begin..].find("  ").map(|at| behind(begin + at)).filter(|at| *at <= width / 3).unwrap_or(begin);
        all.push_str(&hanging(&line[..label], "", &line[label..], width));
    }
    all
}

/// Stands for a space at which no line ends.
const GLUE: char = '\u{a0}';

/// Parts of a header line with dots between them; a part that fits a line of `room` stays whole.
pub(super) fn dotted(parts: &[String], room: usize) -> String {
    let whole =
        |part: &String| if part.chars().count() + 2 <= room { part.replace(' ', "\u{a0}") } else { part.clone() };
    parts.iter().map(|p| whole(&printable(p))).collect::<Vec<_>>().join(" · ")
}

/// Words that may be parted; a separating dot stays with the word before it, a unit with its number, and a number of
/// several groups of digits is one word.
fn pieces(words: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for word in words.split([' ', '\n']).filter(|w| !w.is_empty()) {
        let stays = matches!(word, "·" | "us") || word.starts_with('%');
        match pieces.last_mut().filter(|before| stays || goes_on(before, word)) {
            Some(last) => {
                last.push(' ');
                last.push_str(word);
            }
            None => pieces.push(word.into()),
        }
    }
    pieces
}

/// Whether a number whose thousands are apart goes on in the next word: `13` or `5 013` before `760,`.
fn goes_on(before: &str, word: &str) -> bool {
    let group = before.rsplit([' ', GLUE, '(']).next().unwrap_or("");
    let is_group = (1..=3).contains(&group.len()) && group.bytes().all(|b| b.is_ascii_digit());
    is_group && word.bytes().take_while(u8::is_ascii_digit).count() == 3
}

/// At most `width` characters, the last an ellipsis where something was cut.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// The same, but with its last word, by which names differ that begin alike.
pub(crate) fn shortened_within(text: &str, width: usize) -> String {
    match text.rsplit_once(' ') {
        Some((begin, last)) if text.chars().count() > width && last.chars().count() + 4 < width => {
            format!("{} {last}", shortened(begin, width - 1 - last.chars().count()))
        }
        _ => shortened(text, width),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn later_lines_stand_under_the_first() {
        assert_eq!(
            hanging("job   ", "", "act every 1ms · load: none", 21),
            "job   act every 1ms ·\n      load: none\n"
        );
    }

    #[test]
    fn long_lines_are_wrapped_under_what_stands_behind_their_label() {
        let text = "short\nplan      every stream has its place, none waits\n  gates     a 1us, b 2us, c 3us, d 4us, e 5us\n  there is no label in here at all, you see\n";
        let narrow = "short\nplan      every stream has its\n          place, none waits\n  gates     a 1us, b 2us, c 3us, d\n            4us, e 5us\n  there is no label in here at all,\n  you see\n";
        assert_eq!(fitted(text, 36), narrow);
        assert_eq!(fitted(text, 80), text);
    }

    #[test]
    fn a_number_of_several_groups_is_not_parted() {
        let text = "of 740 200 messages (1 508 late, 17 224 early)";
        assert_eq!(hanging("", "", text, 8), "of\n740 200\nmessages\n(1 508\nlate,\n17 224\nearly)\n");
        assert_eq!(hanging("", "", "missing 716 131, 2 are late", 12), "missing\n716 131, 2\nare late\n");
        // Not groups of one number: too long, too short, or no number at all.
        assert_eq!(hanging("", "", "in 2026 100 of 12 45", 8), "in 2026\n100 of\n12 45\n");
        assert_eq!(hanging("", "", "port p1 100 times", 8), "port p1\n100\ntimes\n");
    }

    #[test]
    fn names_of_digits_are_words_of_their_own() {
        assert_eq!(wrapped_names("  ", "100 101 102 103", 10), "  100 101\n  102 103\n");
        assert_eq!(wrapped_names("  ", "100 101", 80), "  100 101\n");
    }

    proptest! {
        #[test]
        fn lines_fit_and_no_word_is_lost(words in "([a-z]{1,9} ){0,40}", width in 20usize..100) {
            let text = hanging("label ", "", &words, width);
            prop_assert!(text.lines().all(|l| l.chars().count() <= width));
            prop_assert_eq!(text.split_whitespace().skip(1).collect::<Vec<_>>(), words.split_whitespace().collect::<Vec<_>>());
        }
    }
}
