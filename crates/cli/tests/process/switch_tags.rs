//! Tags of frames that cross a switch of the user data plane, sent and read by scapy.

use std::process::Command;

use super::switch_user::bench;
use super::{has, stderr, stdout};

#[test]
fn tagged_frames_come_as_scapy_sent_them() {
    let Some(bench) = bench() else { return };
    // Where Debian's python3-scapy is, which other Pythons do not find.
    let Some(python) = has("scapy").then_some("/usr/bin/python3") else { return };
    let file = std::fs::read_to_string(bench.file()).unwrap();
    // No gates: one order for all.
    std::fs::write(bench.file(), file.split("[port.gates]").next().unwrap()).unwrap();
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/process/switch_tags.py");
    let judged = bench.far.within(|| Command::new(python).args([script, "far0", "far1"]).output()).unwrap().unwrap();
    assert!(judged.status.success(), "{}{}", stdout(&judged), stderr(&judged));
    // As scapy reads them: type, PCP, drop eligible, VID.
    for tags in ["('0x8100', 5, 0, 100)", "('0x8100', 6, 0, 0)", "('0x88a8', 3, 0, 200), ('0x8100', 5, 0, 100)"] {
        assert!(stdout(&judged).contains(tags), "{tags}: {}", stdout(&judged));
    }
}
