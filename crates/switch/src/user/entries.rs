//! Static entries of the filtering database (IEEE 802.1Q-2022 clause 8.8.1): to which ports frames to an address go.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use super::address_table::AddressTable;
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

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Has a port among them, or not. Ports beyond 256 are never.
    #[inline]
    pub fn set(&mut self, port: usize, is_one: bool) {
        if let Some(word) = self.0.get_mut(port / 64) {
            let bit = 1 << (port % 64);
            *word = if is_one { *word | bit } else { *word & !bit };
        }
    }

    /// Those that are among others, too, without this one.
    #[inline]
    pub fn among(self, others: Self, except: usize) -> Self {
        let mut common = Self(std::array::from_fn(|word| self.0[word] & others.0[word]));
        common.set(except, false);
        common
    }
}

/// The ports of a set that are still to come.
#[derive(Debug, Clone, Copy)]
pub struct Ascending(Ports);

impl Iterator for Ascending {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        for (word, begin) in self.0.0.iter_mut().zip((0..).step_by(64)) {
            if *word != 0 {
                let port = begin + word.trailing_zeros() as usize;
                *word &= *word - 1;
                return Some(port);
            }
        }
        None
    }
}

/// In ascending order.
impl IntoIterator for Ports {
    type Item = usize;
    type IntoIter = Ascending;

    #[inline]
    fn into_iter(self) -> Ascending {
        Ascending(self)
    }
}

impl<'a> FromIterator<&'a usize> for Ports {
    fn from_iter<I: IntoIterator<Item = &'a usize>>(ports: I) -> Self {
        let mut set = Self::default();
        for port in ports {
            set.set(*port, true);
        }
        set
    }
}

/// The entries.
#[derive(Debug)]
pub struct Entries(AddressTable<Ports>);

impl Entries {
    /// Of a switch. The seed makes places unpredictable for those who choose addresses.
    pub fn new(entries: &[StaticEntry], seed: u64) -> Self {
        let mut table = AddressTable::new(entries.len(), seed);
        for entry in entries {
            table.insert(&entry.to, entry.vlan, entry.ports.iter().collect());
        }
        Self(table)
    }

    /// Where frames to this address go, if an entry says so. Frames without a VLAN are of VLAN 0.
    #[inline]
    pub fn ports(&self, to: &[u8; 6], vlan: u16) -> Option<Ports> {
        self.0.get(to, vlan)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

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
        fn a_set_of_ports_has_what_a_plain_set_has(
            all in prop::collection::vec((0usize..300, any::<bool>()), 0..80),
            others in prop::collection::btree_set(0usize..256, 0..200),
            except in 0usize..300,
        ) {
            let (mut ports, mut model) = (Ports::default(), BTreeSet::new());
            for (port, is_one) in all {
                ports.set(port, is_one);
                if is_one && port < 256 {
                    model.insert(port);
                } else {
                    model.remove(&port);
                }
                prop_assert_eq!((ports.len(), ports.is_empty()), (model.len(), model.is_empty()));
            }
            prop_assert!((0..300).all(|port| ports.contains(port) == model.contains(&port)));
            prop_assert_eq!(ports.into_iter().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
            let common = model.intersection(&others).copied().filter(|port| *port != except).collect::<Vec<_>>();
            prop_assert_eq!(ports.among(others.iter().collect(), except).into_iter().collect::<Vec<_>>(), common);
        }

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
