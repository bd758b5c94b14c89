//! What a switch is to do, as plain values: the names are resolved, the times are nanoseconds, and everything in it
//! was checked ([`crate::config`] makes it from a file).

mod class;
mod clock;
mod forwarding;
mod gates;
mod plane;
mod port;
mod preemption;
mod reserved;
mod rule;
mod spanning_tree;
mod stream;

pub use class::{CLASSES, Class, STANDARD_CLASSES};
pub use clock::Clock;
pub use forwarding::{Forwarding, StaticEntry};
pub use gates::{Base, Entry, GateOverride, Gates, Guard};
pub use plane::{Bridge, Classifier, Datapath, Plane, Socket};
pub use port::{Offload, Port};
pub use preemption::Preemption;
pub use reserved::Reserved;
pub use rule::{Address, Rule};
pub use spanning_tree::{BridgePriority, SpanningTree};
pub use stream::{Elimination, Meter, Stream, StreamGate, StreamGateEntry};

/// One switch, or one end station whose own frames are scheduled in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Its name; the kernel's bridge is called so, and everything that is kept about it.
    pub name: String,
    /// Whether frames are forwarded between the ports.
    pub role: Role,
    /// Who is to do the work.
    pub plane: Plane,
    /// Which bridge is between the ports in the kernel's data plane.
    pub bridge: Bridge,
    /// How frames find their class in the kernel's data plane.
    pub classifier: Classifier,
    /// How the user data plane has frames of its ports.
    pub socket: Socket,
    /// The CPUs of the user data plane's cores, one for each, which share out the ports; none: one core, whose CPU is chosen.
    pub cpus: Vec<u32>,
    /// The clock that gates follow.
    pub clock: Clock,
    /// Addresses not seen for so long are forgotten (IEEE 802.1Q clause 8.8.3), in ns.
    pub ageing_ns: u64,
    /// Addresses that are remembered at most.
    pub addresses: usize,
    /// By which protocol the kernel's bridge cuts loops.
    pub stp: SpanningTree,
    /// Of the addresses that no bridge forwards: those that are forwarded all the same.
    pub forward_reserved: Reserved,
    /// Whether event messages of PTP are corrected by the time that they were in the switch: an end-to-end transparent
    /// clock (IEEE 1588-2019 clause 10.2).
    pub transparent_clock: bool,
    /// Traffic classes, in the order of the file.
    pub classes: Vec<Class>,
    /// Ports, in the order of the file.
    pub ports: Vec<Port>,
    /// How a bridge finds the ports of a frame.
    pub forwarding: Forwarding,
    /// Streams, in the order of the file: the first that a frame belongs to says what it may be.
    pub streams: Vec<Stream>,
}

impl Switch {
    /// Whether frames are forwarded between its ports.
    pub fn is_bridge(&self) -> bool {
        self.role == Role::Bridge
    }

    /// What of it stays as it is while it is set up: all but gates, idle slopes and streams, and a dedicated core's frame
    /// sizes.
    pub fn fixed(&self) -> Self {
        let fixed = |port: &Port| {
            let max_sdu = if self.plane == Plane::User { Vec::new() } else { port.max_sdu.clone() };
            Port { gates: None, idle_slopes: Vec::new(), max_sdu, ..port.clone() }
        };
        Self { ports: self.ports.iter().map(fixed).collect(), streams: Vec::new(), ..self.clone() }
    }

    /// The same, with stream gates that begin at this time where they begin with the next second.
    pub fn with_stream_gates_at(&self, second_ns: u64) -> Self {
        let mut switch = self.clone();
        for gate in switch.streams.iter_mut().filter_map(|stream| stream.gate.as_mut()) {
            gate.base = Base::At(gate.base.at_second(second_ns));
        }
        switch
    }
}

/// What is between the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Frames go from port to port.
    Bridge,
    /// Each port sends the machine's own frames.
    Station,
}
