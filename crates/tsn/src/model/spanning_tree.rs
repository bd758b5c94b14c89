//! By which protocol a bridge cuts loops, and where.

/// By which protocol a bridge cuts loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpanningTree {
    /// By none.
    #[default]
    Off,
    /// The spanning tree protocol, which the kernel's bridge itself speaks (IEEE 802.1D-1998 clause 8).
    Stp(BridgePriority),
    /// The rapid one, by a daemon (IEEE 802.1Q-2022 clause 13).
    Rstp(BridgePriority),
}

impl SpanningTree {
    /// Whether loops are cut.
    pub fn is_on(self) -> bool {
        self != Self::Off
    }

    /// Where loops are cut.
    pub fn priority(self) -> Option<BridgePriority> {
        match self {
            Self::Off => None,
            Self::Stp(priority) | Self::Rstp(priority) => Some(priority),
        }
    }
}

/// The most significant part of a bridge's identifier: of all bridges the one with the lowest is the root of the tree (IEEE
/// 802.1Q-2022 clause 14.2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgePriority(u16);

impl BridgePriority {
    /// Priorities are multiples of this.
    pub const STEP: u16 = 4_096;

    /// None where it is no multiple of [`STEP`](Self::STEP).
    pub fn new(priority: u16) -> Option<Self> {
        (priority % Self::STEP == 0).then_some(Self(priority))
    }

    /// 0 to 61440.
    pub fn number(self) -> u16 {
        self.0
    }
}

impl Default for BridgePriority {
    fn default() -> Self {
        Self(32_768)
    }
}
