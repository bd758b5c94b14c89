//! Match rules, by which frames find their class.

use std::net::Ipv4Addr;

/// All parts that are set must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// Priority code point of the VLAN tag, 0 to 7.
    pub pcp: Option<u8>,
    /// VLAN identifier of the tag, 0 to 4094 (0: tagged for its priority alone).
    pub vlan: Option<u16>,
    /// EtherType behind the tag.
    pub ether_type: Option<u16>,
    /// Destination address and the mask of its bits that count.
    pub to: Option<Address>,
    /// Source address and the mask of its bits that count.
    pub from: Option<Address>,
    /// Differentiated services code point, 0 to 63, of IPv4 and IPv6.
    pub dscp: Option<u8>,
    /// IP protocol: 6 is TCP, 17 is UDP.
    pub ip_protocol: Option<u8>,
    /// Destination port of UDP or TCP.
    pub to_port: Option<u16>,
    /// Source port of UDP or TCP.
    pub from_port: Option<u16>,
    /// Destination of IPv4, with the length of the prefix that counts.
    pub to_ip: Option<(Ipv4Addr, u8)>,
    /// Priority of the sender's socket (SO_PRIORITY), 0 to 15; only on frames that this machine itself sends.
    pub socket_priority: Option<u8>,
}

impl Rule {
    /// Nothing but the priority of the sender's socket, which needs no classifier.
    pub fn is_of_socket(&self) -> bool {
        self.socket_priority.is_some() && *self == Rule { socket_priority: self.socket_priority, ..Rule::default() }
    }

    /// Whether it looks into the IP header.
    pub fn is_of_ip(&self) -> bool {
        let Rule {
            pcp: _,
            vlan: _,
            ether_type: _,
            to: _,
            from: _,
            dscp,
            ip_protocol,
            to_port: _,
            from_port: _,
            to_ip,
            socket_priority: _,
        } = self;
        dscp.is_some() || ip_protocol.is_some() || self.has_ports() || to_ip.is_some()
    }

    /// Whether it looks at a port of UDP or TCP.
    pub fn has_ports(&self) -> bool {
        self.to_port.is_some() || self.from_port.is_some()
    }

    /// Versions of IP that it can fit: 4, 6 or both.
    pub fn versions(&self) -> Vec<u8> {
        let fits = |version: &u8| {
            let ether_type = if *version == 4 { 0x0800 } else { 0x86dd };
            self.ether_type.is_none_or(|wanted| wanted == ether_type) && (*version == 4 || self.to_ip.is_none())
        };
        [4, 6].into_iter().filter(fits).collect()
    }

    /// Protocols with ports that it can fit; none where it does not look at ports.
    pub fn protocols(&self) -> Vec<Option<u8>> {
        match (self.ip_protocol, self.has_ports()) {
            (None, true) => vec![Some(17), Some(6)],
            // Nothing else has ports.
            (Some(protocol), true) if protocol != 17 && protocol != 6 => Vec::new(),
            (protocol, _) => vec![protocol],
        }
    }
}

/// A MAC address with a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub bytes: [u8; 6],
    /// Bits that count.
    pub mask: [u8; 6],
}
