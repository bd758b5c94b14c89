//! A network that was planned: a card for each node with the gates of its ports over a cycle, joined where streams go, and
//! what each listener gets by when.

use super::frame::{Frame, Paper, QUIET, TEXT, path, px, text_width};
use super::hatch;
use super::palette::nth;
use crate::typeset::plain_time;

/// The picture of a planned network.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Topology {
    /// Headline.
    pub title: String,
    /// The line below it.
    pub about: String,
    /// Stations and switches.
    pub nodes: Vec<Node>,
    /// What the colours of windows mean: each number with its name.
    pub legend: Vec<(usize, String)>,
}

/// A station or a switch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Hops from where streams begin.
    pub column: usize,
    /// Ports that streams leave by.
    pub ports: Vec<Port>,
    /// What listeners here get.
    pub deliveries: Vec<Delivery>,
}

/// A port that streams leave by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Port {
    /// The node at the other end, by its place in [`Topology::nodes`].
    pub to: usize,
    /// The interface, where it is known.
    pub name: Option<String>,
    /// The cycle of its gates, in ns; 0 where they are open always.
    pub cycle_ns: u64,
    /// When a gate is open: from, until, in ns, and the number of its colour.
    pub windows: Vec<(u64, u64, usize)>,
}

/// A stream at a listener.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delivery {
    /// The stream.
    pub stream: String,
    /// The number of its colour.
    pub colour: usize,
    /// When the last bit is there, from the beginning of its period, in ns.
    pub at_ns: u64,
    /// When it must be.
    pub deadline_ns: u64,
}

const CARD: f64 = 230.0;
const BETWEEN: f64 = 96.0;
const MARGIN: f64 = 20.0;
const TOP: f64 = 66.0;
const HEAD: f64 = 28.0;
const ROW: f64 = 34.0;
const GAP: f64 = 18.0;
const LEGEND: f64 = 20.0;
const SMALL: f64 = 11.0;
/// Between lines beside a column, and how many there are beside each other.
const LANE: f64 = 7.0;
const LANES: usize = 5;
const LATE: &str = "#b3261e";

/// Draws it as an SVG document of its own, on white.
pub fn topology(network: &Topology) -> String {
    let columns = network.nodes.iter().map(|node| node.column + 1).max().unwrap_or(1) as f64;
    let cables = cables(network);
    let column = |place: usize| network.nodes[place].column as f64;
    let beside = |cable: &Cable| column(cable.from.0) + 1.0 == columns && column(cable.to.0) + 1.0 == columns;
    let lanes = if cables.iter().any(beside) { LANE * LANES as f64 } else { 0.0 };
    let width = (2.0 * MARGIN + columns * CARD + (columns - 1.0) * BETWEEN + lanes).max(720.0);
    let legend = legend(network, width);
    let above = TOP + legend.iter().map(|(_, y, ..)| y + LEGEND).fold(0.0, f64::max);
    let places = places(network, above);
    let bottom = network.nodes.iter().zip(&places).map(|(node, (_, top))| top + height(node)).fold(above, f64::max);
    let titles = (network.title.clone(), network.about.clone());
    let mut frame = Frame::new(&Paper::titled(width, bottom + MARGIN, titles), &network.title, &[], 0.0);
    if network.nodes.is_empty() {
        frame.nothing("no streams go through this network");
        return frame.finish();
    }
    hatch::define(&mut frame.svg, colours(network).map(nth));
    for (x, y, colour, name) in &legend {
        filled(&mut frame, (*x, TOP + y), (12.0, 12.0), *colour);
        frame.text(x + 18.0, TOP + y + 10.0, name, &[("fill", &TEXT), ("font-size", &SMALL)]);
    }
    for cable in &cables {
        join(&mut frame, cable, &places);
    }
    for (node, at) in network.nodes.iter().zip(&places) {
        card(&mut frame, network, node, *at);
    }
    frame.finish()
}

/// The numbers of all colours in the picture.
fn colours(network: &Topology) -> impl Iterator<Item = usize> {
    let windows = network.nodes.iter().flat_map(|node| &node.ports).flat_map(|port| &port.windows);
    let deliveries = network.nodes.iter().flat_map(|node| &node.deliveries);
    let legend = network.legend.iter().map(|(colour, _)| *colour);
    legend.chain(windows.map(|(.., colour)| *colour)).chain(deliveries.map(|delivery| delivery.colour))
}

fn height(node: &Node) -> f64 {
    HEAD + ROW * (node.ports.len() + node.deliveries.len()) as f64 + 6.0
}

fn row_top(top: f64, row: usize) -> f64 {
    top + HEAD + ROW * row as f64
}

/// Where each card has its upper left corner: those of a column below each other.
fn places(network: &Topology, above: f64) -> Vec<(f64, f64)> {
    let columns = network.nodes.iter().map(|node| node.column + 1).max().unwrap_or(0);
    let mut next = vec![above; columns];
    let place = |node: &Node| {
        let top = next[node.column];
        next[node.column] += height(node) + GAP;
        (MARGIN + node.column as f64 * (CARD + BETWEEN), top)
    };
    network.nodes.iter().map(place).collect()
}

/// Where each name of the legend begins, below its top, and its colour.
fn legend(network: &Topology, width: f64) -> Vec<(f64, f64, usize, &str)> {
    let (mut x, mut y) = (MARGIN, 0.0);
    let place = |(colour, name): &'_ (usize, String)| {
        let room = 18.0 + text_width(name, SMALL) + 18.0;
        if x > MARGIN && x + room > width - MARGIN {
            (x, y) = (MARGIN, y + LEGEND);
        }
        x += room;
        (x - room, y, *colour)
    };
    let placed: Vec<_> = network.legend.iter().map(place).collect();
    placed.into_iter().zip(&network.legend).map(|((x, y, colour), (_, name))| (x, y, colour, name.as_str())).collect()
}

/// What joins two cards: one row of each, where streams go both ways.
struct Cable {
    /// A node by its place, and a row of it.
    from: (usize, usize),
    /// A node by its place, and its row; none where nothing comes back.
    to: (usize, Option<usize>),
    /// Which of several beside one column.
    lane: usize,
}

/// Each cable once, from left to right where streams go both ways.
fn cables(network: &Topology) -> Vec<Cable> {
    let mut beside = vec![0; network.nodes.len()];
    let mut cables = Vec::new();
    for (place, node) in network.nodes.iter().enumerate() {
        for (row, port) in node.ports.iter().enumerate() {
            let to = &network.nodes[port.to];
            // Of several between the same two nodes, the first belongs to the first.
            let nth = node.ports[..row].iter().filter(|other| other.to == port.to).count();
            let back = to.ports.iter().enumerate().filter(|(_, back)| back.to == place).nth(nth).map(|(row, _)| row);
            if back.is_some() && (to.column, port.to) < (node.column, place) {
                continue;
            }
            let lane = if to.column == node.column { &mut beside[node.column] } else { &mut 0 };
            cables.push(Cable { from: (place, row), to: (port.to, back), lane: *lane });
            *lane += 1;
        }
    }
    cables
}

/// From a port's row to a row or the head of another card: to the right, back to the left, or down and up beside a column.
fn join(frame: &mut Frame, cable: &Cable, places: &[(f64, f64)]) {
    let middle = |top: f64, row: usize| row_top(top, row) + 0.5 * ROW;
    let ((left, top), (to_left, to_top)) = (places[cable.from.0], places[cable.to.0]);
    let (from_y, to_y) = (middle(top, cable.from.1), cable.to.1.map_or(to_top + 0.5 * HEAD, |row| middle(to_top, row)));
    let (right, to_right) = (left + CARD, to_left + CARD);
    // Lines that lead back leave the others alone.
    let (from, out, back, end) = if to_left > left {
        (right, right + 0.4 * BETWEEN, to_left - 0.4 * BETWEEN, to_left)
    } else if to_left < left {
        (left, left - 0.25 * BETWEEN, to_right + 0.25 * BETWEEN, to_right)
    } else {
        let beside = right + LANE * (1 + cable.lane % LANES) as f64;
        (right, beside, beside, right)
    };
    let d = path(&[(from, from_y), (out, from_y), (back, to_y), (end, to_y)]);
    frame.svg.empty("path", &[("d", &d), ("fill", &"none"), ("stroke", &QUIET), ("stroke-width", &1.2)]);
    if cable.to.1.is_none() {
        let [x, y] = [end, to_y].map(px);
        frame.svg.empty("circle", &[("cx", &x), ("cy", &y), ("r", &3), ("fill", &TEXT)]);
    }
}

fn card(frame: &mut Frame, network: &Topology, node: &Node, (left, top): (f64, f64)) {
    frame.svg.open("g", &[("class", &"curve"), ("data-name", &node.name)]);
    frame.rectangle((left, top), (CARD, height(node)), "#ffffff", QUIET);
    frame.rectangle((left, top), (CARD, HEAD - 4.0), "#eceef1", QUIET);
    words(frame, (left + 10.0, top + 17.0), &node.name, 13.0, CARD - 20.0, &[("font-weight", &600)]);
    let mut row = 0;
    for port in &node.ports {
        let top = row_top(top, row);
        let by = port.name.as_ref().map(|name| format!(" by {name}")).unwrap_or_default();
        let cycle = if port.cycle_ns > 0 { format!(", {}", plain_time(port.cycle_ns)) } else { ", always open".into() };
        let name = format!("to {}{by}{cycle}", network.nodes[port.to].name);
        words(frame, (left + 10.0, top + 12.0), &name, SMALL, CARD - 20.0, &[]);
        strip(frame, (left + 10.0, top + 17.0), port);
        row += 1;
    }
    for delivery in &node.deliveries {
        let top = row_top(top, row);
        let due =
            format!("{}: {} of {}", delivery.stream, plain_time(delivery.at_ns), plain_time(delivery.deadline_ns));
        words(frame, (left + 10.0, top + 12.0), &due, SMALL, CARD - 20.0, &[]);
        meter(frame, (left + 10.0, top + 17.0), delivery);
        row += 1;
    }
    frame.svg.close();
}

/// Text that is made smaller where it would be too wide.
fn words(
    frame: &mut Frame,
    (x, y): (f64, f64),
    text: &str,
    size: f64,
    room: f64,
    more: &[(&str, &dyn std::fmt::Display)],
) {
    let size = (size * (room / text_width(text, size)).min(1.0)).max(6.0);
    let all: Vec<(&str, &dyn std::fmt::Display)> =
        [("fill", &TEXT as _), ("font-size", &size as _)].into_iter().chain(more.iter().copied()).collect();
    frame.text(x, y, text, &all);
}

const WIDE: f64 = CARD - 20.0;
const HIGH: f64 = 10.0;

/// When the gates are open in a cycle.
fn strip(frame: &mut Frame, (left, top): (f64, f64), port: &Port) {
    frame.rectangle((left, top), (WIDE, HIGH), "#f3f4f6", "#d5d9de");
    let x = |ns: u64| left + WIDE * (ns.min(port.cycle_ns) as f64 / port.cycle_ns.max(1) as f64);
    for (begin_ns, end_ns, colour) in &port.windows {
        let wide = (x(*end_ns) - x(*begin_ns)).max(0.8);
        filled(frame, (x(*begin_ns), top), (wide, HIGH), *colour);
    }
}

/// How much of the time that it may take it takes.
fn meter(frame: &mut Frame, (left, top): (f64, f64), delivery: &Delivery) {
    frame.rectangle((left, top), (WIDE, HIGH), "#f3f4f6", "#d5d9de");
    let share = (delivery.at_ns as f64 / delivery.deadline_ns.max(1) as f64).min(1.0);
    let (at, size) = ((left, top + 3.0), ((WIDE * share).max(0.8), HIGH - 6.0));
    match delivery.at_ns > delivery.deadline_ns {
        true => frame.rectangle(at, size, LATE, "none"),
        false => filled(frame, at, size, delivery.colour),
    }
    frame.rule((left + WIDE, top - 2.0), (left + WIDE, top + HIGH + 2.0), "mark", LATE);
}

/// In the colour and pattern of this number.
fn filled(frame: &mut Frame, (x, y): (f64, f64), (wide, high): (f64, f64), colour: usize) {
    frame.rectangle((x, y), (wide, high), nth(colour).stroke(), "none");
    let [x, y, wide, high] = [x, y, wide, high].map(px);
    hatch::cover(&mut frame.svg, nth(colour), &[("x", &x), ("y", &y), ("width", &wide), ("height", &high)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network() -> Topology {
        let port = |to, windows| Port { to, name: Some("swp1".into()), cycle_ns: 1_000_000, windows };
        let delivery = Delivery { stream: "video <1>".into(), colour: 1, at_ns: 213_000, deadline_ns: 500_000 };
        let node = |name: &str, column, ports, deliveries| Node { name: name.into(), column, ports, deliveries };
        Topology {
            title: "A network".into(),
            about: "1 stream".into(),
            nodes: vec![
                node("camera", 0, vec![port(1, vec![(0, 100_000, 1)])], vec![]),
                node("s1", 1, vec![port(2, vec![(100_000, 200_000, 1)]), port(0, vec![])], vec![]),
                node("drive", 2, vec![], vec![delivery]),
            ],
            legend: vec![(1, "video <1>".into())],
        }
    }

    #[test]
    fn each_node_has_a_card_with_gates_and_deadlines() {
        let svg = topology(&network());
        let document = roxmltree::Document::parse(&svg).unwrap();
        let cards = document.descendants().filter(|node| node.attribute("data-name").is_some()).count();
        assert_eq!(cards, 3);
        assert!(svg.contains("to drive by swp1") && svg.contains("video &lt;1&gt;: 213"), "{svg}");
    }

    #[test]
    fn a_cable_that_is_used_both_ways_is_one_line_from_row_to_row() {
        let ends = |network: &Topology| cables(network).iter().map(|of| (of.from, of.to)).collect::<Vec<_>>();
        let mut network = network();
        assert_eq!(ends(&network), [((0, 0), (1, Some(1))), ((1, 0), (2, None))]);
        // Two cables between the same nodes, of one column now.
        network.nodes.iter_mut().for_each(|node| node.column = 0);
        let [there, back] = [network.nodes[0].ports[0].clone(), network.nodes[1].ports[1].clone()];
        network.nodes[0].ports.push(there);
        network.nodes[1].ports.push(back);
        let of_both = [((0, 0), (1, Some(1))), ((0, 1), (1, Some(2))), ((1, 0), (2, None))];
        assert_eq!(ends(&network), of_both);
        assert_eq!(cables(&network).iter().map(|cable| cable.lane).collect::<Vec<_>>(), [0, 1, 2]);
        let svg = topology(&network);
        assert_eq!((svg.matches("<path").count(), svg.matches("<circle").count()), (3, 1), "{svg}");
    }

    /// The colours of the first seven come again.
    #[test]
    fn the_eighth_stream_has_a_pattern_wherever_it_is_drawn() {
        let drawn = |colour| {
            let mut network = network();
            network.legend[0].0 = colour;
            network.nodes[0].ports[0].windows[0].2 = colour;
            network.nodes[2].deliveries[0].colour = colour;
            topology(&network).matches("url(#hatch-").count()
        };
        assert_eq!([drawn(6), drawn(7)], [0, 3]);
    }

    #[test]
    fn no_card_covers_another() {
        let network = network();
        let places = places(&network, TOP);
        for (a, (left, top)) in network.nodes.iter().zip(&places) {
            for (b, (other_left, other_top)) in network.nodes.iter().zip(&places) {
                let apart =
                    (left - other_left).abs() >= CARD || top + height(a) <= *other_top || other_top + height(b) <= *top;
                assert!(std::ptr::eq(a, b) || apart, "{} and {}", a.name, b.name);
            }
        }
    }

    #[test]
    fn a_network_without_streams_says_so() {
        assert!(topology(&Topology::default()).contains("no streams go through this network"));
    }
}
