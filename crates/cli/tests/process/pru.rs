//! `--method pru` on a machine without one: one sentence, and nothing measured.

use std::path::Path;

use crate::errors::fails;
use crate::{run, stderr};

/// What this machine prints, if it has no PRU.
fn without_pru() -> Option<&'static str> {
    let tree = Path::new("/proc/device-tree/compatible");
    let compatible = std::fs::read_to_string(tree).unwrap_or_default();
    match compatible {
        board if board.contains("ti,am33xx") => None,
        board if board.contains("brcm,bcm2712") => Some("PIO of the RP1"),
        _ => Some("BeagleBone"),
    }
}

#[test]
fn a_machine_without_a_pru_says_so() {
    let Some(says) = without_pru() else {
        ontick_skip::skipped!("this is a BeagleBone");
        return;
    };
    fails(&["pulse", "--method", "pru", "--output", "P9_31", "--width", "25us"], &[says]);
    fails(&["pulse", "--method", "pru", "--output", "P9_31", "--input", "sim:bench/4", "--json"], &[says]);
    fails(&["latency", "response", "--method", "pru", "--input", "P9_29", "--output", "P9_31"], &[says]);
    // Nobody is asked for pins before that is said.
    fails(&["latency", "response", "--method", "pru"], &[says]);
}

#[test]
fn a_pru_has_no_observer_and_is_none_of_all() {
    let lines = [
        "--input",
        "sim:pru/1",
        "--output",
        "sim:pru/2",
        "--return-output",
        "sim:pru/3",
        "--return-input",
        "sim:pru/4",
    ];
    fails(&[&["latency", "response", "--method", "pru"], &lines[..]].concat(), &["measures its answers itself"]);
    let help = run(&["pulse", "--method", "nothing"]);
    assert!(stderr(&help).contains("pru"), "{}", stderr(&help));
}
