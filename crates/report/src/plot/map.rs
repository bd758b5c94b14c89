//! A network's nodes and cables, each cable as thick as it is loaded.

use super::frame::{Frame, Paper, QUIET, TEXT, px, text_width};
use super::palette::ON_LIGHT;

/// The picture of a network.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Map {
    /// Headline.
    pub title: String,
    /// The line below it.
    pub about: String,
    /// Stations and switches.
    pub nodes: Vec<MapNode>,
    /// Cables.
    pub cables: Vec<Cable>,
}

/// A station or a switch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MapNode {
    /// Its name.
    pub name: String,
    /// Whether it forwards.
    pub is_switch: bool,
}

/// A cable, with the share of their time that streams take in each direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cable {
    /// The nodes at its ends, by their place in [`Map::nodes`].
    pub between: [usize; 2],
    /// From the first to the second, and back; parts of one.
    pub load: [f64; 2],
}

const MARGIN: f64 = 24.0;
const TOP: f64 = 66.0;
/// Between two switches on their circle, and between two stations on theirs.
const SWITCHES_APART: f64 = 150.0;
const STATIONS_APART: f64 = 30.0;
/// From the circle of switches to that of stations, at least.
const BETWEEN: f64 = 130.0;
const SMALL: f64 = 11.0;
/// With more cables their figures would cover each other.
const MOST_LABELS: usize = 80;
/// The colours of a cable: unused, used, and fuller than half.
const UNUSED: &str = "#c5ccd3";
const USED: &str = ON_LIGHT[0];
const FULL: &str = ON_LIGHT[1];

/// Draws it as an SVG document of its own, on white.
pub fn map(map: &Map) -> String {
    let layout = layout(map);
    let names = map.nodes.iter().map(|node| text_width(&node.name, SMALL)).fold(0.0, f64::max);
    let reach = layout.outer + names + MARGIN;
    let (width, height) = ((2.0 * reach).max(720.0), TOP + 2.0 * (layout.outer + 2.0 * MARGIN));
    let (x, y) = (0.5 * width, TOP + 0.5 * (height - TOP));
    let at = |node: usize| (x + layout.places[node].0, y + layout.places[node].1);
    let titles = (map.title.clone(), map.about.clone());
    let mut frame = Frame::new(&Paper::titled(width, height, titles), &map.title, &[], 0.0);
    if map.nodes.is_empty() {
        frame.nothing("this network has no nodes");
        return frame.finish();
    }
    for cable in &map.cables {
        line(&mut frame, map, cable, cable.between.map(at));
    }
    if map.cables.len() <= MOST_LABELS {
        map.cables.iter().filter(|cable| cable.load != [0.0; 2]).for_each(|cable| {
            label(&mut frame, cable, cable.between.map(at));
        });
    }
    for (node, of) in map.nodes.iter().enumerate() {
        draw_node(&mut frame, of, at(node), layout.places[node]);
    }
    frame.finish()
}

/// Where nodes are, from the middle of the picture.
struct Layout {
    places: Vec<(f64, f64)>,
    /// The radius of all.
    outer: f64,
}

/// Switches on a circle in the order of their cables, each with its stations outside of it.
fn layout(map: &Map) -> Layout {
    let ring = ring(map);
    let count = ring.len().max(1) as f64;
    let inner = if ring.len() > 1 { (SWITCHES_APART * count / std::f64::consts::TAU).max(90.0) } else { 0.0 };
    let homes = homes(map, &ring);
    let most = ring.iter().map(|switch| homes.iter().filter(|home| **home == Some(*switch)).count()).max();
    let all = (most.unwrap_or(0) as f64 * count).max(homes.iter().filter(|home| home.is_none()).count() as f64);
    let outer = (inner + BETWEEN).max(STATIONS_APART * all / std::f64::consts::TAU);
    let sector = std::f64::consts::TAU / count;
    let polar = |radius: f64, angle: f64| (radius * angle.sin(), -radius * angle.cos());
    let mut places = vec![(0.0, 0.0); map.nodes.len()];
    for (nth, switch) in ring.iter().enumerate() {
        let middle = nth as f64 * sector;
        places[*switch] = polar(inner, middle);
        let stations: Vec<usize> = (0..map.nodes.len()).filter(|node| homes[*node] == Some(*switch)).collect();
        for (place, station) in stations.iter().enumerate() {
            let off = (place as f64 + 0.5) / stations.len() as f64 - 0.5;
            places[*station] = polar(outer, middle + off * sector);
        }
    }
    // Stations without a switch are connected with each other, or with nobody.
    let alone: Vec<usize> =
        (0..map.nodes.len()).filter(|node| !map.nodes[*node].is_switch && homes[*node].is_none()).collect();
    for (nth, node) in alone.iter().enumerate() {
        places[*node] = polar(outer, std::f64::consts::TAU * nth as f64 / alone.len() as f64);
    }
    Layout { places, outer }
}

/// Switches in an order in which neighbours come one after the other where that is possible.
fn ring(map: &Map) -> Vec<usize> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); map.nodes.len()];
    for Cable { between: [a, b], .. } in &map.cables {
        out[*a].push(*b);
        out[*b].push(*a);
    }
    let switches = |node: &usize| out[*node].iter().filter(|next| map.nodes[**next].is_switch).count();
    let mut starts: Vec<usize> = (0..map.nodes.len()).filter(|node| map.nodes[*node].is_switch).collect();
    // The end of a chain goes first.
    starts.sort_by_key(|node| (switches(node), *node));
    let (mut order, mut known) = (Vec::new(), vec![false; map.nodes.len()]);
    for start in starts {
        let mut waiting = vec![start];
        while let Some(node) = waiting.pop() {
            if std::mem::replace(&mut known[node], true) {
                continue;
            }
            order.push(node);
            waiting.extend(out[node].iter().rev().filter(|next| map.nodes[**next].is_switch && !known[**next]));
        }
    }
    order
}

/// The switch that each station is drawn at: the first that it is connected with.
fn homes(map: &Map, ring: &[usize]) -> Vec<Option<usize>> {
    let mut homes = vec![None; map.nodes.len()];
    for Cable { between: [a, b], .. } in &map.cables {
        for (station, switch) in [(*a, *b), (*b, *a)] {
            if !map.nodes[station].is_switch && ring.contains(&switch) && homes[station].is_none() {
                homes[station] = Some(switch);
            }
        }
    }
    homes
}

fn line(frame: &mut Frame, map: &Map, cable: &Cable, [from, to]: [(f64, f64); 2]) {
    let most = cable.load[0].max(cable.load[1]);
    let colour = if most == 0.0 { UNUSED } else { [USED, FULL][usize::from(most > 0.5)] };
    let [a, b] = cable.between.map(|node| map.nodes[node].name.as_str());
    frame.svg.empty(
        "line",
        &[
            ("x1", &px(from.0)),
            ("y1", &px(from.1)),
            ("x2", &px(to.0)),
            ("y2", &px(to.1)),
            ("class", &"cable"),
            ("data-between", &format!("{a} {b}")),
            ("stroke", &colour),
            ("stroke-width", &px(1.5 + 8.0 * most.min(1.0))),
        ],
    );
}

/// The load of both directions, each nearer to who sends.
fn label(frame: &mut Frame, cable: &Cable, [from, to]: [(f64, f64); 2]) {
    for (load, at) in [(cable.load[0], 0.32), (cable.load[1], 0.68)] {
        if load > 0.0 {
            let (x, y) = (from.0 + at * (to.0 - from.0), from.1 + at * (to.1 - from.1));
            let words = format!("{:.1}\u{202f}%", load * 100.0);
            let wide = text_width(&words, SMALL) + 4.0;
            frame.rectangle((x - 0.5 * wide, y - 8.0), (wide, 15.0), "#ffffff", "none");
            frame.text(x, y + 3.5, &words, &[("text-anchor", &"middle"), ("fill", &QUIET), ("font-size", &SMALL)]);
        }
    }
}

fn draw_node(frame: &mut Frame, node: &MapNode, (x, y): (f64, f64), (out, _): (f64, f64)) {
    if node.is_switch {
        let wide = (text_width(&node.name, 12.0) + 18.0).max(44.0);
        frame.rectangle((x - 0.5 * wide, y - 14.0), (wide, 28.0), "#ffffff", TEXT);
        frame.text(x, y + 4.0, &node.name, &[("text-anchor", &"middle"), ("fill", &TEXT), ("font-size", &12.0)]);
        return;
    }
    let circle: [(&str, &dyn std::fmt::Display); 5] =
        [("cx", &px(x)), ("cy", &px(y)), ("r", &5.0), ("fill", &"#ffffff"), ("stroke", &TEXT)];
    frame.svg.empty("circle", &circle);
    // The name points away from the middle.
    let (anchor, dx, dy) = if out > 20.0 {
        ("start", 10.0, 4.0)
    } else if out < -20.0 {
        ("end", -10.0, 4.0)
    } else {
        ("middle", 0.0, -10.0)
    };
    frame.text(x + dx, y + dy, &node.name, &[("text-anchor", &anchor), ("fill", &TEXT), ("font-size", &SMALL)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of `switches` with a station at each.
    fn ring_of(switches: usize) -> Map {
        let node = |n: usize| MapNode { name: format!("n{n}"), is_switch: n < switches };
        let around = (0..switches).map(|n| Cable { between: [n, (n + 1) % switches], load: [0.6, 0.0] });
        let stations = (0..switches).map(|n| Cable { between: [switches + n, n], load: [0.0, 0.25] });
        Map { nodes: (0..2 * switches).map(node).collect(), cables: around.chain(stations).collect(), ..Map::default() }
    }

    #[test]
    fn no_two_nodes_are_in_one_place_and_neighbours_are_next_to_each_other() {
        let map = ring_of(7);
        let order = ring(&map);
        assert!(order.windows(2).all(|pair| (pair[0] + 1) % 7 == pair[1] || (pair[1] + 1) % 7 == pair[0]), "{order:?}");
        let places = layout(&map).places;
        for (n, a) in places.iter().enumerate() {
            assert!(places[..n].iter().all(|b| (a.0 - b.0).hypot(a.1 - b.1) > 25.0), "{n}");
        }
    }

    #[test]
    fn a_cable_is_as_thick_as_its_load_and_says_it() {
        let drawn = super::map(&ring_of(3));
        assert!(drawn.contains("data-between=\"n0 n1\""), "{drawn}");
        assert!(drawn.contains(&format!("stroke=\"{FULL}\" stroke-width=\"6.3\"")), "{drawn}");
        assert!(drawn.contains(&format!("stroke=\"{USED}\" stroke-width=\"3.5\"")), "{drawn}");
        assert!(drawn.contains("60.0\u{202f}%") && drawn.contains("25.0\u{202f}%"), "{drawn}");
        let two = Map { nodes: ring_of(1).nodes.split_off(1), ..Map::default() };
        assert!(super::map(&two).contains("n1"), "a station without a switch");
        assert!(super::map(&Map::default()).contains("no nodes"));
    }
}
