//! Which address is behind which port (the filtering database of IEEE 802.1Q clause 8.8), in memory that does not grow.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

/// Places that an address can have.
const WAYS: usize = 8;

/// Addresses and their ports.
#[derive(Debug)]
pub struct Table {
    sets: Vec<[Learned; WAYS]>,
    shift: u32,
    factor: u64,
    ageing_ns: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Learned {
    /// The address in the upper 48 bits, the port above 0 in the lower 16; 0 for an empty place.
    key: u64,
    seen_ns: u64,
}

impl Learned {
    #[inline]
    fn address(self) -> u64 {
        self.key >> 16
    }
}

/// What came of an address that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learning {
    /// It was known to be there.
    Known,
    /// It is known from now on.
    New,
    /// It was behind another port before.
    Moved,
    /// There is no place for it: frames to it go to all ports.
    NoPlace,
}

impl Table {
    /// For some `addresses` (rounded up to a power of two), each forgotten when it was not seen for `ageing_ns`. The
    /// seed makes places unpredictable for those who choose addresses.
    pub fn new(addresses: usize, ageing_ns: u64, seed: u64) -> Self {
        let sets = addresses.clamp(WAYS, 1 << 22).div_ceil(WAYS).next_power_of_two();
        let shift = 64 - sets.trailing_zeros();
        Self { sets: vec![[Learned::default(); WAYS]; sets], shift, factor: seed | 1, ageing_ns }
    }

    #[inline]
    fn set(&self, address: u64) -> usize {
        // Fibonacci hashing with a factor of its own for each switch: the upper bits are mixed best.
        let mixed = (address ^ (address << 29)).wrapping_mul(self.factor).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed.checked_shr(self.shift).unwrap_or(0) as usize
    }

    /// A frame came in from this address on this port. Addresses of groups are not learned.
    #[inline]
    pub fn learn(&mut self, address: &[u8; 6], port: u16, now_ns: u64) -> Learning {
        let (address, ageing_ns) = (number(address), self.ageing_ns);
        let set = self.set(address);
        let (set, key) = (&mut self.sets[set], address << 16 | u64::from(port + 1));
        if let Some(known) = set.iter_mut().find(|place| place.key != 0 && place.address() == address) {
            let moved = known.key != key;
            *known = Learned { key, seen_ns: now_ns };
            return if moved { Learning::Moved } else { Learning::Known };
        }
        let free = |place: &&mut Learned| place.key == 0 || now_ns.saturating_sub(place.seen_ns) > ageing_ns;
        match set.iter_mut().find(free) {
            Some(place) => {
                *place = Learned { key, seen_ns: now_ns };
                Learning::New
            }
            None => Learning::NoPlace,
        }
    }

    /// The port behind which an address was seen lately.
    #[inline]
    pub fn port(&self, address: &[u8; 6], now_ns: u64) -> Option<u16> {
        let address = number(address);
        let known = self.sets[self.set(address)].iter().find(|place| place.key != 0 && place.address() == address)?;
        let fresh = now_ns.saturating_sub(known.seen_ns) <= self.ageing_ns;
        fresh.then_some((known.key & 0xffff) as u16 - 1)
    }

    /// No address was seen after now, or it would be known for so much longer.
    pub fn clock_was_set(&mut self, now_ns: u64) {
        self.sets.iter_mut().flatten().for_each(|place| place.seen_ns = place.seen_ns.min(now_ns));
    }

    /// Forgets what was behind a port, as its link went down.
    pub fn forget(&mut self, port: u16) {
        let behind = |place: &&mut Learned| place.key & 0xffff == u64::from(port + 1);
        self.sets.iter_mut().flatten().filter(behind).for_each(|place| *place = Learned::default());
    }
}

#[inline]
fn number(address: &[u8; 6]) -> u64 {
    let [a, b, c, d, e, f] = *address;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_learned_move_and_age() {
        let mut table = Table::new(1024, 1_000, 7);
        let address = [2, 0, 0, 0, 0, 1];
        assert_eq!(table.port(&address, 0), None);
        assert_eq!(table.learn(&address, 0, 0), Learning::New);
        assert_eq!(table.learn(&address, 0, 500), Learning::Known);
        assert_eq!(table.port(&address, 1_500), Some(0));
        assert_eq!(table.port(&address, 1_501), None);
        assert_eq!(table.learn(&address, 1, 600), Learning::Moved);
        assert_eq!(table.port(&address, 700), Some(1));
        table.forget(1);
        assert_eq!(table.port(&address, 700), None);
    }

    #[test]
    fn a_flood_of_addresses_finds_no_place_and_displaces_nobody() {
        let mut table = Table::new(64, 1_000, 0x5eed);
        let address = |n: u16| [2, 0, 0, 0, (n >> 8) as u8, n as u8];
        let placed: Vec<u16> = (0..5_000).filter(|n| table.learn(&address(*n), 3, 10) == Learning::New).collect();
        assert_eq!(placed.len(), 64);
        assert!(placed.iter().all(|n| table.port(&address(*n), 10) == Some(3)));
        assert_eq!(table.learn(&address(6_000), 3, 2_000), Learning::New, "old ones make room");
    }

    proptest! {
        #[test]
        fn it_never_tells_a_wrong_port(seen in prop::collection::vec((0u16..300, 0u16..4), 0..600), seed: u64) {
            let (mut table, mut model) = (Table::new(128, u64::MAX, seed), HashMap::new());
            let address = |n: u16| [2, 0, 0, 0, (n >> 8) as u8, n as u8];
            for (n, port) in seen {
                if table.learn(&address(n), port, 1) != Learning::NoPlace {
                    model.insert(n, port);
                }
            }
            for n in 0..300 {
                prop_assert_eq!(table.port(&address(n), 1), model.get(&n).copied());
            }
        }
    }
}
