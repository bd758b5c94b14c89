//! Reads streams.

use std::collections::{BTreeMap, BTreeSet};

use super::super::control_list::ControlList;
use super::super::node::{Node, YangError};
use super::super::notes::Notes;
use super::super::{BRIDGE, FRER, PSFP, PSFP_BRIDGE, STREAM_IDENTIFICATION};
use super::frer::{Frer, Redundancy};
use super::numbers::{handle_of, numbered};
use crate::config::mac;
use crate::model::{Elimination, Meter, StreamGate, StreamGateEntry};

/// Module of stream filters and gates without meters and without lists, for asynchronous traffic shaping.
const FILTERS_GATES_BRIDGE: &str = "ieee802-dot1q-stream-filters-gates-bridge";
const TABLES: [&str; 3] = ["stream-filters", "stream-gates", "flow-meters"];

/// A stream of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedStream {
    /// The number that stands for it there.
    pub handle: u32,
    /// Destination address.
    pub to: [u8; 6],
    /// VLAN identifier of the tag, 1 to 4094; 0: frames of no VLAN; absent: any.
    pub vlan: Option<u16>,
    /// Ports that its frames come in by.
    pub ingress: Vec<String>,
    /// Largest service data unit, in octets.
    pub max_sdu: Option<u32>,
    /// How much it may bring.
    pub meter: Option<Meter>,
    /// When its frames may come in; absent: always.
    pub gate: Option<StreamGate>,
    /// How its copies are dropped.
    pub eliminate: Option<Elimination>,
    /// Ports that each of its frames leaves by.
    pub replicate: Option<Vec<String>>,
    /// Where it stands in the document.
    pub paths: Paths,
}

/// Where the parts of a stream stand in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// Its entry of `stream-identity`.
    pub identity: String,
    /// Its filter; the entry of `stream-identity` where it has none.
    pub filter: String,
    /// Its gate, which it may share; the same.
    pub gate: String,
    /// Its flow meter.
    pub meter: Option<String>,
}

/// The streams of a document, in the order of their index; nothing if it does not speak of streams.
pub(in super::super) fn import(root: &Node, notes: &mut Notes) -> Result<Option<Vec<ImportedStream>>, YangError> {
    let identities = root.member(STREAM_IDENTIFICATION, "stream-identity")?;
    let component = policing_component(root)?;
    let frer = root.member(FRER, "frer")?;
    if identities.is_none() && component.is_none() && frer.is_none() {
        return Ok(None);
    }
    let mut policing = component.map(|component| Policing::of(&component, notes)).transpose()?.unwrap_or_default();
    let mut frer = frer.map(|frer| Frer::of(&frer, notes)).transpose()?.unwrap_or_default();
    let mut streams = Vec::new();
    let mut handles = BTreeSet::new();
    for node in numbered(identities, STREAM_IDENTIFICATION, "index")?.into_values() {
        let handle = handle_of(&node.require(STREAM_IDENTIFICATION, "handle")?)?;
        if !handles.insert(handle) {
            let what = format!("handle {handle} has two entries; one says which frames are of a stream here");
            return Err(node.error(what));
        }
        streams.push(identity(handle, &node, &mut policing, &mut frer)?);
    }
    policing.all_used()?;
    frer.all_used()?;
    Ok(Some(streams))
}

/// The component of a bridge that has stream filters; one at most.
fn policing_component<'a>(root: &Node<'a>) -> Result<Option<Node<'a>>, YangError> {
    let mut found: Option<Node> = None;
    for bridge in list(root.member(BRIDGE, "bridges")?, BRIDGE, "bridge")? {
        for component in list(Some(bridge), BRIDGE, "component")? {
            let mut polices = false;
            for table in TABLES {
                let own = component.member(PSFP_BRIDGE, table)?;
                if let (None, Some(other)) = (&own, component.member(FILTERS_GATES_BRIDGE, table)?) {
                    return Err(other.error(format!("is not supported; streams are policed by {PSFP_BRIDGE}:{table}")));
                }
                polices |= own.is_some();
            }
            if let Some(other) = found.as_ref().filter(|_| polices) {
                let what = format!("polices streams, and {} does so, too; a switch has one component", other.path());
                return Err(component.error(what));
            }
            if polices {
                found = Some(component);
            }
        }
    }
    Ok(found)
}

fn list<'a>(container: Option<Node<'a>>, module: &str, name: &str) -> Result<Vec<Node<'a>>, YangError> {
    let list = container.map(|container| container.member(module, name)).transpose()?.flatten();
    let items = list.map_or(Ok(Vec::new()), |list| list.items())?;
    let named = |item: Node<'a>| match item.member(module, "name")?.map(|name| name.text()).transpose()? {
        Some(name) => Ok(item.keyed("name", name)),
        None => Ok(item),
    };
    items.into_iter().map(named).collect()
}

/// Stream filters with their gates and meters.
#[derive(Default)]
struct Policing<'a> {
    /// By stream_handle.
    filters: BTreeMap<u32, Filter<'a>>,
    /// What must be referred to by a filter.
    gates: BTreeMap<u32, Node<'a>>,
    meters: BTreeMap<u32, Node<'a>>,
}

struct Filter<'a> {
    node: Node<'a>,
    max_sdu: Option<u32>,
    gate: Option<StreamGate>,
    gate_path: String,
    meter: Option<Meter>,
    meter_path: Option<String>,
}

impl<'a> Policing<'a> {
    fn of(component: &Node<'a>, notes: &mut Notes) -> Result<Self, YangError> {
        let table = |container: &str, names: &[&str], list: &str, key: &str| {
            let Some(container) = component.member(PSFP_BRIDGE, container)? else { return Ok(BTreeMap::new()) };
            container.only(PSFP_BRIDGE, names)?;
            numbered(container.member(PSFP_BRIDGE, list)?, PSFP_BRIDGE, key)
        };
        let gates = table("stream-gates", &GATES, GATES[0], "stream-gate-instance-id")?;
        let meters = table("flow-meters", &METERS, METERS[0], "flow-meter-instance-id")?;
        let filters = table("stream-filters", &FILTERS, FILTERS[0], "stream-filter-instance-id")?;
        let mut lists = BTreeMap::new();
        for (number, node) in &gates {
            lists.insert(*number, (node.path().to_owned(), gate(node, notes)?));
        }
        let mut policing = Self { filters: BTreeMap::new(), gates, meters };
        // One that is always open needs no filter.
        policing.gates.retain(|number, _| lists[number].1.is_some());
        for (_, node) in filters {
            let (handle, filter) = policing.filter(node, &lists)?;
            let node = filter.node.clone();
            if policing.filters.insert(handle, filter).is_some() {
                return Err(node.error(format!("there is a filter of the stream-handle {handle} already")));
            }
        }
        Ok(policing)
    }

    fn filter(
        &mut self,
        node: Node<'a>,
        gates: &BTreeMap<u32, (String, Option<StreamGate>)>,
    ) -> Result<(u32, Filter<'a>), YangError> {
        node.only(PSFP_BRIDGE, &FILTER)?;
        let number = |name: &str| node.require(PSFP_BRIDGE, name)?.number(0..=u32::MAX.into()).map(|n| n as u32);
        is(&node, "priority-spec", "wildcard", "streams are told apart by address and VLAN alone")?;
        node.off(PSFP_BRIDGE, "stream-blocked-due-to-oversize-frame-enabled")?;
        node.off(PSFP_BRIDGE, "stream-blocked-due-to-oversize-frame")?;
        let handle = number("stream-handle")?;
        let max_sdu = Some(number("max-sdu-size")?).filter(|octets| *octets > 0);
        let reference = node.require(PSFP_BRIDGE, "stream-gate-ref")?;
        let of = number("stream-gate-ref")?;
        let (gate_path, gate) =
            gates.get(&of).ok_or_else(|| reference.error(format!("there is no stream gate {of}")))?;
        self.gates.remove(&of);
        let is_metered = node.member(PSFP_BRIDGE, "flow-meter-enable")?.map_or(Ok(false), |leaf| leaf.flag())?;
        let metered = if is_metered {
            let reference = node.require(PSFP_BRIDGE, "flow-meter-ref")?;
            let of = number("flow-meter-ref")?;
            let what = || format!("there is no flow meter {of} that no other filter has");
            Some(self.meters.remove(&of).ok_or_else(|| reference.error(what()))?)
        } else {
            None
        };
        let meter = metered.as_ref().map(meter).transpose()?;
        let meter_path = metered.map(|node| node.path().to_owned());
        let (gate_path, gate) = (gate_path.clone(), gate.clone());
        Ok((handle, Filter { node, max_sdu, gate, gate_path, meter, meter_path }))
    }

    /// What no filter or no stream refers to has no place in a switch.
    fn all_used(&self) -> Result<(), YangError> {
        let unused = self.gates.values().chain(self.meters.values()).next();
        if let Some(node) = unused {
            return Err(node.error("no stream filter refers to it; leave it out"));
        }
        match self.filters.iter().next() {
            None => Ok(()),
            Some((handle, filter)) => {
                Err(filter.node.error(format!("no entry of stream-identity has the handle {handle}")))
            }
        }
    }
}

const GATES: [&str; 5] = [
    "stream-gate-instance-table",
    "max-stream-gate-instances",
    "supported-list-max",
    "supported-cycle-max",
    "supported-interval-max",
];
const METERS: [&str; 2] = ["flow-meter-instance-table", "max-flow-meter-instances"];
const FILTERS: [&str; 2] = ["stream-filter-instance-table", "max-stream-filter-instances"];
/// State is read over.
const FILTER: [&str; 15] = [
    "stream-filter-instance-id",
    "stream-handle",
    "priority-spec",
    "max-sdu-size",
    "stream-blocked-due-to-oversize-frame-enabled",
    "stream-blocked-due-to-oversize-frame",
    "stream-gate-ref",
    "flow-meter-ref",
    "flow-meter-enable",
    "matching-frames-count",
    "passing-frames-count",
    "not-passing-frames-count",
    "red-frames-count",
    "passing-sdu-count",
    "not-passing-sdu-count",
];
const METER: [&str; 10] = [
    "flow-meter-instance-id",
    "committed-information-rate",
    "committed-burst-size",
    "excess-information-rate",
    "excess-burst-size",
    "coupling-flag",
    "color-mode",
    "drop-on-yellow",
    "mark-all-frames-red-enable",
    "mark-all-frames-red",
];
const GATE: [&str; 24] = [
    "stream-gate-instance-id",
    "gate-enable",
    "admin-gate-states",
    "admin-ipv",
    "oper-gate-state",
    "oper-ipv",
    "admin-control-list",
    "oper-control-list",
    "admin-cycle-time",
    "oper-cycle-time",
    "admin-cycle-time-extension",
    "oper-cycle-time-extension",
    "admin-base-time",
    "oper-base-time",
    "config-change",
    "config-change-time",
    "tick-granularity",
    "current-time",
    "config-pending",
    "config-change-error",
    "gate-closed-due-to-invalid-rx-enable",
    "gate-closed-due-to-invalid-rx",
    "gate-closed-due-octets-exceeded-enable",
    "gate-closed-due-octets-exceeded",
];
const ENTRY: [&str; 5] = ["index", "operation-name", "time-interval-value", "gate-state-value", "ipv-spec"];

/// A flow meter without an excess.
fn meter(node: &Node) -> Result<Meter, YangError> {
    node.only(PSFP_BRIDGE, &METER)?;
    let number = |name: &str, most: u64| node.require(PSFP_BRIDGE, name)?.number(0..=most);
    for name in ["excess-information-rate", "excess-burst-size"] {
        if number(name, u64::MAX)? != 0 {
            return Err(node.require(PSFP_BRIDGE, name)?.error("there is no excess here; write 0"));
        }
    }
    is(node, "color-mode", "color-blind", "no frame has a colour before its meter")?;
    node.off(PSFP_BRIDGE, "mark-all-frames-red-enable")?;
    let rate = number("committed-information-rate", u64::MAX)?;
    let burst = number("committed-burst-size", u32::MAX.into())? as u32;
    Ok(Meter { rate, burst })
}

/// The list of a stream gate; nothing if it is always open.
fn gate(node: &Node, notes: &mut Notes) -> Result<Option<StreamGate>, YangError> {
    node.only(PSFP_BRIDGE, &GATE)?;
    for name in ["gate-closed-due-to-invalid-rx-enable", "gate-closed-due-octets-exceeded-enable"] {
        node.off(PSFP_BRIDGE, name)?;
    }
    if node.member(PSFP_BRIDGE, "admin-ipv")?.is_some() {
        is(node, "admin-ipv", "null", NO_PRIORITY)?;
    }
    let is_enabled = node.member(PSFP_BRIDGE, "gate-enable")?.map_or(Ok(false), |leaf| leaf.flag())?;
    if let Some(states) = node.member(PSFP_BRIDGE, "admin-gate-states")? {
        match (state(&states)?, is_enabled) {
            (true, _) => {}
            (false, true) => notes.otherwise(&states, "before the base time the gate is open here; write \"open\""),
            (false, false) => return Err(states.error("no frame would ever pass; open the gate, or enable its list")),
        }
    }
    if !is_enabled {
        return Ok(None);
    }
    let list = ControlList::read(node, PSFP_BRIDGE, notes, |item, _| {
        item.only(PSFP_BRIDGE, &ENTRY)?;
        operation(item)?;
        is(item, "ipv-spec", "null", NO_PRIORITY)?;
        Ok(StreamGateEntry { open: state(&item.require(PSFP_BRIDGE, "gate-state-value")?)?, for_ns: 0 })
    })?;
    let ControlList { base, cycle_ns, entries, .. } = list;
    Ok(entries.iter().any(|entry| !entry.open).then_some(StreamGate { base, cycle_ns, entries }))
}

const NO_PRIORITY: &str = "no other priority is given to frames here";

fn state(leaf: &Node) -> Result<bool, YangError> {
    match leaf.text()? {
        "open" => Ok(true),
        "closed" => Ok(false),
        other => Err(leaf.error(format!("\"{other}\" is neither open nor closed"))),
    }
}

fn operation(item: &Node) -> Result<(), YangError> {
    let node = item.require(PSFP_BRIDGE, "operation-name")?;
    let name = node.text()?;
    // Some tools write the prefix instead of the module's name.
    let plain = [PSFP, "psfp"].iter().find_map(|module| name.strip_prefix(module)?.strip_prefix(':')).unwrap_or(name);
    match plain {
        "set-gate-and-ipv" => Ok(()),
        _ => Err(node.error(format!("\"{name}\" is no operation; \"{PSFP}:set-gate-and-ipv\" is"))),
    }
}

/// A leaf that can have one value.
fn is(node: &Node, name: &str, value: &str, why: &str) -> Result<(), YangError> {
    let leaf = node.require(PSFP_BRIDGE, name)?;
    match leaf.text()? {
        text if text == value => Ok(()),
        _ => Err(leaf.error(format!("{why}; write \"{value}\""))),
    }
}

/// Which frames are of a stream, with what becomes of them.
fn identity<'a>(
    handle: u32,
    node: &Node<'a>,
    policing: &mut Policing,
    frer: &mut Frer<'a>,
) -> Result<ImportedStream, YangError> {
    const OTHERS: [&str; 5] = [
        "smac-vlan-stream-identification",
        "dmac-vlan-stream-identification",
        "ip-stream-identification",
        "organization-specific",
        "mask-and-match-stream-identification",
    ];
    for other in OTHERS {
        if let Some(other) = node.member(STREAM_IDENTIFICATION, other)? {
            return Err(other.error("is not supported; frames are known by null-stream-identification"));
        }
    }
    node.only(
        STREAM_IDENTIFICATION,
        &["index", "handle", "in-facing", "out-facing", "null-stream-identification", "auto-configured"],
    )?;
    let frames = node.require(STREAM_IDENTIFICATION, "null-stream-identification")?;
    let (to, vlan) = self::frames(&frames)?;
    let (facing, ingress) = ingress(node)?;
    let Redundancy { eliminate, replicate } = frer.take(handle, &facing, &ingress)?;
    let identity = node.path().to_owned();
    let Some(filter) = policing.filters.remove(&handle) else {
        if eliminate.is_none() && replicate.is_none() {
            let what = format!("no stream filter has the stream-handle {handle}, and it takes no several paths (frer)");
            return Err(node.error(what));
        }
        let paths = Paths { filter: identity.clone(), gate: identity.clone(), meter: None, identity };
        return Ok(ImportedStream {
            handle,
            to,
            vlan,
            ingress,
            max_sdu: None,
            meter: None,
            gate: None,
            eliminate,
            replicate,
            paths,
        });
    };
    let Filter { node: filter, max_sdu, gate, gate_path, meter, meter_path } = filter;
    let paths = Paths { identity, filter: filter.path().to_owned(), gate: gate_path, meter: meter_path };
    Ok(ImportedStream { handle, to, vlan, ingress, max_sdu, meter, gate, eliminate, replicate, paths })
}

fn frames(node: &Node) -> Result<([u8; 6], Option<u16>), YangError> {
    node.only(STREAM_IDENTIFICATION, &["identification-type", "destination-mac", "tagged", "vlan"])?;
    let to = node.require(STREAM_IDENTIFICATION, "destination-mac")?;
    let address = to.text()?;
    let to = mac(address)
        .ok_or_else(|| to.error(format!("\"{address}\" is not a MAC address such as 02-00-00-00-00-01")))?;
    let vlan = node.member(STREAM_IDENTIFICATION, "vlan")?.map_or(Ok(0), |vlan| vlan.number(0..=4094))?;
    let tagged = node.require(STREAM_IDENTIFICATION, "tagged")?;
    let vlan = match (tagged.text()?, vlan) {
        ("all", 0) => None,
        ("priority", 0) => Some(0),
        ("tagged", vlan @ 1..) => Some(vlan as u16),
        (other, vlan) => {
            let what = format!(
                "\"{other}\" with vlan {vlan} is not supported; \"tagged\" with a vlan from 1 on is, and \"priority\" and \"all\" with 0"
            );
            return Err(tagged.error(what));
        }
    };
    Ok((to, vlan))
}

/// The ports that the frames come in by, and the node that names them.
fn ingress<'a>(node: &Node<'a>) -> Result<(Node<'a>, Vec<String>), YangError> {
    if let Some(other) = node.member(STREAM_IDENTIFICATION, "in-facing")? {
        return Err(
            other.error("is not supported; frames are known as they come in from the link: out-facing/input-port")
        );
    }
    let facing = node.require(STREAM_IDENTIFICATION, "out-facing")?;
    facing.only(STREAM_IDENTIFICATION, &["input-port", "output-port"])?;
    let list = facing.require(STREAM_IDENTIFICATION, "input-port")?;
    let ports = list.items()?.iter().map(|port| port.text().map(str::to_owned)).collect::<Result<Vec<_>, _>>()?;
    match ports.is_empty() {
        true => Err(list.error("has no port; name those that the frames come in by")),
        false => Ok((facing, ports)),
    }
}
