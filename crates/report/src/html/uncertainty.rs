//! The uncertainty budget of a run, and the quantiles of its series with their uncertainties.

use ontick_record::Run;

use crate::markup::Markup;
use crate::typeset;
use crate::uncertainty::{BUDGET_HEADS, COLUMNS, LEGEND, budget, quantiles};

/// Both; nothing where the record states no uncertainty.
pub(super) fn uncertainty(body: &mut Markup, run: &Run) {
    let Some(budget) = budget(run) else { return };
    body.open("section", &[]).leaf("h2", &[], "Measurement uncertainty");
    body.leaf("p", &[], &typeset::sentence(&budget.title));
    let (first, rest) = (BUDGET_HEADS[0], &BUDGET_HEADS[1..]);
    head(body, first, rest.iter().map(|head| (*head).into()));
    for [component, cells @ ..] in &budget.rows {
        row(body, component, cells.iter());
    }
    for (words, ns) in &budget.sums {
        let none = String::new();
        row(body, words, [&none, &none, &none, &none, ns].into_iter());
    }
    body.close().close().close();
    let columns = COLUMNS.iter().flat_map(|(_, name)| [(*name).to_owned(), "±".into(), "≤".into()]);
    head(body, "", columns);
    for (name, cells) in quantiles(run) {
        row(body, &name, cells.iter().flatten());
    }
    body.close().close().close();
    body.leaf("p", &[("class", &"caption")], &typeset::sentence(&LEGEND.replace("<=", "≤"))).close();
}

/// Opens a table that stays open at its body.
fn head(body: &mut Markup, first: &str, rest: impl Iterator<Item = String>) {
    body.open("div", &[("class", &"wide")]).open("table", &[]);
    body.open("thead", &[]).open("tr", &[]).leaf("th", &[("class", &"left")], first);
    rest.for_each(|head| {
        body.leaf("th", &[("scope", &"col")], &head);
    });
    body.close().close().open("tbody", &[]);
}

fn row<'a>(body: &mut Markup, name: &str, cells: impl Iterator<Item = &'a String>) {
    body.open("tr", &[]).leaf("th", &[("scope", &"row")], name);
    cells.for_each(|cell| {
        body.leaf("td", &[], &typeset::sentence(cell));
    });
    body.close();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uncertainty::tests::series;
    use ontick_record::Measurement;

    #[test]
    fn a_budget_is_a_table_and_no_budget_is_none() {
        let mut run = Run::new("ontick", Measurement::Timer);
        run.series = vec![series(None, 100_000)];
        let text = crate::html(&run);
        assert!(text.contains("Measurement uncertainty") && text.contains("reading the clock"));
        assert!(text.contains(" ≤ is what the quantile of longer runs") && !text.contains("&lt;="));
        run.series[0].uncertainty = None;
        assert!(!crate::html(&run).contains("Measurement uncertainty"));
    }
}
