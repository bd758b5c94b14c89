//! The survey as a page: the ranking, small multiples of the latencies, machines by kind, week by week.

use ontick_record::Series;
use ontick_record::fleet::{Change, Group, Survey, Surveyed};

use super::profiles::Profiles;
use super::words;
use crate::html::page::around;
use crate::html::sections::simulated;
use crate::html::table::swatch;
use crate::markup::Markup;
use crate::plot::machines::{Strip, machines};
use crate::plot::weeks::{Course, weeks};
use crate::plot::{Curve, Plot, panels};
use crate::typeset::{count, number, sentence, time};

/// More panels or strips than this say less, not more; the table has all kinds.
const MOST_DRAWN: usize = 18;
const MOST_COURSES: usize = 7;
const MOST_OUTLYING: usize = 50;

pub(super) fn all(survey: &Survey) -> String {
    let profiles = Profiles::of(survey);
    let mut body = Markup::default();
    body.open("header", &[]);
    if let Some(said) = words::simulated(survey) {
        simulated(&mut body, &said);
    }
    body.leaf("h1", &[], "ontick report: fleet").leaf("p", &[("class", &"about")], &words::about(survey).join(" · "));
    body.close();
    for surveyed in &survey.jobs {
        job(&mut body, surveyed, &profiles);
    }
    body.leaf("h2", &[], "Profiles").open("dl", &[("class", &"glossary")]);
    for (letter, name) in profiles.all() {
        body.leaf("dt", &[], &letter).leaf("dd", &[], name);
    }
    body.close();
    let refused = words::refused(survey);
    if !refused.is_empty() {
        body.leaf("h2", &[], "Not read").open("ul", &[("class", &"marks")]);
        refused.iter().for_each(|why| {
            body.leaf("li", &[("class", &"warn")], why);
        });
        body.close();
    }
    around("ontick report: fleet", body, "")
}

fn job(body: &mut Markup, surveyed: &Surveyed, profiles: &Profiles) {
    body.open("section", &[]).leaf("h2", &[], &sentence(&surveyed.job.to_string()));
    ranking(body, surveyed, profiles);
    changes(body, surveyed);
    outlying(body, surveyed);
    strips(body, surveyed, profiles);
    courses(body, surveyed, profiles);
    latencies(body, surveyed, profiles);
    body.close();
}

fn name(group: &Group, profiles: &Profiles) -> String {
    let kind = &group.kind;
    format!("{} · {} · {}", words::board(kind), words::kernel(kind), profiles.letter(kind))
}

fn ranking(body: &mut Markup, surveyed: &Surveyed, profiles: &Profiles) {
    body.leaf(
        "p",
        &[("class", &"caption")],
        "The kinds of machines, the worst 99.99th percentile first; of the sum of all their records.",
    );
    body.open("div", &[("class", &"wide")]).open("table", &[("class", &"fleet")]);
    body.open("thead", &[]).open("tr", &[]);
    for left in ["board", "kernel", "profile"] {
        body.leaf("th", &[("class", &"left"), ("scope", &"col")], left);
    }
    for head in ["machines", "p50", "p99", "p99.99", "max", "< 3\u{202f}µs", "missed", "samples"] {
        body.leaf("th", &[("scope", &"col")], head);
    }
    body.close().close().open("tbody", &[]);
    for group in &surveyed.groups {
        let kind = &group.kind;
        body.open("tr", &[]).leaf("th", &[("scope", &"row")], &words::board(kind));
        body.leaf("td", &[("class", &"left")], words::kernel(kind));
        body.leaf("td", &[("class", &"left"), ("title", &kind.profile)], &profiles.letter(kind));
        body.leaf("td", &[], &count(group.machines_p99_99_ns.len() as u64));
        for ns in [0.5, 0.99, 0.9999].map(|q| group.latency.quantile(q)).into_iter().chain([group.latency.max_ns]) {
            body.leaf("td", &[], &ns.map_or_else(|| "—".into(), time));
        }
        body.leaf("td", &[], &number(&words::share_in_time(group))).leaf("td", &[], &number(&words::missed(group)));
        body.leaf("td", &[], &count(group.latency.count())).close();
    }
    body.close().close().close();
}

fn changes(body: &mut Markup, surveyed: &Surveyed) {
    let Some(said) = words::weeks(surveyed) else { return };
    body.leaf("h3", &[], "What changed").leaf("p", &[("class", &"caption")], &format!("{said}."));
    body.open("ul", &[("class", &"marks")]);
    for shift in &surveyed.shifts {
        let class = match shift.verdict {
            Change::Worse => "unmet",
            Change::Better | Change::NoWorse => "met",
            _ => "warn",
        };
        let moved = words::moved(shift);
        let who = match moved.is_empty() {
            true => format!("{}, {}, as before", words::board(&shift.after), words::kernel(&shift.after)),
            false => format!("{}: {}", words::board(&shift.after), moved.join(", ")),
        };
        body.open("li", &[("class", &class)]).leaf("b", &[], &capitalised(words::verdict(shift.verdict)));
        body.words(&format!("{who}: {}.", words::shifted(shift))).close();
    }
    body.close();
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}

fn outlying(body: &mut Markup, surveyed: &Surveyed) {
    if surveyed.outlying.is_empty() {
        return;
    }
    body.leaf("h3", &[], "Machines apart from their kind").open("ul", &[("class", &"marks")]);
    for machine in surveyed.outlying.iter().take(MOST_OUTLYING) {
        body.open("li", &[("class", &"unmet")]).leaf("b", &[], &machine.machine);
        body.words(&format!("{}.", sentence(&words::apart(machine)))).close();
    }
    body.close();
    if surveyed.outlying.len() > MOST_OUTLYING {
        let more = count((surveyed.outlying.len() - MOST_OUTLYING) as u64);
        body.leaf("p", &[("class", &"caption")], &format!("And {more} more."));
    }
}

/// What has two widths: for a desk and for a phone.
fn figure(body: &mut Markup, draw: impl Fn(f64) -> String) {
    for (class, width) in [("broad", 960.0), ("narrow", 400.0)] {
        body.open("figure", &[("class", &class)]).raw(&draw(width)).close();
    }
}

fn strips(body: &mut Markup, surveyed: &Surveyed, profiles: &Profiles) {
    let strip = |group: &Group| Strip {
        name: name(group, profiles),
        machines_ns: group.machines_p99_99_ns.clone(),
        apart_ns: apart(surveyed, group),
    };
    let strips: Vec<Strip> = surveyed.groups.iter().take(MOST_DRAWN).map(strip).collect();
    if strips.iter().all(|strip| strip.machines_ns.len() < 2) {
        return;
    }
    body.leaf("h3", &[], "Each machine");
    body.leaf("p", &[("class", &"caption")], "A machine’s 99.99th percentile, the median of its records’: the band holds nine of ten machines, the line is their median, a diamond stands apart.");
    figure(body, |width| machines(&strips, width));
}

/// Those machines of a kind that stand apart: nobody else of the kind is as late as the least of them.
fn apart(surveyed: &Surveyed, group: &Group) -> Vec<u64> {
    let of_kind = |outlying: &&ontick_record::fleet::Outlying| {
        outlying.alike == group.machines_p99_99_ns.len()
            && group.machines_p99_99_ns.binary_search(&outlying.p99_99_ns).is_ok()
            && group.machines_p99_99_ns.get(outlying.alike / 2) == Some(&outlying.median_ns)
    };
    surveyed.outlying.iter().filter(of_kind).map(|outlying| outlying.p99_99_ns).collect()
}

fn courses(body: &mut Markup, surveyed: &Surveyed, profiles: &Profiles) {
    let shown: Vec<&Group> =
        surveyed.groups.iter().filter(|group| !group.weeks.is_empty()).take(MOST_COURSES).collect();
    let all = || shown.iter().flat_map(|group| group.weeks.keys().copied());
    let (Some(first), Some(last)) = (all().min(), all().max()) else { return };
    if first == last {
        return;
    }
    let names: Vec<String> = first.until(last).map(|week| week.to_string()).collect();
    let course = |group: &&Group| Course {
        name: name(group, profiles),
        points: group.weeks.iter().map(|(week, ns)| (week.since(first) as u32, *ns)).collect(),
    };
    let courses: Vec<Course> = shown.iter().map(course).collect();
    body.leaf("h3", &[], "Week by week");
    body.leaf("p", &[("class", &"caption")], "The median of the records’ 99.99th percentiles in each week.");
    body.open("ul", &[("class", &"legend")]);
    for (place, course) in courses.iter().enumerate() {
        body.open("li", &[]);
        swatch(body, Course::ink(place));
        body.words(&course.name).close();
    }
    body.close();
    figure(body, |width| weeks(&courses, &names, width, 320.0));
}

/// The latencies of each kind in a panel of its own, on the axes of all.
fn latencies(body: &mut Markup, surveyed: &Surveyed, profiles: &Profiles) {
    let of_group = |group: &Group| Series { latency: group.latency.clone(), ..Series::from(name(group, profiles)) };
    let series: Vec<Series> = surveyed.groups.iter().take(MOST_DRAWN).map(of_group).collect();
    let ink = Course::ink(0);
    let curve = |series| Curve { name: String::new(), series, ink, quantity: "latency" };
    let all: Vec<Curve> = series.iter().map(curve).collect();
    body.leaf("h3", &[], "Latencies of each kind");
    body.leaf(
        "p",
        &[("class", &"caption")],
        "How many samples lie where, on the same axes, both logarithmic; worst first.",
    );
    body.open("div", &[("class", &"multiples")]);
    for (series, curve) in series.iter().zip(&all) {
        let panel = panels::Panel { name: series.name.clone(), curves: vec![curve.clone()] };
        body.open("figure", &[("class", &"panel")]).leaf("figcaption", &[], &series.name);
        body.raw(&panels::draw(Plot::Latency, &panel, &all, false)).close();
    }
    body.close();
    if surveyed.groups.len() > MOST_DRAWN {
        let more = surveyed.groups.len() - MOST_DRAWN;
        body.leaf("p", &[("class", &"caption")], &format!("And {more} kinds more, which the table has."));
    }
}
