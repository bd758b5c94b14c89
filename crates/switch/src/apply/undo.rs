//! How each kind of change is undone: only where it differs from what there was, so that it can be done again, or for
//! a change that was never made.

use ontick_undo::Undone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::filters::{self, Hook};
use super::host::parsed;
use super::qdiscs::{qdiscs, root_of};
use super::restore::restore;
use super::{Act, Host, Link, Refused, links, openvswitch};
use crate::ethtool::mac_merge;

/// An interface; another one that took its name later is not it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iface {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Its MAC address, by which it is known under another name; none of an interface that was made here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

impl Iface {
    /// One that is made here, with a number of our own choice.
    pub(crate) fn made(name: &str, index: u32) -> Self {
        Self { name: name.into(), index, address: None }
    }

    fn is(&self, link: &Link) -> bool {
        link.name == self.name && link.index == self.index
    }

    /// What it is called now, if somebody has given it another name since.
    fn renamed<'a>(&self, links: &'a [Link]) -> Option<&'a str> {
        let same = |link: &&Link| link.index == self.index && self.address.is_some() && link.address == self.address;
        links.iter().find(same).map(|link| link.name.as_str()).filter(|name| *name != self.name)
    }
}

impl From<&Link> for Iface {
    fn from(link: &Link) -> Self {
        Self { name: link.name.clone(), index: link.index, address: link.address.clone() }
    }
}

/// What there was before a change, and so how to undo it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "undo")]
pub enum Undo {
    /// The port was switched on or off.
    Up {
        /// The port.
        port: Iface,
        /// Which.
        was: bool,
    },
    /// The port was in no bridge.
    Released {
        /// The port.
        port: Iface,
        /// The bridge that it was put into.
        bridge: String,
    },
    /// The bridge had no entries for these groups that led to the port.
    Groups {
        /// The port.
        port: Iface,
        /// The bridge.
        bridge: String,
        /// Addresses of the groups.
        groups: Vec<String>,
    },
    /// There was no such bridge.
    Bridge {
        /// The bridge, with the number that it was given.
        bridge: Iface,
    },
    /// Open vSwitch had no such bridge.
    OvsBridge {
        /// Its name.
        bridge: String,
    },
    /// The port was in no bridge of Open vSwitch.
    OvsPort {
        /// The port.
        port: String,
        /// The bridge that it was put into.
        bridge: String,
    },
    /// There was no such pair of interfaces.
    Pair {
        /// One of them, with the number that it was given.
        interface: Iface,
    },
    /// A file of the kernel held a value.
    Value {
        /// The file.
        path: String,
        /// The value.
        was: String,
        /// The port that it belongs to, without which it is gone.
        port: Option<Iface>,
    },
    /// Offloads were on or off.
    Features {
        /// The port.
        port: Iface,
        /// Each by its name.
        was: Vec<(String, bool)>,
    },
    /// The port's MAC Merge sublayer was set so.
    MacMerge {
        /// The port.
        port: Iface,
        /// How.
        was: mac_merge::Settings,
    },
    /// The port had the queueing discipline that the kernel gives by itself.
    RootQdisc {
        /// The port.
        port: Iface,
        /// Ours, by its handle.
        handle: String,
        /// The kind that the kernel had given.
        was: String,
    },
    /// The port had no hook for filters.
    Clsact {
        /// The port.
        port: Iface,
    },
    /// The port's hook for filters had none with these preferences.
    Filters {
        /// The port.
        port: Iface,
        /// The preferences.
        preferences: Vec<u16>,
    },
    /// The port's hook for filters had none with these preferences at the way in.
    Policers {
        /// The port.
        port: Iface,
        /// The preferences.
        preferences: Vec<u16>,
    },
    /// There was no such table of nftables.
    NftTable {
        /// `bridge` or `inet`.
        family: String,
        /// Its name.
        table: String,
    },
    /// There was no such chain in iptables' mangle table.
    Chain {
        /// `iptables` or `ip6tables`.
        program: String,
        /// Its name.
        chain: String,
        /// nftables' family of the mangle table if that was not there either.
        table: Option<String>,
    },
}

impl Undo {
    /// What it puts back, in words.
    pub fn what(&self) -> String {
        match self {
            Undo::Up { port, was } => format!("{} {}", port.name, if *was { "up" } else { "down" }),
            Undo::Released { port, bridge } => format!("{} out of bridge {bridge}", port.name),
            Undo::Groups { port, bridge, .. } => format!("no group addresses of {} in bridge {bridge}", port.name),
            Undo::Bridge { bridge } => format!("no bridge {}", bridge.name),
            Undo::OvsBridge { bridge } => format!("no Open vSwitch bridge {bridge}"),
            Undo::OvsPort { port, bridge } => format!("{port} out of Open vSwitch bridge {bridge}"),
            Undo::Pair { interface } => format!("no interface {}", interface.name),
            Undo::Value { path, was, .. } => format!("{path} {was}"),
            Undo::Features { port, was } => {
                let each: Vec<String> =
                    was.iter().map(|(name, on)| format!("{name} {}", if *on { "on" } else { "off" })).collect();
                format!("{}: {}", port.name, each.join(", "))
            }
            Undo::MacMerge { port, was } => format!("{}: {was}", port.name),
            Undo::RootQdisc { port, was, .. } => format!("{}: queueing discipline {was}", port.name),
            Undo::Clsact { port } => format!("{}: no clsact", port.name),
            Undo::Filters { port, .. } => format!("{}: no filters of ontick", port.name),
            Undo::Policers { port, .. } => format!("{}: no filters of ontick at its way in", port.name),
            Undo::NftTable { family, table } => format!("no nft table {family} {table}"),
            Undo::Chain { program, chain, .. } => format!("no {program} chain {chain}"),
        }
    }

    /// The interface without which there is nothing to undo.
    pub(crate) fn port(&self) -> Option<&Iface> {
        match self {
            Undo::Up { port, .. }
            | Undo::Released { port, .. }
            | Undo::Groups { port, .. }
            | Undo::Features { port, .. }
            | Undo::MacMerge { port, .. }
            | Undo::RootQdisc { port, .. }
            | Undo::Clsact { port }
            | Undo::Filters { port, .. }
            | Undo::Policers { port, .. } => Some(port),
            Undo::Bridge { bridge } => Some(bridge),
            Undo::Pair { interface } => Some(interface),
            Undo::Value { port, .. } => port.as_ref(),
            // Open vSwitch's database keeps both without the interface.
            Undo::OvsBridge { .. } | Undo::OvsPort { .. } => None,
            Undo::NftTable { .. } | Undo::Chain { .. } => None,
        }
    }

    /// Undoes it.
    pub fn carry_out(&self, host: &impl Host) -> Undone {
        self.attempt(host).unwrap_or_else(|refused| {
            // It may have gone meanwhile.
            match (self.port(), links(host)) {
                (Some(port), Ok(links)) if !links.iter().any(|link| port.is(link)) => self.without(port, &links),
                _ => Undone::Refused(refused.to_string()),
            }
        })
    }

    /// What becomes of it where no interface of that name and number is left. One that has another name has its settings, too,
    /// and all that was written down of them speaks of the name.
    fn without(&self, port: &Iface, links: &[Link]) -> Undone {
        match (port.renamed(links), self) {
            (Some(now), _) => Undone::Refused(format!(
                "it is called {now} now: ip link set dev {now} name {}, then revert again",
                port.name
            )),
            (None, Undo::Bridge { .. } | Undo::Pair { .. }) => Undone::AlreadyAsBefore,
            (None, _) => Undone::Gone,
        }
    }

    fn attempt(&self, host: &impl Host) -> Result<Undone, Refused> {
        let link = match self.port() {
            None => None,
            Some(port) => {
                let links = links(host)?;
                match links.iter().find(|link| port.is(link)) {
                    Some(link) => Some(link.clone()),
                    None => return Ok(self.without(port, &links)),
                }
            }
        };
        match self {
            Undo::Up { port, was } => {
                let now = link.is_some_and(|link| link.is_up());
                let word = if *was { "up" } else { "down" };
                restore(now != *was, host, &[Act::run(format!("ip link set dev {} {word}", port.name))])
            }
            Undo::Released { port, bridge } => match link.and_then(|link| link.master) {
                None => Ok(Undone::AlreadyAsBefore),
                Some(master) if master == *bridge => {
                    restore(true, host, &[Act::run(format!("ip link set dev {} nomaster", port.name))])
                }
                Some(master) => Ok(Undone::Superseded(format!("it is in {master} now"))),
            },
            // With its place in the bridge a port loses them.
            Undo::Groups { bridge, .. } if link.and_then(|link| link.master).as_ref() != Some(bridge) => {
                Ok(Undone::AlreadyAsBefore)
            }
            Undo::Groups { port, bridge, groups } => {
                let present = groups_at(host, bridge, &port.name)?;
                let ours = groups.iter().filter(|group| present.contains(group));
                let delete =
                    |group: &String| Act::run(format!("bridge mdb del dev {bridge} port {} grp {group}", port.name));
                let acts: Vec<Act> = ours.map(delete).collect();
                restore(!acts.is_empty(), host, &acts)
            }
            Undo::Bridge { bridge } => restore(true, host, &[Act::run(format!("ip link delete dev {}", bridge.name))]),
            Undo::OvsBridge { bridge } => {
                let ours = openvswitch::is_ours(host, bridge)?;
                restore(ours, host, &[openvswitch::change(&format!("del-br {bridge}"))])
            }
            Undo::OvsPort { port, bridge } => match openvswitch::bridge_of(host, port)? {
                Some(now) if now == *bridge && openvswitch::is_ours(host, bridge)? => {
                    restore(true, host, &[openvswitch::change(&format!("del-port {bridge} {port}"))])
                }
                Some(now) if now != *bridge => Ok(Undone::Superseded(format!("it is in {now} now"))),
                _ => Ok(Undone::AlreadyAsBefore),
            },
            Undo::Pair { interface } => {
                restore(true, host, &[Act::run(format!("ip link delete dev {}", interface.name))])
            }
            Undo::Value { path, was, .. } => {
                let Some(now) = host.read(path) else { return Ok(Undone::Gone) };
                restore(now != *was, host, &[Act::Write { path: path.clone(), value: was.clone() }])
            }
            Undo::Features { port, was } => {
                let now = host.features(&port.name)?;
                let differs = |(name, on): &&(String, bool)| now.get(name).is_some_and(|feature| feature.wanted != *on);
                let wanted: Vec<_> = was.iter().filter(differs).cloned().collect();
                restore(!wanted.is_empty(), host, &[Act::Features { port: port.name.clone(), wanted }])
            }
            Undo::MacMerge { port, was } => {
                let now = host.mac_merge(&port.name)?.settings;
                restore(now != *was, host, &[Act::MacMerge { port: port.name.clone(), wanted: *was }])
            }
            Undo::RootQdisc { port, handle, was } => root_qdisc(host, &port.name, handle, was),
            Undo::Clsact { port } => filters::remove_hooks(host, &port.name),
            Undo::Filters { port, preferences } => filters::remove(host, &port.name, Hook::Egress, preferences),
            Undo::Policers { port, preferences } => filters::remove(host, &port.name, Hook::Ingress, preferences),
            Undo::NftTable { family, table } => {
                let there =
                    host.query(&["nft", "list", "tables"])?.lines().any(|l| l == format!("table {family} {table}"));
                restore(there, host, &[Act::run(format!("nft delete table {family} {table}"))])
            }
            Undo::Chain { program, chain, table } => remove_chain(host, program, chain, table.as_deref()),
        }
    }
}

/// Groups, by address, whose entries in a bridge lead to a port.
pub(crate) fn groups_at(host: &impl Host, bridge: &str, port: &str) -> Result<Vec<String>, Refused> {
    let argv = ["bridge", "-j", "mdb", "show", "dev", bridge];
    let bridges: Vec<Value> = parsed(&argv, &host.query(&argv)?)?;
    let entries = bridges.iter().filter_map(|bridge| bridge["mdb"].as_array()).flatten();
    let here = entries.filter(|entry| entry["port"] == *port);
    Ok(here.filter_map(|entry| Some(entry["grp"].as_str()?.to_owned())).collect())
}

fn root_qdisc(host: &impl Host, port: &str, handle: &str, was: &str) -> Result<Undone, Refused> {
    let kind_and_handle = |qdiscs: &[Value]| {
        let root = root_of(qdiscs);
        let text = |key: &str| root.and_then(|root| root[key].as_str()).unwrap_or_default().to_owned();
        (text("kind"), text("handle"))
    };
    let (kind, now) = kind_and_handle(&qdiscs(host, port)?);
    if now == "0:" || now.is_empty() {
        return Ok(Undone::AlreadyAsBefore);
    }
    if now != handle {
        return Ok(Undone::Superseded(format!("somebody else has set {kind} since; it was {was}")));
    }
    host.act(&Act::run(format!("tc qdisc del dev {port} root")))?;
    let (kind, _) = kind_and_handle(&qdiscs(host, port)?);
    // net.core.default_qdisc was changed after the port came up.
    Ok(if kind == was {
        Undone::Restored
    } else {
        Undone::Superseded(format!("it is {kind}, the kernel's default by now"))
    })
}

fn remove_chain(host: &impl Host, program: &str, chain: &str, table: Option<&str>) -> Result<Undone, Refused> {
    let there = || {
        let rules = host.query(&[program, "-w", "-t", "mangle", "-S"]).unwrap_or_default();
        let jump = format!("-A POSTROUTING -j {chain}");
        let new = format!("-N {chain}");
        (rules.lines().any(|rule| rule == jump), rules.lines().any(|rule| rule == new))
    };
    let (jump, new) = there();
    let mut acts = Vec::new();
    if jump {
        acts.push(Act::run(format!("{program} -w -t mangle -D POSTROUTING -j {chain}")));
    }
    if new {
        acts.push(Act::run(format!("{program} -w -t mangle -F {chain}")));
        acts.push(Act::run(format!("{program} -w -t mangle -X {chain}")));
    }
    acts.iter().try_for_each(|act| host.act(act))?;
    let mut restored = !acts.is_empty();
    // iptables over nftables made the table, and leaves it empty.
    if let Some(family) = table {
        let rules = host.query(&["nft", "list", "table", family, "mangle"]).unwrap_or_default();
        let holds_rules = rules.lines().map(str::trim).any(|line| {
            !line.is_empty() && !["table ", "chain ", "type ", "}", "#"].iter().any(|begin| line.starts_with(begin))
        });
        if !rules.is_empty() && !holds_rules {
            host.act(&Act::run(format!("nft delete table {family} mangle")))?;
            restored = true;
        }
    }
    Ok(if restored { Undone::Restored } else { Undone::AlreadyAsBefore })
}

#[cfg(test)]
mod tests;
