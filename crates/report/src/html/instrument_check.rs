//! The program's figures beside an instrument's, as a table.

use ontick_record::Run;

use crate::instrument_check::{HEADS, notes, of, rows, title};
use crate::markup::Markup;
use crate::typeset;

/// A table for each series that was observed; nothing where there is none.
pub(super) fn instrument_check(body: &mut Markup, run: &Run) {
    for (series, check) in of(run) {
        body.open("section", &[]).leaf("h2", &[], &format!("Beside an instrument: {}", series.name));
        body.leaf("p", &[("class", &"caption")], &typeset::sentence(&title(check)));
        if !check.quantities.is_empty() {
            body.open("div", &[("class", &"wide")]).open("table", &[]).open("thead", &[]).open("tr", &[]);
            body.leaf("th", &[("class", &"left")], "µs");
            HEADS.iter().for_each(|head| {
                body.leaf("th", &[("scope", &"col")], head);
            });
            body.close().close().open("tbody", &[]);
            for (name, cells) in check.quantities.iter().flat_map(rows) {
                body.open("tr", &[]).leaf("th", &[("scope", &"row")], &name);
                cells.iter().for_each(|cell| {
                    body.leaf("td", &[], cell);
                });
                body.close();
            }
            body.close().close().close();
        }
        for note in notes(check) {
            body.leaf("p", &[("class", &"caption")], &typeset::sentence(&note));
        }
        body.close();
    }
}
