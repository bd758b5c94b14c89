//! Why samples were late: a table of causes, and the largest outliers with what happened meanwhile.

use ontick_record::run::{Explained, Happening};
use ontick_record::{Run, Series};

use crate::causes::{in_order, label, price, sentence, stack};
use crate::markup::Markup;
use crate::number::{count, percent_down};
use crate::plot::outliers_inline;
use crate::typeset::{self, time};

/// Outliers described in full, for each series.
const DESCRIBED: usize = 10;

/// Outliers over time, where any were kept.
pub(super) fn timeline(body: &mut Markup, run: &Run) {
    let Some(broad) = outliers_inline(run, 960.0) else { return };
    body.open("section", &[]).leaf("h2", &[], "Outliers over time").leaf("p", &[("class", &"caption")], TIMELINE);
    body.open("figure", &[("class", &"broad")]).raw(&broad).close();
    body.open("figure", &[("class", &"narrow")]).raw(&outliers_inline(run, 400.0).unwrap_or_default()).close();
    body.close();
}

const TIMELINE: &str = "Each late sample that was kept, by what made it late. Below, a lane for each CPU; marks at equal distances have one cause. With --explain, the lanes of the largest show who had the CPU from before the deadline on.";

pub(super) fn causes(body: &mut Markup, run: &Run) {
    let explained: Vec<(&Series, String)> = run.series.iter().filter_map(|s| Some((s, sentence(s)?))).collect();
    if explained.is_empty() {
        return;
    }
    body.leaf("h2", &[], "Why outliers were late");
    for (series, sentence) in explained {
        body.open("p", &[]);
        if run.series.len() > 1 {
            body.leaf("b", &[], &format!("{}.", series.name)).words(" ");
        }
        body.words(&typeset::sentence(&sentence)).close();
        if !series.causes.is_empty() {
            table(body, series);
            reported(body, series);
        }
        if let Some(price) = price(series) {
            body.leaf("p", &[("class", &"caption")], &typeset::sentence(&price));
        }
    }
}

fn table(body: &mut Markup, series: &Series) {
    let causes = in_order(series);
    let all: u64 = causes.iter().map(|cause| cause.count).sum();
    body.open("div", &[("class", &"wide")]).open("table", &[]).open("thead", &[]).open("tr", &[]);
    body.leaf("th", &[("class", &"left")], "cause");
    for head in ["count", "share", "p50", "max", "in all"] {
        body.leaf("th", &[("scope", &"col")], head);
    }
    body.close().close().open("tbody", &[]);
    for cause in causes {
        body.open("tr", &[]).leaf("th", &[("scope", &"row")], &label(&cause.cause, &cause.detail));
        body.leaf("td", &[], &count(cause.count));
        body.leaf("td", &[], &format!("{}\u{202f}%", percent_down(cause.count, all, 1)));
        for ns in [cause.p50_ns, cause.max_ns, cause.sum_ns] {
            body.leaf("td", &[], &time(ns));
        }
        body.close();
    }
    body.close().close().close();
}

fn reported(body: &mut Markup, series: &Series) {
    for outlier in series.explained.iter().filter(|o| !o.happened.is_empty()).take(DESCRIBED) {
        let Explained { latency_ns, cause, detail, happened, .. } = outlier;
        body.open("details", &[]);
        body.leaf("summary", &[], &format!("{} late: {}", time(*latency_ns), label(cause, detail)));
        body.open("div", &[("class", &"wide")])
            .open("table", &[("class", &"facts")])
            .open("thead", &[])
            .open("tr", &[]);
        for head in ["after the deadline", "for", "who had the CPU"] {
            body.leaf("th", &[("scope", &"col")], head);
        }
        body.close().close().open("tbody", &[]);
        for Happening { from_ns, length_ns, what } in happened {
            let sign = if *from_ns < 0 { "−" } else { "" };
            body.open("tr", &[]).leaf("td", &[], &format!("{sign}{}", time(from_ns.unsigned_abs())));
            body.leaf("td", &[], &time(*length_ns)).leaf("td", &[], what).close();
        }
        body.close().close().close();
        if let Some(stack) = stack(outlier) {
            body.leaf("p", &[("class", &"caption")], &stack);
        }
        body.close();
    }
}
