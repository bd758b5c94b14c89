//! Which class a frame belongs to.

use std::net::Ipv4Addr;

use crate::frame::{Header, Ip};
use crate::model::{Address, Class, Rule};

/// The rules of all classes, in the order in which they are asked.
#[derive(Debug, Clone)]
pub struct Rules {
    rules: Vec<(Rule, u8)>,
    rest: u8,
}

impl Rules {
    /// From classes of which one has no rules: that takes what fits nowhere else.
    pub fn new(classes: &[Class]) -> Self {
        let rules = classes.iter().flat_map(|class| class.rules.iter().map(|rule| (rule.clone(), class.queue)));
        let rest = classes.iter().find(|class| class.rules.is_empty()).map_or(0, |class| class.queue);
        Self { rules: rules.collect(), rest }
    }

    /// The queue of a frame: that of the first rule that fits.
    #[inline]
    pub fn queue(&self, header: &Header) -> u8 {
        self.rules.iter().find(|(rule, _)| rule.fits(header)).map_or(self.rest, |(_, queue)| *queue)
    }
}

impl Rule {
    /// Whether all of it fits a frame that came in on a port. The priority of a socket is known of no such frame.
    #[inline]
    pub fn fits(&self, header: &Header) -> bool {
        let Rule { pcp, vlan, ether_type, to, from, dscp, ip_protocol, to_port, from_port, to_ip, socket_priority } =
            self;
        let ip = |fits: &dyn Fn(&Ip) -> bool| header.ip.as_ref().is_some_and(fits);
        socket_priority.is_none()
            && pcp.is_none_or(|pcp| header.tag.is_some_and(|tag| tag.pcp == pcp))
            && vlan.is_none_or(|vlan| header.tag.is_some_and(|tag| tag.vlan == vlan))
            && ether_type.is_none_or(|ether_type| header.ether_type == ether_type)
            && to.is_none_or(|address| address.fits(&header.to))
            && from.is_none_or(|address| address.fits(&header.from))
            && dscp.is_none_or(|dscp| ip(&|ip| ip.dscp == dscp))
            && ip_protocol.is_none_or(|protocol| ip(&|ip| ip.protocol == protocol))
            && to_port.is_none_or(|port| ip(&|ip| ip.ports.is_some_and(|ports| ports.1 == port)))
            && from_port.is_none_or(|port| ip(&|ip| ip.ports.is_some_and(|ports| ports.0 == port)))
            && to_ip.is_none_or(|(net, length)| ip(&|ip| ip.to.is_some_and(|to| within(to, net, length))))
    }
}

impl Address {
    #[inline]
    fn fits(&self, address: &[u8; 6]) -> bool {
        let wanted = self.bytes.iter().zip(&self.mask);
        wanted.zip(address).all(|((wanted, mask), given)| wanted & mask == given & mask)
    }
}

#[inline]
fn within(address: Ipv4Addr, net: Ipv4Addr, length: u8) -> bool {
    let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
    u32::from(address) & mask == u32::from(net) & mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Tag;

    fn header() -> Header {
        let ip = Ip { dscp: 46, protocol: 17, to: Some(Ipv4Addr::new(10, 1, 2, 3)), ports: Some((9, 6666)) };
        let tag = Some(Tag { pcp: 6, vlan: 100 });
        Header {
            to: [1, 0x1b, 0x19, 0, 0, 5],
            from: [2, 0, 0, 0, 0, 7],
            tag,
            sequence: None,
            ether_type: 0x0800,
            ip: Some(ip),
        }
    }

    #[test]
    fn each_part_of_a_rule_counts() {
        let address = |bytes, mask| Some(Address { bytes, mask });
        let all = [0xff; 6];
        let fits = [
            Rule { pcp: Some(6), ..Rule::default() },
            Rule { vlan: Some(100), ..Rule::default() },
            Rule { ether_type: Some(0x0800), ..Rule::default() },
            Rule { to: address([1, 0x1b, 0x19, 9, 9, 9], [0xff, 0xff, 0xff, 0, 0, 0]), ..Rule::default() },
            Rule { from: address([2, 0, 0, 0, 0, 7], all), ..Rule::default() },
            Rule { dscp: Some(46), ..Rule::default() },
            Rule { ip_protocol: Some(17), to_port: Some(6666), ..Rule::default() },
            Rule { from_port: Some(9), ..Rule::default() },
            Rule { to_ip: Some((Ipv4Addr::new(10, 1, 0, 0), 16)), ..Rule::default() },
            Rule { to_ip: Some((Ipv4Addr::new(99, 0, 0, 0), 0)), ..Rule::default() },
        ];
        assert_eq!(fits.iter().position(|rule| !rule.fits(&header())), None);
        let not = [
            Rule { pcp: Some(5), ..Rule::default() },
            Rule { vlan: Some(100), pcp: Some(0), ..Rule::default() },
            Rule { ether_type: Some(0x86dd), ..Rule::default() },
            Rule { to: address([1, 0x1b, 0x18, 0, 0, 5], all), ..Rule::default() },
            Rule { from: address([2, 0, 0, 0, 0, 8], all), ..Rule::default() },
            Rule { dscp: Some(0), ..Rule::default() },
            Rule { ip_protocol: Some(6), to_port: Some(6666), ..Rule::default() },
            Rule { to_port: Some(9), ..Rule::default() },
            Rule { from_port: Some(6666), ..Rule::default() },
            Rule { to_ip: Some((Ipv4Addr::new(10, 1, 2, 2), 32)), ..Rule::default() },
            Rule { socket_priority: Some(0), ..Rule::default() },
        ];
        assert_eq!(not.iter().position(|rule| rule.fits(&header())), None);
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let class = |name: &str, queue, rules| Class { name: name.into(), queue, rules, limit: 1 };
        let pcp = |pcp| Rule { pcp: Some(pcp), ..Rule::default() };
        let dscp = Rule { dscp: Some(46), ..Rule::default() };
        let rules =
            Rules::new(&[class("rest", 3, vec![]), class("a", 1, vec![pcp(5), dscp]), class("b", 2, vec![pcp(6)])]);
        assert_eq!(rules.queue(&header()), 1);
        assert_eq!(rules.queue(&Header { ip: None, ..header() }), 2);
        assert_eq!(rules.queue(&Header { ip: None, tag: None, ..header() }), 3);
    }
}
