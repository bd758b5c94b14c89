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
        true => |text| text.split_inclusive(char::is_whitespace).collect(),
        false => |text| text.split_inclusive('\n').collect(),
    };
    merge(&parts(ours), &parts(original), &parts(now)).map(|parts| parts.concat())
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
    for hunk in hunks(base, theirs) {
        let their = (hunk.base, &theirs[hunk.new]);
        // Somebody took our lines out already.
        if all.contains(&their) {
            continue;
        }
        if all.iter().any(|(range, _)| collide(range, &their.0)) {
            return None;
        }
        all.push(their);
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

    proptest! {
        #[test]
        fn without_others_the_original_comes_back(a in "([ab]\n){0,6}", b in "([abc]\n){0,8}") {
            prop_assert_eq!(without(&a, &b, &b), Some(a));
        }

        #[test]
        fn their_new_lines_at_the_top_stay(a in "([ab]\n){1,6}", ours in "([cd]\n){1,3}", theirs in "([xy]\n){1,3}") {
            let edited = format!("{a}{ours}");
            let now = format!("{theirs}{edited}");
            prop_assert_eq!(without(&a, &edited, &now), Some(format!("{theirs}{a}")));
        }
    }
}
