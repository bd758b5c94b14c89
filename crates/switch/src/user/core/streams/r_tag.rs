//! Redundancy tags (IEEE 802.1CB-2017 clause 7.8): put into frames, and taken out again.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_tsn::frame::{R_TAG, behind_vlan_tags};
use ontick_tsn::wire;

/// Octets of the tag with its EtherType.
const OCTETS: usize = wire::R_TAG as usize;

/// Puts a tag with this number behind the VLAN tags of a frame; how long that is then, if the slot has room.
#[inline]
pub fn insert(slot: &mut [u8], octets: usize, number: u16) -> Option<usize> {
    let at = behind_vlan_tags(&slot[..octets]);
    if octets + OCTETS > slot.len() {
        return None;
    }
    slot.copy_within(at..octets, at + OCTETS);
    let ([a, b], [c, d]) = (R_TAG.to_be_bytes(), number.to_be_bytes());
    slot[at..at + OCTETS].copy_from_slice(&[a, b, 0, 0, c, d]);
    Some(octets + OCTETS)
}

/// Takes the tag out of a frame that has one; how long that is then.
#[inline]
pub fn remove(slot: &mut [u8], octets: usize) -> usize {
    let at = behind_vlan_tags(&slot[..octets]);
    slot.copy_within(at + OCTETS..octets, at);
    octets - OCTETS
}
