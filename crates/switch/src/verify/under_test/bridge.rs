//! The kernel's own bridge without gates: what a switch is compared with.

use super::{CountersError, Lost, UnderTest};
use crate::verify::namespace::{Namespace, NamespaceError};
use crate::verify::testbed;

/// A plain bridge in a namespace; it ends with the namespace.
pub struct Bridge<'a> {
    namespace: &'a Namespace,
    ports: Vec<String>,
    classes: usize,
}

impl<'a> Bridge<'a> {
    /// Of these ports, with this many classes to account to.
    pub fn new(namespace: &'a Namespace, ports: &[&str], classes: usize) -> Result<Self, NamespaceError> {
        // Without the spanning tree protocol and snooping it forwards at once.
        namespace.ip(&["link", "add", "bridge", "type", "bridge", "stp_state", "0", "mcast_snooping", "0"])?;
        for port in ports {
            namespace.ip(&["link", "set", port, "master", "bridge"])?;
        }
        namespace.ip(&["link", "set", "bridge", "up"])?;
        Ok(Self { namespace, ports: ports.iter().map(ToString::to_string).collect(), classes })
    }
}

impl UnderTest for Bridge<'_> {
    fn plane(&self) -> &'static str {
        "bridge"
    }

    fn about(&self) -> String {
        "the kernel's bridge, without gates".into()
    }

    fn lost(&mut self, _from: usize, to: usize) -> Result<Lost, CountersError> {
        let port = &self.ports[to];
        let dropped = testbed::dropped(self.namespace, port)?;
        Ok(Lost { classes: vec![Vec::new(); self.classes], elsewhere: vec![(format!("out of port {port}"), dropped)] })
    }
}
