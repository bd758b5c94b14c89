//! `extlinux.conf`: entries (`label`) with `append` lines; `default` names the one that is booted.

use super::{Argument, ArgumentsError, arguments};

/// The text with these arguments in the default entry; the others stay as a way out.
pub(super) fn with(text: &str, wanted: &[Argument]) -> Result<String, ArgumentsError> {
    let word = |line: &str, keyword: &str| -> Option<usize> {
        let trimmed = line.trim_start();
        let rest =
            trimmed.get(..keyword.len()).filter(|k| k.eq_ignore_ascii_case(keyword)).map(|k| &trimmed[k.len()..])?;
        let gap = rest.len() - rest.trim_start().len();
        (gap > 0 && !rest.trim().is_empty()).then(|| line.len() - rest.len() + gap)
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let default = lines.iter().find_map(|l| word(l, "default").map(|at| l[at..].trim()));
    let mut label: Option<&str> = None;
    let mut chosen = None;
    for (i, line) in lines.iter().enumerate() {
        if let Some(at) = word(line, "label") {
            label = Some(line[at..].trim());
        } else if let Some(at) = word(line, "append") {
            // Without a default the first entry is booted.
            if chosen.is_none() && (default.is_none() || default == label) {
                chosen = Some((i, at));
            }
        }
    }
    let (place, at) = chosen.ok_or(ArgumentsError::NoAppend)?;
    let edit = |(i, line): (usize, &&str)| match i == place {
        true => Ok(format!("{}{}", &line[..at], arguments::with(&line[at..], wanted)?)),
        false => Ok((*line).to_owned()),
    };
    lines.iter().enumerate().map(edit).collect()
}

#[cfg(test)]
mod tests {
    use super::super::arguments::tests::args;
    use super::with;
    use proptest::prelude::*;

    const TEXT: &str =
        "timeout 10\nDEFAULT l1\n\nlabel l0\n\tappend root=a\nlabel l1\n\tlinux /k\n\tAPPEND root=b  ro\n";

    #[test]
    fn only_the_default_entry_changes() {
        assert_eq!(with(TEXT, &args("x=1")).unwrap(), TEXT.replace("root=b  ro", "root=b  ro x=1"));
        let first = TEXT.replace("DEFAULT l1\n", "");
        assert_eq!(with(&first, &args("x=1")).unwrap(), first.replace("root=a", "root=a x=1"));
        assert!(with("label a\nlinux /k\n", &args("x=1")).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "((label|append|default|appendix)?[ \ta-z=]{0,9}\r?\n){0,8}|.{0,60}") {
            if let Ok(once) = with(&text, &args("x=1")) {
                prop_assert_eq!(with(&once, &args("x=1")).unwrap(), once);
            }
        }
    }
}
