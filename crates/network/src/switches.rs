//! The model of each switch of a planned network, and what switches dropped.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeMap;

use ontick_switch::user::counters::Counters;
use ontick_tsn::config;
use ontick_tsn::egress::DataPlane;
use ontick_tsn::model::{Base, Class, Offload, Port, Role, Switch};
use ontick_tsn::network::{Kind, LinkId, Network};
use ontick_tsn::planning::nodes::{self, Form, MOST_ENTRIES, NodesError};
use ontick_tsn::validate::Schedule;

/// Frames that wait in each queue of a port at most: fewer than in the files, whose queues take memory for all of them.
const LIMIT: u32 = 128;

/// The links that leave a node, in the order of its ports.
pub fn out_of(network: &Network, node: usize) -> Vec<LinkId> {
    (0..network.links.len()).filter(|link| network.links[*link].from == node).collect()
}

/// How the user data plane's gates are made of windows.
pub fn user_form(base_ns: u64) -> Form {
    Form {
        base: Base::At(base_ns),
        guard_bands: false,
        most_entries: MOST_ENTRIES,
        shortest_ns: 1,
        plane: Some(DataPlane::User),
    }
}

/// By node, as their files would say it; a station that sends nothing has none.
pub fn models(network: &Network, schedule: &Schedule, form: Form) -> Result<Vec<Option<Switch>>, NodesError> {
    let (planned, _) = nodes::switches(network, schedule, form)?;
    let mut planned = planned.into_iter();
    let mut gated = vec![false; network.links.len()];
    schedule.windows.iter().for_each(|window| gated[window.link] = true);
    let tree = network.spanning_tree();
    let model = |node: usize| {
        let out = out_of(network, node);
        let is_switch = network.nodes[node].kind == Kind::Switch;
        // Nodes that nothing scheduled leaves have no file, unless a loop is to be cut there.
        let has_file = out.iter().any(|link| gated[*link]) || (is_switch && out.iter().any(|link| !tree[*link]));
        let of_file = if has_file { planned.next() } else { None };
        let mut switch = of_file.unwrap_or_else(|| plain(network, node, &out));
        switch.classes.iter_mut().for_each(|class| class.limit = class.limit.min(LIMIT));
        (is_switch || has_file).then_some(switch)
    };
    Ok((0..network.nodes.len()).map(model).collect())
}

/// A switch without gates.
fn plain(network: &Network, node: usize, out: &[LinkId]) -> Switch {
    let port = |(place, link): (usize, &LinkId)| Port {
        name: format!("port{place}"),
        rate: Some(network.links[*link].rate),
        offload: Offload::None,
        transmit_queues: Vec::new(),
        idle_slopes: Vec::new(),
        preemption: None,
        max_sdu: vec![None],
        gates: None,
    };
    let classes = vec![Class { name: "best-effort".into(), queue: 0, rules: Vec::new(), limit: LIMIT }];
    let ports = out.iter().enumerate().map(port).collect();
    config::defaults().switch(network.nodes[node].name.clone(), Role::Bridge, classes, ports)
}

/// Frames that these dropped, by why, the most first.
pub fn dropped<'a>(counters: impl Iterator<Item = &'a Counters>) -> Vec<(&'static str, u64)> {
    let mut drops: BTreeMap<&'static str, u64> = BTreeMap::new();
    for port in counters.flat_map(|of| &of.ports) {
        let queues = port.queues.iter().flat_map(|queue| queue.drops());
        queues.chain(port.not_forwarded()).for_each(|(why, frames)| *drops.entry(why).or_default() += frames);
    }
    let mut dropped: Vec<(&'static str, u64)> = drops.into_iter().filter(|(_, frames)| *frames > 0).collect();
    dropped.sort_by_key(|(_, frames)| std::cmp::Reverse(*frames));
    dropped
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_tsn::network::samples;
    use ontick_tsn::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};

    /// Whichever nodes have files, each switch has its own.
    #[test]
    fn each_switch_has_the_ports_of_its_links() {
        for streams in [1, 3, 20] {
            let network = samples::ring(5, streams);
            let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true)
            else {
                panic!()
            };
            let schedule = gate_control_list::schedule(&network, &table).unwrap();
            let models = models(&network, &schedule, user_form(0)).unwrap();
            for (node, model) in models.iter().enumerate() {
                let Some(model) = model else { continue };
                assert_eq!(model.name, network.nodes[node].name);
                let gated = |link: &LinkId| schedule.windows.iter().any(|window| window.link == *link);
                let gates: Vec<bool> = out_of(&network, node).iter().map(gated).collect();
                assert_eq!(model.ports.iter().map(|port| port.gates.is_some()).collect::<Vec<_>>(), gates);
            }
            assert!(models[..5].iter().all(Option::is_some));
        }
    }
}
