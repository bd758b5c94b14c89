//! By what requests go: frames of an interface, or datagrams.

use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use ontick_network::roundtrip::{DatagramPort, EthernetPort, LARGEST_DATAGRAM, OCTETS, Station, Tag};
use ontick_tsn::config::mac;
use ontick_tsn::wire;
use ontick_units::exact;

use crate::failure::Failure;
use crate::flags;

/// Who answers.
#[derive(Debug, Clone)]
pub enum Responder {
    /// A station, by Ethernet frames.
    Station([u8; 6]),
    /// A host and its port, by datagrams.
    Host(String),
}

impl FromStr for Responder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(address) = mac(text) {
            return Ok(Self::Station(address));
        }
        // An address of IPv6 stands in brackets before its port.
        match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) => {
                Ok(Self::Host(text.to_owned()))
            }
            _ => Err(format!(
                "\"{text}\" is no address of a station such as 02:00:00:00:00:01, and no host with a port such as \
                 192.0.2.7:5000"
            )),
        }
    }
}

/// Options of the way.
#[derive(Args, Debug, Clone)]
pub struct WayFlags {
    /// The interface that frames leave and come by
    #[arg(long, value_name = "IF")]
    pub interface: Option<String>,
    /// Who answers: the address of a station, or a host and a port, to which requests go as datagrams (UDP)
    #[arg(long, value_name = "MAC|HOST:PORT")]
    pub to: Option<Responder>,
    /// By datagrams: with --respond at this address; alone where both ends are here
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, conflicts_with_all = ["interface", "to"])]
    pub udp: Option<Option<SocketAddr>>,
    /// Tag frames with this priority code point, 0 to 7; answers have the tag of their request. Of datagrams it is the
    /// priority of their socket (SO_PRIORITY)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=7))]
    pub priority_code: Option<u8>,
    /// Tag frames with this VLAN identifier, 0 to 4094; 0 is a tag for its priority alone
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(..=4094), conflicts_with = "udp")]
    pub vlan: Option<u16>,
    /// Octets of each frame without its check sequence, 60 to 1514, a tag included; of datagrams what each carries, 36 to
    /// 1472. Answers are as long [default: the shortest]
    #[arg(long, value_name = "OCTETS")]
    pub size: Option<u16>,
    /// Have each look for a datagram read the queue of the card itself, without its interrupt, for this long where it
    /// sleeps in recv(2) (SO_BUSY_POLL); 50us is usual
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    pub busy_poll: Option<u64>,
}

/// Times of SO_BUSY_POLL, in ns.
const BUSY_POLL_NS: std::ops::RangeInclusive<u64> = 1_000..=1_000_000;
/// The largest frame without a tag.
const LARGEST_FRAME: usize = (wire::HEADER + wire::LARGEST_SDU) as usize;

impl WayFlags {
    /// Whether messages are datagrams.
    pub fn is_udp(&self) -> bool {
        self.udp.is_some() || matches!(self.to, Some(Responder::Host(_)))
    }

    /// Refuses what does not fit together.
    pub fn check(&self, respond: bool) -> Result<(), Failure> {
        let refused = |what: String| Err(Failure::new(what));
        match (&self.to, &self.interface) {
            (Some(Responder::Station(_)), None) => {
                return refused("name the interface that frames to a station leave by: --interface IF".into());
            }
            (Some(Responder::Host(host)), Some(interface)) => {
                return refused(format!(
                    "datagrams to {host} take the way that the machine has for them (ip route get shows it): leave out \
                     --interface {interface}"
                ));
            }
            (Some(Responder::Host(_)), None) if self.vlan.is_some() => {
                return refused(
                    "the VLAN of datagrams is that of the interface they leave by: leave out --vlan".into(),
                );
            }
            _ => {}
        }
        match (&self.udp, respond) {
            (Some(Some(at)), false) => {
                return refused(format!("--udp {at} is where --respond answers; requests go --to HOST:PORT"));
            }
            (Some(None), true) => return refused("name where requests come: --udp 0.0.0.0:5000".into()),
            _ => {}
        }
        let (least, most) = self.sizes();
        if !(least..=most).contains(&self.size()) {
            let (what, size) = (if self.is_udp() { "datagrams carry" } else { "frames have" }, self.size());
            return refused(format!("--size: {what} {least} to {most} octets, not {size}"));
        }
        match self.busy_poll {
            Some(_) if !self.is_udp() => refused(
                "--busy-poll is for datagrams (--udp, or --to HOST:PORT): frames are read from a ring that the kernel \
                 fills, which reads no card"
                    .into(),
            ),
            Some(ns) if !BUSY_POLL_NS.contains(&ns) => {
                refused(format!("--busy-poll is from 1us to 1ms, and {} is not", exact(ns)))
            }
            _ => Ok(()),
        }
    }

    /// The shortest and the longest message.
    fn sizes(&self) -> (usize, usize) {
        match self.is_udp() {
            true => (OCTETS, LARGEST_DATAGRAM),
            false => (wire::SHORTEST as usize, LARGEST_FRAME),
        }
    }

    /// Octets of each frame, or of what each datagram carries.
    pub fn size(&self) -> usize {
        self.size.map_or(self.sizes().0, usize::from)
    }

    /// Refuses datagrams that would not go as they are.
    pub fn check_datagrams(&self, port: &DatagramPort) -> Result<(), Failure> {
        match port.room().filter(|room| self.size() > *room) {
            Some(room) => Err(Failure::new(format!(
                "datagrams of {} octets would go in fragments: a packet on the way has room for {room} (its MTU), so \
                 --size is {room} at most",
                self.size()
            ))),
            None => Ok(()),
        }
    }

    /// The tag of frames.
    pub fn tag(&self) -> Option<Tag> {
        let is_tagged = self.priority_code.is_some() || self.vlan.is_some();
        is_tagged.then(|| Tag { pcp: self.priority_code.unwrap_or(0), vlan: self.vlan.unwrap_or(0) })
    }

    /// A port to a station, by an interface.
    pub fn open_station(&self, interface: &str, address: [u8; 6]) -> Result<(EthernetPort, Station), Failure> {
        let port = EthernetPort::open(interface).map_err(Failure::new)?;
        let to = Station { address, tag: self.tag() };
        port.check(to).map_err(Failure::new)?;
        port.check_size(to, self.size()).map_err(Failure::new)?;
        Ok((port, to))
    }

    /// A port to a host.
    pub fn open_host(&self, host: &str) -> Result<(DatagramPort, SocketAddr), Failure> {
        let to = resolve(host)?;
        let port = DatagramPort::connect(to).map_err(Failure::new)?;
        self.check_datagrams(&port)?;
        self.prepare(&port)?;
        Ok((port, to))
    }

    /// Options of a socket.
    pub fn prepare(&self, port: &DatagramPort) -> Result<(), Failure> {
        if let Some(priority) = self.priority_code {
            port.prioritize(priority).map_err(Failure::new)?;
        }
        if let Some(ns) = self.busy_poll {
            port.poll_busily(Duration::from_nanos(ns)).map_err(|error| {
                Failure::new(format!("{error}: it needs root, or a net.core.busy_read that is as long (sysctl)"))
            })?;
        }
        Ok(())
    }
}

/// The address of a host and its port.
fn resolve(host: &str) -> Result<SocketAddr, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::new(format!("{host} is no host that is known here: {why}"));
    let mut all = host.to_socket_addrs().map_err(|error| wrong(&error))?;
    let address = all.next().ok_or_else(|| wrong(&"it has no address"))?;
    match address.ip().is_multicast() || address.ip().is_unspecified() {
        true => Err(Failure::new(format!("{host} is no address of one host: name the responder's own"))),
        false => Ok(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_or_a_host_answers() {
        let read = |text: &str| text.parse::<Responder>();
        assert!(matches!(read("02:00:00:00:00:01"), Ok(Responder::Station([2, 0, 0, 0, 0, 1]))));
        for host in ["192.0.2.7:5000", "[2001:db8::1]:5000", "drive.example:1"] {
            assert!(matches!(read(host), Ok(Responder::Host(name)) if name == host), "{host}");
        }
        for text in ["eth1", "192.0.2.7", "192.0.2.7:0", "192.0.2.7:70000", ":5000", ""] {
            assert!(read(text).unwrap_err().contains("192.0.2.7:5000"), "{text}");
        }
    }

    #[test]
    fn a_group_or_no_address_answers_nobody() {
        assert_eq!(resolve("127.0.0.1:7").unwrap(), "127.0.0.1:7".parse().unwrap());
        for host in ["224.0.0.1:7", "0.0.0.0:7", "[ff02::1]:7"] {
            assert!(resolve(host).unwrap_err().to_string().contains("name the responder's own"), "{host}");
        }
    }
}
