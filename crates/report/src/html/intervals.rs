//! The table of times between edges.

use ontick_record::Run;

use crate::intervals::{HEADS, all_times, are_of, rows};
use crate::markup::Markup;
use crate::times::Times;
use crate::typeset;

/// The table; nothing of other runs.
pub(super) fn intervals(body: &mut Markup, run: &Run) {
    if !are_of(run) {
        return;
    }
    body.leaf("h2", &[], "Times between edges in µs").open("div", &[("class", &"wide")]).open("table", &[]);
    body.open("thead", &[]).open("tr", &[]).leaf("th", &[("class", &"left")], "");
    for head in HEADS {
        body.leaf("th", &[("scope", &"col")], head);
    }
    body.close().close().open("tbody", &[]);
    for (name, cells) in rows(run, Times::micros(all_times(run))) {
        body.open("tr", &[]).leaf("th", &[("scope", &"row")], name);
        for cell in &cells {
            body.leaf("td", &[], &typeset::sentence(cell));
        }
        body.close();
    }
    body.close().close().close();
}
