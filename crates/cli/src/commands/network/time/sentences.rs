//! What happened to a node's time, as sentences.

use ontick_network::ptp::{Event, Node};
use ontick_units::{exact, show};

/// What of a node its sentences have in them.
pub struct Sentences {
    interfaces: Vec<String>,
    bound_ns: Option<u64>,
}

impl Sentences {
    pub fn of(node: &Node) -> Self {
        Self { interfaces: node.interfaces.clone(), bound_ns: node.time.offset_bound_ns }
    }

    /// Of an event, with the name that `--json` has for it.
    pub fn event(&self, event: &Event) -> (&'static str, String) {
        match event {
            Event::Grandmaster { named: true } => ("grandmaster", "this node is the grandmaster".into()),
            Event::Grandmaster { named: false } => {
                ("grandmaster", "this node is the grandmaster, as it hears none of those that the file names".into())
            }
            Event::Follows { grandmaster, port } => {
                ("follows", format!("follows the grandmaster {grandmaster} by {}", self.interface(*port)))
            }
            Event::Lost { grandmaster } => ("lost", format!("the grandmaster {grandmaster} is lost")),
            Event::Returned { grandmaster, after_ns } => {
                ("returned", format!("the grandmaster {grandmaster} is back, after {}", show(*after_ns)))
            }
            Event::OutOfStep { grandmaster } => {
                ("out-of-step", format!("this clock is not in step any more with the grandmaster {grandmaster}"))
            }
            Event::InStep { grandmaster, after_ns } => (
                "in-step",
                format!("this clock is in step with the grandmaster {grandmaster} again, after {}", show(*after_ns)),
            ),
            Event::Changed { from, to, after_ns: 0 } => {
                ("changed", format!("follows the grandmaster {to} in place of {from}"))
            }
            Event::Changed { from, to, after_ns } => (
                "changed",
                format!("follows the grandmaster {to} in place of {from}, {} after that was lost", show(*after_ns)),
            ),
            Event::TwoGrandmasters { other, priority1 } => (
                "two-grandmasters",
                format!(
                    "two clocks are configured as this grandmaster (priority1 {priority1}): the other one, {other}, is followed"
                ),
            ),
            Event::Unnamed { grandmaster, priority1 } => (
                "unnamed",
                format!("the grandmaster {grandmaster} (priority1 {priority1}) is none of those that the file names"),
            ),
            Event::BeyondBound { offset_ns } => {
                let bound = self.bound_ns.map(exact).unwrap_or_default();
                ("beyond-bound", format!("the offset, {}, is beyond offset-bound = \"{bound}\"", signed(*offset_ns)))
            }
            Event::WithinBound { after_ns } => {
                ("within-bound", format!("the offset is within its bound again, after {}", show(*after_ns)))
            }
        }
    }

    /// A port's interface, by its number.
    pub fn interface(&self, port: u16) -> &str {
        let place = usize::from(port).checked_sub(1);
        place.and_then(|place| self.interfaces.get(place)).map_or("an unknown port", String::as_str)
    }
}

/// A time before or behind another one.
pub fn signed(ns: i64) -> String {
    format!("{}{}", if ns < 0 { "-" } else { "" }, show(ns.unsigned_abs()))
}
