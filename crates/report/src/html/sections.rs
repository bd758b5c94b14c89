//! What comes first: the headline figures, requirements, warnings.

use ontick_record::{Measurement, Run, Series};

use crate::compare::Named;
use crate::figures::{missed_cycles, share_in_time};
use crate::grouping::{is_loaded, stock_beside};
use crate::markup::Markup;
use crate::together::with_all_cpus;
use crate::typeset::{count, number, time};
use crate::verdict::decisive;
use crate::{typeset, warnings};

/// A simulated run says so before anything else.
pub(crate) fn simulated(body: &mut Markup, what: &str) {
    body.open("ul", &[("class", &"marks")]).open("li", &[("class", &"warn")]);
    body.leaf("b", &[], "Simulated.").words(what).close().close();
}

/// What a card is called, and its figure for a series of the run.
type Card = (&'static str, fn(&Run, &Series) -> String);

fn latency(ns: Option<u64>) -> String {
    ns.map_or_else(|| "—".into(), time)
}

/// The figures that decide, beside those of the other side where there is one.
pub(super) fn cards(body: &mut Markup, run: &Run) {
    let run = &*with_all_cpus(run);
    let Some(series) = decisive(run) else { return };
    let stock = stock_beside(run, series);
    let when = match (stock, is_loaded(series)) {
        (None, _) => "",
        (_, true) if series.settings.load_ended => " beside a load that ended too soon",
        (_, true) => " under load",
        (_, false) => " idle",
    };
    let usual: [Card; 4] = [
        ("within 3\u{202f}µs", |_, s| number(&share_in_time(s))),
        ("99th percentile", |_, s| latency(s.latency.quantile(0.99))),
        ("worst case", |_, s| latency(s.latency.max_ns)),
        ("missed cycles", |run, s| number(&missed_cycles(run, s))),
    ];
    let gaps: [Card; 4] = [
        ("gaps", |_, s| count(s.latency.count())),
        ("half of them up to", |_, s| latency(s.latency.quantile(0.5))),
        ("99th percentile", |_, s| latency(s.latency.quantile(0.99))),
        ("longest", |_, s| latency(s.latency.max_ns)),
    ];
    let all = if run.measurement == Measurement::Noise { gaps } else { usual };
    body.open("dl", &[("class", &"cards")]);
    for (name, figure) in all {
        body.open("div", &[("class", &"card")]).leaf("dt", &[], &format!("{name}{when}"));
        body.leaf("dd", &[("class", &"figure")], &figure(run, series));
        if let Some(stock) = stock {
            body.leaf("dd", &[("class", &"other")], &format!("stock {}", figure(run, stock)));
        }
        body.close();
    }
    body.close();
}

/// What was asked of the runs, and whether it was met.
pub(super) fn requirements(body: &mut Markup, runs: &[Named]) {
    if runs.iter().all(|r| r.run.requirements.is_empty()) {
        return;
    }
    body.leaf("h2", &[], "Requirements").open("ul", &[("class", &"marks")]);
    for (named, judged) in runs.iter().flat_map(|n| n.run.requirements.iter().map(move |j| (n, j))) {
        let (class, word) = match (judged.met, judged.unproven) {
            (true, _) => ("met", "Met"),
            (false, false) => ("unmet", "Not met"),
            (false, true) => ("unmet", "Not proven"),
        };
        let of = if runs.len() > 1 { format!("{}: ", named.name) } else { String::new() };
        let by = if judged.series.is_empty() { String::new() } else { format!(" ({})", judged.series) };
        body.open("li", &[("class", &class)]).leaf("b", &[], word);
        body.words(&format!("{of}{} — {}{by}", judged.requirement, typeset::sentence(&judged.observed))).close();
    }
    body.close();
}

/// Notes, refused privileges, contamination: each as a sentence.
pub(super) fn warnings(body: &mut Markup, runs: &[Named]) {
    let of = |n: &Named| if runs.len() > 1 { format!("{}: ", n.name) } else { String::new() };
    let all: Vec<String> = runs
        .iter()
        .flat_map(|n| {
            let of = of(n);
            warnings::warnings(n.run).into_iter().map(move |sentence| format!("{of}{sentence}"))
        })
        .collect();
    let facts: Vec<String> = runs.iter().flat_map(|n| n.run.facts.iter().map(|fact| of(n) + fact)).collect();
    if all.is_empty() && facts.is_empty() {
        return;
    }
    body.leaf("h2", &[], "Notes on the figures").open("ul", &[("class", &"marks")]);
    for sentence in all {
        body.open("li", &[("class", &"warn")]).words(&sentence).close();
    }
    for fact in facts {
        body.open("li", &[("class", &"fact")]).words(&fact).close();
    }
    body.close();
}
