//! Which offloads of a port are in the way, by the names that the kernel gives them.

pub use ontick_ethtool::features::{Feature, Features, get, set};

/// Makes several frames into one, or one of several: what leaves a port would not be the frames that gates are meant
/// for.
pub fn breaks_shaping(name: &str) -> bool {
    ontick_ethtool::features::merges_frames(name)
}

/// As above, or leaves checksums and VLAN tags to the port, which a program that takes frames from it never sees.
pub fn hides_octets(name: &str) -> bool {
    breaks_shaping(name)
        || name.starts_with("tx-checksum-") && !name.ends_with("-fcoe-crc")
        || matches!(name, "rx-checksum" | "rx-vlan-hw-parse" | "tx-vlan-hw-insert")
        || matches!(name, "rx-vlan-stag-hw-parse" | "tx-vlan-stag-hw-insert")
}

/// Those that `unwanted` picks, can be switched, and are asked for.
pub fn to_switch_off(features: &Features, unwanted: fn(&str) -> bool) -> Vec<String> {
    let on = |(name, feature): (&String, &Feature)| {
        (feature.wanted && feature.can_change && unwanted(name)).then(|| name.clone())
    };
    features.iter().filter_map(on).collect()
}
