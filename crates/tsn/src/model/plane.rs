//! Who does the work, and by which bridge, classifier and sockets.

/// Who does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plane {
    /// The kernel where it can, else a dedicated core.
    Auto,
    /// Bridge, classifier and taprio.
    Kernel,
    /// A dedicated core.
    User,
}

/// Which bridge is between the ports in the kernel's data plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bridge {
    /// The kernel's own.
    Linux,
    /// Open vSwitch.
    OpenVswitch(Datapath),
}

/// Who forwards frames for Open vSwitch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Datapath {
    /// The kernel's module `openvswitch`.
    System,
    /// `ovs-vswitchd` itself, which needs no module.
    Netdev,
}

impl Datapath {
    /// Its name in files and in Open vSwitch's database.
    pub fn name(self) -> &'static str {
        match self {
            Datapath::System => "system",
            Datapath::Netdev => "netdev",
        }
    }
}

/// How frames find their class in the kernel's data plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classifier {
    /// The first of the following that the machine can do and that the rules need.
    Auto,
    /// tc-flower(8) and `skbedit` on the way out of each port.
    Flower,
    /// nftables' bridge family.
    Nft,
    /// iptables' CLASSIFY behind `br_netfilter`, as in source 004.
    Iptables,
}

/// How the user data plane has frames of its ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Socket {
    /// Packet sockets with a ring (packet(7)): everywhere.
    Packet,
    /// AF_XDP sockets: the kernel's own network stack sees none of the frames.
    Xdp,
}
