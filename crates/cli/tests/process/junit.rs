//! What continuous integration reads of a run.

use std::fs;
use std::path::PathBuf;

use crate::{run, stderr};

struct Junit(tempfile::TempDir);

impl Junit {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("junit.xml")
    }

    /// Runs with the file named; the exit status and what is in the file.
    fn of(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let path = self.path();
        let output = run(&[arguments, &["--junit", path.to_str().unwrap()]].concat());
        let text = fs::read_to_string(path).unwrap_or_else(|_| panic!("no file: {}", stderr(&output)));
        (output.status.code(), text)
    }
}

const QUICK: [&str; 7] = ["latency", "timer", "--stock", "--policy=other", "--cpu=any", "--count=20", "--interval=1ms"];

#[test]
fn each_requirement_is_a_test_case_of_the_junit_file() {
    let requirements = ["--require", "max < 10s", "--require", "p99 < 1ns"];
    let (status, text) = Junit::new().of(&[&QUICK[..], &requirements].concat());
    assert_eq!(status, Some(1));
    assert!(text.contains(r#"tests="3" failures="1" errors="0""#), "{text}");
    assert!(text.contains(r#"name="max &lt; 10s" time="0.000"></testcase>"#), "{text}");
    assert!(text.contains(r#"name="p99 &lt; 1ns" time="0.000"><failure message="#), "{text}");
    assert!(text.contains("<system-out>") && text.contains("<property name=\"kernel\""), "{text}");
}

#[test]
fn a_run_that_cannot_be_is_an_error_in_the_junit_file() {
    let junit = Junit::new();
    let (status, text) = junit.of(&["latency", "edge", "--output", "gpiochip77:1", "--input", "gpiochip77:2"]);
    assert_eq!(status, Some(2));
    assert!(text.contains(r#"tests="1" failures="0" errors="1""#), "{text}");
    assert!(text.contains("<error message="), "{text}");
}

/// A second one beside the results would contradict them.
#[test]
fn a_report_that_cannot_be_written_leaves_the_junit_file_as_it_was_measured() {
    let html = ["--require", "max < 10s", "--html", "/dev/full"];
    let (status, text) = Junit::new().of(&[&QUICK[..], &html].concat());
    assert_eq!(status, Some(2));
    assert!(text.contains(r#"tests="2" failures="0" errors="0""#), "{text}");
}
