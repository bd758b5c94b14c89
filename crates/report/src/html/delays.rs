//! Delays: the curve of what was asked for and what was got, and its table.

use ontick_record::Run;
use ontick_units::exact;

use crate::delays::{got, of};
use crate::figures::latency;
use crate::markup::Markup;
use crate::{plot, typeset};

/// Both; nothing where no delays were measured.
pub(super) fn delays(body: &mut Markup, run: &Run) {
    let Some(delays) = of(run) else { return };
    body.open("section", &[]).leaf("h2", &[], "Delays: asked for and got");
    body.leaf("p", &[("class", &"caption")], CAPTION);
    for (class, width) in [("broad", 960.0), ("narrow", 400.0)] {
        body.open("figure", &[("class", &class)]);
        body.raw(&plot::delays_inline(run, width, 420.0)).close();
    }
    body.open("div", &[("class", &"wide")]).open("table", &[]);
    body.open("thead", &[]).open("tr", &[]).leaf("th", &[("class", &"left")], "asked");
    delays.methods.iter().for_each(|method| {
        body.leaf("th", &[("colspan", &2)], method);
    });
    body.close().open("tr", &[]).leaf("th", &[], "");
    delays.methods.iter().for_each(|_| {
        body.leaf("th", &[], "p50").leaf("th", &[], "p99");
    });
    body.close().close().open("tbody", &[]);
    for (asked_ns, cells) in &delays.rows {
        body.open("tr", &[]).leaf("th", &[("scope", &"row")], &typeset::sentence(&exact(*asked_ns)));
        for series in cells {
            for share in [0.5, 0.99] {
                body.leaf("td", &[], &typeset::sentence(&latency(series.and_then(|s| got(s, share)))));
            }
        }
        body.close();
    }
    body.close().close().close();
    if let Some(note) = delays.note() {
        body.leaf("p", &[("class", &"caption")], &typeset::sentence(note));
    }
    body.close();
}

const CAPTION: &str = "How long delays were against how long they were to be: medians as lines, up to p99 shaded. A line \
that is level on the left shows the shortest delay that the call can make; the dashed line is what was asked for.";
