//! What lldpcli prints, held against a network: whoever is heard, each cable has a verdict, and a reason where it differs.
#![no_main]

use std::collections::BTreeSet;

use ontick_network::lldp::{Machine, compare, listening, neighbours};
use ontick_record::network_check::{CableVerdict, NetworkCheck};
use ontick_tsn::network;

const NETWORK: &str = r#"
switch = [{ name = "s1" }]
station = [{ name = "camera" }, { name = "drive", system-name = "plc-7" }, { name = "hmi" }]
link = [
  { between = ["camera", "s1"], ports = ["eth0", "p1"] },
  { between = ["drive", "s1"], ports = ["eth0", "p2"] },
  { between = ["hmi", "s1"] },
]
stream = [{ name = "f", from = "camera", to = "drive", size = 100, period = "1ms" }]
"#;

libfuzzer_sys::fuzz_target!(|answer: &[u8]| {
    let listening = listening(answer).unwrap_or_default();
    let heard = match neighbours(answer) {
        Ok(heard) => heard,
        Err(error) => return drop(error.to_string()),
    };
    let network = network::read(NETWORK).unwrap();
    let interfaces = heard.iter().map(|heard| (heard.at.clone(), answer.len() % 2 == 0)).collect();
    let machine = Machine { interfaces, listening, heard };
    let check = compare(&network, &[0], &machine, &BTreeSet::new());
    let ports: Vec<_> = check.nodes.iter().flat_map(|node| &node.ports).chain(&check.unplanned).collect();
    assert!(ports.len() >= 3);
    for port in &ports {
        assert_eq!(port.verdict == CableVerdict::AsPlanned, port.difference.is_none(), "{port:?}");
        assert!(port.difference.as_ref().is_none_or(|said| said.len() < 8_000), "{port:?}");
    }
    assert_eq!(check.as_planned, ports.iter().all(|port| port.verdict == CableVerdict::AsPlanned));
    let written = serde_json::to_string(&check).unwrap();
    assert_eq!(serde_json::from_str::<NetworkCheck>(&written).unwrap(), check);
});
