//! What is known of an interface, and what of it can change.

use ontick_netlink::{Message, attributes, number, text, u32_at};

/// An interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    /// Its index: an interface that is made anew has another one.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// It is set up (`ip link set … up`).
    pub up: bool,
    /// The link is there: a cable with somebody at its other end.
    pub carrier: bool,
    /// Times that the link came or went.
    pub carrier_changes: u32,
    /// Index of the bridge or bond that it belongs to.
    pub master: Option<u32>,
    /// Index of the interface below it, or at the other end of a veth pair, if that is in this namespace.
    pub other: Option<u32>,
    /// Receive queues that it can have.
    pub receive_queues: u32,
    /// Its kind, if it is a virtual one: `veth`, `bridge`, …
    pub kind: Option<String>,
    /// Ethernet, not a tunnel or the loopback.
    pub ethernet: bool,
    /// Octets of data that its frames carry at most.
    pub mtu: u32,
    /// Transmit queues that it was made with.
    pub transmit_queues: u32,
    /// What an administrator calls it (`ip link set … alias`).
    pub alias: Option<String>,
}

/// Something happened to an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It was not there before.
    Appeared,
    /// It was deleted, unplugged, or moved to another network namespace.
    Gone,
    /// It has another name; this was the one before.
    Renamed {
        /// The former name.
        from: String,
    },
    /// It was set up.
    AdminUp,
    /// It was set down.
    AdminDown,
    /// The link came.
    CarrierUp,
    /// The link went.
    CarrierDown,
    /// The link came and went so quickly that it is as it was; timers and queues of the port may not be.
    Flapped,
    /// It belongs to another bridge or bond, or to none.
    Master {
        /// Index of the former one.
        from: Option<u32>,
        /// Index of the present one.
        to: Option<u32>,
    },
}

impl Link {
    /// What an `RTM_NEWLINK` or `RTM_DELLINK` message says; nothing if it is about something else, such as an
    /// interface's part in a bridge.
    pub(super) fn read(message: &Message<'_>) -> Option<Self> {
        /// Octets of `struct ifinfomsg`.
        const INFO: usize = 16;
        let (attributes_from, family) = (message.body.get(INFO..)?, *message.body.first()?);
        if i32::from(family) != libc::AF_UNSPEC {
            return None;
        }
        let flags = u32_at(message.body, 8)?;
        let mut link = Self {
            index: u32_at(message.body, 4)?,
            up: flags & libc::IFF_UP as u32 != 0,
            carrier: flags & libc::IFF_LOWER_UP as u32 != 0,
            ethernet: message.body.get(2..4)? == libc::ARPHRD_ETHER.to_ne_bytes(),
            ..Self::default()
        };
        let mut elsewhere = false;
        for (kind, value) in attributes(attributes_from) {
            match kind {
                libc::IFLA_IFNAME => link.name = text(value),
                libc::IFLA_MASTER => link.master = number(value),
                libc::IFLA_LINK => link.other = number(value).filter(|index| *index != link.index && *index != 0),
                libc::IFLA_LINK_NETNSID => elsewhere = true,
                libc::IFLA_NUM_RX_QUEUES => link.receive_queues = number(value)?,
                libc::IFLA_CARRIER_CHANGES => link.carrier_changes = number(value)?,
                libc::IFLA_MTU => link.mtu = number(value)?,
                libc::IFLA_NUM_TX_QUEUES => link.transmit_queues = number(value)?,
                libc::IFLA_IFALIAS => link.alias = Some(text(value)),
                libc::IFLA_LINKINFO => link.kind = info_kind(value),
                _ => (),
            }
        }
        if elsewhere {
            link.other = None;
        }
        (!link.name.is_empty()).then_some(link)
    }

    /// What has happened since it was as `before`.
    pub(super) fn changes_since(&self, before: &Link) -> Vec<Change> {
        let mut changes = Vec::new();
        if self.name != before.name {
            changes.push(Change::Renamed { from: before.name.clone() });
        }
        if self.master != before.master {
            changes.push(Change::Master { from: before.master, to: self.master });
        }
        if self.up != before.up {
            changes.push(if self.up { Change::AdminUp } else { Change::AdminDown });
        }
        if self.carrier != before.carrier {
            changes.push(if self.carrier { Change::CarrierUp } else { Change::CarrierDown });
        } else if self.carrier_changes != before.carrier_changes {
            changes.push(Change::Flapped);
        }
        changes
    }
}

fn info_kind(info: &[u8]) -> Option<String> {
    attributes(info).find(|(kind, _)| *kind == libc::IFLA_INFO_KIND).map(|(_, value)| text(value))
}
