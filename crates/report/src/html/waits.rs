//! Loops of several waits: their sum beside one wait, as a picture and a table.

use ontick_record::Run;

use crate::figures::latency;
use crate::markup::Markup;
use crate::waits::{HEADS, of};
use crate::{plot, typeset};

/// All loops; nothing where there is none.
pub(super) fn waits(body: &mut Markup, run: &Run) {
    for of_loop in &of(run) {
        body.open("section", &[]).leaf("h2", &[], &format!("Several waits: {}", of_loop.method));
        body.leaf("p", &[("class", &"caption")], CAPTION);
        for (class, width) in [("broad", 960.0), ("narrow", 400.0)] {
            body.open("figure", &[("class", &class)]);
            body.raw(&plot::waits_inline(of_loop, width, 400.0)).close();
        }
        body.open("div", &[("class", &"wide")]).open("table", &[]).open("thead", &[]).open("tr", &[]);
        body.leaf("th", &[("class", &"left")], &format!("{} waits a cycle", of_loop.waits));
        HEADS.iter().for_each(|head| {
            body.leaf("th", &[("scope", &"col")], head);
        });
        body.close().close().open("tbody", &[]);
        for (name, figures) in of_loop.rows() {
            body.open("tr", &[]).leaf("th", &[("scope", &"row")], &name);
            figures.iter().for_each(|ns| {
                body.leaf("td", &[], &typeset::sentence(&latency(*ns)));
            });
            body.close();
        }
        body.close().close().close();
        if let Some(note) = of_loop.note() {
            body.leaf("p", &[("class", &"caption")], &typeset::sentence(&note));
        }
        body.close();
    }
}

const CAPTION: &str = "One loop waits several times in each cycle. How many cycles had a largest wait, a second-largest \
wait and a sum of so much. If worst cases added, the worst sum would lie at the grey line: the worst wait times the \
number of waits.";
