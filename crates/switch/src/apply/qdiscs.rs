//! The queueing disciplines of a port.

use serde_json::Value;

use super::host::parsed;
use super::{Host, Refused};
use crate::qdisc;

/// As `tc` shows them.
pub(crate) fn qdiscs(host: &impl Host, port: &str) -> Result<Vec<Value>, Refused> {
    let argv = ["tc", "-s", "-j", "qdisc", "show", "dev", port];
    parsed(&argv, &qdisc::with_every_key(&host.query(&argv)?))
}

/// The one at the root; the kernel's own choice has the handle `0:`.
pub(crate) fn root_of(qdiscs: &[Value]) -> Option<&Value> {
    qdiscs.iter().find(|qdisc| qdisc["root"] == true)
}
