//! The firmware in an emulator of the Pico, cycle by cycle, where both are there (`packaging/pico --install`).

use std::path::Path;
use std::process::Command;

#[test]
fn the_firmware_times_edges_to_the_tick() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_there = Command::new(top.join("packaging/pico")).arg("--is-there").status();
    if !is_there.is_ok_and(|status| status.success()) {
        return ontick_skip::skipped!("packaging/pico builds what this needs");
    }
    let home = top.join("target/pico");
    let judge = Command::new("node")
        .arg(home.join("judge/tests.mjs"))
        .arg(home.join("ontick-pico.uf2"))
        .arg("5000")
        .output()
        .expect("node starts");
    let text = String::from_utf8_lossy(&judge.stdout);
    assert!(judge.status.success(), "{text}{}", String::from_utf8_lossy(&judge.stderr));
}
