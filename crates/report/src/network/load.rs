//! A network with the load of its links.

use ontick_tsn::network::{Kind, LinkId, Network, StreamId};

use crate::plot::{Cable, Map, MapNode, map};

/// The share of each link's time that streams on these routes take, and how many there are.
pub fn loads(network: &Network, routes: &[Vec<LinkId>]) -> Vec<(f64, usize)> {
    let mut on: Vec<Vec<StreamId>> = vec![Vec::new(); network.links.len()];
    for (stream, route) in routes.iter().enumerate() {
        route.iter().for_each(|link| on[*link].push(stream));
    }
    let load =
        |(link, streams): (LinkId, &Vec<StreamId>)| (network.utilisation(link, streams.iter().copied()), streams.len());
    on.iter().enumerate().map(load).collect()
}

/// Draws nodes and cables, each cable as thick as streams on these routes load it.
pub fn topology_svg(network: &Network, routes: &[Vec<LinkId>], about: &str) -> String {
    let loads = loads(network, routes);
    let node =
        |node: &ontick_tsn::network::Node| MapNode { name: node.name.clone(), is_switch: node.kind == Kind::Switch };
    let cable = |link: LinkId| {
        // Each cable once: the direction that was named first.
        let back = network.reverse(link).filter(|back| *back > link)?;
        let of = &network.links[link];
        Some(Cable { between: [of.from, of.to], load: [loads[link].0, loads[back].0] })
    };
    map(&Map {
        title: "Nodes, cables and the load of streams".into(),
        about: about.into(),
        nodes: network.nodes.iter().map(node).collect(),
        cables: (0..network.links.len()).filter_map(cable).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_tsn::network::samples;

    #[test]
    fn a_link_has_the_load_of_the_streams_on_it() {
        let network = samples::ring(3, 2);
        // 100 and 200 octets every 500 us and 1 ms: 1 136 and 1 936 ns.
        let loads = loads(&network, &[vec![2, 0], vec![0]]);
        let share = |ns: u64, period: f64| ns as f64 / period;
        assert_eq!(loads[2], (share(1_136, 500_000.0), 1));
        assert_eq!(loads[0], (share(1_136, 500_000.0) + share(1_936, 1_000_000.0), 2));
        assert_eq!(loads[1], (0.0, 0));
        let drawn = topology_svg(&network, &[vec![2, 0], vec![0]], "");
        assert_eq!(drawn.matches("class=\"cable\"").count(), 6, "each cable once");
    }
}
