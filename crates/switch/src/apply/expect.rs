//! What there is after a step, to be compared with what there is now.

use std::cell::OnceCell;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::qdiscs::{qdiscs, root_of};
use super::{Host, Link, Refused, Snapshot, filters, links, openvswitch, undo};
use crate::ethtool::mac_merge;
use crate::qdisc::{Cbs, HANDLE, Mqprio, Prio, Taprio, TaprioState};

/// Something that a step brings about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "expect")]
pub enum Expect {
    /// The interface is there, and switched on.
    Up {
        /// Its name.
        port: String,
    },
    /// The port is in the bridge.
    In {
        /// The port.
        port: String,
        /// The bridge.
        bridge: String,
    },
    /// The bridge's entries for groups lead to the port.
    Groups {
        /// The port.
        port: String,
        /// The bridge.
        bridge: String,
        /// Addresses of the groups.
        groups: Vec<String>,
    },
    /// There is a bridge.
    Bridge {
        /// Its name.
        bridge: String,
    },
    /// A daemon cuts the bridge's loops, not the kernel.
    Rapid {
        /// The bridge.
        bridge: String,
    },
    /// There is a bridge of Open vSwitch that ontick made.
    OvsBridge {
        /// Its name.
        bridge: String,
    },
    /// The port is in a bridge of Open vSwitch.
    OvsPort {
        /// The port.
        port: String,
        /// The bridge.
        bridge: String,
    },
    /// A bridge of Open vSwitch has these flows and no others.
    OvsFlows {
        /// The bridge.
        bridge: String,
        /// The cookie of each in ascending order, with the queue that it sets.
        flows: Vec<(u64, Option<u8>)>,
    },
    /// Offloads act or do not.
    Features {
        /// The port.
        port: String,
        /// Each by its name.
        wanted: Vec<(String, bool)>,
    },
    /// A file of the kernel holds a value.
    Value {
        /// The file.
        path: String,
        /// The value.
        value: String,
    },
    /// The port's gates.
    Taprio {
        /// The port.
        port: String,
        /// The queueing discipline.
        taprio: Taprio,
    },
    /// The port's strict priority without gates.
    Prio {
        /// The port.
        port: String,
        /// The queueing discipline.
        prio: Prio,
    },
    /// The port's transmit queues without gates, some of whose frames are preempted.
    Mqprio {
        /// The port.
        port: String,
        /// The queueing discipline.
        mqprio: Mqprio,
    },
    /// The port's MAC Merge sublayer.
    MacMerge {
        /// The port.
        port: String,
        /// What it is set to.
        wanted: mac_merge::Settings,
    },
    /// The shaper of one of the port's classes.
    Cbs {
        /// The port.
        port: String,
        /// What it is attached to.
        parent: String,
        /// The queueing discipline.
        cbs: Cbs,
    },
    /// Queueing disciplines of the port's classes.
    Children {
        /// The port.
        port: String,
        /// The parent and the kind of each.
        children: Vec<(String, String)>,
    },
    /// Filters that set priorities at the port's way out.
    Filters {
        /// The port.
        port: String,
        /// Preference and priority of each.
        filters: Vec<(u16, u8)>,
    },
    /// Filters that police streams at the port's way in.
    Policed {
        /// The port.
        port: String,
        /// What the actions of each stream of the switch are called.
        #[serde(default)]
        actions: Vec<StreamActions>,
        /// Preference of each filter.
        preferences: Vec<u16>,
        /// Number of each stream gate, and how many entries its list has.
        gates: Vec<(u32, usize)>,
    },
    /// A table of nftables with rules that set priorities.
    NftTable {
        /// Its family.
        family: String,
        /// Its name.
        table: String,
        /// The priority that each rule sets, in their order.
        priorities: Vec<u8>,
    },
    /// A chain of iptables' mangle table that frames come through on their way out.
    Chain {
        /// `iptables` or `ip6tables`.
        program: String,
        /// Its name.
        chain: String,
        /// The priority that each rule sets, in their order.
        priorities: Vec<u8>,
    },
}

/// The actions that streams are policed by, which the filters of all ports share: by their numbers, each kind counted by
/// itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamActions {
    /// For the size of frames, of the kind `police`.
    pub size: u32,
    /// For the meter, of the same kind.
    pub meter: u32,
    /// Of the kind `gate`.
    pub gate: u32,
    /// When the list of the gate begins, on the switch's clock, in ns.
    pub base_ns: u64,
}

impl StreamActions {
    /// Those whose first number is this one.
    pub fn from(first: u32, base_ns: u64) -> Self {
        Self { size: first, meter: first + 1, gate: first, base_ns }
    }

    fn has(&self, number: u32) -> bool {
        [self.size, self.meter, self.gate].contains(&number)
    }
}

/// Something is not as a step made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The interface, table or file.
    pub place: String,
    /// What is there instead, as the end of a sentence that begins with the place.
    pub said: String,
    /// The interface itself is gone.
    pub gone: bool,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}", self.place, self.said)
    }
}

/// What is not as it should be.
pub fn differences<'a>(host: &impl Host, expects: impl IntoIterator<Item = &'a Expect>) -> Vec<Difference> {
    let mut expects = expects.into_iter().peekable();
    if expects.peek().is_none() {
        return Vec::new();
    }
    let now = Snapshot::of(host);
    let listed = OnceCell::new();
    let all = || listed.get_or_init(|| links(&now)).as_ref().map(Vec::as_slice).map_err(Refused::clone);
    let mut differences = Vec::new();
    for expect in expects {
        match expect.differs(&now, all) {
            Ok(difference) => differences.extend(difference),
            Err(refused) => return vec![difference("the network", format!("cannot be looked at: {refused}"))],
        }
    }
    differences
}

impl Expect {
    /// What is otherwise; an error where the interfaces cannot be listed.
    ///
    /// To list them takes a program, so it is done only where they are asked about, or where something differs: an interface
    /// that is gone has nothing of what is expected of it.
    fn differs<'l>(
        &self,
        host: &impl Host,
        links: impl Fn() -> Result<&'l [Link], Refused>,
    ) -> Result<Option<Difference>, Refused> {
        let asked = if self.is_about_links() { links()? } else { &[] };
        let said = self.compare(host, asked).unwrap_or_else(|refused| Some(format!("cannot be looked at: {refused}")));
        let Some(said) = said else { return Ok(None) };
        if let Some(port) = self.port() {
            if !links()?.iter().any(|link| link.name == port) {
                return Ok(Some(Difference { place: port.into(), said: "is gone".into(), gone: true }));
            }
        }
        Ok(Some(difference(self.place(), said)))
    }

    /// Whether the list of interfaces answers it, or a part of it.
    fn is_about_links(&self) -> bool {
        match self {
            Expect::Up { .. }
            | Expect::In { .. }
            | Expect::Bridge { .. }
            | Expect::OvsBridge { .. }
            | Expect::OvsPort { .. } => true,
            Expect::Groups { .. }
            | Expect::Rapid { .. }
            | Expect::OvsFlows { .. }
            | Expect::Features { .. }
            | Expect::Value { .. }
            | Expect::Taprio { .. }
            | Expect::Prio { .. }
            | Expect::Mqprio { .. }
            | Expect::MacMerge { .. }
            | Expect::Cbs { .. }
            | Expect::Children { .. }
            | Expect::Filters { .. }
            | Expect::Policed { .. }
            | Expect::NftTable { .. }
            | Expect::Chain { .. } => false,
        }
    }

    fn port(&self) -> Option<&str> {
        match self {
            Expect::Up { port }
            | Expect::In { port, .. }
            | Expect::Groups { port, .. }
            | Expect::Features { port, .. }
            | Expect::Taprio { port, .. }
            | Expect::Prio { port, .. }
            | Expect::Mqprio { port, .. }
            | Expect::MacMerge { port, .. }
            | Expect::Cbs { port, .. }
            | Expect::Children { port, .. }
            | Expect::OvsPort { port, .. }
            | Expect::Filters { port, .. }
            | Expect::Policed { port, .. } => Some(port),
            Expect::Bridge { bridge } | Expect::Rapid { bridge } => Some(bridge),
            Expect::Value { .. } | Expect::NftTable { .. } | Expect::Chain { .. } => None,
            Expect::OvsBridge { .. } | Expect::OvsFlows { .. } => None,
        }
    }

    fn place(&self) -> &str {
        match self {
            Expect::Value { path, .. } => path,
            Expect::NftTable { table, .. } => table,
            Expect::Chain { chain, .. } => chain,
            Expect::OvsBridge { bridge } | Expect::OvsFlows { bridge, .. } => bridge,
            _ => self.port().unwrap_or_default(),
        }
    }

    /// What is otherwise, as the end of a sentence.
    fn compare(&self, host: &impl Host, links: &[Link]) -> Result<Option<String>, Refused> {
        let link = |name: &str| links.iter().find(|link| link.name == name);
        Ok(match self {
            Expect::Up { port } => {
                let up = link(port).is_some_and(Link::is_up);
                (!up).then(|| "is switched off".into())
            }
            Expect::In { port, bridge } => match link(port).and_then(|link| link.master.as_ref()) {
                Some(master) if master == bridge => None,
                Some(master) => Some(format!("is in {master}, not in {bridge}")),
                None => Some(format!("is not in {bridge}")),
            },
            Expect::Groups { port, bridge, groups } => {
                let argv = ["ip", "-d", "-j", "link", "show", "dev", bridge];
                let shown: Vec<serde_json::Value> = super::host::parsed(&argv, &host.query(&argv)?)?;
                if shown.first().is_none_or(|shown| shown["linkinfo"]["info_data"]["mcast_snooping"] != 1) {
                    return Ok(Some(format!("is in {bridge}, which looks no groups up")));
                }
                let now = undo::groups_at(host, bridge, port)?;
                let missing = groups.iter().find(|group| !now.contains(group));
                missing.map(|group| format!("has no entry for {group} in {bridge}"))
            }
            Expect::Bridge { bridge } => {
                let kind = link(bridge).and_then(|link| link.info.kind.as_deref());
                (kind != Some("bridge")).then(|| "is not a bridge".into())
            }
            Expect::Rapid { bridge } => {
                let argv = ["ip", "-d", "-j", "link", "show", "dev", bridge];
                let shown: Vec<serde_json::Value> = super::host::parsed(&argv, &host.query(&argv)?)?;
                // 0: none, 1: the kernel, 2: a daemon (linux/if_link.h, IFLA_BR_STP_STATE).
                let state = shown.first().and_then(|shown| shown["linkinfo"]["info_data"]["stp_state"].as_u64());
                (state != Some(2)).then(|| {
                    "is not taken by mstpd: /sbin/bridge-stp refused it (is mstpd running, does /etc/bridge-stp.conf leave \
                     the bridge out?), or this is not the machine's first network namespace, the only one that the kernel \
                     runs it for"
                        .into()
                })
            }
            Expect::OvsBridge { bridge } => match openvswitch::is_ours(host, bridge)? {
                false => Some("is not a bridge of Open vSwitch that ontick made".into()),
                // Its daemon is reached by a file, whatever network namespace it works in.
                true if link(bridge).is_none() => {
                    Some("is in another network namespace, where ovs-vswitchd runs".into())
                }
                true => None,
            },
            Expect::OvsPort { port, bridge } => match openvswitch::bridge_of(host, port)? {
                Some(now) if now == *bridge => {
                    let number = openvswitch::interfaces(host)?.get(port).copied();
                    let same = number == link(port).map(|link| u64::from(link.index));
                    (!same).then(|| format!("cannot be opened by Open vSwitch, which has it in {bridge}"))
                }
                Some(now) => Some(format!("is in {now}, not in {bridge}")),
                None => Some(format!("is not in {bridge}")),
            },
            Expect::OvsFlows { bridge, flows } => {
                (openvswitch::flows(host, bridge)? != *flows).then(|| "has other flows".into())
            }
            Expect::Features { port, wanted } => {
                let now = host.features(port)?;
                let differs = |(name, on): &&(String, bool)| now.get(name).is_some_and(|feature| feature.active != *on);
                wanted.iter().find(differs).map(|(name, on)| format!("has {name} {}", if *on { "off" } else { "on" }))
            }
            Expect::Value { path, value } => match host.read(path) {
                Some(now) if now == *value => None,
                Some(now) => Some(format!("is {now}, not {value}")),
                None => Some("is not there".into()),
            },
            Expect::Taprio { port, taprio } => {
                let qdiscs = qdiscs(host, port)?;
                match root_of(&qdiscs) {
                    Some(root) if is_ours(root, "taprio") => match TaprioState::of(root) {
                        Some(shown) => shown.differs(taprio).map(|said| format!("has {said}")),
                        None => Some("shows a taprio without a schedule".into()),
                    },
                    root => Some(another(root, "taprio")),
                }
            }
            Expect::Prio { port, prio } => {
                let qdiscs = qdiscs(host, port)?;
                match root_of(&qdiscs) {
                    Some(root) if is_ours(root, "prio") => prio.differs(root).map(|said| format!("has {said}")),
                    root => Some(another(root, "prio")),
                }
            }
            Expect::Mqprio { port, mqprio } => {
                let qdiscs = qdiscs(host, port)?;
                match root_of(&qdiscs) {
                    Some(root) if is_ours(root, "mqprio") => mqprio.differs(root).map(|said| format!("has {said}")),
                    root => Some(another(root, "mqprio")),
                }
            }
            Expect::MacMerge { port, wanted } => {
                let now = host.mac_merge(port)?.settings;
                (now != *wanted).then(|| format!("preempts frames otherwise ({now})"))
            }
            Expect::Cbs { port, parent, cbs } => {
                let qdiscs = qdiscs(host, port)?;
                let there = |qdisc: &&serde_json::Value| qdisc["parent"] == **parent && qdisc["kind"] == "cbs";
                match qdiscs.iter().find(there) {
                    Some(shown) => cbs.differs(shown).map(|said| format!("has a cbs with {said} at {parent}")),
                    None => Some(format!("has no cbs at {parent}")),
                }
            }
            Expect::Children { port, children } => {
                let qdiscs = qdiscs(host, port)?;
                let there = |(parent, kind): &(String, String)| {
                    qdiscs.iter().any(|qdisc| qdisc["parent"] == **parent && qdisc["kind"] == **kind)
                };
                let missing = children.iter().find(|child| !there(child));
                missing.map(|(parent, kind)| format!("has no {kind} at {parent}"))
            }
            Expect::Filters { port, filters } => {
                let now = filters::priorities_at(host, port)?;
                let missing = filters.iter().find(|filter| !now.contains(filter));
                missing.map(|(preference, _)| format!("has no filter with preference {preference} as it was set"))
            }
            Expect::Policed { port, actions, preferences, gates } => {
                let now = filters::policers_at(host, port)?;
                let is_ours = |number: u32| actions.iter().any(|actions| actions.has(number));
                let there = |preference: &&u16| now.iter().any(|(of, number)| of == *preference && is_ours(*number));
                let missing = preferences.iter().find(|preference| !there(preference));
                let listed = filters::stream_gates_at(host, port)?;
                let cut = gates.iter().find_map(|(number, entries)| {
                    let (_, now) = listed.iter().find(|(of, now)| of == number && now != entries)?;
                    Some(format!("has a stream gate of {now} entries, not {entries}"))
                });
                missing
                    .map(|preference| format!("has no filter with preference {preference} at its way in as it was set"))
                    .or(cut)
            }
            Expect::NftTable { family, table, priorities } => {
                match host.query(&["nft", "-s", "list", "table", family, table]) {
                    Err(_) => Some("is gone".into()),
                    Ok(text) => (set_by_nft(&text) != *priorities).then(|| "has other rules".into()),
                }
            }
            Expect::Chain { program, chain, priorities } => {
                let rules = host.query(&[program, "-w", "-t", "mangle", "-S"])?;
                let jump = format!("-A POSTROUTING -j {chain}");
                if !rules.lines().any(|rule| rule == jump) {
                    return Ok(Some(format!("is not reached from {program}'s POSTROUTING")));
                }
                (set_by_iptables(&rules, chain) != *priorities).then(|| "has other rules".into())
            }
        })
    }
}

fn is_ours(root: &serde_json::Value, kind: &str) -> bool {
    root["kind"] == kind && root["handle"] == HANDLE
}

fn another(root: Option<&serde_json::Value>, wanted: &str) -> String {
    let kind = root.and_then(|root| root["kind"].as_str()).unwrap_or("no queueing discipline");
    format!("has {kind} in place of ontick's {wanted}")
}

fn difference(place: impl Into<String>, said: String) -> Difference {
    Difference { place: place.into(), said, gone: false }
}

/// The priorities in `meta priority set 0:f`.
fn set_by_nft(text: &str) -> Vec<u8> {
    let one = |line: &str| minor(line.split("meta priority set ").nth(1)?);
    text.lines().filter_map(one).collect()
}

/// The priorities in `--set-class 0000:000f` of a chain's rules.
fn set_by_iptables(rules: &str, chain: &str) -> Vec<u8> {
    let of_chain = format!("-A {chain} ");
    let one = |line: &str| minor(line.strip_prefix(&of_chain)?.split("--set-class ").nth(1)?);
    rules.lines().filter_map(one).collect()
}

/// What follows the colon of a priority as tc, nft and iptables write it.
fn minor(text: &str) -> Option<u8> {
    u8::from_str_radix(text.split_whitespace().next()?.split(':').nth(1)?, 16).ok()
}

#[cfg(test)]
mod tests;
