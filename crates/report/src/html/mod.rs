//! A run, or several, as one HTML file: nothing is fetched from anywhere, and it reads without its
//! script, on paper, on a phone and in the dark.

mod arguments;
mod causes;
mod delays;
mod dips;
mod facts;
mod figures;
mod findings;
mod glossary;
mod instrument_check;
mod intervals;
pub(crate) mod page;
mod pulses;
mod search;
pub(crate) mod sections;
mod signal;
mod split;
mod streams;
mod switching;
pub(crate) mod table;
mod tail;
mod uncertainty;
mod waits;

use ontick_record::{Measurement, Run};

use crate::compare::{Named, short_names};
use crate::markup::Markup;
use crate::{headline, plot, round_trips, typeset, verdict};

/// The report of one run.
pub fn html(run: &Run) -> String {
    let named = [Named { name: "run.json", run }];
    let mut body = Markup::default();
    header(&mut body, run);
    said(&mut body, &typeset::sentence(&verdict::verdict(run)));
    // Their table and curve say it all; each point as a curve of its own says nothing.
    let has_delays = crate::delays::of(run).is_some();
    let has_no_latencies =
        matches!(run.measurement, Measurement::LinkTest | Measurement::Dip | Measurement::TuneSearch);
    let has_intervals = crate::intervals::are_of(run);
    match (&run.switch, &run.network) {
        (Some(switch), _) => switching::cards(&mut body, switch),
        (None, Some(network)) => streams::cards(&mut body, network),
        _ if run.search.is_some() => run.search.iter().for_each(|of| search::cards(&mut body, of)),
        _ if has_delays || has_no_latencies || has_intervals => {}
        _ => sections::cards(&mut body, run),
    }
    sections::requirements(&mut body, &named);
    sections::warnings(&mut body, &named);
    figures::received(&mut body, run);
    pulses::pulses(&mut body, run);
    delays::delays(&mut body, run);
    dips::dips(&mut body, run);
    intervals::intervals(&mut body, run);
    waits::waits(&mut body, run);
    split::split(&mut body, run);
    instrument_check::instrument_check(&mut body, run);
    for counts in round_trips::of(run) {
        body.leaf("p", &[("class", &"caption")], &typeset::sentence(&counts.join(" · ")));
    }
    signal::signal(&mut body, run);
    switching::all(&mut body, run);
    streams::all(&mut body, run);
    search::all(&mut body, run);
    if !has_no_latencies && !has_intervals {
        table::latencies(&mut body, run);
    }
    if !has_delays && !has_no_latencies {
        figures::waveforms(&mut body, run);
        figures::persistence(&mut body, run);
        figures::cpus(&mut body, run);
        figures::all(&mut body, &plot::of_run(run), run.measurement == Measurement::Prove);
    }
    tail::tails(&mut body, run);
    uncertainty::uncertainty(&mut body, run);
    causes::timeline(&mut body, run);
    causes::causes(&mut body, run);
    findings::all(&mut body, &named);
    facts::all(&mut body, &named);
    glossary::glossary(&mut body, &named);
    page::page(&page_title(run), body, &named)
}

/// Several runs side by side.
pub fn html_of_several(runs: &[Named]) -> String {
    let runs = &short_names(runs)[..];
    let mut body = Markup::default();
    body.open("header", &[]);
    for named in runs {
        if let Some(what) = &named.run.simulated {
            sections::simulated(&mut body, &format!("{}: {what}", named.name));
        }
    }
    let names: Vec<&str> = runs.iter().map(|r| r.name).collect();
    body.leaf("h1", &[], "Runs side by side").leaf("p", &[("class", &"about")], &names.join(" · "));
    body.close();
    table::comparison(&mut body, runs);
    sections::requirements(&mut body, runs);
    sections::warnings(&mut body, runs);
    figures::all(&mut body, &plot::of_runs(runs), false);
    findings::all(&mut body, runs);
    facts::all(&mut body, runs);
    glossary::glossary(&mut body, runs);
    page::page("ontick compare", body, runs)
}

/// The verdict, with how sure it is on a quieter line of its own.
fn said(body: &mut Markup, sentence: &str) {
    let (verdict, sure) = sentence.split_at(sentence.find(" (95").unwrap_or(sentence.len()));
    body.open("p", &[("class", &"verdict")]).words(verdict);
    if !sure.is_empty() {
        body.leaf("span", &[("class", &"sure")], sure.trim_start());
    }
    body.close();
}

fn header(body: &mut Markup, run: &Run) {
    body.open("header", &[]);
    if let Some(what) = &run.simulated {
        sections::simulated(body, what);
    }
    body.leaf("h1", &[], &page_title(run)).open("dl", &[("class", &"about")]);
    for line in headline::lines(run) {
        let words = line.parts.join(" · ");
        let words = if line.label == "machine" { words } else { typeset::sentence(&words) };
        body.leaf("dt", &[], line.label).leaf("dd", &[], &words);
    }
    body.close();
    body.close();
}

fn page_title(run: &Run) -> String {
    let title = headline::title(run);
    if run.measurement == Measurement::Prove { format!("{title}: stock against ontick") } else { title }
}
