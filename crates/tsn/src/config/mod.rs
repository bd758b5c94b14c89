//! One TOML file describes a switch. [`read`] makes a [`Switch`] of it, or says everything that is wrong with it, each
//! with its line; [`write()`] makes the file of a switch.
//!
//! ```
//! let text = r#"
//! [switch]
//! name = "cell4"
//!
//! [[class]]
//! name = "red"
//! queue = 1
//! match = [{ udp-port = 7777 }]
//!
//! [[class]]
//! name = "blue"
//! queue = 0
//!
//! [[port]]
//! name = "enp2s0f0"
//!
//! [[port]]
//! name = "enp2s0f1"
//! rate = "1Gbit"
//!
//! [port.gates]
//! cycle = "1ms"
//! entries = [ { open = ["blue"], for = "800us" }, { open = ["red"], for = "200us" } ]
//! "#;
//! let parsed = ontick_tsn::config::read(text).unwrap();
//! assert_eq!(parsed.switch.ports[1].gates.as_ref().unwrap().cycle_ns, 1_000_000);
//! assert!(parsed.warnings.is_empty());
//!
//! let errors = ontick_tsn::config::read(&text.replace("cycle = \"1ms\"", "cycle = \"2ms\"")).unwrap_err();
//! assert!(errors.in_file("cell4.toml").starts_with("cell4.toml:22:9: the entries sum up to 1ms"), "{errors}");
//! ```

mod check;
mod class;
pub(crate) mod document;
mod forwarding;
mod gates;
mod head;
pub(crate) mod other;
mod part;
mod port;
mod preemption;
pub(crate) mod problem;
#[cfg(test)]
mod round;
mod rule;
mod stream;
mod stream_gate;
pub mod suggest;
mod switch;
pub(crate) mod table;
mod terms;
#[cfg(test)]
mod tests;
mod value_error;
pub(crate) mod values;
mod write;

use crate::model::{Bridge, Class, Classifier, Clock, Forwarding, Plane, Port, Reserved, Role, Socket, Switch};
use problem::Report;

pub use document::schema;
pub use gates::guard_band;
pub use part::{Fault, Part, Section, check_at};
pub(crate) use preemption::preemption_of;
pub use problem::{Errors, Problem};
pub(crate) use stream::{HISTORY_LENGTH, MOST_STREAMS, PATHS, RESET_TIMEOUT_NS};
pub use terms::Terms;
pub use value_error::ValueError;
pub use values::{mac, show_mac};
pub use write::write;

/// A switch, and what is doubtful about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// What the file describes.
    pub switch: Switch,
    /// What can be done but was perhaps not meant, in the order of the lines.
    pub warnings: Vec<Problem>,
}

/// Reads the file's text. What time it is remains unknown, so that any base time in the future is accepted.
pub fn read(text: &str) -> Result<Parsed, Errors> {
    read_at(text, 0)
}

/// Reads a text when it is this time, in ns since 1970: base times beyond reason are reported by that.
pub fn read_at(text: &str, now_ns: u64) -> Result<Parsed, Errors> {
    let mut report = Report::new(text);
    let switch = switch::switch(text, now_ns, &mut report);
    let Report { mut errors, mut warnings, .. } = report;
    errors.sort_by_key(|problem| (problem.line, problem.column));
    warnings.sort_by_key(|problem| (problem.line, problem.column));
    match switch {
        Ok(switch) if errors.is_empty() => Ok(Parsed { switch, warnings }),
        _ => Err(Errors { problems: errors }),
    }
}

/// What holds where a file does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defaults {
    /// Frames of a class that wait on one port.
    pub limit: u32,
    /// Addresses not seen for so long are forgotten, in ns.
    pub ageing_ns: u64,
    /// Addresses that are remembered.
    pub addresses: usize,
}

/// What holds where a file does not say it.
pub fn defaults() -> Defaults {
    Defaults { limit: class::LIMIT, ageing_ns: head::AGEING_NS, addresses: head::ADDRESSES }
}

impl Defaults {
    /// A switch of which nothing else is said.
    pub fn switch(self, name: String, role: Role, classes: Vec<Class>, ports: Vec<Port>) -> Switch {
        Switch {
            name,
            role,
            plane: Plane::Auto,
            classifier: Classifier::Auto,
            socket: Socket::Packet,
            cpus: Vec::new(),
            clock: Clock::Tai,
            ageing_ns: self.ageing_ns,
            addresses: self.addresses,
            stp: Default::default(),
            bridge: Bridge::Linux,
            forward_reserved: Reserved::default(),
            transparent_clock: false,
            classes,
            ports,
            forwarding: Forwarding::default(),
            streams: Vec::new(),
        }
    }
}
