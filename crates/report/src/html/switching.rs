//! A switch under test: its picture and its tables.

use ontick_record::Histogram;
use ontick_record::Run;
use ontick_record::switching::{Class, Switching, Trial};

use crate::markup::Markup;
use crate::plot;
use crate::switching::remarks;
use crate::typeset::{self, count, time};

/// The figures that decide.
pub(super) fn cards(body: &mut Markup, switch: &Switching) {
    let Some(trial) = switch.judged().or(switch.trials.first()) else { return };
    let first = trial.classes.iter().fold(Histogram::default(), |mut all, class| {
        all.merge(&class.first);
        all
    });
    let delay = trial.classes.iter().filter_map(|class| class.delay.quantile(0.99)).max();
    let shown = |ns: Option<u64>| ns.map_or_else(|| "—".into(), time);
    let open = switch.trials.iter().find(|other| trial.gates && !other.gates);
    let outside = |trial: &Trial| count(trial.sum(|class| class.outside));
    let mut cards = Vec::new();
    if trial.gates || !trial.is_shaped() {
        let other = open.map(|open| format!("gates off {}", outside(open)));
        cards.push(("frames outside their window", outside(trial), other));
        cards.push(("first frame after opening, 99 %", shown(first.quantile(0.99)), None));
    }
    if trial.is_shaped() {
        cards.push(("frames beyond their idle slope", count(trial.beyond().0), None));
    }
    cards.push(("lost uncounted", typeset::number(&trial.unaccounted().to_string()), None));
    cards.push(("delay, 99 %, worst class", shown(delay), None));
    body.open("dl", &[("class", &"cards")]);
    for (name, figure, other) in cards {
        body.open("div", &[("class", &"card")]).leaf("dt", &[], name).leaf("dd", &[("class", &"figure")], &figure);
        if let Some(other) = other {
            body.leaf("dd", &[("class", &"other")], &other);
        }
        body.close();
    }
    body.close();
}

/// The picture, and all figures by class.
pub(super) fn all(body: &mut Markup, run: &Run) {
    let Some(switch) = &run.switch else { return };
    body.open("section", &[]).leaf("h2", &[], "Arrivals over the gates");
    body.leaf(
        "p",
        &[("class", &"caption")],
        "Above, each frame of a few cycles is a line in the lane of its class. Below, all frames of the run are counted by their place in the cycle, on a logarithmic scale: one frame in the wrong place is seen beside a million in the right one.",
    );
    for (class, width) in [("broad", 960.0), ("narrow", 400.0)] {
        body.open("figure", &[("class", &class)]).raw(&plot::arrivals_inline(switch, width)).close();
    }
    body.close();
    frames(body, switch);
    times(body, switch);
    for trial in &switch.trials {
        for remark in remarks(trial) {
            body.leaf("p", &[("class", &"caption")], &typeset::sentence(&format!("{}: {remark}.", trial.name)));
        }
        if trial.gates {
            violations(body, trial);
        }
    }
}

fn frames(body: &mut Markup, switch: &Switching) {
    let heads = ["sent", "received", "dropped", "doubled", "out of order", "changed", "outside"];
    table(body, switch, "Frames", &heads, |body, class| {
        let figures = [class.sent, class.received, class.dropped, class.duplicates, class.out_of_order, class.damaged];
        for figure in figures.into_iter().chain([class.outside]) {
            body.leaf("td", &[], &count(figure));
        }
    });
}

fn times(body: &mut Markup, switch: &Switching) {
    let of = |what: &str| ["p50", "p99", "max"].map(|q| format!("{what} {q}"));
    let heads = [of("first"), of("delay"), of("jitter")].concat();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    table(body, switch, "Times", &heads, |body, class| {
        for histogram in [&class.first, &class.delay, &class.jitter] {
            let figures = [0.5, 0.99].map(|q| histogram.quantile(q)).into_iter().chain([histogram.max_ns]);
            for figure in figures {
                body.leaf("td", &[], &figure.map_or_else(|| "—".into(), time));
            }
        }
    });
    body.leaf(
        "p",
        &[("class", &"caption")],
        "First: from a gate’s opening to the first frame that had waited for it. Delay: from sending to arriving, the wait for the gate included. Jitter: by how much the delay differs from that of the frame before.",
    );
}

fn table(body: &mut Markup, switch: &Switching, title: &str, heads: &[&str], row: impl Fn(&mut Markup, &Class)) {
    body.leaf("h2", &[], title).open("div", &[("class", &"wide")]).open("table", &[]);
    body.open("thead", &[]).open("tr", &[]).leaf("th", &[("class", &"left")], "").leaf("th", &[("class", &"left")], "");
    for head in heads {
        body.leaf("th", &[("scope", &"col")], head);
    }
    body.close().close().open("tbody", &[]);
    for trial in &switch.trials {
        for (i, class) in trial.classes.iter().enumerate() {
            let (name, first) = if i == 0 { (trial.name.as_str(), "first") } else { ("", "") };
            body.open("tr", &[("class", &first)]).leaf("th", &[("scope", &"row")], name);
            body.leaf("th", &[("scope", &"row")], &class.name);
            row(body, class);
            body.close();
        }
    }
    body.close().close().close();
}

/// Those that a reader may want to look for in other logs.
fn violations(body: &mut Markup, trial: &Trial) {
    const SHOWN: usize = 50;
    if trial.violations.is_empty() {
        return;
    }
    body.leaf("h2", &[], "Outside their window").open("div", &[("class", &"wide")]).open("table", &[]);
    body.open("thead", &[]).open("tr", &[]);
    for head in ["after", "class", "frames", "by", "", "cause"] {
        body.leaf("th", &[("scope", &"col")], head);
    }
    body.close().close().open("tbody", &[]);
    for violation in trial.violations.iter().take(SHOWN) {
        let when = crate::switching::side(violation);
        body.open("tr", &[]).leaf("td", &[], &time(violation.at_ns)).leaf("td", &[], &violation.class);
        body.leaf("td", &[], &count(violation.frames)).leaf("td", &[], &time(violation.by_ns));
        body.leaf("td", &[], when);
        body.leaf("td", &[], &typeset::sentence(violation.cause.as_deref().unwrap_or("not known"))).close();
    }
    body.close().close().close();
    let more = trial.violations.len().saturating_sub(SHOWN) as u64 + trial.more_violations;
    if more > 0 {
        body.leaf("p", &[("class", &"caption")], &format!("And {} more.", count(more)));
    }
}
