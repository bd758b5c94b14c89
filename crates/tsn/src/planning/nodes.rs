//! From a schedule to switches that can be set up: one [`Switch`] for each node that sends scheduled messages.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use super::forwarding::{ForwardingError, forwarding};
use crate::config;
use crate::egress::DataPlane;
use crate::model::{Base, Class, Entry, Forwarding, Gates, Guard, Offload, Plane, Port, Role, Rule, Switch};
use crate::network::{Graph, Kind, LinkId, Network, NodeId};
use crate::validate::{Schedule, Window};
use crate::wire;

/// Everybody else's queue.
const BEST_EFFORT: u8 = 0;
/// Of a port (IEEE 802.1Q-2022 clause 8.6.6).
const HIGHEST_QUEUE: u8 = 7;
/// Of a list that ontick's files, and taprio, take.
pub const MOST_ENTRIES: usize = 1024;
/// Frames are padded to carry as much (IEEE 802.3 clause 4.4.2, with a VLAN tag).
const SMALLEST_SDU: u32 = 42;
/// Of an interface's name.
const LONGEST_NAME: usize = 15;

/// How gates are made of windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// When cycles begin.
    pub base: Base,
    /// Whether no gate is open before a window for as long as the largest frame takes: for ports that begin a frame
    /// without a look at its length.
    pub guard_bands: bool,
    /// Entries of a list at most.
    pub most_entries: usize,
    /// The shortest entry, in ns: where less is left of a gap than that, it is closed for the guard band's sake.
    pub shortest_ns: u64,
    /// What is to open the gates; absent: what the machine has.
    pub plane: Option<DataPlane>,
}

/// A port needs a longer list than there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooMany {
    /// The link's name.
    pub link: String,
    /// Entries that it needs.
    pub entries: usize,
    /// Entries that there may be.
    pub most: usize,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { link, entries, most } = self;
        write!(
            f,
            "the gates of link {link} take {entries} entries, and a list has {most} at most; prefer few entries, or try periods that divide each other, or fewer streams"
        )
    }
}

/// Why there are no files of switches.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodesError {
    /// A list is too long.
    #[error("{0}")]
    TooMany(TooMany),
    /// A switch cannot forward a stream as it is planned.
    #[error(transparent)]
    Forwarding(#[from] ForwardingError),
    /// Best effort has the only queue.
    #[error("link {link}: the port has one queue, which is everybody else's; no gate can keep it free")]
    NoQueue {
        /// The link's name.
        link: String,
    },
    /// A window is of best effort's queue.
    #[error("link {link}: a window is of queue 0, which is everybody else's; no gate can keep it free")]
    BestEffort {
        /// The link's name.
        link: String,
    },
    /// No list of entries, one behind the other, opens a gate so.
    #[error("the windows of link {link} overlap, or end beyond the cycle; validate the plan to see where")]
    Windows {
        /// The link's name.
        link: String,
    },
    /// One would be set up as the other.
    #[error(
        "nodes {} and {} are both called {name} where they are set up ({LONGEST_NAME} characters); give one a shorter name",
        nodes[0],
        nodes[1]
    )]
    OneName {
        /// What both are called.
        name: String,
        /// As the network names them.
        nodes: [String; 2],
    },
}

/// The switches, by node. The second value names ports whose interfaces the network does not name.
pub fn switches(network: &Network, schedule: &Schedule, form: Form) -> Result<(Vec<Switch>, Vec<String>), NodesError> {
    let windows = windows(network, schedule)?;
    let forwarding = forwarding(network, schedule, form.plane)?;
    only_others_are_best_effort(network, schedule)?;
    let scheduled = Scheduled::new(network, schedule);
    let mut links_out: Vec<Vec<LinkId>> = vec![Vec::new(); network.nodes.len()];
    network.links.iter().enumerate().for_each(|(id, link)| links_out[link.from].push(id));
    let mut unnamed = Vec::new();
    let mut switches = Vec::new();
    let mut called: HashMap<String, NodeId> = HashMap::new();
    for ((node, forwarding), out) in forwarding.into_iter().enumerate().zip(links_out) {
        // One without windows matters still where it would close a loop.
        let is_idle = out.iter().all(|link| windows[*link].is_empty()) && forwarding.flood.is_none();
        // A switch that has nothing to do would be taken for the other.
        if !is_idle || network.nodes[node].kind == Kind::Switch {
            let name = name(network, node);
            if let Some(other) = called.insert(name.clone(), node) {
                let nodes = [other, node].map(|node| network.nodes[node].name.clone());
                return Err(NodesError::OneName { name, nodes });
            }
        }
        if is_idle {
            continue;
        }
        let mut queues: Vec<u8> = out.iter().flat_map(|link| &windows[*link]).map(|window| window.queue).collect();
        queues.sort_unstable_by(|a, b| b.cmp(a));
        queues.dedup();
        let classes = classes(&queues);
        let mut ports = Vec::new();
        for link in out {
            let name = interface_of(network, link, ports.len());
            if network.links[link].port.is_none() {
                unnamed.push(format!("{} of {}", name, network.nodes[node].name));
            }
            let gates = gates(network, link, &windows[link], form).map_err(NodesError::TooMany)?;
            let max_sdu = classes.iter().map(|class| scheduled.largest_sdu(network, link, class, gates.as_ref()));
            ports.push(Port {
                name,
                rate: Some(network.links[link].rate),
                offload: if form.plane == Some(DataPlane::Hardware) { Offload::Full } else { Offload::None },
                transmit_queues: Vec::new(),
                idle_slopes: Vec::new(),
                preemption: None,
                max_sdu: max_sdu.collect(),
                gates,
            });
        }
        let own = switch(network, node, classes, ports, forwarding);
        switches.push(Switch { plane: plane(form.plane), ..own });
    }
    Ok((switches, unnamed))
}

/// The windows of each link, one behind the other, as any plan has them that was not written by hand.
fn windows(network: &Network, schedule: &Schedule) -> Result<Vec<Vec<Window>>, NodesError> {
    let mut links: Vec<Vec<Window>> = vec![Vec::new(); network.links.len()];
    schedule.windows.iter().for_each(|window| links[window.link].push(*window));
    for (link, windows) in links.iter_mut().enumerate() {
        windows.sort_unstable_by_key(|window| window.begin_ns);
        let cycle_ns = windows.first().map_or(0, |window| window.cycle_ns);
        let mut at = 0;
        for window in windows {
            let Window { queue, begin_ns, end_ns, .. } = *window;
            let is_next = at <= begin_ns && begin_ns < end_ns && end_ns <= cycle_ns && window.cycle_ns == cycle_ns;
            if !is_next || queue > HIGHEST_QUEUE {
                return Err(NodesError::Windows { link: network.link_name(link) });
            }
            at = end_ns;
        }
    }
    Ok(links)
}

fn plane(wanted: Option<DataPlane>) -> Plane {
    match wanted {
        Some(DataPlane::User) => Plane::User,
        // Ports that open gates by themselves are set so by the kernel.
        Some(DataPlane::Kernel | DataPlane::Hardware) => Plane::Kernel,
        None => Plane::Auto,
    }
}

fn switch(network: &Network, node: NodeId, classes: Vec<Class>, ports: Vec<Port>, forwarding: Forwarding) -> Switch {
    let role = if network.nodes[node].kind == Kind::Switch { Role::Bridge } else { Role::Station };
    Switch { forwarding, ..config::defaults().switch(name(network, node), role, classes, ports) }
}

/// Refuses windows of best effort's queue, by the port that has no other if there is one: streams have one queue all along.
fn only_others_are_best_effort(network: &Network, schedule: &Schedule) -> Result<(), NodesError> {
    let windows = schedule.windows.iter().filter(|window| window.queue == BEST_EFFORT);
    let Some(window) = windows.min_by_key(|window| network.links[window.link].queues) else { return Ok(()) };
    let link = network.link_name(window.link);
    match network.links[window.link].queues {
        1 => Err(NodesError::NoQueue { link }),
        _ => Err(NodesError::BestEffort { link }),
    }
}

/// Whether a stream must pass a port with one queue, which no gate can keep free: known before anything is planned.
pub fn every_way_has_queues(network: &Network) -> Result<(), NodesError> {
    // Most networks have no such port.
    if network.links.iter().all(|link| link.queues > 1) {
        return Ok(());
    }
    let graph = Graph::new(network);
    let ends = network.streams.iter().flat_map(|of| of.listeners.iter().map(|listener| (of.talker, *listener)));
    let ends: BTreeSet<(NodeId, NodeId)> = ends.collect();
    let mut passed = ends.into_iter().flat_map(|(from, to)| graph.unavoidable(from, to));
    match passed.find(|link| network.links[*link].queues == 1) {
        Some(link) => Err(NodesError::NoQueue { link: network.link_name(link) }),
        None => Ok(()),
    }
}

/// What a node's switch is called.
pub fn name(network: &Network, node: NodeId) -> String {
    network.nodes[node].name.chars().take(LONGEST_NAME).collect()
}

/// The interfaces of a node's switch, port by port.
pub fn interfaces(network: &Network, node: NodeId) -> Vec<String> {
    let out = (0..network.links.len()).filter(|link| network.links[*link].from == node);
    out.enumerate().map(|(place, link)| interface_of(network, link, place)).collect()
}

/// As the network's file says, or else a name that shows where the port leads.
fn interface_of(network: &Network, link: LinkId, place: usize) -> String {
    network.links[link].port.clone().unwrap_or_else(|| name_of_port(network, link, place))
}

/// The neighbour's name where it can be an interface's.
fn name_of_port(network: &Network, link: LinkId, place: usize) -> String {
    let cable = match network.cable(link) {
        0 => String::new(),
        n => format!("-{}", n + 1),
    };
    let name = format!("to-{}{cable}", network.nodes[network.links[link].to].name);
    config::values::interface(&name).unwrap_or(format!("port{place}"))
}

/// A class for each queue, found by the priority code point that the talker writes into its frames.
fn classes(queues: &[u8]) -> Vec<Class> {
    let limit = config::defaults().limit;
    let scheduled = |queue: u8| Class {
        name: format!("scheduled-{queue}"),
        queue,
        rules: vec![Rule { pcp: Some(queue), ..Rule::default() }],
        limit,
    };
    let mut classes: Vec<Class> = queues.iter().copied().filter(|queue| *queue != BEST_EFFORT).map(scheduled).collect();
    classes.push(Class { name: "best-effort".into(), queue: BEST_EFFORT, rules: Vec::new(), limit });
    classes
}

/// The largest message of the streams in each queue of each link, in octets.
struct Scheduled(HashMap<(LinkId, u8), u32>);

impl Scheduled {
    fn new(network: &Network, schedule: &Schedule) -> Self {
        let mut largest = HashMap::new();
        for send in &schedule.sends {
            for place in &send.queues {
                let so_far: &mut u32 = largest.entry(*place).or_default();
                *so_far = network.streams[send.stream].size.max(*so_far);
            }
        }
        Self(largest)
    }

    /// The largest service data unit that a class's windows are made for.
    fn largest_sdu(&self, network: &Network, link: LinkId, class: &Class, gates: Option<&Gates>) -> Option<u32> {
        if class.queue != BEST_EFFORT {
            let largest = *self.0.get(&(link, class.queue))?;
            return Some(largest.clamp(SMALLEST_SDU, wire::LARGEST_SDU)).filter(|sdu| *sdu < wire::LARGEST_SDU);
        }
        // What has no gap to pass through would wait for ever.
        let gates = longest_gap(gates?);
        let rate = network.links[link].rate;
        let fits = |sdu: &u32| network.timing.fits(wire::largest_frame_ns(*sdu, rate), gates);
        match fits(&wire::LARGEST_SDU) {
            true => None,
            false => (SMALLEST_SDU..wire::LARGEST_SDU).rev().find(fits),
        }
    }
}

/// The longest time at a stretch that is best effort's.
fn longest_gap(gates: &Gates) -> u64 {
    let gaps = gates.entries.iter().filter(|entry| entry.open & (1 << BEST_EFFORT) != 0);
    gaps.map(|entry| entry.for_ns).max().unwrap_or(0)
}

/// Windows, which are one behind the other, and best effort between them.
fn gates(network: &Network, link: LinkId, windows: &[Window], form: Form) -> Result<Option<Gates>, TooMany> {
    let Some(first) = windows.first() else { return Ok(None) };
    let guard_ns = match form.guard_bands {
        true => wire::largest_frame_ns(wire::LARGEST_SDU, network.links[link].rate),
        false => 0,
    };
    let mut entries: Vec<Entry> = Vec::new();
    let mut push = |open: u16, for_ns: u64| match entries.last_mut() {
        _ if for_ns == 0 => {}
        Some(last) if last.open == open => last.for_ns += for_ns,
        _ => entries.push(Entry { open, for_ns }),
    };
    let mut at = 0;
    for window in windows {
        let gap = window.begin_ns - at;
        let closed = closed_of(gap, guard_ns, form.shortest_ns);
        push(1 << BEST_EFFORT, gap - closed);
        push(0, closed);
        push(1 << window.queue, window.end_ns - window.begin_ns);
        at = window.end_ns;
    }
    // Behind the last one comes the first of the next cycle.
    let gap = first.cycle_ns - at;
    let guarded = closed_of(gap, guard_ns.saturating_sub(first.begin_ns), form.shortest_ns);
    push(1 << BEST_EFFORT, gap - guarded);
    push(0, guarded);
    if entries.len() > form.most_entries {
        let link = network.link_name(link);
        return Err(TooMany { link, entries: entries.len(), most: form.most_entries });
    }
    Ok(Some(Gates { base: form.base, cycle_ns: first.cycle_ns, guard: Guard::None, entries }))
}

/// How much of a gap no gate is open for, with a guard band of `guard_ns`; neither that nor what is left is too short for an
/// entry.
fn closed_of(gap_ns: u64, guard_ns: u64, shortest_ns: u64) -> u64 {
    if guard_ns == 0 {
        return 0;
    }
    let closed_ns = gap_ns.min(guard_ns.max(shortest_ns));
    match gap_ns - closed_ns {
        left_ns if left_ns < shortest_ns => gap_ns,
        _ => closed_ns,
    }
}

#[cfg(test)]
mod tests;
