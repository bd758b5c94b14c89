//! What the kernel counts of frames that it did not carry.

use serde_json::Value;

use super::{Causes, Lost, WAITING};
use crate::apply::{Host, Refused, qdiscs, root_of};
use crate::kernel::status::port_statuses;
use ontick_tsn::model::Switch;

/// What the kernel's data plane has counted on the way from one port to another (places in the model's ports): in each
/// class's queue, at the gates before it, and at both interfaces.
pub(super) fn lost(host: &impl Host, switch: &Switch, from: usize, to: usize) -> Result<Lost, Refused> {
    let statuses = port_statuses(host, switch)?;
    let (ins, out) = (&switch.ports[from].name, &switch.ports[to].name);
    let of_class = |class: &ontick_tsn::model::Class| {
        let counts = statuses[to].classes.iter().find(|count| count.class == class.name);
        let [drops, waiting] = counts.map_or([0, 0], |count| [count.drops, count.waiting]);
        vec![("dropped by its queue".into(), drops), (WAITING.into(), waiting)]
    };
    let mut elsewhere = vec![
        (format!("into port {ins}"), dropped(host, ins, "rx")?),
        (format!("out of port {out}"), dropped(host, out, "tx")?),
    ];
    if switch.ports[to].gates.is_some() {
        // A frame that a class's own queue drops is counted there alone.
        let root = root_of(&qdiscs(host, out)?).and_then(|root| root["drops"].as_u64());
        elsewhere.push((format!("out of port {out}: refused before its gates"), root.unwrap_or(0)));
    }
    Ok(Lost { classes: switch.classes.iter().map(of_class).collect(), elsewhere })
}

/// What all queues and gates of a switch have dropped or still hold.
pub(super) fn not_sent(host: &impl Host, switch: &Switch) -> Result<Causes, Refused> {
    let statuses = port_statuses(host, switch)?;
    let counts = || statuses.iter().flat_map(|port| &port.classes);
    Ok(vec![
        ("dropped by a queue".into(), counts().map(|count| count.drops).sum()),
        ("refused before the gates".into(), statuses.iter().map(|port| port.refused).sum()),
        (WAITING.into(), counts().map(|count| count.waiting).sum()),
    ])
}

/// Frames that an interface has dropped on their way in (`rx`) or out (`tx`) since it is there. Virtual Ethernet counts
/// there what its other end did not take.
fn dropped(host: &impl Host, interface: &str, way: &str) -> Result<u64, Refused> {
    let text = host.query(&["ip", "-s", "-j", "link", "show", "dev", interface])?;
    let links: Value = serde_json::from_str(&text).unwrap_or_default();
    let of = |kind: &str| links[0][kind][way]["dropped"].as_u64();
    Ok(of("stats64").or(of("stats")).unwrap_or(0))
}
