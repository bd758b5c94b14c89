//! Loops that the machine itself can tell of.

use super::{Joined, Loop};
use crate::link::Link;

/// Ports that are joined by what is set up on this machine, given all its interfaces ([`crate::link::list`]). The
/// switch's own bridge, if it exists by this name already, joins them rightly.
pub fn known(links: &[Link], ports: &[&str], own_bridge: Option<&str>) -> Vec<Loop> {
    let ports: Vec<&Link> = ports.iter().filter_map(|port| links.iter().find(|link| link.name == *port)).collect();
    let pairs = ports.iter().enumerate().flat_map(|(i, port)| ports[i + 1..].iter().map(move |other| (*port, *other)));
    pairs
        .filter_map(|(port, other)| {
            let by = joined(links, port, other, own_bridge)?;
            Some(Loop { port: port.name.clone(), other: other.name.clone(), by })
        })
        .collect()
}

fn joined(links: &[Link], port: &Link, other: &Link, own_bridge: Option<&str>) -> Option<Joined> {
    let is_pair = |link: &Link| link.kind.as_deref() == Some("veth");
    let behind = |link: &Link| links.iter().find(|at| is_pair(link) && Some(at.index) == link.other);
    if is_pair(port) && port.other == Some(other.index) {
        return Some(Joined::Pair);
    }
    if let Some(name) = common_bridge(links, port, other).filter(|name| Some(name.as_str()) != own_bridge) {
        return Some(Joined::Bridge(name));
    }
    common_bridge(links, behind(port)?, behind(other)?).map(Joined::BridgeBehind)
}

/// Name of the bridge that both belong to.
fn common_bridge(links: &[Link], one: &Link, two: &Link) -> Option<String> {
    let master = one.master.filter(|_| one.master == two.master)?;
    links.iter().find(|link| link.index == master).map(|link| link.name.clone())
}
