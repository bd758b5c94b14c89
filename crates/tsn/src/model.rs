//! What a switch is to do, as plain values: the names are resolved, the times are nanoseconds, and everything in it
//! was checked ([`crate::config`] makes it from a file).

use std::net::Ipv4Addr;

/// Traffic classes of a port at most, as the kernel has them (TC_QOPT_MAX_QUEUE); IEEE 802.1Q-2022 clause 8.6.6 has
/// [`STANDARD_CLASSES`].
pub const CLASSES: usize = 16;

/// Traffic classes of a port at most in IEEE 802.1Q-2022 (clause 8.6.6), and so in its YANG modules.
pub const STANDARD_CLASSES: usize = 8;

/// One switch, or one end station whose own frames are scheduled in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Its name; the kernel's bridge is called so, and everything that is kept about it.
    pub name: String,
    /// Whether frames are forwarded between the ports.
    pub role: Role,
    /// Who is to do the work.
    pub plane: Plane,
    /// Which bridge is between the ports in the kernel's data plane.
    pub bridge: Bridge,
    /// How frames find their class in the kernel's data plane.
    pub classifier: Classifier,
    /// How the user data plane has frames of its ports.
    pub socket: Socket,
    /// The CPUs of the user data plane's cores, one for each, which share out the ports; none: one core, whose CPU is chosen.
    pub cpus: Vec<u32>,
    /// The clock that gates follow.
    pub clock: Clock,
    /// Addresses not seen for so long are forgotten (IEEE 802.1Q clause 8.8.3), in ns.
    pub ageing_ns: u64,
    /// Addresses that are remembered at most.
    pub addresses: usize,
    /// By which protocol the kernel's bridge cuts loops.
    pub stp: SpanningTree,
    /// Of the addresses that no bridge forwards: those that are forwarded all the same.
    pub forward_reserved: Reserved,
    /// Whether event messages of PTP are corrected by the time that they were in the switch: an end-to-end transparent
    /// clock (IEEE 1588-2019 clause 10.2).
    pub transparent_clock: bool,
    /// Traffic classes, in the order of the file.
    pub classes: Vec<Class>,
    /// Ports, in the order of the file.
    pub ports: Vec<Port>,
    /// How a bridge finds the ports of a frame.
    pub forwarding: Forwarding,
    /// Streams, in the order of the file: the first that a frame belongs to says what it may be.
    pub streams: Vec<Stream>,
}

/// How a bridge finds the ports of a frame (IEEE 802.1Q-2022 clause 8.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forwarding {
    /// Whether source addresses are learned (clause 8.7).
    pub learning: bool,
    /// Ports for frames without an entry, by their place in [`Switch::ports`]: such frames leave by these ports only, and
    /// are accepted and learned from these only. Absent: all ports.
    pub flood: Option<Vec<usize>>,
    /// Static entries (clause 8.8.1), in the order of the file.
    pub entries: Vec<StaticEntry>,
}

impl Default for Forwarding {
    fn default() -> Self {
        Self { learning: true, flood: None, entries: Vec::new() }
    }
}

/// Frames to an address go to certain ports, whatever was learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticEntry {
    /// Destination address, of a station or of a group.
    pub to: [u8; 6],
    /// VLAN identifier of the tag, 1 to 4094; 0: frames of no VLAN; absent: any. An entry with the VLAN goes before one
    /// without.
    pub vlan: Option<u16>,
    /// By their place in [`Switch::ports`]; at least one, in ascending order.
    pub ports: Vec<usize>,
}

/// A stream, and what its frames may be (per-stream filtering and policing, IEEE 802.1Q-2022 clause 8.6.5.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Its name in counters. No two streams have the same.
    pub name: String,
    /// The number by which network managers know it (tsnStreamIdHandle, IEEE 802.1CB-2017 clause 9.1.1.1); absent: one is found. No
    /// two streams have the same.
    pub handle: Option<u32>,
    /// Destination address, of a station or of a group.
    pub to: [u8; 6],
    /// VLAN identifier of the tag, 1 to 4094; 0: frames of no VLAN; absent: any.
    pub vlan: Option<u16>,
    /// Source address; absent: any.
    pub from: Option<[u8; 6]>,
    /// Ports that its frames come in by, by their place in [`Switch::ports`], in ascending order; absent: any.
    pub ingress: Option<Vec<usize>>,
    /// Largest service data unit, in octets (clause 8.6.5.3.1).
    pub max_sdu: Option<u32>,
    /// How much it may bring.
    pub meter: Option<Meter>,
    /// When its frames may come in; absent: always.
    pub gate: Option<StreamGate>,
    /// Its frames pass once, whatever number of paths they come by.
    pub eliminate: Option<Elimination>,
    /// Ports that its frames leave by, each by all of them and with a redundancy tag, by their place in [`Switch::ports`];
    /// absent: as all other frames (sequence generation and stream splitting, IEEE 802.1CB-2017 clauses 7.4.1 and 7.7).
    pub replicate: Option<Vec<usize>>,
}

/// Of each numbered frame of a stream the first passes (sequence recovery, IEEE 802.1CB-2017 clause 7.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elimination {
    /// How many numbers are remembered, 2 to 128 (frerSeqRcvyHistoryLength).
    pub history_length: u32,
    /// After so long without a frame any number is accepted, in ns (frerSeqRcvyResetMSec).
    pub reset_timeout_ns: u64,
    /// How many paths the frames come by (frerSeqRcvyLatentErrorPaths).
    pub paths: u32,
}

impl Elimination {
    /// Copies that may be missing, or too many, before that is an error (frerSeqRcvyLatentErrorDifference).
    pub const LATENT_ERROR_DIFFERENCE: u64 = 16;
    /// They are counted so often, in ms (frerSeqRcvyLatentErrorPeriod).
    pub const LATENT_ERROR_PERIOD_MS: u64 = 2_000;
    /// What came before counts no more after so long, in ms (frerSeqRcvyLatentResetPeriod).
    pub const LATENT_RESET_PERIOD_MS: u64 = 30_000;
}

impl Default for Elimination {
    fn default() -> Self {
        Self { history_length: 64, reset_timeout_ns: 2_000_000_000, paths: 2 }
    }
}

/// A flow meter (IEEE 802.1Q-2022 clause 8.6.5.5), the bandwidth profile of MEF 10.3 without an excess: what is above the
/// committed rate and burst is red, and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meter {
    /// Committed information rate, in bits per second of frames from the destination address to the check sequence.
    pub rate: u64,
    /// Committed burst size, in octets of the same.
    pub burst: u32,
}

/// A stream gate that opens and closes by a list (IEEE 802.1Q-2022 clauses 8.6.5.4 and 8.6.10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamGate {
    /// Cycles begin at this time and whole cycles after it; before it the gate is open.
    pub base: Base,
    /// Length of a cycle, in ns: the sum of all entries.
    pub cycle_ns: u64,
    /// In order; each takes over where the one before ends.
    pub entries: Vec<StreamGateEntry>,
}

/// A stream gate is open or closed for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamGateEntry {
    /// Whether frames pass.
    pub open: bool,
    /// For how long, in ns.
    pub for_ns: u64,
}

/// Some of the sixteen addresses from 01-80-C2-00-00-00 on (IEEE 802.1Q-2022 Table 8-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reserved(u16);

impl Reserved {
    /// In groups by who uses them. Flow control (-01) is in none: it is for the other end of the cable alone.
    pub const GROUPS: [(&'static str, Self); 5] = [
        ("bpdu", Self(1)),
        ("slow", Self(1 << 2)),
        ("eapol", Self(1 << 3)),
        ("lldp", Self(1 << 14)),
        ("others", Self(0xbff0)),
    ];

    /// Whether the address with this last digit is one of them.
    #[inline]
    pub fn contains(self, address: u8) -> bool {
        self.0 & 1u16.checked_shl(address.into()).unwrap_or(0) != 0
    }

    /// Those of either.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Names of the groups that are in it.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::GROUPS.into_iter().filter(move |(_, group)| self.0 & group.0 == group.0).map(|(name, _)| name)
    }

    /// One bit for each, as the kernel's `group_fwd_mask` has it.
    pub fn mask(self) -> u16 {
        self.0
    }
}

/// What is between the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Frames go from port to port.
    Bridge,
    /// Each port sends the machine's own frames.
    Station,
}

/// The clock that gates follow; a machine's clocks are called so (clock_gettime(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Time since the machine's start.
    Monotonic,
    /// UTC.
    Realtime,
    /// International Atomic Time, as PTP distributes it.
    Tai,
}

impl Clock {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Monotonic => "monotonic",
            Clock::Realtime => "realtime",
            Clock::Tai => "tai",
        }
    }
}

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

/// By which protocol a bridge cuts loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpanningTree {
    /// By none.
    #[default]
    Off,
    /// The spanning tree protocol, which the kernel's bridge itself speaks (IEEE 802.1D-1998 clause 8).
    Stp(BridgePriority),
    /// The rapid one, by a daemon (IEEE 802.1Q-2022 clause 13).
    Rstp(BridgePriority),
}

impl SpanningTree {
    /// Whether loops are cut.
    pub fn is_on(self) -> bool {
        self != Self::Off
    }

    /// Where loops are cut.
    pub fn priority(self) -> Option<BridgePriority> {
        match self {
            Self::Off => None,
            Self::Stp(priority) | Self::Rstp(priority) => Some(priority),
        }
    }
}

/// The most significant part of a bridge's identifier: of all bridges the one with the lowest is the root of the tree (IEEE
/// 802.1Q-2022 clause 14.2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgePriority(u16);

impl BridgePriority {
    /// Priorities are multiples of this.
    pub const STEP: u16 = 4_096;

    /// None where it is no multiple of [`STEP`](Self::STEP).
    pub fn new(priority: u16) -> Option<Self> {
        (priority % Self::STEP == 0).then_some(Self(priority))
    }

    /// 0 to 61440.
    pub fn number(self) -> u16 {
        self.0
    }
}

impl Default for BridgePriority {
    fn default() -> Self {
        Self(32_768)
    }
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

/// A traffic class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Its name in gates.
    pub name: String,
    /// Its number, 0 to 15: among open gates the highest number with a frame that fits goes first (strict priority,
    /// IEEE 802.1Q-2022 clause 8.6.8.1). No two classes have the same.
    pub queue: u8,
    /// Frames that fit any of these belong to it. The one class without rules takes all others.
    pub rules: Vec<Rule>,
    /// Frames that wait on one port at most; further ones are dropped and counted.
    pub limit: u32,
}

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

/// A MAC address with a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub bytes: [u8; 6],
    /// Bits that count.
    pub mask: [u8; 6],
}

/// One port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Name of the interface.
    pub name: String,
    /// Bits per second of the link; absent: what the interface says when it is set up.
    pub rate: Option<u64>,
    /// How the port's hardware takes part (kernel data plane only).
    pub offload: Offload,
    /// Largest frame of each class, as octets of the service data unit: what follows addresses, VLAN tag and
    /// EtherType (queueMaxSDU, IEEE 802.1Q-2022 clause 12.29.1.1.1). By the class's place in [`Switch::classes`].
    pub max_sdu: Vec<Option<u32>>,
    /// Transmit queues of each class by its place in [`Switch::classes`], at least one each; empty: one each. Only a
    /// port with gates in the kernel's data plane has them.
    pub transmit_queues: Vec<u8>,
    /// Idle slope of each class that the credit-based shaper limits, in bits per second on the wire (operIdleSlope, IEEE
    /// 802.1Q-2022 clause 34.3). By the class's place in [`Switch::classes`]; empty: none is shaped.
    pub idle_slopes: Vec<Option<u64>>,
    /// Which classes' frames are preempted by those of the others; absent: none.
    pub preemption: Option<Preemption>,
    /// When which gates are open; absent: all are, always.
    pub gates: Option<Gates>,
}

/// Frame preemption (IEEE 802.1Q-2022 clause 6.7.2, IEEE 802.3-2022 clause 99): a frame of a preemptible class is
/// interrupted for one of an express class, and goes on afterwards. The port does that; no data plane of its own can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preemption {
    /// Preemptible classes, by their place in [`Switch::classes`], in ascending order; all others are express, and there
    /// is at least one of each.
    pub preemptible: Vec<usize>,
    /// Whether the other end is asked before anything is preempted (802.3-2022 clause 99.4.3).
    pub verify: bool,
    /// How long its answer is waited for each time, in ms, 1 to 128.
    pub verify_time_ms: u32,
    /// Octets of a fragment at least, without its check sequence: 60, 124, 188 or 252.
    pub min_fragment_size: u32,
}

impl Preemption {
    /// Whether frames of a class are preempted, by its place in [`Switch::classes`].
    pub fn is_preemptible(&self, class: usize) -> bool {
        self.preemptible.contains(&class)
    }
}

/// How a port's hardware takes part in the kernel's data plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// Gates in software.
    None,
    /// Software chooses for each frame the time at which it is sent, and etf or the port holds it until then.
    TxTime {
        /// Time before its transmission at which a frame is handed over, in ns.
        delay_ns: u32,
    },
    /// The port itself opens and closes the gates.
    Full,
}

/// A gate control list (IEEE 802.1Q-2022 clause 8.6.8.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gates {
    /// Cycles begin at this time and whole cycles after it.
    pub base: Base,
    /// Length of a cycle, in ns: the sum of all entries.
    pub cycle_ns: u64,
    /// Before a gate closes, nothing is sent through it for so long.
    pub guard: Guard,
    /// In order; each takes over where the one before ends.
    pub entries: Vec<Entry>,
}

/// When cycles begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// At this time of the switch's clock, in ns.
    At(u64),
    /// With the next whole second of the switch's clock that leaves time to set everything up.
    NextSecond,
}

/// Time kept free before a gate closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// None: a frame ends before its gate closes because it is not begun otherwise.
    None,
    /// This long, in ns.
    Fixed(u64),
    /// As long as the class's largest frame takes; for ports that do not look at a frame's length.
    LargestFrame,
}

/// What all gates of a switch are, whatever their lists say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateOverride {
    /// All are open.
    Open,
    /// All are closed, those of ports without a list too: nothing leaves.
    Closed,
}

/// Some gates are open, for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Bit n is the gate of the class with [`Class::queue`] n.
    pub open: u16,
    /// For how long, in ns.
    pub for_ns: u64,
}

impl Port {
    /// Transmit queues of a class, by its place in [`Switch::classes`].
    pub fn transmit_queues_of(&self, class: usize) -> u16 {
        self.transmit_queues.get(class).map_or(1, |queues| u16::from(*queues))
    }

    /// Whether each class needs a transmit queue of its own in the kernel's data plane: gates and frame preemption know
    /// frames by their queue.
    pub fn is_by_queue(&self) -> bool {
        self.gates.is_some() || self.preemption.is_some()
    }

    /// Whether the credit-based shaper limits a class, by its place in [`Switch::classes`].
    pub fn shapes(&self, class: usize) -> bool {
        self.idle_slopes.get(class).is_some_and(Option::is_some)
    }

    /// Whether the credit-based shaper limits any class.
    pub fn is_shaped(&self) -> bool {
        self.idle_slopes.iter().any(Option::is_some)
    }
}

impl Switch {
    /// Whether frames are forwarded between its ports.
    pub fn is_bridge(&self) -> bool {
        self.role == Role::Bridge
    }

    /// What of it stays as it is while it is set up: all but gates, idle slopes and streams, and a dedicated core's frame
    /// sizes.
    pub fn fixed(&self) -> Self {
        let fixed = |port: &Port| {
            let max_sdu = if self.plane == Plane::User { Vec::new() } else { port.max_sdu.clone() };
            Port { gates: None, idle_slopes: Vec::new(), max_sdu, ..port.clone() }
        };
        Self { ports: self.ports.iter().map(fixed).collect(), streams: Vec::new(), ..self.clone() }
    }

    /// The same, with stream gates that begin at this time where they begin with the next second.
    pub fn with_stream_gates_at(&self, second_ns: u64) -> Self {
        let mut switch = self.clone();
        for gate in switch.streams.iter_mut().filter_map(|stream| stream.gate.as_mut()) {
            gate.base = Base::At(gate.base.at_second(second_ns));
        }
        switch
    }
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
