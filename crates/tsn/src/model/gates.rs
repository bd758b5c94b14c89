//! Gate control lists: when which classes of a port may send.

/// A gate control list (IEEE 802.1Q-2022 clause 8.6.8.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gates {
    /// Cycles begin at this time and whole cycles after it.
    pub base: Base,
    /// Length of a cycle, in ns: the sum of all entries.
    pub cycle_ns: u64,
    /// Before a gate closes, nothing is sent through it for so long.
    pub guard: Guard,
    /// In order; each takes over where the one before ends.
    pub entries: Vec<Entry>,
}

/// When cycles begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// At this time of the switch's clock, in ns.
    At(u64),
    /// With the next whole second of the switch's clock that leaves time to set everything up.
    NextSecond,
}

/// Time kept free before a gate closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// None: a frame ends before its gate closes because it is not begun otherwise.
    None,
    /// This long, in ns.
    Fixed(u64),
    /// As long as the class's largest frame takes; for ports that do not look at a frame's length.
    LargestFrame,
}

/// What all gates of a switch are, whatever their lists say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateOverride {
    /// All are open.
    Open,
    /// All are closed, those of ports without a list too: nothing leaves.
    Closed,
}

/// Some gates are open, for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Bit n is the gate of the class with [`Class::queue`](super::Class::queue) n.
    pub open: u16,
    /// For how long, in ns.
    pub for_ns: u64,
}
