//! `packaging/count-tests`: what decides whether `make test` passed, by what cargo printed.

use std::path::Path;
use std::process::Command;

const PASSED: &str = "
running 2 tests
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
";
const FAILED: &str = "
running 3 tests
test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
";
const CRASHED: &str =
    "\nrunning 9 tests\n  process didn't exit successfully: `process-1` (signal: 6, SIGABRT: process abort signal)\n";
const LAB: &str = "test result: ok. 38 passed; 0 failed; 1 skipped; lab; finished in 904 s\n";

/// Whether the log counts as passed, and the last line; `again` failed tests passed when run once more.
fn judged(log: &str, again: u32) -> (bool, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), log).unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/count-tests");
    let output = Command::new(program).arg(file.path()).args([&again.to_string(), "1"]).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    (output.status.success(), printed.lines().last().unwrap_or_default().into())
}

#[test]
fn all_that_ran_is_counted() {
    assert_eq!(judged(&[PASSED, PASSED, LAB].concat(), 0), (true, "41 passed, 0 failed, 2 skipped".into()));
    assert_eq!(judged(&[PASSED, FAILED].concat(), 0), (false, "3 passed, 1 failed, 1 skipped".into()));
    assert_eq!(judged(&[PASSED, FAILED].concat(), 1), (true, "4 passed, 0 failed, 1 skipped".into()));
    assert!(!judged("", 0).0);
}

/// Cargo ends with the same status for it as for a test that failed, which may pass when it is run once more.
#[test]
fn a_program_that_crashed_is_no_success_beside_a_test_that_passes_again() {
    for log in [[PASSED, FAILED, CRASHED].concat(), [PASSED, FAILED, "\nrunning 9 tests\n"].concat()] {
        assert!(!judged(&log, 1).0, "{log}");
    }
}
