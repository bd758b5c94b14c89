//! Bounds for the tails of series, with the levels that are exceeded more and more rarely.

use ontick_record::Run;

use crate::markup::Markup;
use crate::tail::sentences;
use crate::{plot, typeset};

/// Both; nothing where no bound was asked for.
pub(super) fn tails(body: &mut Markup, run: &Run) {
    let sentences = sentences(run);
    if sentences.is_empty() {
        return;
    }
    body.open("section", &[]).leaf("h2", &[], "Bounds for what was not observed");
    for (name, sentence) in &sentences {
        body.leaf("p", &[], &format!("{name}: {}", typeset::sentence(sentence)));
    }
    if run.series.iter().any(|s| s.tail.as_ref().is_some_and(|tail| tail.bound.is_some())) {
        body.leaf("p", &[("class", &"caption")], CAPTION);
        for (class, width) in [("broad", 960.0), ("narrow", 400.0)] {
            body.open("figure", &[("class", &class)]).raw(&plot::tail_inline(run, width, 380.0)).close();
        }
    }
    body.close();
}

const CAPTION: &str = "What is exceeded once in so many cycles. Dots are the largest samples, the line is the fitted tail, \
and each edge of the band is passed with 5 % at most. Right of the dots nothing was observed: what never happened while it \
was measured is in no bound.";
