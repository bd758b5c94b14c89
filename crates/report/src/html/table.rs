//! The tables of latencies.

use ontick_record::{Run, Series};

use crate::compare::{Named, compared, different, entries, explanation};
use crate::figures::{IN_TIME_NS, LATENCIES, missed_cycles, rough_deviations, share_in_time, waits_differently};
use crate::grouping::groups;
use crate::markup::Markup;
use crate::plot::panels::inks;
use crate::plot::{Ink, of_run, of_runs};
use crate::together::with_all_cpus;
use crate::typeset::{count, number as set, plain_time, sentence, time};

/// All figures of a run, one row per series.
pub(super) fn latencies(body: &mut Markup, run: &Run) {
    let inks: Vec<(&Series, Ink)> = inks(&of_run(run));
    let with_all = with_all_cpus(run);
    let groups = groups(&with_all);
    let grouped = groups.iter().any(|g| !g.name.is_empty());
    let title = if run.switch.is_some() { "First frames after their gate’s opening" } else { "All figures" };
    body.leaf("h2", &[], title).open("div", &[("class", &"wide")]).open("table", &[]);
    body.open("thead", &[]).open("tr", &[]);
    if grouped {
        body.leaf("th", &[("class", &"left")], "");
    }
    body.leaf("th", &[("class", &"left")], "");
    // Beside the names: at the far end nobody sees it.
    let published = run.series.iter().find_map(|s| s.published.as_ref());
    if let Some(published) = published {
        body.leaf("th", &[("scope", &"col")], &published.source);
    }
    heads(body, LATENCIES.iter().map(|c| c.head));
    body.leaf("th", &[("scope", &"col")], "missed").leaf("th", &[("scope", &"col")], "samples");
    body.close().close().open("tbody", &[]);
    for group in &groups {
        for (i, (label, series)) in group.rows.iter().enumerate() {
            let class =
                format!("{}{}", if i == 0 { "first " } else { "" }, if *label == "ontick" { "ours" } else { "" });
            body.open("tr", &[("class", &class)]);
            if grouped {
                let name = if i == 0 { group.name } else { "" };
                body.leaf("th", &[("scope", &"row")], name);
            }
            body.open("th", &[("scope", &"row")]);
            if let Some((_, ink)) = inks.iter().find(|(s, _)| s.name == series.name) {
                swatch(body, *ink);
            }
            body.words(label).close();
            if published.is_some() {
                let figure = series.published.as_ref();
                let how: &str = figure.map_or("", |published| &published.how);
                body.leaf("td", &[("title", &how)], figure.map_or("", |published| &published.figure));
            }
            LATENCIES.iter().for_each(|c| match (c.is_rough)(series) {
                true => figure(body, (c.of)(series), "~"),
                false => cell(body, (c.of)(series)),
            });
            body.leaf("td", &[], &set(&share_in_time(series)));
            body.leaf("td", &[], &set(&missed_cycles(run, series))).leaf("td", &[], &count(series.latency.count()));
            body.close();
        }
    }
    body.close().close().close();
    if let Some(said) = rough_deviations(run.series.iter()) {
        body.leaf("p", &[("class", &"caption")], &sentence(&said));
    }
    pay(body, run.series.iter());
}

/// Where it is not the same that stands in the rows.
fn pay<'a>(body: &mut Markup, series: impl Iterator<Item = &'a Series> + Clone) {
    if let Some(sentence) = waits_differently(series) {
        body.leaf("p", &[("class", &"caption")], sentence);
    }
}

/// Several runs: each figure, and how many times that of the first run it is.
pub(super) fn comparison(body: &mut Markup, runs: &[Named]) {
    let inks: Vec<(&Series, Ink)> = inks(&of_runs(runs));
    body.leaf("h2", &[], "Figures").leaf("p", &[("class", &"caption")], explanation(runs));
    if let Some(sentence) = different(runs) {
        body.leaf("p", &[("class", &"caption")], &sentence);
    }
    body.open("div", &[("class", &"wide")]).open("table", &[]).open("thead", &[]).open("tr", &[]);
    body.leaf("th", &[("class", &"left")], "series").leaf("th", &[("class", &"left")], "run");
    heads(body, compared().map(|c| c.head));
    body.leaf("th", &[("scope", &"col")], "missed").close().close().open("tbody", &[]);
    for group in entries(runs) {
        for (i, e) in group.iter().enumerate() {
            let ratios = &e.ratios;
            let class = [if i == 0 { "first" } else { "" }, if ratios.is_some() { "joined" } else { "" }].join(" ");
            body.open("tr", &[("class", &class)]).open("th", &[("scope", &"row")]);
            if let Some((_, ink)) = inks.iter().find(|(s, _)| std::ptr::eq(*s, e.series)) {
                swatch(body, *ink);
            }
            body.words(&e.series.name).close().leaf("td", &[("class", &"left")], e.name);
            compared().for_each(|c| cell(body, (c.of)(e.series)));
            body.leaf("td", &[], &set(&share_in_time(e.series)));
            body.leaf("td", &[], &set(&missed_cycles(e.run, e.series))).close();
            if let Some(ratios) = ratios {
                body.open("tr", &[]).leaf("td", &[], "").leaf("td", &[], "");
                ratios.iter().for_each(|r| {
                    body.leaf("td", &[("class", &"ratio")], r);
                });
                body.leaf("td", &[], "").leaf("td", &[], "").close();
            }
        }
    }
    body.close().close().close();
    pay(body, runs.iter().flat_map(|n| &n.run.series));
}

fn heads<'a>(body: &mut Markup, heads: impl Iterator<Item = &'a str>) {
    heads.for_each(|head| {
        body.leaf("th", &[("scope", &"col")], head);
    });
    body.leaf("th", &[("scope", &"col")], &format!("< {}", plain_time(IN_TIME_NS)));
}

fn cell(body: &mut Markup, ns: Option<u64>) {
    figure(body, ns, "");
}

fn figure(body: &mut Markup, ns: Option<u64>, mark: &str) {
    body.leaf("td", &[], &ns.map_or_else(|| "—".into(), |ns| format!("{mark}{}", time(ns))));
}

/// The line that a series has in the plots.
pub(crate) fn swatch(body: &mut Markup, ink: Ink) {
    body.open("svg", &[("class", &"swatch"), ("viewBox", &"0 0 24 8"), ("aria-hidden", &"true")]);
    let class = format!("stroke {}", ink.class());
    body.empty(
        "path",
        &[("d", &"M0 4L24 4"), ("class", &class), ("stroke-width", &3), ("stroke-dasharray", &ink.dashes())],
    );
    body.close();
}
