//! Kernel arguments put into a command line: everything else in it stays byte for byte.

use super::{Argument, ArgumentsError};
use crate::facts::arguments::{key_of, same_key, words};

/// The line with these arguments: earlier ones of the same name go, new ones come last (before `--`,
/// which ends the kernel's part).
pub(super) fn with(line: &str, wanted: &[Argument]) -> Result<String, ArgumentsError> {
    // What comes after it would be part of a value.
    if line.matches('"').count() % 2 == 1 {
        return Err(ArgumentsError::OpenQuotation);
    }
    let all = words(line);
    let ours = all.iter().position(|w| w.text == "--").unwrap_or(all.len());
    let (all, tail_at) = (&all[..ours], all[..ours].last().map(|w| w.end()));
    let names = |text: &str, argument: &Argument| same_key(key_of(text), &argument.key);
    // Given exactly once and right already: it stays where it is.
    let stands = |argument: &&Argument| {
        let mut given = all.iter().filter(|w| names(w.text, argument));
        given.next().is_some_and(|w| w.text == argument.text()) && given.next().is_none()
    };
    let missing: Vec<&Argument> = wanted.iter().filter(|a| !stands(a)).collect();
    let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
    let lead = &line[..all.first().map_or(blank, |w| w.start)];
    let mut new = lead.to_owned();
    for (i, word) in all.iter().enumerate().filter(|(_, w)| !missing.iter().any(|a| names(w.text, a))) {
        // A word takes the white space before it along.
        let gap_at = if new.len() == lead.len() { word.start } else { all[i - 1].end() };
        new.push_str(&line[gap_at..word.end()]);
    }
    for argument in missing {
        let gap = if new.len() == lead.len() { "" } else { " " };
        new.extend([gap, &argument.text()]);
    }
    let tail = &line[tail_at.unwrap_or(lead.len())..];
    let gap = if new.len() == lead.len() || tail.is_empty() || tail.starts_with(|c: char| c.is_ascii_whitespace()) {
        ""
    } else {
        " "
    };
    Ok(new + gap + tail)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::facts::Arguments;
    use proptest::prelude::*;

    pub(crate) fn args(text: &str) -> Vec<Argument> {
        let argument = |word: &str| {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            Argument { key: key.into(), value: value.into(), why: "" }
        };
        text.split_whitespace().map(argument).collect()
    }

    #[test]
    fn an_open_quotation_would_swallow_what_is_added() {
        assert!(with("quiet dyndbg=\"file a.c", &args("a=1")).is_err_and(|e| e.to_string().contains("not closed")));
    }

    #[test]
    fn replaces_appends_and_keeps() {
        for (line, wanted, expected) in [
            ("root=/dev/x quiet\n", "isolcpus=3", "root=/dev/x quiet isolcpus=3\n"),
            ("isolcpus=2 root=/dev/x  quiet", "isolcpus=3", "root=/dev/x  quiet isolcpus=3"),
            ("a isolcpus=2\n", "isolcpus=3", "a isolcpus=3\n"),
            ("a isolcpus=3 b", "isolcpus=3", "a isolcpus=3 b"),
            ("a isolcpus=3 b isolcpus=2", "isolcpus=3", "a b isolcpus=3"),
            ("", "a=1 b", "a=1 b"),
            (" \r\n", "a=1", " a=1\r\n"),
            ("x -- init=1\n", "a=1", "x a=1 -- init=1\n"),
            ("-- y", "a=1", "a=1 -- y"),
            ("n=\"a b\" rcu-nocbs=1", "rcu_nocbs=2", "n=\"a b\" rcu_nocbs=2"),
            ("isolcpus=1 -- z", "isolcpus=3", "isolcpus=3 -- z"),
        ] {
            assert_eq!(with(line, &args(wanted)).unwrap(), expected, "{line:?} + {wanted}");
        }
    }

    proptest! {
        #[test]
        fn wanted_arguments_hold_and_others_stay(line in "( |\t)?(([a-d]=[0-9]|[e-g]|h=\"x y\")( {1,2}|\t)){0,8}(-- z)?\r?\n?") {
            let wanted = args("a=9 b=8");
            let new = with(&line, &wanted).unwrap();
            let (before, after) = (Arguments::parse(&line), Arguments::parse(&new));
            prop_assert_eq!(after.all("a").collect::<Vec<_>>(), ["9"]);
            prop_assert_eq!(after.all("b").collect::<Vec<_>>(), ["8"]);
            let others = |a: &Arguments| a.iter().filter(|w| !matches!(key_of(w), "a" | "b")).map(String::from).collect::<Vec<_>>();
            prop_assert_eq!(others(&before), others(&after));
            prop_assert_eq!(line.ends_with('\n'), new.ends_with('\n'));
            prop_assert_eq!(line.contains("-- z"), new.contains("-- z"));
            prop_assert_eq!(with(&new, &wanted).unwrap(), new);
        }

        #[test]
        fn any_text_is_answered(line in ".{0,60}") {
            let _ = with(&line, &args("a=1"));
        }
    }
}
