//! A list of things that were found or done: a word for how each is, its name, what is said of it, and
//! labelled lines below.

use super::Style;
use super::lines::hanging;
use crate::colour::Paint;
use crate::printable::printable;

/// How an entry is meant, which its word is coloured for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mark {
    /// Neither good nor bad.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Worth a look.
    Look,
    /// Bad.
    Bad,
}

/// One entry of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// How it is meant.
    pub mark: Mark,
    /// How it is, in a word.
    pub word: String,
    /// Its name.
    pub name: String,
    /// What is said of it.
    pub said: String,
    /// Lines below it, each with its label.
    pub below: Vec<(&'static str, String)>,
}

/// A name is not made room for beyond this; a longer one pushes what follows it.
const NAME: usize = 24;

/// The entries, aligned.
pub fn list(entries: &[Entry], style: &Style) -> String {
    let widest = |of: fn(&Entry) -> &str| entries.iter().map(|e| of(e).chars().count()).max().unwrap_or(0);
    let (word, name) = (widest(|e| &e.word), widest(|e| &e.name).min(NAME));
    let label = entries.iter().flat_map(|e| &e.below).map(|(label, _)| label.len()).max().unwrap_or(0);
    let paint = Paint(style.colour);
    let mut text = String::new();
    for entry in entries {
        let front = format!(" {:word$}  ", printable(&entry.word));
        let gap = format!("{:name$}  ", printable(&entry.name));
        let painted = format!("{}{gap}", painted(&paint, entry.mark, &front));
        if style.is_narrow() {
            text.push_str(painted.trim_end());
            text.push('\n');
            if !entry.said.is_empty() {
                text.push_str(&hanging(&" ".repeat(word + 3), "", &printable(&entry.said), style.width));
            }
        } else {
            let first = hanging(&format!("{front}{gap}"), &painted, &printable(&entry.said), style.width);
            text.push_str(first.trim_end());
            text.push('\n');
        }
        for (about, words) in &entry.below {
            let label = format!("{:indent$}{about:label$}  ", "", indent = word + 3);
            text.push_str(&hanging(&label, "", &printable(words), style.width));
        }
    }
    text
}

/// The space before a word stays plain, as that after it does.
fn painted(paint: &Paint, mark: Mark, front: &str) -> String {
    let word = front.trim_start();
    let painted = match mark {
        Mark::Plain => word.into(),
        Mark::Good => paint.good(word),
        Mark::Look => paint.notice(word),
        Mark::Bad => paint.bad(word),
    };
    format!("{}{painted}", &front[..front.len() - word.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(word: &str, name: &str, below: Vec<(&'static str, String)>) -> Entry {
        let said = "some words that are said of it and that go on for longer than a line of eighty columns".into();
        Entry { mark: Mark::Bad, word: word.into(), name: name.into(), said, below }
    }

    #[test]
    fn columns_stand_under_each_other_and_lines_fit() {
        let entries =
            [entry("bad", "a", vec![]), entry("unknown", "a-longer-name", vec![("now", "do it ".repeat(30))])];
        let text = list(&entries, &Style::default());
        assert!(text.lines().all(|l| l.chars().count() <= 80 && l.trim_end() == l), "{text}");
        let columns: Vec<_> = text.lines().filter_map(|l| l.find("some")).collect();
        assert_eq!(columns, [25, 25], "{text}");
        let narrow = list(&entries, &Style { colour: false, width: 40 });
        assert!(narrow.lines().all(|l| l.chars().count() <= 40 && l.trim_end() == l), "{narrow}");
        assert!(narrow.starts_with(" bad      a\n          some words"), "{narrow}");
        let painted = list(&entries, &Style { colour: true, width: 80 });
        assert!(painted.starts_with(" \x1b[31mbad\x1b[0m      a  "), "{painted:?}");
    }
}
