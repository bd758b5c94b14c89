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

/// A journal beside a record that is whole would stand in the way of the next run.
/// As everything that is printed and that nobody gets.
#[test]
fn help_that_cannot_be_written_is_an_error() {
    for words in [&["--help"][..], &["--version"], &["tune", "plan", "--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = crate::ontick(words).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(crate::stderr(&output).starts_with("ontick: cannot write to standard output"), "{words:?}");
    }
}

#[test]
fn a_report_that_cannot_be_written_leaves_record_and_table_and_no_journal() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}; mkdir full; mount -t tmpfs -o size=4k none full; head -c 4096 /dev/zero > full/all; \
         job='latency timer --method nanosleep --count 20 --policy other --cpu any --stock --phase chance'; \
         ontick $job --record run.json --html full/report.html --svg run.svg || echo status $?; \
         ls -A; ls -A full; \
         ontick $job --record run.json > again; echo again $?; \
         ontick $job --record full/run.json || echo status $?; ls -A full; \
         ontick kernel evaluate --only --loops 20 --load none --policy other --cpu any --html full/report.html || echo status $?",
        folder.path().display()
    );
    let Some(output) = with_mounts(&script) else { return };
    let (text, said) = (stdout(&output), stderr(&output));
    assert!(output.status.success(), "{text}{said}");
    let (run, rest) = text.split_once("status 2\n").unwrap_or_else(|| panic!("{text}{said}"));
    assert!(run.contains("nanosleep") && run.contains("p99"), "the table is shown: {run}");
    let (names, rest) = rest.split_once("again ").unwrap_or_else(|| panic!("{text}{said}"));
    assert_eq!(names.lines().collect::<Vec<_>>(), ["full", "run.json", "run.svg", "all"], "{said}");
    assert!(said.contains("full/report.html") && !said.contains("run.json.journal"), "{said}");
    // The next run writes its record, and none begins whose record has no room: it leaves nothing.
    let (again, rest) = rest.split_once('\n').unwrap();
    assert_eq!(again, "0");
    let (no_room, evaluated) = rest.split_once("status 2\n").unwrap_or_else(|| panic!("{rest}{said}"));
    assert!(no_room.is_empty() && evaluated.starts_with("all\n"), "{rest}");
    assert!(said.contains("cannot record to full/run.json"), "{said}");
    assert!(evaluated.contains("source 004, Raspberry Pi Model B") && evaluated.ends_with("status 2\n"), "{evaluated}");
}
