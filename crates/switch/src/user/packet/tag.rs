//! The VLAN tag, which the kernel takes out of each frame.

use super::ring::Slot;

/// A VLAN tag (IEEE 802.1Q clause 9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Its EtherType: 0x8100, or 0x88a8 of a service tag.
    pub kind: u16,
    /// Priority code point (3 bits), drop eligible indicator (1), VLAN identifier (12).
    pub control: u16,
}

impl Tag {
    /// Octets it takes in a frame.
    pub const OCTETS: usize = 4;

    /// The tag that the kernel took out of this frame.
    #[inline]
    pub(super) fn of(slot: &Slot<'_>) -> Option<Self> {
        if slot.status & libc::TP_STATUS_VLAN_VALID == 0 {
            return None;
        }
        let reported = slot.status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        Some(Self { kind: if reported { slot.tag_type } else { 0x8100 }, control: slot.tag_control })
    }

    /// As in a frame, behind the addresses.
    #[inline]
    pub fn octets(self) -> [u8; Self::OCTETS] {
        let ([a, b], [c, d]) = (self.kind.to_be_bytes(), self.control.to_be_bytes());
        [a, b, c, d]
    }

    /// Priority code point.
    pub fn pcp(self) -> u8 {
        (self.control >> 13) as u8
    }

    /// VLAN identifier.
    pub fn vlan(self) -> u16 {
        self.control & 0xfff
    }
}
