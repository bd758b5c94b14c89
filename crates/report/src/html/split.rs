//! Latencies in parts, as a table.

use ontick_record::Run;

use crate::causes::price;
use crate::figures::latency;
use crate::markup::Markup;
use crate::split::{HEADS, of};
use crate::typeset;

/// All series that were split; nothing where none was.
pub(super) fn split(body: &mut Markup, run: &Run) {
    for parts in &of(run) {
        body.open("section", &[]).leaf("h2", &[], &format!("In parts: {}", parts.series.name));
        body.leaf("p", &[("class", &"caption")], CAPTION);
        body.open("div", &[("class", &"wide")]).open("table", &[]).open("thead", &[]).open("tr", &[]);
        body.leaf("th", &[("class", &"left")], "part");
        HEADS.iter().for_each(|head| {
            body.leaf("th", &[("scope", &"col")], head);
        });
        body.close().close().open("tbody", &[]);
        for (name, figures) in parts.rows() {
            body.open("tr", &[]).leaf("th", &[("scope", &"row")], name);
            figures.iter().for_each(|ns| {
                body.leaf("td", &[], &typeset::sentence(&latency(*ns)));
            });
            body.close();
        }
        body.close().close().close();
        for sentence in std::iter::once(parts.note()).chain(price(parts.series)) {
            body.leaf("p", &[("class", &"caption")], &typeset::sentence(&sentence));
        }
        body.close();
    }
}

const CAPTION: &str = "A sleeping thread is due; an interrupt fires its timer; the kernel wakes it; it runs. How long each \
took, by the kernel's events.";
