//! Bounds for the tails of series.

use ontick_record::Run;

use super::Style;
use super::lines::hanging;
use crate::printable::printable;
use crate::tail::sentences;

/// A paragraph for each series whose tail was asked for; nothing where none was.
pub(super) fn tails(run: &Run, style: &Style) -> String {
    let sentences = sentences(run);
    let named = sentences.len() > 1;
    let of = |(name, sentence): &(&str, String)| match named {
        true => hanging("tail  ", "", &printable(&format!("{name}: {sentence}")), style.width),
        false => hanging("tail  ", "", sentence, style.width),
    };
    sentences.iter().map(of).collect()
}
