//! A run, or several, as one HTML file: nothing is fetched from anywhere, and it reads without its
//! script, on paper, on a phone and in the dark.

mod facts;
mod figures;
mod glossary;
mod page;
mod sections;
mod table;

use ontick_record::Run;

use crate::compare::Named;
use crate::markup::Markup;
use crate::{headline, plot, verdict};

/// The report of one run.
pub fn html(run: &Run) -> String {
    let named = [Named { name: "run.json", run }];
    let mut body = Markup::default();
    header(&mut body, run);
    body.leaf("p", &[("class", &"verdict")], &verdict::typeset(&verdict::verdict(run)));
    sections::cards(&mut body, run);
    sections::requirements(&mut body, &named);
    sections::warnings(&mut body, &named);
    table::latencies(&mut body, run);
    figures::all(&mut body, &plot::of_run(run), run.measurement == "prove");
    facts::all(&mut body, &named);
    glossary::glossary(&mut body, &named);
    page::page(&page_title(run), body, &named)
}

/// Several runs side by side.
pub fn html_of_several(runs: &[Named]) -> String {
    let mut body = Markup::default();
    body.open("header", &[]);
    body.leaf("h1", &[], "Runs side by side");
    let names: Vec<&str> = runs.iter().map(|r| r.name).collect();
    body.leaf("p", &[("class", &"about")], &names.join(" · "));
    for named in runs {
        if let Some(what) = &named.run.simulated {
            sections::simulated(&mut body, &format!("{}: {what}", named.name));
        }
    }
    body.close();
    table::comparison(&mut body, runs);
    sections::requirements(&mut body, runs);
    sections::warnings(&mut body, runs);
    figures::all(&mut body, &plot::of_runs(runs), false);
    facts::all(&mut body, runs);
    glossary::glossary(&mut body, runs);
    page::page("ontick compare", body, runs)
}

fn header(body: &mut Markup, run: &Run) {
    body.open("header", &[]);
    body.leaf("h1", &[], &page_title(run));
    for line in headline::lines(run) {
        let words = line.parts.join(" · ");
        let words = if line.label == "machine" { words } else { verdict::typeset(&words) };
        body.leaf("p", &[("class", &"about")], &words);
    }
    if let Some(what) = &run.simulated {
        sections::simulated(body, what);
    }
    body.close();
}

fn page_title(run: &Run) -> String {
    match run.measurement.as_str() {
        "prove" => "ontick prove: stock against ontick".into(),
        other => format!("ontick latency {other}"),
    }
}
