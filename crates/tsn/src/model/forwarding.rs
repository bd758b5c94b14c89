//! How a bridge finds the ports of a frame, and what it knows of them beforehand.

/// How a bridge finds the ports of a frame (IEEE 802.1Q-2022 clause 8.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forwarding {
    /// Whether source addresses are learned (clause 8.7).
    pub learning: bool,
    /// Ports for frames without an entry, by their place in [`Switch::ports`](super::Switch::ports): such frames leave
    /// by these ports only, and are accepted and learned from these only. Absent: all ports.
    pub flood: Option<Vec<usize>>,
    /// Static entries (clause 8.8.1), in the order of the file.
    pub entries: Vec<StaticEntry>,
}

impl Default for Forwarding {
    fn default() -> Self {
        Self { learning: true, flood: None, entries: Vec::new() }
    }
}

/// Frames to an address go to certain ports, whatever was learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticEntry {
    /// Destination address, of a station or of a group.
    pub to: [u8; 6],
    /// VLAN identifier of the tag, 1 to 4094; 0: frames of no VLAN; absent: any. An entry with the VLAN goes before one
    /// without.
    pub vlan: Option<u16>,
    /// By their place in [`Switch::ports`](super::Switch::ports); at least one, in ascending order.
    pub ports: Vec<usize>,
}
