//! Measurements whose disk fills while they last.

use crate::bad_disks::with_mounts;
use crate::{stderr, stdout};

#[test]
fn a_disk_that_fills_in_mid_run_costs_neither_the_table_nor_what_was_kept() {
    let folder = tempfile::tempdir().unwrap();
    // Each wake-up of a sleeping method is an outlier, which soon fill the rest of a small disk.
    let script = format!(
        "cd {}; mkdir small; mount -t tmpfs -o size=32k none small; \
         ontick latency timer --method clock_nanosleep --interval 10ms --outlier-threshold 1ns --duration 5s \
             --record small/run.json --html report.html || echo status $?; \
         ls -A small; ontick report small/run.json.journal; head -c 15 report.html",
        folder.path().display()
    );
    let Some(output) = with_mounts(&script) else { return };
    let (text, said) = (stdout(&output), stderr(&output));
    assert!(output.status.success(), "{text}{said}");
    let (run, kept) = text.split_once("status 2\n").unwrap_or_else(|| panic!("{text}{said}"));
    assert!(run.contains("clock_nanosleep") && run.contains("p99"), "{run}");
    assert!(run.replace("\n         ", " ").contains("while its journal stopped"), "the reader knows: {run}");
    assert!(said.contains("small/run.json") && said.contains("small/run.json.journal"), "{said}");
    let (names, report) = kept.split_once('\n').unwrap();
    assert_eq!(names, "run.json.journal", "neither half a record nor a temporary file stays");
    assert!(report.contains("clock_nanosleep") && report.contains("<!DOCTYPE html>"), "{report}");
}
