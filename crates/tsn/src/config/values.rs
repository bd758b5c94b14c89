//! Single values as people write them, and as they are written back.

use std::net::Ipv4Addr;

use ontick_units::{parse_bit_rate, parse_time};

use super::value_error::ValueError;
use crate::model::Address;

/// EtherTypes with a name.
const ETHER_TYPES: [(&str, u16); 8] = [
    ("ipv4", 0x0800),
    ("arp", 0x0806),
    ("ipv6", 0x86DD),
    ("profinet", 0x8892),
    ("ethercat", 0x88A4),
    ("lldp", 0x88CC),
    ("ptp", 0x88F7),
    ("avtp", 0x22F0),
];

/// IP protocols with a name.
const PROTOCOLS: [(&str, u8); 5] = [("icmp", 1), ("igmp", 2), ("tcp", 6), ("udp", 17), ("icmpv6", 58)];

/// A time with its unit, in ns.
pub(crate) fn time(text: &str) -> Result<u64, ValueError> {
    Ok(parse_time(text)?)
}

/// A rate, in bits per second: `1Gbit`, `2.5Gbit`, `100Mbit`.
pub(crate) fn rate(text: &str) -> Result<u64, ValueError> {
    Ok(parse_bit_rate(text)?)
}

/// A MAC address with the length of the prefix that counts (`aa:bb:cc:00:00:00/24`) or a whole mask
/// (`01:00:00:00:00:00/01:00:00:00:00:00`).
pub(crate) fn address(text: &str) -> Result<Address, ValueError> {
    let (bytes, mask) = text.split_once('/').unwrap_or((text, "48"));
    let bytes = mac(bytes)
        .ok_or_else(|| ValueError::is_not(text, "a MAC address such as 01:80:c2:00:00:0e or aa:bb:cc:00:00:00/24"))?;
    let mask = match mask.parse::<u32>() {
        Ok(length @ 0..=48) => prefix_mask(length),
        _ => mac(mask).ok_or_else(|| ValueError::NoMask(text.into()))?,
    };
    let (value, bits) = (number(bytes), number(mask));
    if value & !bits != 0 {
        let right = show_address(&Address { bytes: octets(value & bits), mask });
        return Err(ValueError::OutsideMask { text: text.into(), right });
    }
    Ok(Address { bytes, mask })
}

/// As [`address`] reads it.
pub(crate) fn show_address(address: &Address) -> String {
    let mask = number(address.mask);
    let length = mask.count_ones();
    match length {
        48 => show_mac(address.bytes),
        _ if octets(mask) == prefix_mask(length) => format!("{}/{length}", show_mac(address.bytes)),
        _ => format!("{}/{}", show_mac(address.bytes), show_mac(address.mask)),
    }
}

/// Six octets: `01:80:c2:00:00:0e`.
pub fn mac(text: &str) -> Option<[u8; 6]> {
    let mut bytes = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut bytes {
        let part = parts.next().filter(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(bytes)
}

/// An address that frames are forwarded to.
pub(crate) fn forwarded(text: &str) -> Result<[u8; 6], ValueError> {
    match mac(text) {
        None => Err(ValueError::is_not(text, "a MAC address such as 02:00:00:00:00:01")),
        Some([0, 0, 0, 0, 0, 0]) => Err(ValueError::ZeroAddress),
        Some([0x01, 0x80, 0xc2, 0, 0, last]) if last < 0x10 => Err(ValueError::NotForwarded(text.into())),
        Some(address) => Ok(address),
    }
}

/// An address by which switches know a planned stream.
pub(crate) fn of_stream(text: &str) -> Result<[u8; 6], ValueError> {
    match forwarded(text)? {
        [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => Err(ValueError::Broadcast(text.into())),
        address => Ok(address),
    }
}

/// As `mac` reads it.
pub fn show_mac(bytes: [u8; 6]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}

fn prefix_mask(length: u32) -> [u8; 6] {
    octets(((1u64 << length) - 1) << (48 - length))
}

fn number(bytes: [u8; 6]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn octets(number: u64) -> [u8; 6] {
    let [_, _, bytes @ ..] = number.to_be_bytes();
    bytes
}

/// An IPv4 network: `10.0.0.0/8`, or one address.
pub(crate) fn network(text: &str) -> Result<(Ipv4Addr, u8), ValueError> {
    let wrong = || ValueError::is_not(text, "an IPv4 address or network such as 10.0.0.0/8");
    let (address, length) = text.split_once('/').unwrap_or((text, "32"));
    let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
    let length: u8 = length.parse().ok().filter(|length| *length <= 32).ok_or_else(wrong)?;
    let network = Ipv4Addr::from(u32::from(address) & network_mask(length));
    if network != address {
        return Err(ValueError::BehindPrefix { text: text.into(), right: format!("{network}/{length}") });
    }
    Ok((address, length))
}

/// As [`network`] reads it.
pub(crate) fn show_network((address, length): (Ipv4Addr, u8)) -> String {
    if length == 32 { address.to_string() } else { format!("{address}/{length}") }
}

/// The bits of an IPv4 address that count.
pub(crate) fn network_mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

/// An EtherType by name or number.
pub(crate) fn ether_type(text: &str) -> Result<u16, ValueError> {
    let number = match text.strip_prefix("0x") {
        Some(hex) => u16::from_str_radix(hex, 16).ok(),
        None => ETHER_TYPES.iter().find(|(name, _)| *name == text).map(|(_, number)| *number),
    };
    number.ok_or_else(|| {
        ValueError::is_not(text, format!("an EtherType: a number such as 0x88f7, or {}", names(&ETHER_TYPES)))
    })
}

/// An IP protocol by name.
pub(crate) fn protocol(text: &str) -> Result<u8, ValueError> {
    let known = PROTOCOLS.iter().find(|(name, _)| *name == text).map(|(_, number)| *number);
    known.ok_or_else(|| ValueError::is_not(text, format!("an IP protocol: a number, or {}", names(&PROTOCOLS))))
}

/// The name of an IP protocol, where it has one here.
pub(crate) fn protocol_name(number: u8) -> Option<&'static str> {
    PROTOCOLS.iter().find(|(_, known)| *known == number).map(|(name, _)| *name)
}

fn names<T>(list: &[(&str, T)]) -> String {
    list.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// Why a text cannot be the name of an interface (dev_valid_name() of the kernel, and what would confuse its tools).
pub(crate) fn interface(text: &str) -> Result<String, ValueError> {
    let wrong = if text.is_empty() {
        "a name is not empty"
    } else if text.len() > 15 {
        "an interface's name has 15 characters at most"
    } else if text == "." || text == ".." || text.starts_with('-') {
        "no interface can be called so"
    } else if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"/:%\"'\\".contains(&byte)) {
        "an interface's name is of letters, digits and signs other than / : % and quotes"
    } else {
        return Ok(text.into());
    };
    Err(ValueError::name(text, wrong))
}

/// Why a text cannot be the name of a class.
pub(crate) fn class_name(text: &str) -> Result<String, ValueError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    match text {
        "" => Err(ValueError::EmptyName),
        text if text.len() > 31 => Err(ValueError::name(text, "a class's name has 31 characters at most")),
        text if !text.bytes().all(fits) => {
            Err(ValueError::name(text, "a class's name is of letters a to z, digits, - and _"))
        }
        text => Ok(text.into()),
    }
}
