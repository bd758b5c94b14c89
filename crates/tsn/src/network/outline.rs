//! The file's shape, for its published schema; a test holds it and the reader to the same keys.

use schemars::JsonSchema;
use serde_json::Value;

use crate::config::document::{Rate, Time, without_null};

/// The JSON Schema of the file.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Document).to_value();
    without_null(&mut schema);
    schema
}

/// A network for `ontick network plan`: nodes, links, and the streams that it is to carry.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, title = "ontick network")]
#[expect(dead_code, reason = "only its shape is used")]
struct Document {
    /// What holds for all.
    network: Option<Head>,
    /// How nodes keep one time.
    time: Option<TimeSync>,
    /// Nodes that forward.
    switch: Option<Vec<Named>>,
    /// Nodes that send and receive.
    station: Option<Vec<Named>>,
    /// Cables: two directions each.
    link: Option<Vec<Cable>>,
    /// What is to be carried.
    #[schemars(length(min = 1))]
    stream: Vec<Stream>,
}

/// What holds for all.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
struct Head {
    /// Of links that say nothing of their own.
    #[schemars(extend("default" = "1Gbit"))]
    rate: Option<Rate>,
    /// From connector to connector.
    #[schemars(extend("default" = "0ns"))]
    propagation: Option<Time>,
    /// From a frame's last bit until it can be sent on.
    #[schemars(extend("default" = "0ns"))]
    processing: Option<Time>,
    /// Queues of a port.
    #[schemars(range(min = 1, max = 8), extend("default" = 8))]
    queues: Option<u8>,
    /// By how much any two clocks may differ.
    #[schemars(extend("default" = "0ns"))]
    sync_error: Option<Time>,
    /// What counts as a frame's length: all that the wire carries, or the payload alone.
    #[schemars(extend("default" = "wire"))]
    overhead: Option<Counted>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum Counted {
    Wire,
    Payload,
}

/// How nodes keep one time, by PTP.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
struct TimeSync {
    /// The profile of PTP.
    profile: Profile,
    /// What carries its messages; gPTP is of Ethernet alone.
    #[schemars(extend("default" = "L2"))]
    transport: Option<Transport>,
    /// The domain's number.
    #[schemars(range(max = 127), extend("default" = 0))]
    domain: Option<u8>,
    /// Nodes that are to give the time: the first that is there.
    grandmaster: Option<OneOrSeveral>,
    /// Between two Sync messages, a power of two in seconds; 125ms for gptp, 1s for default.
    sync_interval: Option<Time>,
    /// Between two Announce messages, a power of two in seconds; 1s for gptp, 2s for default.
    announce_interval: Option<Time>,
    /// How far a node's clock may be from the grandmaster's.
    offset_bound: Option<Time>,
    /// What becomes of the gates of this node's switches when the time is lost: they stay as they are, are all opened, or
    /// are all closed.
    #[schemars(extend("default" = "keep"))]
    on_time_loss: Option<TimeLossPolicy>,
    /// Time is lost that was not good for longer; 10s, or four Sync messages.
    holdover: Option<Time>,
    /// It is good again after so many good readings without a bad one.
    #[schemars(range(min = 1, max = 10_000), extend("default" = 8))]
    good_readings: Option<u32>,
    /// A pulse each second, by which the first grandmaster's network card has its own time.
    pps: Option<Pulse>,
}

/// A pulse each second, which the clock of a network card stamps.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
struct Pulse {
    /// From where the number of the second is: a satellite receiver at a serial port, or the system's clock.
    #[schemars(regex(pattern = "^(generic|nmea:/[^\\s]+)$"))]
    source: String,
    /// The interface whose card stamps it: the only one of the node if it has one.
    interface: Option<String>,
    /// The card's pin.
    #[schemars(extend("default" = 0))]
    pin: Option<u8>,
    /// The card's channel for external time stamps.
    #[schemars(extend("default" = 0))]
    channel: Option<u8>,
    /// How far it is from the true second at most, 25ns to 1s; unknown if left out.
    accuracy: Option<Time>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum TimeLossPolicy {
    Keep,
    Open,
    Stop,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
enum Profile {
    Gptp,
    Default,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
enum Transport {
    L2,
    #[schemars(rename = "UDPv4")]
    UdpIpv4,
}

/// A node.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its shape is used")]
struct Named {
    /// Its name.
    #[schemars(regex(pattern = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$"))]
    name: String,
    /// What it calls itself towards its neighbours (LLDP), where that is another name.
    #[schemars(length(min = 1, max = 255))]
    system_name: Option<String>,
}

/// A cable.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Cable {
    /// Two nodes.
    between: [String; 2],
    /// Their interfaces.
    ports: Option<[String; 2]>,
    /// Bits per second.
    rate: Option<Rate>,
    /// From connector to connector.
    propagation: Option<Time>,
    /// From a frame's last bit until it can be sent on.
    processing: Option<Time>,
    /// Queues of its ports.
    #[schemars(range(min = 1, max = 8))]
    queues: Option<u8>,
}

/// Frames that come again and again.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Stream {
    /// Its name.
    #[schemars(regex(pattern = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$"))]
    name: String,
    /// The station that sends.
    from: String,
    /// The stations that receive.
    to: OneOrSeveral,
    /// Octets of data in each period.
    #[schemars(range(min = 1, max = 1_500_000))]
    size: u32,
    /// A message each period.
    period: Time,
    /// From the beginning of a period until the last bit has arrived; the period where it is left out.
    deadline: Option<Time>,
    /// By how much the delay may differ from message to message.
    #[schemars(extend("default" = "0ns"))]
    jitter: Option<Time>,
    /// The queue (and priority code point) that it must use.
    #[schemars(range(min = 1, max = 7))]
    queue: Option<u8>,
    /// Destination address of its frames, by which switches know it; one is assigned where it is left out.
    #[schemars(regex(pattern = "^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$"))]
    address: Option<String>,
    /// Identifier of the VLAN of its frames; 0: of no VLAN.
    #[schemars(range(max = 4094))]
    vlan: Option<u16>,
}

/// One, or several.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum OneOrSeveral {
    One(String),
    Several(Vec<String>),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::schema;

    #[test]
    fn the_schema_has_the_keys_that_are_read() {
        let text = "[network]\nz9 = 1\n[time]\nz9 = 1\n[[switch]]\nz9 = 1\n[[station]]\nz9 = 1\n[[link]]\nz9 = 1\n[[stream]]\nz9 = 1\n";
        let said = super::super::read(text).unwrap_err().in_file("f");
        let of = |title: &str| -> BTreeSet<String> {
            let line = said
                .lines()
                .find(|line| line.contains(&format!("`z9` in {title} ")))
                .unwrap_or_else(|| panic!("{said}"));
            let list = line.split("(known: ").nth(1).unwrap().trim_end_matches(')');
            list.split(", ").map(str::to_owned).collect()
        };
        let schema = schema();
        let keys = |name: &str| -> BTreeSet<String> {
            schema["$defs"][name]["properties"].as_object().unwrap().keys().cloned().collect()
        };
        for (name, title) in [
            ("Head", "[network]"),
            ("TimeSync", "[time]"),
            ("Named", "[[switch]]"),
            ("Named", "[[station]]"),
            ("Cable", "[[link]]"),
            ("Stream", "[[stream]]"),
        ] {
            assert_eq!(keys(name), of(title), "{title}");
        }
    }
}
