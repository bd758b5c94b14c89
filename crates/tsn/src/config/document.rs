//! The file's shape, for its published schema. What reads it is by hand, so that all that is wrong can be said at once;
//! a test holds both to the same keys.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

/// The JSON Schema of the file; editors and tools that check TOML by schema take it.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Document).to_value();
    without_null(&mut schema);
    schema
}

/// A key that may be left out: TOML has no null.
pub(crate) fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(types) = members.get_mut("type") {
                let named = types.as_array().into_iter().flatten().filter(|name| *name != "null").cloned();
                match named.collect::<Vec<Value>>().as_slice() {
                    [] => {}
                    [only] => *types = only.clone(),
                    several => *types = several.to_vec().into(),
                }
            }
            if let Some(Value::Array(mut of)) = members.remove("anyOf") {
                of.retain(|one| one["type"] != "null");
                match of.as_slice() {
                    [Value::Object(only)] => members.extend(only.clone()),
                    _ => drop(members.insert("anyOf".into(), of.into())),
                }
            }
            members.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

/// A switch for `ontick switch`: its ports, its traffic classes, and when which gates are open.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, title = "ontick switch")]
#[expect(dead_code, reason = "only its shape is used")]
struct Document {
    /// The switch itself.
    switch: Head,
    /// Traffic classes. The first rule that fits a frame decides, in the order of the file; exactly one class has no
    /// `match` and takes all other frames.
    #[schemars(length(min = 1, max = 8))]
    class: Vec<Class>,
    /// Ports: network interfaces.
    #[schemars(length(min = 1, max = 256))]
    port: Vec<Port>,
    /// Static entries of the filtering database (IEEE 802.1Q-2022 clause 8.8.1).
    #[schemars(length(max = 65_536))]
    forward: Option<Vec<Forward>>,
    /// Streams: what their frames may be, and whether they take several paths. Per-stream filtering and policing (IEEE 802.1Q-2022
    /// clause 8.6.5.2), frame replication and elimination (IEEE 802.1CB-2017). The first that a frame belongs to counts, in the
    /// order of the file. User data plane only.
    #[schemars(length(max = 16_384))]
    stream: Option<Vec<Stream>>,
}

/// A stream; `max-sdu`, `meter`, `gate`, `eliminate` or `replicate` must be there.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
struct Stream {
    /// Its name in counters.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,31}$"))]
    name: String,
    /// Number by which network managers know it (tsnStreamIdHandle, IEEE 802.1CB-2017 clause 9.1.1.1); one is found where it is left
    /// out.
    handle: Option<u32>,
    /// Destination MAC address, of a station or of a group.
    #[schemars(regex(pattern = "^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$"))]
    to: String,
    /// Identifier of the VLAN; 0: frames of no VLAN. Frames of any where it is left out.
    #[schemars(range(max = 4094))]
    vlan: Option<u16>,
    /// Source MAC address; any where it is left out.
    #[schemars(regex(pattern = "^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$"))]
    from: Option<String>,
    /// Names of the ports that its frames come in by; any where it is left out.
    #[schemars(length(min = 1, max = 256))]
    ingress: Option<Vec<String>>,
    /// Largest service data unit, in octets (clause 8.6.5.3.1).
    max_sdu: Option<Sdu>,
    /// Flow meter (clause 8.6.5.5).
    meter: Option<Meter>,
    /// Stream gate (clause 8.6.5.4); always open where it is left out.
    gate: Option<StreamGate>,
    /// Of each numbered frame the first passes (sequence recovery, IEEE 802.1CB-2017 clause 7.4.2).
    eliminate: Option<Elimination>,
    /// Names of the ports that each frame leaves by, with a redundancy tag (IEEE 802.1CB-2017 clauses 7.4.1, 7.7 and 7.8).
    #[schemars(length(min = 2, max = 256))]
    replicate: Option<Vec<String>>,
}

/// The vector recovery algorithm (IEEE 802.1CB-2017 clause 7.4.3.4).
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
struct Elimination {
    /// How many numbers are remembered.
    #[schemars(range(min = 2, max = 128), extend("default" = 64))]
    history_length: Option<u32>,
    /// After so long without a frame any number is accepted.
    #[schemars(extend("default" = "2s"))]
    reset_timeout: Option<Time>,
    /// How many paths the frames come by.
    #[schemars(range(min = 2, max = 8), extend("default" = 2))]
    paths: Option<u32>,
}

/// What is above the committed rate and burst is dropped. Octets count from the destination address to the check sequence.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Meter {
    /// Committed information rate.
    rate: Rate,
    /// Committed burst size, in octets.
    #[schemars(range(min = 64, max = 16_777_216))]
    burst: u32,
}

/// When frames of a stream may come in.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
struct StreamGate {
    /// Length of a cycle: the sum of the entries, which it checks.
    cycle: Option<Time>,
    /// When cycles begin: nanoseconds of the switch's clock, or "next second".
    #[schemars(extend("default" = "next second"))]
    base_time: Option<Base>,
    /// In order; each takes over where the one before ends.
    #[schemars(length(min = 1, max = 1024))]
    entries: Vec<StreamGateEntry>,
}

/// The gate is open or closed for some time.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct StreamGateEntry {
    /// Whether frames pass.
    open: bool,
    /// For how long.
    r#for: Time,
}

/// Frames to an address go to certain ports, whatever was learned.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Forward {
    /// Destination MAC address, of a station or of a group.
    #[schemars(regex(pattern = "^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$"))]
    to: String,
    /// Identifier of the VLAN; 0: frames of no VLAN. Frames of any where it is left out.
    #[schemars(range(max = 4094))]
    vlan: Option<u16>,
    /// Names of the ports that the frames go to.
    #[schemars(length(min = 1, max = 256))]
    ports: Vec<String>,
}

/// The switch itself.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
struct Head {
    /// Its name; the kernel's bridge is called so.
    #[schemars(length(min = 1, max = 15))]
    name: String,
    /// Whether frames are forwarded between the ports (bridge), or each port sends this machine's own frames (station).
    #[schemars(extend("default" = "bridge"))]
    role: Option<Role>,
    /// Who does the work: the kernel where it can, else a dedicated core (auto); the kernel; a dedicated core (user).
    #[schemars(extend("default" = "auto"))]
    plane: Option<Plane>,
    /// Which bridge is between the ports in the kernel's data plane: its own (linux), or Open vSwitch.
    #[schemars(extend("default" = "linux"))]
    bridge: Option<Bridge>,
    /// Who forwards frames for Open vSwitch: the kernel's module (system), or ovs-vswitchd itself (netdev).
    #[schemars(extend("default" = "system"))]
    datapath: Option<Datapath>,
    /// How frames find their class in the kernel's data plane.
    #[schemars(extend("default" = "auto"))]
    classifier: Option<Classifier>,
    /// How the user data plane has frames of its ports: packet sockets (packet) or AF_XDP sockets (xdp).
    #[schemars(extend("default" = "packet"))]
    socket: Option<Socket>,
    /// CPU of the user data plane; one is chosen where it is left out.
    cpu: Option<u16>,
    /// CPUs of the user data plane, whose cores share out the ports: `"1-3"`. In place of `cpu`.
    cpus: Option<Cpus>,
    /// Clock that the gates follow.
    #[schemars(extend("default" = "tai"))]
    clock: Option<Clock>,
    /// Addresses not seen for so long are forgotten (IEEE 802.1Q-2022 clause 8.8.3).
    #[schemars(extend("default" = "300s"))]
    ageing_time: Option<Time>,
    /// Addresses that are remembered at most.
    #[schemars(range(min = 1, max = 1_048_576), extend("default" = 8192))]
    mac_table: Option<u32>,
    /// Whether the kernel's bridge cuts loops by the spanning tree protocol (true), or by the rapid one and the daemon mstpd
    /// ("rstp").
    #[schemars(extend("default" = false))]
    stp: Option<SpanningTree>,
    /// Of all bridges that speak the spanning tree protocol the one with the lowest priority is the root (IEEE 802.1Q-2022
    /// clause 14.2.5). Goes with `stp`.
    #[schemars(range(min = 0, max = 61_440), extend("multipleOf" = 4096, "default" = 32_768))]
    bridge_priority: Option<u16>,
    /// Frames to these reserved addresses (IEEE 802.1Q-2022 Table 8-1) are forwarded all the same: spanning tree (bpdu),
    /// link aggregation and other slow protocols (slow), port access control (eapol), LLDP and PTP's peer delay (lldp).
    #[schemars(extend("default" = []))]
    forward_reserved: Option<Vec<ReservedGroup>>,
    /// Whether event messages of PTP are corrected by the time that they were in the switch (user data plane): an
    /// end-to-end transparent clock, IEEE 1588-2019 clause 10.2.
    #[schemars(extend("default" = false))]
    transparent_clock: Option<bool>,
    /// Whether source addresses are learned.
    #[schemars(extend("default" = true))]
    learning: Option<bool>,
    /// Ports for frames without an entry: such frames leave by these ports only, and are accepted and learned from these
    /// only. All ports where it is left out.
    #[schemars(length(max = 256))]
    flood: Option<Vec<String>>,
}

/// A time with its unit: `250ns`, `12us`, `1.5ms`, `1s`, `10min`.
#[derive(JsonSchema)]
#[schemars(extend("pattern" = "^[0-9]+([.][0-9]+)? ?(ns|us|µs|μs|ms|s|min|h|d)$"))]
#[expect(dead_code, reason = "only its shape is used")]
pub(crate) struct Time(String);

/// A list of CPUs: `1-3`, `1,3`.
#[derive(JsonSchema)]
#[schemars(extend("pattern" = "^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$"))]
#[expect(dead_code, reason = "only its shape is used")]
pub(crate) struct Cpus(String);

/// A rate: `100Mbit`, `1Gbit`, `2.5Gbit`.
#[derive(JsonSchema)]
#[schemars(extend("pattern" = "^[0-9]+([.][0-9]{1,9})? ?([GMk]?bit)$"))]
#[expect(dead_code, reason = "only its shape is used")]
pub(crate) struct Rate(String);

/// A MAC address, with the length of the prefix that counts or a mask: `aa:bb:cc:00:00:00/24`.
#[derive(JsonSchema)]
#[schemars(extend(
    "pattern" = "^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}(/([0-9]{1,2}|[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}))?$"
))]
#[expect(dead_code, reason = "only its shape is used")]
struct Mac(String);

macro_rules! words {
    ($(#[$about:meta])* $name:ident: $($word:ident)*) => {
        $(#[$about])*
        #[derive(JsonSchema)]
        #[schemars(rename_all = "kebab-case")]
        #[expect(dead_code, reason = "only its shape is used")]
        enum $name { $($word),* }
    };
}

words!(Role: Bridge Station);
words!(Plane: Auto Kernel User);
words!(Bridge: Linux Openvswitch);
words!(Datapath: System Netdev);
words!(Classifier: Auto Flower Nft Iptables);
words!(Socket: Packet Xdp);
words!(ReservedGroup: Bpdu Slow Eapol Lldp Others);
words!(Clock: Tai Realtime Monotonic);
words!(Offload: None Txtime Full);

/// A traffic class.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Class {
    /// Its name in gates.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,31}$"))]
    name: String,
    /// Number of the traffic class: among open gates the highest with a frame that fits goes first.
    #[schemars(range(max = 15))]
    queue: u8,
    /// Frames that wait on one port at most; further ones are dropped and counted.
    #[schemars(range(min = 1, max = 65_536), extend("default" = 512))]
    limit: Option<u32>,
    /// Frames that fit any of these belong to it; the class that takes all others has none.
    #[schemars(length(min = 1, max = 256))]
    r#match: Option<Vec<Rule>>,
}

/// What frames look like; all parts must fit.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", extend("minProperties" = 1))]
#[expect(dead_code, reason = "only its shape is used")]
struct Rule {
    /// Priority code point of the VLAN tag.
    #[schemars(range(max = 7))]
    pcp: Option<u8>,
    /// Identifier of the VLAN; 0 is a tag for its priority alone.
    #[schemars(range(max = 4094))]
    vlan: Option<u16>,
    /// EtherType behind the tag: 0x88f7, "ptp", "profinet", "ethercat", "lldp", "avtp", "arp", "ipv4", "ipv6".
    ether_type: Option<Named>,
    /// Destination MAC address.
    to: Option<Mac>,
    /// Source MAC address.
    from: Option<Mac>,
    /// Differentiated services code point of IPv4 and IPv6.
    #[schemars(range(max = 63))]
    dscp: Option<u8>,
    /// IP protocol: 17, "udp", "tcp", "icmp", "igmp", "icmpv6".
    ip_protocol: Option<Named>,
    /// Destination port of UDP or TCP.
    to_port: Option<u16>,
    /// Destination port of UDP.
    udp_port: Option<u16>,
    /// Destination port of TCP.
    tcp_port: Option<u16>,
    /// Source port of UDP or TCP.
    from_port: Option<u16>,
    /// Source port of UDP.
    from_udp_port: Option<u16>,
    /// Source port of TCP.
    from_tcp_port: Option<u16>,
    /// Destination of IPv4, or its network: `10.0.0.0/8`.
    #[schemars(regex(pattern = "^[0-9]{1,3}([.][0-9]{1,3}){3}(/[0-9]{1,2})?$"))]
    to_ip: Option<String>,
    /// Priority of the sender's socket; only on frames that this machine itself sends.
    #[schemars(range(max = 15))]
    socket_priority: Option<u8>,
}

/// A number, or its name.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum Named {
    Number(u16),
    Name(String),
}

/// Transmit queues of a class.
#[derive(JsonSchema)]
#[schemars(extend("minimum" = 1, "maximum" = 255))]
#[expect(dead_code, reason = "only its shape is used")]
struct TransmitQueues(u8);

/// One port.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
struct Port {
    /// Name of the interface.
    #[schemars(length(min = 1, max = 15))]
    name: String,
    /// Rate of the link; what the interface says where it is left out.
    rate: Option<Rate>,
    /// How the port's hardware takes part: not at all (none), by sending each frame at a given time (txtime), or by
    /// opening and closing the gates itself (full). Kernel data plane only.
    #[schemars(extend("default" = "none"))]
    offload: Option<Offload>,
    /// With txtime: how long before its transmission a frame is handed over.
    #[schemars(extend("default" = "300us"))]
    txtime_delay: Option<Time>,
    /// Largest service data unit of a class, in octets, by the class's name (queueMaxSDU, clause 12.29.1.1.1).
    max_sdu: Option<BTreeMap<String, Sdu>>,
    /// Transmit queues of classes that have more than one, by their name (kernel's data plane, with gates).
    transmit_queues: Option<BTreeMap<String, TransmitQueues>>,
    /// Rates that the credit-based shaper holds classes to, by their name: operIdleSlope, with all that frames occupy on the
    /// wire (IEEE 802.1Q-2022 clauses 8.6.8.2 and 34.3).
    idle_slope: Option<BTreeMap<String, Rate>>,
    /// Frame preemption: which classes' frames are interrupted for those of the others. None are where it is left out.
    preemption: Option<Preemption>,
    /// When which gates are open; all are always where it is left out.
    gates: Option<Gates>,
}

/// Octets behind addresses, tag and EtherType.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
struct Sdu(#[schemars(range(min = 42, max = 9216))] u32);

/// Frame preemption (IEEE 802.1Q-2022 clause 6.7.2, IEEE 802.3-2022 clause 99), by a port that can do it. Kernel data plane
/// only.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
struct Preemption {
    /// Names of the classes whose frames are interrupted; those of all other classes are express.
    #[schemars(length(min = 1, max = 15))]
    preemptible: Vec<String>,
    /// Whether the other end is asked whether it can do it, before anything is preempted (802.3-2022 clause 99.4.3).
    #[schemars(extend("default" = true))]
    verify: Option<bool>,
    /// How long its answer is waited for each time, 1ms to 128ms.
    #[schemars(extend("default" = "10ms"))]
    verify_time: Option<Time>,
    /// Octets of a fragment at least, without its check sequence.
    #[schemars(extend("default" = 60, "enum" = [60, 124, 188, 252]))]
    min_fragment_size: Option<u32>,
}

/// A gate control list (IEEE 802.1Q-2022 clause 8.6.8.4).
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
struct Gates {
    /// Length of a cycle: the sum of the entries, which it checks.
    cycle: Option<Time>,
    /// When cycles begin: nanoseconds of the switch's clock, or "next second".
    #[schemars(extend("default" = "next second"))]
    base_time: Option<Base>,
    /// How long nothing is sent before a gate closes: "none", a time, or "largest-frame".
    #[schemars(extend("default" = "none"))]
    guard_band: Option<String>,
    /// In order; each takes over where the one before ends.
    #[schemars(length(min = 1, max = 1024))]
    entries: Vec<Entry>,
}

/// Whether, or the name of the protocol.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum SpanningTree {
    Flag(bool),
    Name(Rapid),
}

words!(Rapid: Rstp);

/// Nanoseconds, or "next second".
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum Base {
    At(u64),
    Next(NextSecond),
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
enum NextSecond {
    #[schemars(rename = "next second")]
    NextSecond,
}

/// Some gates are open for some time.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Entry {
    /// Names of the classes whose gates are open.
    open: Vec<String>,
    /// For how long.
    r#for: Time,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::schema;

    /// The keys that a table knows, as it says them when it meets one that it does not know.
    fn known(text: &str) -> BTreeSet<String> {
        let errors = super::super::read(text).unwrap_err().in_file("f");
        let line = errors.lines().find(|line| line.contains("unknown key `zzzzzzzzzzzz`"));
        let line = line.unwrap_or_else(|| panic!("{errors}"));
        let list = line.split("(known: ").nth(1).unwrap().trim_end_matches(')');
        list.split(", ").map(str::to_owned).collect()
    }

    fn keys(table: &Value) -> BTreeSet<String> {
        table["properties"].as_object().unwrap_or_else(|| panic!("{table}")).keys().cloned().collect()
    }

    #[test]
    fn the_schema_has_the_keys_that_are_read() {
        let schema = schema();
        let of = |name: &str| keys(&schema["$defs"][name]);
        assert_eq!(keys(&schema), known("zzzzzzzzzzzz = 1\nswitch = {}\nclass = [{}]\nport = [{}]"));
        let inside = |path: &str| {
            let z = "{ zzzzzzzzzzzz = 1 }";
            let [mut switch, mut class, mut port, mut forward, mut stream] = ["{}"; 5].map(str::to_owned);
            match path {
                "Head" => switch = z.into(),
                "Class" => class = z.into(),
                "Port" => port = z.into(),
                "Forward" => forward = z.into(),
                "Stream" => stream = z.into(),
                "Elimination" => stream = format!("{{ eliminate = {z} }}"),
                "Meter" => stream = format!("{{ meter = {z} }}"),
                "StreamGate" => stream = format!("{{ gate = {z} }}"),
                "StreamGateEntry" => stream = format!("{{ gate = {{ entries = [{z}] }} }}"),
                "Rule" => class = format!("{{ match = [{z}] }}"),
                "Gates" => port = format!("{{ gates = {z} }}"),
                "Preemption" => port = format!("{{ preemption = {z} }}"),
                _ => port = format!("{{ gates = {{ entries = [{z}] }} }}"),
            }
            known(&format!(
                "switch = {switch}\nclass = [{class}]\nport = [{port}]\nforward = [{forward}]\nstream = [{stream}]"
            ))
        };
        let streams = ["Stream", "Elimination", "Meter", "StreamGate", "StreamGateEntry"];
        for name in
            ["Head", "Class", "Port", "Rule", "Gates", "Entry", "Preemption", "Forward"].into_iter().chain(streams)
        {
            assert_eq!(of(name), inside(name), "{name}");
        }
    }

    #[test]
    fn the_schema_has_no_null() {
        let text = schema().to_string();
        assert!(!text.contains("null"), "{text}");
        assert_eq!(schema()["$defs"]["Head"]["properties"]["role"]["$ref"], "#/$defs/Role");
    }
}
