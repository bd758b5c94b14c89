//! Frames that look for loops.

use std::hash::{BuildHasher, Hasher, RandomState};

/// EtherType of probes: for local experiments (IEEE 802 clause 9.2.4, "Local Experimental EtherType 1").
pub const ETHER_TYPE: u16 = 0x88b5;
/// What a probe begins with, behind its EtherType.
const SIGN: [u8; 12] = *b"ontick loop?";
/// Octets of addresses.
const ADDRESSES: usize = 12;
/// Octets of a VLAN tag.
const TAG: usize = 4;

/// Makes probes and knows them again.
///
/// Probes of other switches are frames like any other, which must go through for them to find their loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prober {
    nonce: [u8; 8],
}

impl Prober {
    /// Octets of a probe: the shortest frame.
    pub const OCTETS: usize = ontick_tsn::wire::SHORTEST as usize;

    /// With a number of its own.
    #[allow(clippy::new_without_default)] // no two are equal
    pub fn new() -> Self {
        Self { nonce: RandomState::new().build_hasher().finish().to_be_bytes() }
    }

    /// The frame to send out of this port. It is a broadcast, so it goes wherever a loop could.
    pub fn frame(&self, port: u16) -> [u8; Self::OCTETS] {
        let mut frame = [0; Self::OCTETS];
        let [a, b, c, ..] = self.nonce;
        let [high, low] = port.to_be_bytes();
        frame[..6].fill(0xff);
        // An address of its own, locally administered: no switch outside mistakes it for somebody else's.
        frame[6..12].copy_from_slice(&[2, a, b, c, high, low]);
        frame[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
        frame[14..26].copy_from_slice(&SIGN);
        frame[26..34].copy_from_slice(&self.nonce);
        frame[34..36].copy_from_slice(&[high, low]);
        frame
    }

    /// The port that a frame was sent out of, if it is one of ours, with or without a VLAN tag that somebody put on it.
    #[inline]
    pub fn port_of(&self, frame: &[u8]) -> Option<u16> {
        let kind = |at: usize| frame.get(at..at + 2).map(|kind| u16::from_be_bytes([kind[0], kind[1]]));
        match kind(ADDRESSES)? {
            ETHER_TYPE => self.read(&frame[ADDRESSES + 2..]),
            0x8100 | 0x88a8 if kind(ADDRESSES + TAG)? == ETHER_TYPE => self.read(&frame[ADDRESSES + TAG + 2..]),
            _ => None,
        }
    }

    fn read(&self, body: &[u8]) -> Option<u16> {
        let rest = body.strip_prefix(&SIGN)?.strip_prefix(&self.nonce)?;
        rest.first_chunk().map(|port| u16::from_be_bytes(*port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_probe_is_known_again(port: u16, tag: Option<(bool, u16)>, more in 0usize..20) {
            let prober = Prober::new();
            let mut frame = prober.frame(port).to_vec();
            if let Some((service, control)) = tag {
                let [a, b] = if service { [0x88, 0xa8] } else { [0x81, 0x00] };
                let [c, d] = control.to_be_bytes();
                frame.splice(12..12, [a, b, c, d]);
            }
            frame.extend(vec![0; more]);
            prop_assert_eq!(prober.port_of(&frame), Some(port));
            prop_assert_eq!(Prober::new().port_of(&frame), None);
        }

        #[test]
        fn other_frames_are_not(mut frame in prop::collection::vec(any::<u8>(), 0..80), kind: bool, cut in 0usize..36) {
            let prober = Prober::new();
            if kind && frame.len() >= 14 {
                frame[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
            }
            prop_assert_eq!(prober.port_of(&frame), None);
            prop_assert_eq!(prober.port_of(&prober.frame(7)[..cut]), None);
        }
    }
}
