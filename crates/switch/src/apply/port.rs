//! Steps that make a port ready, whichever data plane it is for.

use std::net::Ipv6Addr;

use serde::Deserialize;

use super::{Act, Expect, Host, Iface, Link, Refused, Step, Undo, openvswitch, parsed};
use crate::features;

/// Longest time that a port's link takes to come up.
const LINK_MS: u64 = 5_000;

/// Why an interface cannot be a port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// No interface has this name.
    #[error("there is no port {0} (ip link shows those that there are)")]
    NotThere(String),
    /// It is part of something else.
    #[error("port {port} belongs to {master}: take it out first (ip link set dev {port} nomaster)")]
    Taken {
        /// The port.
        port: String,
        /// The bridge or bond.
        master: String,
    },
    /// It is part of an Open vSwitch.
    #[error("port {0} belongs to Open vSwitch: take it out first (ovs-vsctl del-port {0})")]
    OfOpenVswitch(String),
    /// Another kind of interface.
    #[error("{0} is not an Ethernet port")]
    NotEthernet(String),
    /// Somebody gave it an address.
    #[error(
        "port {port} has the address {address}, which would be lost: remove it first (ip addr del {address} dev {port})"
    )]
    Address {
        /// The port.
        port: String,
        /// The address.
        address: String,
    },
    /// Somebody gave it a route.
    #[error(
        "port {port} has the route {route}, which would be lost: remove it first (ip -6 route del {route} dev {port})"
    )]
    Route {
        /// The port.
        port: String,
        /// The route.
        route: String,
    },
    /// Somebody gave it a neighbour for good.
    #[error(
        "port {port} has the neighbour {neighbour}, which would be lost: remove it first (ip -6 neigh del {neighbour} dev \
         {port})"
    )]
    Neighbour {
        /// The port.
        port: String,
        /// Its address.
        neighbour: String,
    },
    /// The machine.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// The interface of a port, if it is free to be one.
pub fn usable<'a>(name: &str, links: &'a [Link]) -> Result<&'a Link, PortError> {
    let Some(link) = links.iter().find(|link| link.name == name) else {
        return Err(PortError::NotThere(name.into()));
    };
    if link.master.as_deref() == Some(openvswitch::MASTER) {
        return Err(PortError::OfOpenVswitch(name.into()));
    }
    if let Some(master) = &link.master {
        return Err(PortError::Taken { port: name.into(), master: master.clone() });
    }
    if link.link_type != "ether" || link.info.kind.as_deref() == Some("bridge") {
        return Err(PortError::NotEthernet(name.into()));
    }
    Ok(link)
}

/// Switches the port on, and waits for its link; none if it is on already.
pub fn up(link: &Link) -> Option<Step> {
    let port = Iface::from(link);
    let step = Step::of(&port.name, "on")
        .undo(Undo::Up { port: port.clone(), was: false })
        .act(Act::run(format!("ip link set dev {} up", port.name)))
        .act(Act::AwaitLink { port: port.name.clone(), at_most_ms: LINK_MS })
        .expect(Expect::Up { port: port.name });
    (!link.is_up()).then_some(step)
}

/// Switches offloads off that `unwanted` picks ([`features::breaks_shaping`], [`features::hides_octets`]); none if none
/// of them is on.
pub fn offloads_off(
    host: &impl Host,
    link: &Link,
    what: &str,
    unwanted: fn(&str) -> bool,
) -> Result<Option<Step>, Refused> {
    let port = Iface::from(link);
    let names = features::to_switch_off(&host.features(&port.name)?, unwanted);
    if names.is_empty() {
        return Ok(None);
    }
    let all = |on: bool| names.iter().map(|name| (name.clone(), on)).collect::<Vec<_>>();
    let step = Step::of(&port.name, what)
        .undo(Undo::Features { port: port.clone(), was: all(true) })
        .act(Act::Features { port: port.name.clone(), wanted: all(false) })
        .expect(Expect::Features { port: port.name, wanted: all(false) });
    Ok(Some(step))
}

/// Keeps the machine's own IPv6 off the port; none if it is off, or the kernel has none. Addresses, routes and neighbours that
/// somebody gave the port would be lost: the error names the first of them.
pub fn no_ipv6(host: &impl Host, link: &Link) -> Result<Option<Step>, PortError> {
    let port = Iface::from(link);
    let path = format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", port.name);
    let Some(was) = host.read(&path).filter(|was| was == "0") else { return Ok(None) };
    let kept = addresses(host, &port.name)?;
    if let Some(address) = kept.iter().find(|address| address.family == "inet6" && address.is_given()) {
        return Err(PortError::Address { port: port.name, address: address.to_string() });
    }
    if let Some(route) = routes(host, &port.name)?.into_iter().find(Route::is_given) {
        return Err(PortError::Route { port: port.name, route: route.to_string() });
    }
    if let Some(neighbour) = neighbours(host, &port.name)?.into_iter().next() {
        return Err(PortError::Neighbour { port: port.name, neighbour: neighbour.dst });
    }
    let step = Step::of(&port.name, "the machine's own IPv6 off")
        .undo(Undo::Value { path: path.clone(), was, port: Some(port) })
        .act(Act::Write { path: path.clone(), value: "1".into() })
        .expect(Expect::Value { path, value: "1".into() });
    Ok(Some(step))
}

/// An address of a port.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PortAddress {
    /// `inet` or `inet6`.
    pub family: String,
    local: String,
    #[serde(rename = "prefixlen")]
    prefix: u8,
    scope: String,
    #[serde(default)]
    dynamic: bool,
    #[serde(rename = "stable-privacy", default)]
    stable_privacy: bool,
    /// Who gave it, where the kernel tells (Linux 5.18): `kernel_ll` is the kernel itself.
    #[serde(default)]
    protocol: Option<String>,
    /// The MAC address of the port.
    #[serde(skip)]
    mac: Option<String>,
}

impl std::fmt::Display for PortAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}/{}", self.local, self.prefix)
    }
}

impl PortAddress {
    /// Whether somebody gave it to the port, so that it does not come back by itself.
    pub fn is_given(&self) -> bool {
        match (self.scope.as_str(), self.family.as_str()) {
            ("link", "inet6") => !self.is_of_kernel(),
            ("link", _) => false,
            _ => !self.dynamic,
        }
    }

    /// Whether it is a link-local address that the kernel makes, of the MAC address (RFC 4291) or of a secret (RFC 7217).
    fn is_of_kernel(&self) -> bool {
        let of_mac = || self.mac.as_deref().and_then(link_local_of);
        self.stable_privacy
            || self.protocol.as_deref() == Some("kernel_ll")
            || of_mac().is_some_and(|own| self.local.parse() == Ok(own))
    }
}

/// The link-local address with the modified EUI-64 of a MAC address as its interface identifier.
fn link_local_of(mac: &str) -> Option<Ipv6Addr> {
    let octets: Vec<u8> = mac.split(':').map(|octet| u8::from_str_radix(octet, 16)).collect::<Result<_, _>>().ok()?;
    let [a, b, c, d, e, f] = octets.try_into().ok()?;
    Some(Ipv6Addr::from([0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f]))
}

/// The addresses of a port.
pub fn addresses(host: &impl Host, port: &str) -> Result<Vec<PortAddress>, Refused> {
    #[derive(Deserialize)]
    struct Shown {
        #[serde(default)]
        address: Option<String>,
        #[serde(default)]
        addr_info: Vec<PortAddress>,
    }
    let argv = ["ip", "-j", "addr", "show", "dev", port];
    let shown: Vec<Shown> = parsed(&argv, &host.query(&argv)?)?;
    let of = |Shown { address, addr_info }| {
        addr_info.into_iter().map(move |info| PortAddress { mac: address.clone(), ..info }).collect::<Vec<_>>()
    };
    Ok(shown.into_iter().flat_map(of).collect())
}

/// A route by a port.
#[derive(Debug, Deserialize)]
struct Route {
    dst: String,
    gateway: Option<String>,
    table: Option<String>,
    protocol: Option<String>,
}

impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}", self.dst)?;
        self.gateway.iter().try_for_each(|gateway| write!(f, " via {gateway}"))?;
        self.table.iter().try_for_each(|table| write!(f, " table {table}"))
    }
}

impl Route {
    /// Whether somebody made it by hand: `ip` shows no protocol of those that it made itself. The others come back with their
    /// addresses, or by the router or the program that announced them.
    fn is_given(&self) -> bool {
        !matches!(self.protocol.as_deref(), Some("kernel" | "ra" | "redirect" | "dhcp"))
    }
}

fn routes(host: &impl Host, port: &str) -> Result<Vec<Route>, Refused> {
    let argv = ["ip", "-6", "-j", "route", "show", "table", "all", "dev", port];
    parsed(&argv, &host.query(&argv)?)
}

/// A neighbour that somebody gave a port for good.
#[derive(Debug, Deserialize)]
struct Neighbour {
    dst: String,
}

fn neighbours(host: &impl Host, port: &str) -> Result<Vec<Neighbour>, Refused> {
    let argv = ["ip", "-6", "-j", "neigh", "show", "dev", port, "nud", "permanent"];
    parsed(&argv, &host.query(&argv)?)
}

#[cfg(test)]
mod tests;
