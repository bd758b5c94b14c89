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
    let forwarding = forwarding(network, schedule, form.plane)?;
    only_others_are_best_effort(network, schedule)?;
    let mut windows: Vec<Vec<Window>> = vec![Vec::new(); network.links.len()];
    schedule.windows.iter().for_each(|window| windows[window.link].push(*window));
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

/// Windows, and best effort between them.
fn gates(network: &Network, link: LinkId, windows: &[Window], form: Form) -> Result<Option<Gates>, TooMany> {
    let Some(first) = windows.first() else { return Ok(None) };
    let guard_ns = match form.guard_bands {
        true => wire::largest_frame_ns(wire::LARGEST_SDU, network.links[link].rate),
        false => 0,
    };
    let mut sorted = windows.to_vec();
    sorted.sort_unstable_by_key(|window| window.begin_ns);
    let mut entries: Vec<Entry> = Vec::new();
    let mut push = |open: u16, for_ns: u64| match entries.last_mut() {
        _ if for_ns == 0 => {}
        Some(last) if last.open == open => last.for_ns += for_ns,
        _ => entries.push(Entry { open, for_ns }),
    };
    let mut at = 0;
    for window in &sorted {
        let gap = window.begin_ns.saturating_sub(at);
        let closed = closed_of(gap, guard_ns, form.shortest_ns);
        push(1 << BEST_EFFORT, gap - closed);
        push(0, closed);
        push(1 << window.queue, window.end_ns - window.begin_ns.max(at));
        at = window.end_ns;
    }
    // Behind the last one comes the first of the next cycle.
    let gap = first.cycle_ns - at;
    let guarded = closed_of(gap, guard_ns.saturating_sub(sorted[0].begin_ns), form.shortest_ns);
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
mod tests {
    use super::*;
    use crate::network::samples;
    use crate::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};

    fn planned(streams: usize) -> (Network, Schedule) {
        let network = samples::ring(4, streams);
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        (network, schedule)
    }

    const FORM: Form =
        Form { base: Base::NextSecond, guard_bands: false, most_entries: MOST_ENTRIES, shortest_ns: 1, plane: None };

    #[test]
    fn each_switch_can_be_read_as_a_file() {
        let (network, schedule) = planned(30);
        let (switches, unnamed) = switches(&network, &schedule, FORM).unwrap();
        assert_eq!(switches.len(), 8, "four switches and four stations");
        assert_eq!(unnamed[0], "to-s1 of s0");
        for (node, switch) in switches.iter().enumerate() {
            let ports: Vec<&String> = switch.ports.iter().map(|port| &port.name).collect();
            assert_eq!(
                (name(&network, node), interfaces(&network, node).iter().collect()),
                (switch.name.clone(), ports)
            );
        }
        for switch in &switches {
            let text = config::write(switch);
            let read = config::read(&text).map(|parsed| parsed.switch).map_err(|errors| errors.to_string());
            assert!(read.as_ref() == Ok(switch), "{text}\n{:?}", read.err());
        }
    }

    #[test]
    fn nodes_that_would_be_called_alike_are_refused() {
        let (mut network, schedule) = planned(30);
        network.nodes[1].name = "production-line-1".into();
        network.nodes[3].name = "production-line-2".into();
        assert_eq!(
            switches(&network, &schedule, FORM).unwrap_err().to_string(),
            "nodes production-line-1 and production-line-2 are both called production-line where they are set up \
             (15 characters); give one a shorter name"
        );
        // A switch that nothing leaves, too; a station is set up only where it sends.
        let nothing = Schedule { routes: vec![Vec::new(); 30], ..Schedule::default() };
        assert!(matches!(switches(&network, &nothing, FORM), Err(NodesError::OneName { .. })));
        network.nodes[3].name = "s3".into();
        network.nodes[5].name = "production-line-2".into();
        assert!(switches(&network, &nothing, FORM).is_ok() && switches(&network, &schedule, FORM).is_err());
    }

    #[test]
    fn a_port_with_one_queue_keeps_nothing_free() {
        let (mut network, schedule) = planned(1);
        let way = schedule.routes[0].clone();
        network.links.iter_mut().enumerate().filter(|(id, _)| !way.contains(id)).for_each(|(_, link)| link.queues = 1);
        assert_eq!(every_way_has_queues(&network), Ok(()));
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        assert!(switches(&network, &schedule, FORM).is_ok());
        network.links[way[0]].queues = 1;
        let said = every_way_has_queues(&network).unwrap_err();
        assert_eq!(
            said.to_string(),
            "link h0>s0: the port has one queue, which is everybody else's; no gate can keep it free"
        );
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        assert_eq!(switches(&network, &schedule, FORM), Err(said));
        network.links[way[0]].queues = 8;
        assert!(matches!(switches(&network, &schedule, FORM), Err(NodesError::BestEffort { .. })));
    }

    #[test]
    fn scheduled_gates_are_open_in_their_windows_alone() {
        let (network, schedule) = planned(60);
        for guard_bands in [false, true] {
            let (switches, _) = switches(&network, &schedule, Form { guard_bands, ..FORM }).unwrap();
            let gates = switches[0].ports[0].gates.as_ref().unwrap();
            let link = (0..network.links.len()).find(|link| network.links[*link].from == 0).unwrap();
            let open = |at: u64| {
                let mut sum = 0;
                gates
                    .entries
                    .iter()
                    .find(|entry| {
                        sum += entry.for_ns;
                        at < sum
                    })
                    .unwrap()
                    .open
            };
            for at in (0..gates.cycle_ns).step_by(97) {
                let window = schedule.windows.iter().find(|w| w.link == link && w.begin_ns <= at && at < w.end_ns);
                match window {
                    Some(window) => assert_eq!(open(at), 1 << window.queue),
                    None => assert!(open(at) == 1 || (guard_bands && open(at) == 0)),
                }
                // With guard bands best effort is over in time.
                let soon = schedule
                    .windows
                    .iter()
                    .any(|w| w.link == link && (w.begin_ns + gates.cycle_ns - at) % gates.cycle_ns < 12_336);
                assert!(!guard_bands || !soon || open(at) != 1, "{at}");
            }
        }
    }

    #[test]
    fn neither_a_guard_band_nor_what_it_leaves_is_too_short_for_an_entry() {
        let closed = |gap_ns, guard_ns| closed_of(gap_ns, guard_ns, 672);
        assert_eq!((closed(1_000, 0), closed(5_000, 12_336), closed(20_000, 12_336)), (0, 5_000, 12_336));
        assert_eq!((closed(13_007, 12_336), closed(13_008, 12_336)), (13_007, 12_336), "what it leaves");
        assert_eq!((closed(5_000, 36), closed(1_343, 36), closed(1_344, 36)), (672, 1_343, 672), "the band itself");
    }

    #[test]
    fn ports_are_for_the_data_plane_that_was_planned_for() {
        let (network, schedule) = planned(8);
        for (wanted, own, offload) in [
            (None, Plane::Auto, Offload::None),
            (Some(DataPlane::User), Plane::User, Offload::None),
            (Some(DataPlane::Kernel), Plane::Kernel, Offload::None),
            (Some(DataPlane::Hardware), Plane::Kernel, Offload::Full),
        ] {
            let (switches, _) = switches(&network, &schedule, Form { plane: wanted, ..FORM }).unwrap();
            assert!(switches.iter().all(|switch| switch.plane == own), "{wanted:?}");
            assert!(switches.iter().flat_map(|switch| &switch.ports).all(|port| port.offload == offload), "{wanted:?}");
        }
    }

    #[test]
    fn best_effort_has_the_longest_of_its_own_times() {
        let entries = [(1, 300), (1 << 7, 900), (1, 500), (0, 700)].map(|(open, for_ns)| Entry { open, for_ns });
        let gates = Gates { base: FORM.base, cycle_ns: 2_400, guard: Guard::None, entries: entries.to_vec() };
        assert_eq!(longest_gap(&gates), 500);
    }

    #[test]
    fn a_list_that_is_too_long_is_reported() {
        let (network, schedule) = planned(60);
        let wrong = switches(&network, &schedule, Form { most_entries: 3, ..FORM }).unwrap_err();
        assert!(wrong.to_string().contains("entries, and a list has 3 at most"), "{wrong}");
    }

    /// Windows by hand: next to each other, over the end of the cycle, and with room for a guard band or none.
    #[test]
    fn entries_are_windows_and_what_is_between_them() {
        let network = samples::ring(3, 1);
        let entries = |windows: &[(u8, u64, u64)], cycle_ns, form| {
            let window = |&(queue, begin_ns, end_ns)| Window { link: 0, queue, begin_ns, end_ns, cycle_ns };
            let gates = gates(&network, 0, &windows.iter().map(window).collect::<Vec<_>>(), form)?;
            Ok::<_, TooMany>(gates.map(|gates| {
                assert_eq!(gates.entries.iter().map(|entry| entry.for_ns).sum::<u64>(), gates.cycle_ns);
                gates.entries.iter().map(|entry| (entry.open, entry.for_ns)).collect::<Vec<_>>()
            }))
        };
        assert_eq!(entries(&[], 1_000, FORM), Ok(None));
        let windows = [(7, 200, 300), (7, 300, 450), (6, 450, 500), (7, 900, 1_000)];
        let all = vec![(1, 200), (1 << 7, 250), (1 << 6, 50), (1, 400), (1 << 7, 100)];
        assert_eq!(entries(&windows, 1_000, FORM), Ok(Some(all.clone())));
        assert_eq!(entries(&windows, 1_000, Form { most_entries: 5, ..FORM }), Ok(Some(all)));
        let too_many = entries(&windows, 1_000, Form { most_entries: 4, ..FORM }).unwrap_err();
        assert_eq!((too_many.entries, too_many.most), (5, 4));
        // A guard band of 12 336 ns.
        let guarded = Form { guard_bands: true, ..FORM };
        let windows = [(7, 20_000, 21_000), (6, 30_000, 31_000)];
        let all = vec![(1, 7_664), (0, 12_336), (1 << 7, 1_000), (0, 9_000), (1 << 6, 1_000), (1, 69_000)];
        assert_eq!(entries(&windows, 100_000, guarded), Ok(Some(all)));
        // What does not fit before the first window lies at the end of the cycle.
        let all = vec![(0, 10_000), (1 << 7, 1_000), (1, 86_664), (0, 2_336)];
        assert_eq!(entries(&[(7, 10_000, 11_000)], 100_000, guarded), Ok(Some(all)));
        let all = vec![(0, 5_000), (1 << 7, 1_000), (0, 4_000)];
        assert_eq!(entries(&[(7, 5_000, 6_000)], 10_000, guarded), Ok(Some(all)));
    }

    #[test]
    fn a_class_is_limited_to_what_its_windows_are_made_for() {
        let (mut network, _) = planned(1);
        let limits = |network: &Network, schedule: &Schedule, link, gap_ns: Option<u64>| {
            let entry = |for_ns| Entry { open: 1, for_ns };
            let gates = gap_ns.map(|for_ns| Gates {
                base: FORM.base,
                cycle_ns: for_ns,
                guard: Guard::None,
                entries: vec![entry(for_ns)],
            });
            [0, 7].map(|queue| {
                let class = classes(&[7]).into_iter().find(|class| class.queue == queue).unwrap();
                Scheduled::new(network, schedule).largest_sdu(network, link, &class, gates.as_ref())
            })
        };
        for (size, expected) in
            [(10, Some(42)), (42, Some(42)), (43, Some(43)), (1_499, Some(1_499)), (1_500, None), (4_000, None)]
        {
            network.streams[0].size = size;
            let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true)
            else {
                panic!()
            };
            let schedule = gate_control_list::schedule(&network, &table).unwrap();
            let link = schedule.routes[0][0];
            assert_eq!(limits(&network, &schedule, link, None), [None, expected], "{size}");
            assert_eq!(limits(&network, &schedule, network.reverse(link).unwrap(), None), [None, None]);
            // 100 octets take 1 136 ns.
            let best = |gap_ns| limits(&network, &schedule, link, Some(gap_ns))[0];
            assert_eq!([1_135, 1_136, 12_335, 12_336].map(best), [Some(99), Some(100), Some(1_499), None]);
        }
    }
}
