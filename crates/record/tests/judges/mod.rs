//! Programs of others that read what this workspace writes. Each is asked where it is installed.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Panics unless Prometheus and the reference parser of OpenMetrics read every sample of this text, those of them that
/// are here.
pub fn openmetrics(text: &str) {
    prometheus(text);
    reference_parser(text);
}

fn samples(text: &str) -> usize {
    text.lines().filter(|line| !line.starts_with('#')).count()
}

/// `promtool check metrics` reads Prometheus's older format alone; what fills a database from files reads OpenMetrics,
/// and wants a time with each sample.
fn prometheus(text: &str) {
    if !runs("promtool", &["--version"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, database) = (folder.path().join("metrics"), folder.path().join("database"));
    let timed = |line: &str| if line.starts_with('#') { format!("{line}\n") } else { format!("{line} 1700000000\n") };
    fs::write(&file, text.lines().map(timed).collect::<String>()).unwrap();
    let mut promtool = Command::new("promtool");
    let output = promtool.args(["tsdb", "create-blocks-from", "openmetrics"]).args([file, database]).output().unwrap();
    assert!(output.status.success(), "{}{text}", said(&output));
    let blocks = String::from_utf8_lossy(&output.stdout);
    let stored = blocks.lines().last().and_then(|line| line.split_whitespace().nth(6)?.parse().ok());
    assert_eq!(stored, Some(samples(text)), "{blocks}{text}");
}

fn reference_parser(text: &str) {
    const PROGRAM: &str = "import sys\n\
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as families\n\
        print(sum(len(family.samples) for family in families(sys.stdin.read())))";
    let Some(python) = python_with("prometheus_client") else { return };
    let output = python_runs(&python, PROGRAM, &[], text);
    assert!(output.status.success(), "{}{text}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), samples(text).to_string(), "{text}");
}

/// A Python that has this module: the one that `ONTICK_PYTHON` names, that of the path, or the distribution's.
pub fn python_with(module: &str) -> Option<String> {
    let named = std::env::var("ONTICK_PYTHON").ok();
    let all = named.into_iter().chain(["python3".into(), "/usr/bin/python3".into()]);
    let found = all.into_iter().find(|python| runs_quietly(python, &["-c", &format!("import {module}")]));
    if found.is_none() {
        ontick_skip::skipped!("there is no Python with {module} (one in another place: ONTICK_PYTHON)");
    }
    found
}

/// Runs a program in Python, with this on its standard input.
pub fn python_runs(python: &str, program: &str, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(python);
    command.args(["-c", program]).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// What a program wrote, both ways.
pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Whether a tool is here; where it is not, that is said.
pub fn runs(tool: &str, arguments: &[&str]) -> bool {
    let there = runs_quietly(tool, arguments);
    assert!(there || std::env::var_os("ONTICK_REQUIRE_TOOLS").is_none(), "{tool} is not installed");
    if !there {
        ontick_skip::skipped!("{tool} is not installed");
    }
    there
}

fn runs_quietly(tool: &str, arguments: &[&str]) -> bool {
    Command::new(tool).args(arguments).output().is_ok_and(|output| output.status.success())
}
