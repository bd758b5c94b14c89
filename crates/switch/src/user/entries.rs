//! Static entries of the filtering database (IEEE 802.1Q-2022 clause 8.8.1): to which ports frames to an address go.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_tsn::model::StaticEntry;

/// A set of ports: a switch has 256 at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ports([u64; 4]);

impl Ports {
    /// All that a switch may have.
    pub const ALL: Self = Self([u64::MAX; 4]);

    /// Whether a port is among them.
    #[inline]
    pub fn contains(&self, port: usize) -> bool {
        self.0.get(port / 64).is_some_and(|word| word >> (port % 64) & 1 != 0)
    }
}

impl<'a> FromIterator<&'a usize> for Ports {
    fn from_iter<I: IntoIterator<Item = &'a usize>>(ports: I) -> Self {
        let mut set = Self::default();
        for port in ports {
            if let Some(word) = set.0.get_mut(port / 64) {
                *word |= 1 << (port % 64);
            }
        }
        set
    }
}

/// The entries, in a table with open addressing that is half empty at least.
#[derive(Debug)]
pub struct Entries {
    /// 0 is an empty place: no entry is for an address of zeros.
    places: Vec<(u64, Ports)>,
    factor: u64,
    /// Whether any entry asks for the VLAN.
    by_vlan: bool,
}

impl Entries {
    /// Of a switch. The seed makes places unpredictable for those who choose addresses.
    pub fn new(entries: &[StaticEntry], seed: u64) -> Self {
        let empty = vec![(0, Ports::default()); (2 * entries.len()).next_power_of_two().max(2)];
        let by_vlan = entries.iter().any(|entry| entry.vlan.is_some());
        let mut table = Self { places: empty, factor: seed | 1, by_vlan };
        for entry in entries {
            let key = key(&entry.to, entry.vlan);
            let place = table.place(key);
            table.places[place] = (key, entry.ports.iter().collect());
        }
        table
    }

    /// Where frames to this address go, if an entry says so. Frames without a VLAN are of VLAN 0.
    #[inline]
    pub fn ports(&self, to: &[u8; 6], vlan: u16) -> Option<Ports> {
        let exact = if self.by_vlan { self.get(key(to, Some(vlan))) } else { None };
        exact.or_else(|| self.get(key(to, None)))
    }

    #[inline]
    fn get(&self, key: u64) -> Option<Ports> {
        let (found, ports) = self.places[self.place(key)];
        // Frames may go to an address of zeros, for which an empty place is no entry.
        (found == key && key != 0).then_some(ports)
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn address(n: u16) -> [u8; 6] {
        [2, 0, 0, 0, (n >> 8) as u8, n as u8]
    }

    #[test]
    fn an_entry_with_the_vlan_goes_before_one_without() {
        let entry = |vlan, port| StaticEntry { to: address(1), vlan, ports: vec![port] };
        let entries = Entries::new(&[entry(None, 1), entry(Some(10), 2), entry(Some(0), 255)], 7);
        let port = |vlan| (0..256).find(|port| entries.ports(&address(1), vlan).unwrap().contains(*port));
        assert_eq!([port(10), port(11), port(0)], [Some(2), Some(1), Some(255)]);
        assert_eq!(entries.ports(&address(2), 10), None);
    }

    proptest! {
        #[test]
        fn it_finds_what_a_map_finds(
            all in prop::collection::vec((0u16..60, prop::option::of(0u16..4), 0usize..256), 0..80),
            seed: u64,
        ) {
            let model: HashMap<(u16, Option<u16>), usize> = all.into_iter().map(|(n, vlan, port)| ((n, vlan), port)).collect();
            let entry = |(&(n, vlan), &port): (&(u16, Option<u16>), &usize)| StaticEntry { to: address(n), vlan, ports: vec![port] };
            let table = Entries::new(&model.iter().map(entry).collect::<Vec<_>>(), seed);
            for (n, vlan) in (0..60).flat_map(|n| (0..4).map(move |vlan| (n, vlan))) {
                let wanted = model.get(&(n, Some(vlan))).or_else(|| model.get(&(n, None)));
                prop_assert_eq!(table.ports(&address(n), vlan), wanted.map(|port| [*port].iter().collect()));
            }
        }
    }
}
