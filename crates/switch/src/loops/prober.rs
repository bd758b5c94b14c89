//! Frames that look for loops.

use std::hash::{BuildHasher, RandomState};

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
///
/// Whoever hears a probe can send it back as it is, which says what is so: that it came to him. A keyed number for each port
/// and round keeps him from making one of another port, and from sending an old one where he is not any more.
#[derive(Debug, Clone)]
pub struct Prober {
    keys: RandomState,
    round: u64,
}

impl Prober {
    /// Octets of a probe: the shortest frame.
    pub const OCTETS: usize = ontick_tsn::wire::SHORTEST as usize;

    /// With keys of its own.
    #[allow(clippy::new_without_default)] // no two are equal
    pub fn new() -> Self {
        Self { keys: RandomState::new(), round: 0 }
    }

    /// From now on probes are others. Those of the round before are known still, as they may be on their way.
    pub fn next_round(&mut self) {
        self.round += 1;
    }

    fn number(&self, port: u16, round: u64) -> [u8; 8] {
        self.keys.hash_one((port, round)).to_be_bytes()
    }

    /// The frame to send out of this port. It is a broadcast, so it goes wherever a loop could.
    pub fn frame(&self, port: u16) -> [u8; Self::OCTETS] {
        let mut frame = [0; Self::OCTETS];
        let number = self.number(port, self.round);
        let [a, b, c, ..] = number;
        let [high, low] = port.to_be_bytes();
        frame[..6].fill(0xff);
        // An address of its own, locally administered: no switch outside mistakes it for somebody else's.
        frame[6..12].copy_from_slice(&[2, a, b, c, high, low]);
        frame[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
        frame[14..26].copy_from_slice(&SIGN);
        frame[26..34].copy_from_slice(&number);
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
        let (number, rest) = body.strip_prefix(&SIGN)?.split_first_chunk()?;
        let port = u16::from_be_bytes(*rest.first_chunk()?);
        // Another core of this switch may be a round ahead.
        let rounds = [self.round, self.round.wrapping_sub(1), self.round.wrapping_add(1)];
        rounds.into_iter().any(|round| self.number(port, round) == *number).then_some(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_probe_is_known_for_two_rounds() {
        let mut prober = Prober::new();
        let probe = prober.frame(3);
        prober.next_round();
        assert_eq!(prober.port_of(&probe), Some(3));
        assert_ne!(prober.frame(3), probe);
        prober.next_round();
        assert_eq!(prober.port_of(&probe), None);
    }

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
        fn nobody_makes_one_of_another_port(port: u16, other: u16) {
            let prober = Prober::new();
            let mut frame = prober.frame(port);
            frame[34..36].copy_from_slice(&other.to_be_bytes());
            prop_assert_eq!(prober.port_of(&frame), (port == other).then_some(port));
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
