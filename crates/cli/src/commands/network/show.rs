//! `ontick network show`

use std::path::PathBuf;

use clap::Args;
use ontick_record::store;
use ontick_report::network::{loads, topology_svg};
use ontick_report::text::{Style, labelled, wrapped_names};
use ontick_tsn::network::{Graph, Kind, LinkId, Network};
use ontick_units::exact;
use serde_json::json;

use super::network_flags::NetworkFlags;
use super::plan::read_plan;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Rows of each table; of more, the first.
const ROWS: usize = 20;

/// Show a network: its nodes, the route of each stream, and the load of each link.
///
/// Routes are those of PLAN; without one, the shortest path of each stream, which a plan need not take.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick network show network.toml\n  ontick network show network.toml plan.json --svg network.svg"
)]
pub struct Show {
    /// The file that describes the network
    #[arg(required_unless_present = "task", value_name = "FILE")]
    first: Option<PathBuf>,
    /// The plan, as `plan --out` writes it
    #[arg(value_name = "PLAN")]
    second: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkFlags,
    /// Draw nodes and cables, each cable as thick as it is loaded, as SVG to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub fn run(self) -> Result<Outcome, Failure> {
        // With tables for the network, the one file is the plan.
        let (file, plan) = match &self.network.task {
            Some(_) => (None, self.first.as_ref()),
            None => (self.first.as_ref(), self.second.as_ref()),
        };
        let network = self.network.read(file)?;
        let (routes, about) = match plan {
            Some(file) => {
                let wrong = |error| Failure::new(format!("{}: {error}", file.display()));
                (read_plan(file)?.schedule(&network).map_err(wrong)?.routes, "as planned")
            }
            None => (shortest(&network), "shortest paths"),
        };
        if let Some(file) = &self.svg {
            store::write_whole(file, topology_svg(&network, &routes, &head(&network, about)).as_bytes())?;
        }
        let text = match self.json {
            true => as_json(&network, &routes, plan.is_some())?,
            false => text(&network, &routes, about, &terminal::style()),
        };
        terminal::print(&text)?;
        Ok(Outcome::Met)
    }
}

/// The shortest path of each stream to each of its listeners, each link once.
fn shortest(network: &Network) -> Vec<Vec<LinkId>> {
    let graph = Graph::new(network);
    let route = |stream: &ontick_tsn::network::Stream| {
        let mut links: Vec<LinkId> = Vec::new();
        for listener in &stream.listeners {
            let path = graph.path(stream.talker, *listener, |_| 1, |_, _| false).unwrap_or_default();
            path.into_iter().for_each(|link| {
                if !links.contains(&link) {
                    links.push(link);
                }
            });
        }
        links
    };
    network.streams.iter().map(route).collect()
}

fn head(network: &Network, about: &str) -> String {
    let count = |kind| network.nodes.iter().filter(|node| node.kind == kind).count();
    let counted = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    format!(
        "{}, {}, {} · {} · routes: {about}",
        counted(count(Kind::Switch), "switch", "switches"),
        counted(count(Kind::Station), "station", "stations"),
        counted(network.links.len() / 2, "cable", "cables"),
        counted(network.streams.len(), "stream", "streams"),
    )
}

fn text(network: &Network, routes: &[Vec<LinkId>], about: &str, style: &Style) -> String {
    let mut text = labelled("network   ", &head(network, about), style);
    let loads = loads(network, routes);
    let mut used: Vec<LinkId> = (0..network.links.len()).filter(|link| loads[*link].1 > 0).collect();
    used.sort_by(|a, b| loads[*b].0.total_cmp(&loads[*a].0).then(a.cmp(b)));
    let names: Vec<String> = used.iter().take(ROWS).map(|link| network.link_name(*link)).collect();
    let wide = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(4);
    text += &format!("\n  {:wide$}  {:>8}  streams     load\n", "link", "rate");
    for (link, name) in used.iter().zip(&names) {
        let (load, streams) = loads[*link];
        let rate = ontick_units::show_bit_rate(network.links[*link].rate);
        text += &format!("  {name:wide$}  {rate:>8}  {streams:>7}  {:>5.1} %\n", load * 100.0);
    }
    text += &more(used.len(), "links with streams");
    let wide = network.streams.iter().take(ROWS).map(|stream| stream.name.chars().count()).max().unwrap_or(0).max(6);
    text += &format!("\n  {:wide$}  {:>8}  {:>8}  {:>6}  route\n", "stream", "period", "deadline", "size");
    for (stream, route) in network.streams.iter().zip(routes).take(ROWS) {
        let row = format!(
            "  {:wide$}  {:>8}  {:>8}  {:>6}",
            stream.name,
            exact(stream.period_ns),
            exact(stream.deadline_ns),
            stream.size
        );
        let way = way(network, stream, route);
        text += &row;
        // One that has no room beside the figures has lines of its own.
        text += &match row.chars().count() + 2 + way.chars().count() <= style.width {
            true => format!("  {way}\n"),
            false => format!("\n{}", wrapped_names("      ", &way, style)),
        };
    }
    text + &more(network.streams.len(), "streams")
}

fn more(all: usize, what: &str) -> String {
    if all > ROWS { format!("  {ROWS} of {all} {what} (--json has all)\n") } else { String::new() }
}

/// Nodes on the way to one listener; with several, each link.
fn way(network: &Network, stream: &ontick_tsn::network::Stream, route: &[LinkId]) -> String {
    if stream.listeners.len() > 1 {
        return route.iter().map(|link| network.link_name(*link)).collect::<Vec<_>>().join(" ");
    }
    // Links of a route may be in any order.
    let (mut node, mut names) = (stream.talker, vec![network.nodes[stream.talker].name.as_str()]);
    while let Some(link) =
        route.iter().find(|link| network.links[**link].from == node).filter(|_| names.len() <= route.len())
    {
        node = network.links[*link].to;
        names.push(&network.nodes[node].name);
    }
    names.join(" ")
}

fn as_json(network: &Network, routes: &[Vec<LinkId>], planned: bool) -> Result<String, Failure> {
    let loads = loads(network, routes);
    let name = |node: usize| &network.nodes[node].name;
    let link = |link: LinkId| {
        json!({
            "name": network.link_name(link),
            "from": name(network.links[link].from),
            "to": name(network.links[link].to),
            "rate": network.links[link].rate,
            "load": loads[link].0,
            "streams": loads[link].1,
        })
    };
    let stream = |(stream, route): (&ontick_tsn::network::Stream, &Vec<LinkId>)| {
        json!({
            "name": stream.name,
            "route": route.iter().map(|link| network.link_name(*link)).collect::<Vec<_>>(),
        })
    };
    let value = json!({
        "switches": network.nodes.iter().filter(|node| node.kind == Kind::Switch).map(|node| &node.name).collect::<Vec<_>>(),
        "stations": network.nodes.iter().filter(|node| node.kind == Kind::Station).map(|node| &node.name).collect::<Vec<_>>(),
        "routes": if planned { "planned" } else { "shortest" },
        "links": (0..network.links.len()).map(link).collect::<Vec<_>>(),
        "streams": network.streams.iter().zip(routes).map(stream).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}

#[cfg(test)]
mod tests {
    use ontick_tsn::network::samples;

    use super::*;

    #[test]
    fn routes_without_room_beside_the_figures_stand_below_them() {
        let mut network = samples::ring(8, 4);
        let talker = network.streams[0].talker;
        network.streams[0].listeners =
            (0..network.nodes.len()).filter(|n| network.nodes[*n].kind == Kind::Station && *n != talker).collect();
        let routes = shortest(&network);
        for width in [60, 80, 200] {
            let text = text(&network, &routes, "shortest paths", &Style { colour: false, width });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            let words = way(&network, &network.streams[0], &routes[0]);
            assert!(words.split(' ').all(|word| text.contains(word)), "{width}: {text}");
        }
    }

    #[test]
    fn routes_of_nodes_that_have_numbers_for_names_fit_their_lines() {
        let mut network = samples::ring(60, 1);
        network.nodes.iter_mut().enumerate().for_each(|(n, node)| node.name = (100 + n).to_string());
        network.streams[0].listeners = vec![network.streams[0].talker + 30];
        let routes = shortest(&network);
        let way = way(&network, &network.streams[0], &routes[0]);
        assert_eq!(way.split(' ').count(), 33, "{way}");
        for width in [60, 80] {
            let text = text(&network, &routes, "shortest paths", &Style { colour: false, width });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").ends_with(&way), "{width}: {text}");
        }
    }
}
