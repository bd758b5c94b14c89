//! The addresses that no bridge forwards, and those of them that are forwarded all the same.

/// Some of the sixteen addresses from 01-80-C2-00-00-00 on (IEEE 802.1Q-2022 Table 8-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reserved(u16);

impl Reserved {
    /// In groups by who uses them. Flow control (-01) is in none: it is for the other end of the cable alone.
    pub const GROUPS: [(&'static str, Self); 5] = [
        ("bpdu", Self(1)),
        ("slow", Self(1 << 2)),
        ("eapol", Self(1 << 3)),
        ("lldp", Self(1 << 14)),
        ("others", Self(0xbff0)),
    ];

    /// Whether the address with this last digit is one of them.
    #[inline]
    pub fn contains(self, address: u8) -> bool {
        self.0 & 1u16.checked_shl(address.into()).unwrap_or(0) != 0
    }

    /// Those of either.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Names of the groups that are in it.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::GROUPS.into_iter().filter(move |(_, group)| self.0 & group.0 == group.0).map(|(name, _)| name)
    }

    /// One bit for each, as the kernel's `group_fwd_mask` has it.
    pub fn mask(self) -> u16 {
        self.0
    }
}
