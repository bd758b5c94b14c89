//! `ontick switch verify` on a port with shaped classes: who keeps to an idle slope is told from who does not.

use std::fs;
use std::process::Output;

use serde_json::Value;

use crate::switch_proof::{turn, verified_through_a_bridge};
use crate::{run, stderr};

const FILE: &str = r#"
[switch]
name = "studio"

[[class]]
name = "audio"
queue = 1
match = [{ pcp = 3 }]

[[class]]
name = "other"
queue = 0

[[port]]
name = "left"
rate = "100Mbit"

[[port]]
name = "right"
rate = "100Mbit"
idle-slope = { audio = "10Mbit" }
"#;

/// Three times what the idle slope carries, which a slow machine sends, too.
const LOAD: [&str; 5] =
    ["--duration=500ms", "--rate=2400", "--json", "--require=sent >= 0%", "--require=delivered >= 0%"];

fn class(output: &Output) -> Value {
    let mut record: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(output)));
    let mut trials = record["switch"]["trials"].take();
    assert_eq!(trials.as_array().unwrap().len(), 1, "{trials}");
    assert_eq!(trials[0]["classes"][0]["name"], "audio");
    trials[0]["classes"][0].take()
}

fn number(class: &Value, name: &str) -> u64 {
    class["shaped"][name].as_u64().unwrap_or_else(|| panic!("{name}: {class}"))
}

#[test]
fn a_class_that_keeps_to_its_idle_slope_is_seen_to() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("studio.toml");
    fs::write(&path, FILE).unwrap();
    // How often the hypervisor takes the core between its clock and a frame's departure is the machine's affair.
    let options = ["switch", "verify", path.to_str().unwrap(), "--plane=user", "--allow-outside=5%"];
    let output = run(&[&options[..], &LOAD].concat());
    assert_eq!(output.status.code(), Some(0), "{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
    let class = class(&output);
    assert_eq!(number(&class, "idle_slope"), 10_000_000);
    // hiCredit of 12 336 x 10 / 100 bits, a frame of 12 336, and what 106 us gain, or 276 us where the core rests.
    assert!([1_060, 2_760].map(|gained| 1_233 + 12_336 + gained).contains(&number(&class, "burst_bits")), "{class}");
    assert!(class["received"].as_u64().unwrap() > 20, "{class}");
    assert!(number(&class, "observed_rate") < 10_500_000, "{class}");
}

#[test]
fn one_that_nothing_shapes_is_beyond_its_idle_slope() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("studio.toml");
    fs::write(&path, FILE).unwrap();
    let output = verified_through_a_bridge(&path, &LOAD);
    let class = class(&output);
    let received = class["received"].as_u64().unwrap();
    assert!(number(&class, "beyond") * 2 > received, "{class}");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("beyond their idle slope: at most 10/1e6"));
}
