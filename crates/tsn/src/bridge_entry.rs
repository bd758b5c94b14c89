//! Which static entries the kernel's bridge can hold.

use crate::model::StaticEntry;

/// Whether an address is of a group.
pub fn is_group(to: [u8; 6]) -> bool {
    to[0] & 1 != 0
}

/// Why the kernel's bridge, which is set up without VLANs, cannot do what an entry wants.
pub fn unfit_for_kernel(entry: &StaticEntry) -> Option<&'static str> {
    match entry.to {
        _ if entry.vlan.is_some() => Some("its bridge is set up without VLANs"),
        [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => Some("its bridge floods broadcasts"),
        [0x01, 0x00, 0x5e, ..] | [0x33, 0x33, ..] => Some("its bridge looks groups of IP up by their IP address"),
        to if !is_group(to) && entry.ports.len() > 1 => Some("its bridge has one port for each address of a station"),
        _ => None,
    }
}
