//! A planned network as cards: what each node's ports let out when, and what its listeners get.

use std::collections::BTreeSet;

use ontick_tsn::network::{Kind, LinkId, Network};
use ontick_tsn::planning::{Placed, Timetable};
use ontick_tsn::validate::Schedule;
use ontick_units::exact;

use crate::plot::{Delivery, Node, Port, Topology};

/// Nodes that no stream touches are left out.
pub fn picture(network: &Network, table: &Timetable, schedule: &Schedule) -> Topology {
    let placed: Vec<&Placed> = table.placed.iter().flatten().collect();
    let used: BTreeSet<LinkId> = placed.iter().flat_map(|placed| placed.hops.iter().map(|hop| hop.link)).collect();
    let ends = |link: &LinkId| [network.links[*link].from, network.links[*link].to];
    let shown: Vec<usize> = used.iter().flat_map(ends).collect::<BTreeSet<_>>().into_iter().collect();
    let place = |node: usize| shown.binary_search(&node).unwrap_or(0);
    let columns = columns(network, &placed);
    let node = |node: &usize| Node {
        name: network.nodes[*node].name.clone(),
        column: columns[*node],
        ports: (used.iter().filter(|link| network.links[**link].from == *node))
            .map(|link| port(network, schedule, *link, place(network.links[*link].to)))
            .collect(),
        deliveries: placed.iter().flat_map(|placed| deliveries(network, placed, *node)).collect(),
    };
    let queues: BTreeSet<usize> = placed.iter().map(|placed| usize::from(placed.queue)).collect();
    let switches = shown.iter().filter(|node| network.nodes[**node].kind == Kind::Switch).count();
    let cycles: BTreeSet<u64> = schedule.windows.iter().map(|window| window.cycle_ns).collect();
    let cycles: Vec<String> = cycles.into_iter().map(exact).collect();
    Topology {
        title: "The gates of each port, and what arrives by when".into(),
        about: format!(
            "{}, {}, gates repeat every {}",
            several(placed.len(), "stream", "streams"),
            several(switches, "switch", "switches"),
            cycles.join(" or ")
        ),
        nodes: shown.iter().map(node).collect(),
        legend: queues.into_iter().map(|queue| (queue, format!("queue {queue}"))).collect(),
    }
}

fn several(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

fn port(network: &Network, schedule: &Schedule, link: LinkId, to: usize) -> Port {
    let of_link = || schedule.windows.iter().filter(move |window| window.link == link);
    let cycle_ns = of_link().map(|window| window.cycle_ns).max().unwrap_or(0);
    let windows = of_link().flat_map(|window| {
        let queue = usize::from(window.queue);
        let over = (0, window.end_ns.saturating_sub(cycle_ns), queue);
        [(window.begin_ns, window.end_ns.min(cycle_ns), queue), over]
    });
    let windows = windows.filter(|(begin_ns, end_ns, _)| begin_ns < end_ns).collect();
    Port { to, name: network.links[link].port.clone(), cycle_ns, windows }
}

fn deliveries<'a>(network: &'a Network, placed: &'a Placed, node: usize) -> impl Iterator<Item = Delivery> + 'a {
    let of = &network.streams[placed.stream];
    let here = placed.hops.iter().filter(move |hop| network.links[hop.link].to == node);
    here.filter_map(|hop| hop.delivered_ns).map(|at_ns| Delivery {
        stream: of.name.clone(),
        colour: usize::from(placed.queue),
        at_ns,
        deadline_ns: of.deadline_ns,
    })
}

/// How many links each node is from the nearest talker whose stream it gets; talkers are the first.
fn columns(network: &Network, placed: &[&Placed]) -> Vec<usize> {
    let mut columns: Vec<Option<usize>> = vec![None; network.nodes.len()];
    for hops in placed.iter().map(|placed| &placed.hops) {
        let mut from_talker = vec![0; hops.len()];
        for (place, hop) in hops.iter().enumerate() {
            from_talker[place] = 1 + hop.before.map_or(0, |before| from_talker[before]);
            let column = &mut columns[network.links[hop.link].to];
            *column = Some(column.unwrap_or(usize::MAX).min(from_talker[place]));
        }
    }
    placed.iter().for_each(|placed| columns[network.streams[placed.stream].talker] = Some(0));
    columns.into_iter().map(Option::unwrap_or_default).collect()
}
