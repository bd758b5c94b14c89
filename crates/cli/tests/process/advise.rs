//! Which mechanism is exact enough: answered from the sources' tables and from records.

use crate::errors::fails;
use crate::{run, stdout};

#[test]
fn advice_rests_on_the_sources_and_on_records() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("here.json");
    let record = record.to_str().unwrap();
    let chip = format!("sim:test-advise-{}", std::process::id());
    let pulses = ["pulse", "--output", &format!("{chip}/4"), "--count", "20", "--policy", "other", "--cpu", "any"];
    let measured = run(&[&pulses[..], &["--stock", "--method", "hybrid", "--record", record]].concat());
    assert_eq!(measured.status.code(), Some(0));
    run(&["gpio", "remove", &chip]);

    // No pulse of 100us is 10s too long, and the source's stock program needs the least.
    let easy = run(&["advise", "--width", "100us", "--within", "10s", record]);
    assert_eq!(easy.status.code(), Some(0));
    let text = stdout(&easy);
    assert!(text.contains("within 10s: usleep, stock") && text.contains("a simulated line"), "{text}");
    assert!(
        text.contains("source 003: Raspberry Pi 3") && text.contains("100.00 %") || text.contains(" all\n"),
        "{text}"
    );
    // Nothing keeps within a nanosecond.
    let hard = run(&["advise", "--width", "100us", "--within", "1ns", "--json"]);
    assert_eq!(hard.status.code(), Some(1));
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&hard.stdout).unwrap();
    assert!(rows.len() == 5 && rows.iter().all(|row| row["largest_error_ns"].as_u64().unwrap() >= 100), "{rows:?}");

    fails(&["advise", "--width", "1s", "--within", "5us", record], &["no pulses of about this width", "ontick pulse"]);
    fails(&["advise", "--within", "5us"], &["--width"]);
    fails(&["advise", "--width", "100us", "--within", "5us", "/nowhere.json"], &["/nowhere.json"]);
}
