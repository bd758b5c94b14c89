//! A plan in words, and as JSON.

use std::time::Duration;

use ontick_report::Style;
use ontick_report::text::{fitted, wrapped_names};
use ontick_tsn::network::{Kind, Network, Overhead};
use ontick_tsn::planning::{Document, NotFound, Outcome, Placed, PlanOptions, Timetable, tightest};
use ontick_units::{count, exact, show};
use serde_json::{Value, json};

use crate::failure::Failure;

/// Streams of which each is reported; of more, those that are nearest to their deadline.
const EACH: usize = 12;
/// Links that are reported.
const LINKS: usize = 3;

/// What the data plane needs, and what that does to the plan.
pub struct Margin {
    /// In words, where it needs anything.
    pub timing: Option<String>,
    /// Without it there is a plan.
    pub is_why: bool,
}

/// What helps where the margin is too much.
const MEND: &str = "let ports open their gates by themselves (--target hardware), measure what this machine needs \
                    (ontick switch calibrate, then --calibration), allow longer deadlines or periods, or send fewer and larger messages";

pub fn json(network: &Network, outcome: &Outcome, document: &Document, margin: &Margin) -> Result<String, Failure> {
    let missing = |found: &NotFound| -> Vec<&str> {
        found.table.missing().map(|stream| network.streams[stream].name.as_str()).collect()
    };
    let mut value = match outcome {
        Outcome::Planned(_) => json!({ "outcome": "planned" }),
        Outcome::Impossible(certificates) => {
            let why: Vec<String> = certificates.iter().map(|one| one.in_words(network)).collect();
            json!({ "outcome": "impossible", "because": why })
        }
        Outcome::NotFound(found) => json!({ "outcome": "not found", "without_place": missing(found) }),
    };
    if let Some(timing) = &margin.timing {
        value["timing"] = json!({ "in_words": timing, "values": network.timing });
    }
    if margin.is_why {
        value["margin"] = json!({ "is_why": true, "mend": MEND });
    }
    if !matches!(outcome, Outcome::Impossible(_)) {
        value["plan"] = serde_json::to_value(document)?;
    }
    Ok(serde_json::to_string_pretty::<Value>(&value)? + "\n")
}

pub fn text(
    network: &Network,
    outcome: &Outcome,
    table: &Timetable,
    took: Duration,
    wanted: &PlanOptions,
    margin: &Margin,
    style: &Style,
) -> String {
    let mut text = head(network);
    let mut table_of_streams = String::new();
    if let Some(timing) = &margin.timing {
        text += &format!("target    {timing}\n");
    }
    let took = show(took.as_nanos() as u64);
    match outcome {
        Outcome::Planned(_) => {
            let waiting = table.placed.iter().flatten().filter(|placed| placed.waits).count();
            let waiting = match waiting {
                0 => "none waits in a switch".into(),
                1 => "1 waits in a switch".into(),
                n => format!("{n} wait in a switch"),
            };
            text += &format!("plan      every stream has its place, {waiting} · found in {took}\n");
            text += &links(network, table);
            table_of_streams = streams(network, table, style);
        }
        Outcome::Impossible(certificates) => {
            text += &format!("plan      none exists · proved in {took}\n");
            for certificate in certificates {
                text += &format!("because   {}\n", certificate.in_words(network));
            }
        }
        Outcome::NotFound(found) => text += &not_found(network, found, &took, wanted),
    }
    if margin.is_why {
        text +=
            &format!("margin    without what the data plane needs of each window and node there is a plan; {MEND}\n");
    }
    // Rows of a table are no prose to wrap.
    fitted(&text, style) + &table_of_streams
}

fn head(network: &Network) -> String {
    let count = |kind| network.nodes.iter().filter(|node| node.kind == kind).count();
    let overhead = match network.overhead {
        Overhead::Wire => "all that the wire carries is counted",
        Overhead::PayloadOnly => "payload alone is counted",
    };
    let counted = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    format!(
        "network   {}, {}, {} · {} · {overhead}\n",
        counted(count(Kind::Switch), "switch", "switches"),
        counted(count(Kind::Station), "station", "stations"),
        counted(network.links.len(), "link", "links"),
        counted(network.streams.len(), "stream", "streams")
    )
}

/// Columns of a stream before its way, besides its name.
const BEFORE_WAY: usize = 45;
/// The head of the ways.
const PATH: &str = "path";

fn links(network: &Network, table: &Timetable) -> String {
    let fullest: Vec<String> = tightest(network, table)
        .into_iter()
        .filter(|(_, share)| *share > 0.0)
        .take(LINKS)
        .map(|(link, share)| format!("{} {:.1} %", network.link_name(link), share * 100.0))
        .collect();
    format!("links     the fullest: {}\n", fullest.join(", "))
}

fn streams(network: &Network, table: &Timetable, style: &Style) -> String {
    let mut placed: Vec<&Placed> = table.placed.iter().flatten().collect();
    let slack = |placed: &&Placed| network.streams[placed.stream].deadline_ns - placed.latency_ns();
    placed.sort_by_cached_key(|one| (slack(one), one.stream));
    let all = placed.len();
    placed.truncate(EACH);
    let room = style.width.saturating_sub(BEFORE_WAY + PATH.len()).clamp(6, 24);
    let wide = placed.iter().map(|one| network.streams[one.stream].name.len()).max().unwrap_or(0).clamp(6, room);
    let path_fits = wide + BEFORE_WAY + PATH.len() <= style.width;
    let head = if path_fits { format!("  {PATH}") } else { String::new() };
    let mut text =
        format!("\n  {:wide$}  {:>10} {:>10} {:>10}  queue{head}\n", "stream", "sent at", "there at", "deadline");
    for one in placed {
        let of = &network.streams[one.stream];
        // A name or a way that has no room is on a line of its own.
        let name = match of.name.chars().count() <= wide {
            true => format!("  {:wide$}", of.name),
            false => format!("  {}\n  {:wide$}", of.name, ""),
        };
        let way = path(network, one);
        let own_line = wide + BEFORE_WAY + way.chars().count() > style.width;
        let way = match own_line {
            true => format!("\n{}", wrapped_names("      ", &way, style)),
            false => format!("  {way}\n"),
        };
        text += &format!(
            "{name}  {:>10} {:>10} {:>10}  {:>5}{way}",
            show(one.offset_ns()),
            show(one.latency_ns()),
            exact(of.deadline_ns),
            one.queue
        );
    }
    if all > EACH {
        text += &fitted(&format!("  the {EACH} nearest to their deadline, of {all} (--out has all)"), style);
    }
    text
}

/// Nodes on the way; several listeners are counted.
fn path(network: &Network, placed: &Placed) -> String {
    let of = &network.streams[placed.stream];
    if of.listeners.len() > 1 {
        return format!("{} to {} listeners", network.nodes[of.talker].name, of.listeners.len());
    }
    let names: Vec<&str> =
        placed.hops.iter().map(|hop| network.nodes[network.links[hop.link].from].name.as_str()).collect();
    match names.as_slice() {
        [first, _, .., last] if names.len() > 4 => {
            format!("{first} … {last} {} ({} links)", network.nodes[of.listeners[0]].name, names.len())
        }
        _ => format!("{} {}", names.join(" "), network.nodes[of.listeners[0]].name),
    }
}

fn not_found(network: &Network, found: &NotFound, took: &str, wanted: &PlanOptions) -> String {
    let missing: Vec<&str> = found.table.missing().map(|stream| network.streams[stream].name.as_str()).collect();
    let named: Vec<&str> = missing.iter().take(EACH).copied().collect();
    let more = if missing.len() > EACH { format!(" and {} more", missing.len() - EACH) } else { String::new() };
    let mut text = format!(
        "plan      not found in {took}: {} of {} streams have no place, and nothing proves that there is none\n",
        missing.len(),
        network.streams.len()
    );
    text += &format!("without   {}{more}\n", named.join(", "));
    let waiting = if wanted.wait { " and waiting" } else { "" };
    text += &format!(
        "tried     {} places, on shortest and on balanced paths, running through{waiting}; {} streams were moved\n",
        count(found.effort.places),
        count(found.effort.moved)
    );
    text + &links(network, &found.table)
}

#[cfg(test)]
mod tests {
    use ontick_tsn::planning::plan;

    use super::*;

    /// Lines of the plan of two streams on a terminal of this width.
    fn lines(width: usize) -> Vec<String> {
        let network = ontick_tsn::network::read(
            "switch = [{ name = \"switch-1\" }]\nstation = [{ name = \"controller\" }, { name = \"drive\" }]\n\
             link = [{ between = [\"controller\", \"switch-1\"] }, { between = [\"switch-1\", \"drive\"] }]\n\
             stream = [{ name = \"setpoint\", from = \"controller\", to = \"drive\", size = 100, period = \"1ms\" },\n\
             { name = \"a-stream-with-a-long-name\", from = \"drive\", to = \"controller\", size = 64, period = \"1ms\" }]\n",
        )
        .unwrap();
        let options = PlanOptions::default();
        let outcome = plan(&network, &options, &Timetable::default(), &|| true);
        let Outcome::Planned(table) = &outcome else { panic!("there is room") };
        let (margin, style) = (Margin { timing: None, is_why: false }, Style { colour: false, width });
        let text = text(&network, &outcome, table, Duration::ZERO, &options, &margin, &style);
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_narrow_terminal_has_the_table_with_each_figure_under_its_head() {
        for width in [50, 60, 80, 120] {
            let lines = lines(width);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}: {lines:#?}");
            let head = lines.iter().find(|line| line.trim_start().starts_with("stream ")).unwrap();
            let end = |line: &str, word: &str| line.find(word).map(|at| at + word.len());
            let mut of_stream = lines.iter().skip_while(|line| !line.trim_start().starts_with("setpoint"));
            let row = of_stream.find(|line| line.contains("1ms")).unwrap();
            assert_eq!(end(head, "deadline"), end(row, "1ms"), "{width}: {lines:#?}");
            let way = lines.iter().find(|line| line.ends_with("controller switch-1 drive")).unwrap();
            assert_eq!(way == row, width >= 120, "{width}: {lines:#?}");
        }
    }
}
