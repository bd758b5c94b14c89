//! One edit taken out of a text that somebody else has edited since: a three-way merge.
//!
//! `ours` is the text after our edit, `original` the one before it, `now` what stands. What comes out is `now`
//! without our edit, or nothing where both touched the same place.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// `now` without the edit that made `ours` out of `original`.
///
/// ```
/// use ontick_machine::merge::without;
/// let now = without("a\n", "a\nours\n", "a\nours\ntheirs\n");
/// assert_eq!(now.as_deref(), Some("a\ntheirs\n"));
/// assert_eq!(without("a=1\n", "a=2\n", "a=3\n"), None);
/// ```
pub fn without(original: &str, ours: &str, now: &str) -> Option<String> {
    let one_line = [original, ours, now].iter().all(|text| text.trim_end().lines().count() <= 1);
    // A command line is one line: there a word is what others change.
    let parts: fn(&str) -> Vec<&str> = match one_line {
        true => words_and_gaps,
        false => |text| text.split_inclusive('\n').collect(),
    };
    merge(&parts(ours), &parts(original), &parts(now)).map(|parts| parts.concat())
}

/// The gaps are parts of their own: a word with the gap behind it is another one where something follows it.
fn words_and_gaps(text: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let is_gap = first.is_whitespace();
        let end = rest.find(|c: char| c.is_whitespace() != is_gap).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts
}

/// What was made of a stretch of the base.
struct Hunk {
    base: Range<usize>,
    new: Range<usize>,
}

/// Everything between two stretches that are alike.
fn hunks(base: &[&str], new: &[&str]) -> Vec<Hunk> {
    let alike = capture_diff_slices(Algorithm::Myers, base, new).into_iter().filter_map(|op| match op {
        DiffOp::Equal { old_index, new_index, len } => Some((old_index, new_index, len)),
        _ => None,
    });
    let (mut hunks, mut at) = (Vec::new(), (0, 0));
    for (old, now, len) in alike.chain([(base.len(), new.len(), 0)]) {
        if at != (old, now) {
            hunks.push(Hunk { base: at.0..old, new: at.1..now });
        }
        at = (old + len, now + len);
    }
    hunks
}

fn merge<'a>(base: &[&'a str], mine: &[&'a str], theirs: &[&'a str]) -> Option<Vec<&'a str>> {
    let undo = hunks(base, mine);
    let mut all: Vec<(Range<usize>, &[&'a str])> = undo.into_iter().map(|h| (h.base, &mine[h.new])).collect();
    for mut hunk in hunks(base, theirs) {
        // Somebody took our lines out already.
        if all.contains(&(hunk.base.clone(), &theirs[hunk.new.clone()])) {
            continue;
        }
        while all.iter().any(|(range, _)| collide(range, &hunk.base)) {
            hunk = earlier(hunk, base, theirs)?;
        }
        all.push((hunk.base, &theirs[hunk.new]));
    }
    // At one place what is put in comes before what is replaced.
    all.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut merged, mut at) = (Vec::new(), 0);
    for (range, new) in all {
        merged.extend_from_slice(&base[at..range.start]);
        merged.extend_from_slice(new);
        at = range.end;
    }
    merged.extend_from_slice(&base[at..]);
    Some(merged)
}

/// The same insertion one part further to the front: of `a x` in place of `a`, ` x` behind it was put in as well as `x `.
fn earlier(hunk: Hunk, base: &[&str], theirs: &[&str]) -> Option<Hunk> {
    let (at, new) = (hunk.base.start.checked_sub(1)?, hunk.new);
    let alike = hunk.base.is_empty() && base[at] == theirs[new.end - 1];
    alike.then(|| Hunk { base: at..at, new: new.start - 1..new.end - 1 })
}

/// Whether two stretches share a part, or something is put in at one place by both.
fn collide(a: &Range<usize>, b: &Range<usize>) -> bool {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => a.start == b.start,
        (true, false) => b.start < a.start && a.start < b.end,
        (false, true) => a.start < b.start && b.start < a.end,
        (false, false) => a.start < b.end && b.start < a.end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_others_wrote_stays() {
        let (before, ours) = ("x=1\n[all]\n", "x=1\n[all]\n# ontick\nos_prefix=a/\n");
        let cases = [
            ("x=2\n[all]\n# ontick\nos_prefix=a/\n", Some("x=2\n[all]\n")),
            ("x=1\n[all]\n# ontick\nos_prefix=a/\ny=3\n", Some("x=1\n[all]\ny=3\n")),
            ("x=1\n[all]\n", Some("x=1\n[all]\n")),
            // Our own line was edited: nobody can tell what is wanted.
            ("x=1\n[all]\n# ontick\nos_prefix=b/\n", None),
        ];
        for (now, expected) in cases {
            assert_eq!(without(before, ours, now).as_deref(), expected, "{now}");
        }
        let line = without("root=a quiet\n", "root=a quiet skew_tick=1\n", "root=b quiet skew_tick=1\n");
        assert_eq!(line.as_deref(), Some("root=b quiet\n"));
        let line = without("root=a quiet rw\n", "root=a skew_tick=1 quiet rw\n", "root=b skew_tick=1 quiet rw\n");
        assert_eq!(line.as_deref(), Some("root=b quiet rw\n"));
    }

    #[test]
    fn a_word_beside_ours_stays() {
        let (before, ours) = ("root=a\n", "root=a skew_tick=1 isolcpus=3\n");
        for (now, expected) in [
            ("root=a skew_tick=1 isolcpus=3 x=1\n", Some("root=a x=1\n")),
            ("root=a skew_tick=1 isolcpus=3 x=1", Some("root=a x=1")),
            ("x=1 root=a skew_tick=1 isolcpus=3\n", Some("x=1 root=a\n")),
            ("root=a x=1 skew_tick=1 isolcpus=3\n", Some("root=a x=1\n")),
            // Among ours, or in their place: nobody can tell what is wanted.
            ("root=a skew_tick=1 x=1 isolcpus=3\n", None),
            ("root=a skew_tick=1 isolcpus=2\n", None),
        ] {
            assert_eq!(without(before, ours, now).as_deref(), expected, "{now}");
        }
    }

    proptest! {
        #[test]
        fn without_others_the_original_comes_back(a in "([ab]\n){0,6}", b in "([abc]\n){0,8}") {
            prop_assert_eq!(without(&a, &b, &b), Some(a));
        }

        #[test]
        fn words_and_gaps_are_the_text(text in "[ab \t\n]{0,12}") {
            prop_assert_eq!(words_and_gaps(&text).concat(), text);
        }

        #[test]
        fn their_new_lines_at_the_top_stay(a in "([ab]\n){1,6}", ours in "([cd]\n){1,3}", theirs in "([xy]\n){1,3}") {
            let edited = format!("{a}{ours}");
            let now = format!("{theirs}{edited}");
            prop_assert_eq!(without(&a, &edited, &now), Some(format!("{theirs}{a}")));
        }
    }
}
