//! What carries a schedule out: how long a gate control list may be, what entries it may have, and how exactly gates
//! open.

use crate::egress::{DataPlane, EgressTiming};

/// Limits of a kind of port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// As it is called on the command line.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What opens the gates; absent: nothing in particular, and exactly on time.
    pub plane: Option<DataPlane>,
    /// Entries of a list at most.
    pub most_entries: usize,
    /// The shortest entry, in ns.
    pub shortest_ns: u64,
    /// The longest cycle, in ns.
    pub longest_cycle_ns: u64,
    /// Whether a gate can open more than once in a cycle.
    pub reopens: bool,
    /// Whether a frame is not begun that would not end before its gate closes.
    pub length_aware: bool,
}

/// Entries of a list that Linux' taprio takes at most, so that the list in force and its successor can be shown: both are in
/// one answer of netlink, which has some 32 000 octets, 36 for each entry.
pub const KERNEL_ENTRIES: usize = 400;

/// The kinds that are known: IEEE 802.1Q-2022 clause 8.6.8.4, tc-taprio(8), Linux' igc and igb drivers, Microchip's
/// manual of its switches (TAS port configuration).
pub const TARGETS: &[Target] = &[
    Target {
        name: "any",
        about: "IEEE 802.1Q without limits of an implementation, gates that open exactly on time",
        plane: None,
        most_entries: usize::MAX,
        shortest_ns: 1,
        longest_cycle_ns: u64::MAX,
        reopens: true,
        length_aware: true,
    },
    Target {
        name: "user",
        about: "ontick's own data plane on a dedicated core",
        plane: Some(DataPlane::User),
        most_entries: 1024,
        shortest_ns: 1,
        longest_cycle_ns: u64::MAX,
        reopens: true,
        length_aware: true,
    },
    Target {
        name: "kernel",
        about: "Linux' taprio in software (tc-taprio(8)); an entry lasts as long as the shortest frame at least",
        plane: Some(DataPlane::Kernel),
        most_entries: KERNEL_ENTRIES,
        shortest_ns: 672,
        longest_cycle_ns: i64::MAX as u64,
        reopens: true,
        length_aware: true,
    },
    Target {
        name: "hardware",
        about: "ports that open and close gates by themselves; those below have limits of their own",
        plane: Some(DataPlane::Hardware),
        most_entries: usize::MAX,
        shortest_ns: 1,
        longest_cycle_ns: u64::MAX,
        reopens: true,
        length_aware: true,
    },
    Target {
        name: "i225",
        about: "Intel i225 and i226 (igc): a queue opens once in a cycle, and a cycle lasts a second at most",
        plane: Some(DataPlane::Hardware),
        most_entries: usize::MAX,
        shortest_ns: 1,
        longest_cycle_ns: 1_000_000_000,
        reopens: false,
        length_aware: true,
    },
    Target {
        name: "i210",
        about: "Intel i210 (igb): launch times alone, so the list is taprio's, in its txtime mode",
        plane: Some(DataPlane::Hardware),
        most_entries: 1024,
        shortest_ns: 672,
        longest_cycle_ns: i64::MAX as u64,
        reopens: true,
        length_aware: true,
    },
    Target {
        name: "list-256",
        about: "switches with lists in hardware, such as Microchip's: 256 entries, from 256 ns on, cycles below a second, frames begun without a look at their length",
        plane: Some(DataPlane::Hardware),
        most_entries: 256,
        shortest_ns: 256,
        longest_cycle_ns: 999_999_999,
        reopens: true,
        length_aware: false,
    },
];

impl Target {
    /// How exactly gates open where nothing was measured.
    pub fn timing(&self) -> EgressTiming {
        self.plane.map_or(EgressTiming::IDEAL, DataPlane::defaults)
    }
}

/// The kind of that name.
pub fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
