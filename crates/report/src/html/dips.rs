//! The shortest dips that are detected: what was tried, and the table.

use ontick_record::Run;

use crate::dips::{HEADS, notes, of, row};
use crate::markup::Markup;
use crate::{plot, typeset};

/// Both; nothing where no dips were searched.
pub(super) fn dips(body: &mut Markup, run: &Run) {
    let all = of(run);
    if all.is_empty() {
        return;
    }
    body.open("section", &[]).leaf("h2", &[], "The shortest dip detected");
    body.open("div", &[("class", &"wide")]).open("table", &[]);
    body.open("thead", &[]).open("tr", &[]).leaf("th", &[("class", &"left")], "");
    HEADS.iter().for_each(|head| {
        body.leaf("th", &[("scope", &"col")], head);
    });
    body.close().close().open("tbody", &[]);
    for (series, dip) in all {
        body.open("tr", &[]).leaf("th", &[("scope", &"row")], &series.name);
        row(dip).iter().for_each(|cell| {
            body.leaf("td", &[], &typeset::sentence(cell));
        });
        body.close();
    }
    body.close().close().close();
    for note in notes(run) {
        body.leaf("p", &[("class", &"caption")], &typeset::sentence(&note));
    }
    body.leaf("h2", &[], "Dips detected, by width").leaf("p", &[("class", &"caption")], CAPTION);
    for (class, width) in [("broad", 960.0), ("narrow", 400.0)] {
        body.open("figure", &[("class", &class)]).raw(&plot::dips_inline(run, width, 360.0)).close();
    }
    body.close();
}

const CAPTION: &str = "The share of the dips of each width that was tried of which both edges were detected. The search \
tries most widths near the shortest that is detected.";
