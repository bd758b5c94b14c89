//! Which address is behind which port (the filtering database of IEEE 802.1Q clause 8.8), in memory that does not grow.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Places that an address can have.
const WAYS: usize = 8;

/// Addresses and their ports. A clone is the same table: all cores of a switch learn for each other.
///
/// Address and port of a place are one number, which is there or is not: no core ever reads the port of another address.
/// What two cores write at once one of them loses, and learns with the next frame.
#[derive(Debug, Clone)]
pub struct Table {
    sets: Arc<[[Place; WAYS]]>,
    shift: u32,
    factor: u64,
    ageing_ns: u64,
}

#[derive(Debug, Default)]
struct Place {
    /// The address in the upper 48 bits, the port above 0 in the lower 16; 0 for an empty place.
    key: AtomicU64,
    seen_ns: AtomicU64,
}

impl Place {
    /// What is learned of an address here.
    #[inline]
    fn of(&self, address: u64) -> Option<u64> {
        let key = self.key.load(Relaxed);
        (key != 0 && key >> 16 == address).then_some(key)
    }

    /// Whether an address may be learned here.
    #[inline]
    fn is_free(&self, now_ns: u64, ageing_ns: u64) -> bool {
        self.key.load(Relaxed) == 0 || now_ns.saturating_sub(self.seen_ns.load(Relaxed)) > ageing_ns
    }

    #[inline]
    fn learn(&self, key: u64, now_ns: u64) {
        self.key.store(key, Relaxed);
        self.seen_ns.store(now_ns, Relaxed);
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
        let sets = (0..sets).map(|_| Default::default()).collect();
        Self { sets, shift, factor: seed | 1, ageing_ns }
    }

    #[inline]
    fn set(&self, address: u64) -> usize {
        // Fibonacci hashing with a factor of its own for each switch: the upper bits are mixed best.
        let mixed = (address ^ (address << 29)).wrapping_mul(self.factor).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed.checked_shr(self.shift).unwrap_or(0) as usize
    }

    /// A frame came in from this address on this port. Addresses of groups are not learned.
    #[inline]
    pub fn learn(&self, address: &[u8; 6], port: u16, now_ns: u64) -> Learning {
        let address = number(address);
        let (set, key) = (&self.sets[self.set(address)], address << 16 | u64::from(port + 1));
        if let Some((place, known)) = set.iter().find_map(|place| Some((place, place.of(address)?))) {
            if known == key {
                place.seen_ns.store(now_ns, Relaxed);
                return Learning::Known;
            }
            place.learn(key, now_ns);
            return Learning::Moved;
        }
        match set.iter().find(|place| place.is_free(now_ns, self.ageing_ns)) {
            Some(place) => {
                place.learn(key, now_ns);
                Learning::New
            }
            None => Learning::NoPlace,
        }
    }

    /// The port behind which an address was seen lately.
    #[inline]
    pub fn port(&self, address: &[u8; 6], now_ns: u64) -> Option<u16> {
        let address = number(address);
        let set = &self.sets[self.set(address)];
        let (place, key) = set.iter().find_map(|place| Some((place, place.of(address)?)))?;
        let fresh = now_ns.saturating_sub(place.seen_ns.load(Relaxed)) <= self.ageing_ns;
        fresh.then_some((key & 0xffff) as u16 - 1)
    }

    /// No address was seen after now, or it would be known for so much longer.
    pub fn clock_was_set(&self, now_ns: u64) {
        for place in self.sets.iter().flatten() {
            place.seen_ns.fetch_min(now_ns, Relaxed);
        }
    }

    /// Forgets what was behind a port, as its link went down.
    pub fn forget(&self, port: u16) {
        let places = self.sets.iter().flatten();
        let behind = |place: &&Place| place.key.load(Relaxed) & 0xffff == u64::from(port + 1);
        places.filter(behind).for_each(|place| place.key.store(0, Relaxed));
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
        let table = Table::new(1024, 1_000, 7);
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
        let table = Table::new(64, 1_000, 0x5eed);
        let address = |n: u16| [2, 0, 0, 0, (n >> 8) as u8, n as u8];
        let placed: Vec<u16> = (0..5_000).filter(|n| table.learn(&address(*n), 3, 10) == Learning::New).collect();
        assert_eq!(placed.len(), 64);
        assert!(placed.iter().all(|n| table.port(&address(*n), 10) == Some(3)));
        assert_eq!(table.learn(&address(6_000), 3, 2_000), Learning::New, "old ones make room");
    }

    proptest! {
        #[test]
        fn it_never_tells_a_wrong_port(seen in prop::collection::vec((0u16..300, 0u16..4), 0..600), seed: u64) {
            let (table, mut model) = (Table::new(128, u64::MAX, seed), HashMap::new());
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
