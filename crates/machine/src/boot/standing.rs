//! What a boot file would hold if ontick had never written to it.

use crate::journal::{Content, Entry, Journal, Undo};
use crate::merge;

/// The standing change of a file.
pub(super) fn of<'a>(journal: &'a Journal, path: &str) -> Option<&'a Entry> {
    journal.entry(path).filter(|entry| matches!(entry.undo, Undo::File { .. }))
}

/// Whether the file was not there before.
pub(super) fn is_new(entry: &Entry) -> bool {
    matches!(entry.undo, Undo::File { original: None, .. })
}

/// What a file that stands so goes back to. None where somebody edited just what ontick had written: what belongs to whom
/// cannot be distinguished any more.
pub(super) fn without_ours(undo: &Undo, now: &Content) -> Option<Option<Content>> {
    let Undo::File { original, wanted, stood, .. } = undo else { return None };
    if now == wanted || Some(now) == stood.as_ref() || Some(now) == original.as_ref() {
        return Some(original.clone());
    }
    match (original, wanted, now) {
        (Some(Content::Text(original)), Content::Text(wanted), Content::Text(now)) => {
            merge::without(original, wanted, now).map(|text| Some(Content::Text(text)))
        }
        _ => None,
    }
}
