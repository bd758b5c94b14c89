//! A port: its link, and how its classes share it.

use super::gates::Gates;
use super::preemption::Preemption;

/// One port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Name of the interface.
    pub name: String,
    /// Bits per second of the link; absent: what the interface says when it is set up.
    pub rate: Option<u64>,
    /// How the port's hardware takes part (kernel data plane only).
    pub offload: Offload,
    /// Largest frame of each class, as octets of the service data unit: what follows addresses, VLAN tag and EtherType
    /// (queueMaxSDU, IEEE 802.1Q-2022 clause 12.29.1.1.1). By the class's place in
    /// [`Switch::classes`](super::Switch::classes).
    pub max_sdu: Vec<Option<u32>>,
    /// Transmit queues of each class by its place in [`Switch::classes`](super::Switch::classes), at least one each;
    /// empty: one each. Only a port with gates in the kernel's data plane has them.
    pub transmit_queues: Vec<u8>,
    /// Idle slope of each class that the credit-based shaper limits, in bits per second on the wire (operIdleSlope,
    /// IEEE 802.1Q-2022 clause 34.3). By the class's place in [`Switch::classes`](super::Switch::classes); empty: none
    /// is shaped.
    pub idle_slopes: Vec<Option<u64>>,
    /// Which classes' frames are preempted by those of the others; absent: none.
    pub preemption: Option<Preemption>,
    /// When which gates are open; absent: all are, always.
    pub gates: Option<Gates>,
}

impl Port {
    /// Transmit queues of a class, by its place in [`Switch::classes`](super::Switch::classes).
    pub fn transmit_queues_of(&self, class: usize) -> u16 {
        self.transmit_queues.get(class).map_or(1, |queues| u16::from(*queues))
    }

    /// Whether each class needs a transmit queue of its own in the kernel's data plane: gates and frame preemption know
    /// frames by their queue.
    pub fn is_by_queue(&self) -> bool {
        self.gates.is_some() || self.preemption.is_some()
    }

    /// Whether the credit-based shaper limits a class, by its place in [`Switch::classes`](super::Switch::classes).
    pub fn shapes(&self, class: usize) -> bool {
        self.idle_slopes.get(class).is_some_and(Option::is_some)
    }

    /// Whether the credit-based shaper limits any class.
    pub fn is_shaped(&self) -> bool {
        self.idle_slopes.iter().any(Option::is_some)
    }
}

/// How a port's hardware takes part in the kernel's data plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// Gates in software.
    None,
    /// Software chooses for each frame the time at which it is sent, and etf or the port holds it until then.
    TxTime {
        /// Time before its transmission at which a frame is handed over, in ns.
        delay_ns: u32,
    },
    /// The port itself opens and closes the gates.
    Full,
}
