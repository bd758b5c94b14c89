//! What a boot file would hold if ontick had never written to it.

use crate::journal::{Content, Entry, Journal, Undo};
use crate::merge;

/// What a boot file that an earlier plan wrote would hold without that, where the argument comes from the plan alone.
pub(super) fn without_given<'a>(journal: &'a Journal, argument: &str) -> Option<&'a str> {
    let has = |text: &&str| text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).any(|w| w == argument);
    journal.entries().filter(|entry| entry.knob.starts_with("boot")).find_map(|entry| {
        let Undo::File { original, wanted, stood, base, .. } = &entry.undo else { return None };
        let rest = original.as_ref().or(base.as_ref()).and_then(text).unwrap_or_default();
        let is_ours = [Some(wanted), stood.as_ref()].into_iter().flatten().filter_map(text).any(|text| has(&text));
        (is_ours && !has(&rest)).then_some(rest)
    })
}

fn text(content: &Content) -> Option<&str> {
    match content {
        Content::Text(text) => Some(text),
        Content::Bytes(_) => None,
    }
}

/// The standing change of a file.
pub(super) fn of<'a>(journal: &'a Journal, path: &str) -> Option<&'a Entry> {
    journal.entry(path).filter(|entry| matches!(entry.undo, Undo::File { .. }))
}

/// What a file that ontick wrote held before, or had to hold besides ontick's part where it was not there.
pub(super) fn base_of<'a>(journal: &'a Journal, path: &str) -> Option<&'a str> {
    match of(journal, path).map(|entry| &entry.undo) {
        Some(Undo::File { original, base, .. }) => original.as_ref().or(base.as_ref()).and_then(text),
        _ => None,
    }
}

/// What a file that stands so holds without what ontick put there: what was there before, with what others have edited since;
/// of a file that was not there what it had to hold besides, if it had to. None where somebody edited just what ontick had
/// written: what belongs to whom cannot be distinguished any more.
pub(super) fn without_ours(undo: &Undo, now: &Content) -> Option<Option<Content>> {
    let Undo::File { original, wanted, stood, base, .. } = undo else { return None };
    let rest = original.as_ref().or(base.as_ref());
    if now == wanted || Some(now) == stood.as_ref() || Some(now) == rest {
        return Some(rest.cloned());
    }
    match (rest, wanted, now) {
        (Some(Content::Text(rest)), Content::Text(wanted), Content::Text(now)) => {
            merge::without(rest, wanted, now).map(|text| Some(Content::Text(text)))
        }
        _ => None,
    }
}
