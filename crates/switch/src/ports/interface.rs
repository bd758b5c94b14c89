//! Facts of an interface.

use std::io;

use serde::Serialize;

use super::driver::{Driver, Stamps, driver, stamps};
use super::routes;
use crate::ethtool::mac_merge;
use crate::link::{Link, list};
use crate::{ethtool, features};

/// An Ethernet interface that may be a port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// What an administrator calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Its kind, if it is a virtual one: `veth`, `bridge`, `vlan`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether it is Ethernet; no other can be a port.
    pub ethernet: bool,
    /// Whether it is a radio, whose access points send no frames of others.
    pub wireless: bool,
    /// Who drives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// It is set up.
    pub up: bool,
    /// Somebody is at the other end.
    pub carrier: bool,
    /// Bits per second of its link, where there is one and the driver tells.
    pub rate: Option<u64>,
    /// Octets of data that its frames carry at most.
    pub mtu: u32,
    /// Transmit queues that are in use.
    pub transmit_queues: u32,
    /// The bridge or bond that it belongs to.
    pub master: Option<String>,
    /// Whether a default route of this machine leaves by it.
    pub default_route: bool,
    /// How it stamps frames with the time.
    pub stamps: Stamps,
    /// Its MAC Merge sublayer, by which it preempts frames.
    pub mac_merge: Option<mac_merge::State>,
    /// Why it has none.
    #[serde(skip)]
    pub no_mac_merge: String,
    /// Offloads in action that make one frame of several or several of one.
    pub joins_frames: Vec<String>,
    /// Offloads in action that leave checksums and VLAN tags to the port.
    pub hides_octets: Vec<String>,
    /// Those that make one frame of several, or several of one, and cannot be switched off.
    pub fixed: Vec<String>,
    /// Whether the port can filter and queue by itself (`hw-tc-offload`), and is.
    pub tc_offload: Option<bool>,
}

impl Interface {
    /// Whether it is a socket that a cable goes into.
    pub fn is_physical(&self) -> bool {
        self.ethernet && self.kind.is_none() && !self.wireless
    }

    fn of(link: &Link, links: &[Link], defaults: &[String]) -> Self {
        let features = features::get(&link.name).unwrap_or_default();
        let acting = |pick: &dyn Fn(&str) -> bool| -> Vec<String> {
            features
                .iter()
                .filter(|(name, feature)| feature.active && pick(name))
                .map(|(name, _)| name.clone())
                .collect()
        };
        // Some virtual ports say so of a check that they make (tx-gso-robust), which joins nothing.
        let cannot = |name: &str| !features[name].can_change && name != "tx-gso-robust";
        let mac_merge = mac_merge::get(&link.name);
        Self {
            no_mac_merge: mac_merge.as_ref().err().map(ToString::to_string).unwrap_or_default(),
            mac_merge: mac_merge.ok(),
            name: link.name.clone(),
            alias: link.alias.clone(),
            kind: link.kind.clone(),
            ethernet: link.ethernet,
            wireless: is_wireless(&link.name),
            driver: driver(&link.name),
            up: link.up,
            carrier: link.carrier,
            rate: ethtool::rate(&link.name),
            mtu: link.mtu,
            transmit_queues: ethtool::transmit_queues(&link.name).unwrap_or(link.transmit_queues),
            master: link
                .master
                .and_then(|index| links.iter().find(|other| other.index == index))
                .map(|m| m.name.clone()),
            default_route: defaults.contains(&link.name),
            stamps: stamps(&link.name),
            joins_frames: acting(&features::breaks_shaping),
            hides_octets: acting(&|name| features::hides_octets(name) && !features::breaks_shaping(name)),
            fixed: acting(&|name| features::breaks_shaping(name) && cannot(name)),
            tc_offload: features.get("hw-tc-offload").filter(|f| f.can_change || f.active).map(|f| f.active),
        }
    }
}

/// All Ethernet interfaces of this network namespace.
pub fn all() -> io::Result<Vec<Interface>> {
    let (links, defaults) = (list()?, routes::defaults());
    Ok(links.iter().filter(|link| link.ethernet).map(|link| Interface::of(link, &links, &defaults)).collect())
}

/// The wireless extensions answer for radios alone (SIOCGIWNAME); their list is of this network namespace.
fn is_wireless(name: &str) -> bool {
    let list = std::fs::read_to_string("/proc/thread-self/net/wireless").unwrap_or_default();
    list.lines().any(|line| line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))
        || std::path::Path::new(&format!("/sys/class/net/{name}/phy80211")).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::testbed::{in_namespace, ip};

    #[test]
    fn a_cable_between_two_ports() {
        in_namespace(|| {
            ip("link add left numtxqueues 4 type veth peer name right");
            ip("link add cell4 type bridge");
            ip("link set left master cell4 mtu 1400 alias cell");
            ip("link set left up");
            let all = all().unwrap();
            let by =
                |name: &str| all.iter().find(|interface| interface.name == name).unwrap_or_else(|| panic!("{all:?}"));
            let left = by("left");
            assert_eq!((left.kind.as_deref(), left.master.as_deref()), (Some("veth"), Some("cell4")));
            assert_eq!((left.mtu, left.up, left.carrier, left.alias.as_deref()), (1400, true, false, Some("cell")));
            assert_eq!(left.driver.as_ref().map(|driver| driver.name.as_str()), Some("veth"));
            assert!(left.transmit_queues >= 1 && !left.is_physical() && !left.default_route);
            assert!(left.joins_frames.iter().any(|name| name == "tx-tcp-segmentation"), "{left:?}");
            assert_eq!(left.stamps.clock, None);
            assert!(all.iter().all(|interface| interface.name != "lo"));
        });
    }
}
