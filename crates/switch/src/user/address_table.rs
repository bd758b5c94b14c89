//! What is known of destination addresses: a table with open addressing that is half empty at least and does not grow.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::hash::{BuildHasher, RandomState};

/// A seed that nobody can know.
pub fn random_seed() -> u64 {
    RandomState::new().hash_one(0u8)
}

/// Values by address, and by VLAN where that counts.
#[derive(Debug)]
pub struct AddressTable<V> {
    /// 0 is an empty place: nothing is known of an address of zeros.
    places: Vec<(u64, V)>,
    factor: u64,
    /// Whether the VLAN counts for any.
    by_vlan: bool,
}

impl<V: Copy + Default> AddressTable<V> {
    /// With room for so many. The seed makes places unpredictable for those who choose addresses.
    pub fn new(count: usize, seed: u64) -> Self {
        let empty = vec![(0, V::default()); (2 * count).next_power_of_two().max(2)];
        Self { places: empty, factor: seed | 1, by_vlan: false }
    }

    /// Notes a value, in place of a former one. Absent, the VLAN does not count; frames without one are of VLAN 0.
    pub fn insert(&mut self, to: &[u8; 6], vlan: Option<u16>, value: V) {
        let key = key(to, vlan);
        let place = self.place(key);
        self.places[place] = (key, value);
        self.by_vlan |= vlan.is_some();
    }

    /// What is known of frames to this address: of the VLAN before any.
    #[inline]
    pub fn get(&self, to: &[u8; 6], vlan: u16) -> Option<V> {
        let exact = if self.by_vlan { self.at(key(to, Some(vlan))) } else { None };
        exact.or_else(|| self.at(key(to, None)))
    }

    #[inline]
    fn at(&self, key: u64) -> Option<V> {
        let (found, value) = self.places[self.place(key)];
        // Frames may go to an address of zeros, of which an empty place says nothing.
        (found == key && key != 0).then_some(value)
    }

    /// The place of a key, or the empty one where it would be.
    #[inline]
    fn place(&self, key: u64) -> usize {
        let last = self.places.len() - 1;
        let mixed = (key ^ (key >> 29)).wrapping_mul(self.factor).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (mixed >> 32) as usize & last;
        while self.places[at].0 != key && self.places[at].0 != 0 {
            at = (at + 1) & last;
        }
        at
    }
}

/// The address, and the VLAN above 0 or 0 for any.
#[inline]
fn key(to: &[u8; 6], vlan: Option<u16>) -> u64 {
    let [a, b, c, d, e, f] = *to;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f]) << 16 | vlan.map_or(0, |vlan| u64::from(vlan) + 1)
}
