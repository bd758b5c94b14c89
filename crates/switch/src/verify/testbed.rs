//! A switch among hosts, all in this machine: each in a network namespace of its own, joined by virtual Ethernet.

use super::namespace::{Namespace, NamespaceError};
use crate::features::{self, Features};

/// What the hosts' interfaces are called.
pub const HOST: &str = "host";

/// A namespace for a switch, and one for the host behind each of its ports.
#[derive(Debug)]
pub struct Testbed {
    /// Where the switch is; its ports have their names there.
    pub switch: Namespace,
    /// In the order of the ports.
    pub hosts: Vec<Namespace>,
}

impl Testbed {
    /// With ports of these names.
    pub fn new(ports: &[&str]) -> Result<Self, NamespaceError> {
        let switch = Namespace::new()?;
        let mut hosts = Vec::new();
        for port in ports {
            let host = Namespace::new()?;
            switch.join(port, &host, HOST)?;
            switch.within(|| plain(port))?;
            host.within(|| plain(HOST))?;
            hosts.push(host);
        }
        Ok(Self { switch, hosts })
    }
}

/// Has frames on the wire of an interface of the calling thread's namespace as they were sent: none joined, cut, or with
/// their tag put aside. What a kernel cannot switch off it does not do to frames that are made by hand.
pub fn plain(interface: &str) {
    let off = |features: &Features| -> Vec<(String, bool)> {
        features::to_switch_off(features, features::hides_octets).into_iter().map(|name| (name, false)).collect()
    };
    let _ = features::get(interface).and_then(|features| features::set(interface, &off(&features)));
}

/// Frames that an interface could not hand over, since it is there: for virtual Ethernet, those that its other end had
/// no room for.
pub fn dropped(namespace: &Namespace, interface: &str) -> Result<u64, NamespaceError> {
    counted(namespace, interface, "tx")
}

/// Frames that came to an interface and found no room in the kernel.
pub fn not_received(namespace: &Namespace, interface: &str) -> Result<u64, NamespaceError> {
    counted(namespace, interface, "rx")
}

fn counted(namespace: &Namespace, interface: &str, way: &str) -> Result<u64, NamespaceError> {
    let text = namespace.run("ip", &["-s", "-j", "link", "show", "dev", interface])?;
    let links: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let dropped = |kind: &str| links[0][kind][way]["dropped"].as_u64();
    Ok(dropped("stats64").or(dropped("stats")).unwrap_or(0))
}
