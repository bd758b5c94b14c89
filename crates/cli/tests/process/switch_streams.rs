//! Streams that the user data plane filters and polices, sent and judged by scapy.

use std::process::Command;

use serde_json::Value;

use super::switch_user::bench;
use super::{has, ontick, stderr, stdout};

const STREAMS: &str = r#"
[[stream]]
name = "sized"
to = "02:00:00:00:01:00"
vlan = 100
max-sdu = 300

[[stream]]
name = "metered"
to = "02:00:00:00:01:01"
max-sdu = 42
meter = { rate = "8kbit", burst = 6400 }

[[stream]]
name = "gated"
to = "02:00:00:00:01:02"
from = "02:00:00:00:00:0a"
ingress = ["port0"]

[stream.gate]
base-time = 1600000000000000000
entries = [{ open = true, for = "50ms" }, { open = false, for = "50ms" }]
"#;

#[test]
fn streams_pass_as_their_filters_meters_and_gates_allow() {
    let Some(bench) = bench() else { return };
    // Where Debian's python3-scapy is, which other Pythons do not find.
    let Some(python) = has("scapy").then_some("/usr/bin/python3") else { return };
    let file = std::fs::read_to_string(bench.file()).unwrap();
    let file = file.split("[port.gates]").next().unwrap().replace("plane =", "clock = \"realtime\"\nplane =");
    std::fs::write(bench.file(), file.clone() + STREAMS).unwrap();
    let checked = bench.here.within(|| ontick(&["switch", "check", &bench.file(), "--all"]).output()).unwrap().unwrap();
    let words = "to 02:00:00:00:01:01: at most 42 octets of data, at most 8kbit with bursts of 6400 octets";
    let shown = stdout(&checked).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(words), "{shown}");
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/process/switch_streams.py");
    let judged = bench.far.within(|| Command::new(python).args([script, "far0", "far1"]).output()).unwrap().unwrap();
    assert!(judged.status.success(), "{}{}", stdout(&judged), stderr(&judged));
    let came: Value = serde_json::from_slice(&judged.stdout).unwrap();

    // What did not come was counted, by its cause.
    let count = |of: &Value, name: &str| of[name].as_u64().unwrap();
    let mut counters = Value::Null;
    crate::wait_until("the last frames are counted", || {
        counters = bench.status()["report"]["counters"].take();
        count(&counters["streams"][2], "frames") == 600
    });
    let drops = ["over_sdu", "gate_closed", "red"];
    let dropped = |place: usize| drops.map(|name| count(&counters["streams"][place], name));
    assert_eq!(dropped(0), [2, 0, 0], "{counters}");
    assert_eq!(dropped(1), [0, 0, 1000 - count(&came, "metered")], "{counters}");
    assert_eq!(dropped(2), [0, 600 - count(&came, "gated"), 0], "{counters}");
    let policed: u64 = (0..3).flat_map(dropped).sum();
    assert_eq!(count(&counters["ports"][0], "policed"), policed, "{counters}");
    let status = stdout(&bench.switch(&["status"]));
    let line = format!("stream    metered  1 000 frames · dropped: {} above its rate and burst", dropped(1)[2]);
    assert!(status.contains(&line), "{status}");

    // Streams are changed under way, and those that stay go on counting.
    let others = STREAMS.replace("8kbit", "9kbit").replace("\"sized\"", "\"small\"");
    std::fs::write(bench.file(), file.clone() + &others).unwrap();
    let changed = bench.switch(&["apply", &bench.file()]);
    assert_eq!(stdout(&changed), "Streams of switch cell are changed.\n", "{}", stderr(&changed));
    let streams = bench.status()["report"]["counters"]["streams"].take();
    let frames = [0, 1, 2].map(|place| count(&streams[place], "frames"));
    assert_eq!(frames, [0, 1000, 600]);

    // The kernel's data plane has them where the kernel does.
    std::fs::write(bench.file(), file.replace("\"user\"", "\"kernel\"") + STREAMS).unwrap();
    let planned = bench.switch(&["plan", &bench.file()]);
    match planned.status.code() {
        Some(0) => assert!(stdout(&planned).contains(" action police "), "{}", stdout(&planned)),
        code => {
            assert_eq!(code, Some(2), "{}", stdout(&planned));
            let why = "the user data plane needs nothing of that";
            assert!(stderr(&planned).contains(why), "{}", stderr(&planned));
        }
    }
}
