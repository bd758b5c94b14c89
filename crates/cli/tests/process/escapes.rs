//! Names from files, which somebody else wrote, must not steer the terminal of whoever looks at them.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::{ontick, run, stderr, stdout};

/// A title and a colour for the terminal, C1's CSI, reordered text, a line of its own.
pub const EVIL: &str = "x\u{1b}]0;owned\u{7}\u{1b}[31m\u{9b}2J\u{202e}abc\u{2066}\nontick: all is well\r\u{7f}";

fn steers(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub fn assert_harmless(what: &str, output: &Output) {
    for text in [stdout(output), stderr(output)] {
        assert!(!text.contains(steers), "{what}: {text:?}");
        assert!(!text.contains("panicked"), "{what}: {text}");
    }
    let forged = stderr(output).lines().any(|line| line.starts_with("ontick: all is well"));
    assert!(!forged, "{what}: {}", stderr(output));
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A record with that name wherever a record has one.
fn record(folder: &Path) -> String {
    let measured = run(&["latency", "timer", "--count", "50", "--stock", "--json"]);
    let mut record = crate::record(&measured);
    for field in ["measurement", "tool", "simulated", "started"] {
        record[field] = EVIL.into();
    }
    record["notes"] = serde_json::json!([EVIL]);
    record["series"][0]["name"] = EVIL.into();
    record["series"][0]["settings"]["method"] = EVIL.into();
    record["series"][0]["settings"]["refused"] = serde_json::json!([EVIL]);
    let path = folder.join("run.json");
    fs::write(&path, record.to_string()).unwrap();
    path.to_str().unwrap().to_string()
}

#[test]
fn a_records_names_do_not_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path());
    for format in ["summary", "plot", "uncertainty", "rows", "cyclictest", "hlog", "openmetrics", "json"] {
        let output = run(&["report", &path, "--as", format]);
        assert!(output.status.code().is_some_and(|code| code < 2), "{format}: {}", stderr(&output));
        assert_harmless(format, &output);
    }
    assert_harmless("compare", &run(&["compare", &path, &path]));
    let json = run(&["compare", &path, &path, "--json"]);
    assert_harmless("compare --json", &json);
    // What machines read says the same.
    let again: serde_json::Value = serde_json::from_slice(&run(&["report", &path, "--as", "json"]).stdout).unwrap();
    assert_eq!(again["series"][0]["name"], EVIL);
}

#[test]
fn errors_about_records_do_not_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join(EVIL.replace('/', "_"));
    for (content, word) in [
        (format!("{{\"schema\":{}}}", quoted(EVIL)), "written in the format"),
        (format!("{{\"journal\":{},\"run\":{{}}}}\n", quoted(EVIL)), "journal"),
        (EVIL.to_string(), "neither"),
    ] {
        fs::write(&name, content).unwrap();
        for command in ["report", "import"] {
            let output = run(&[command, name.to_str().unwrap()]);
            assert_eq!(output.status.code(), Some(2), "{command}: {}", stdout(&output));
            assert_harmless(command, &output);
            let said = stderr(&output);
            let mut lines = said.lines();
            assert!(
                lines.next().unwrap().starts_with("ontick: ") && lines.all(|line| line.starts_with("  ")),
                "{said}"
            );
            assert!(command == "import" || stderr(&output).contains(word), "{}", stderr(&output));
        }
    }
}

#[test]
fn names_on_the_command_line_do_not_steer_the_terminal() {
    for arguments in [
        &["run", "--", EVIL][..],
        &["report", EVIL],
        &["latency", "timer", "--method", EVIL],
        &["latency", "timer", "--record", "/none\u{1b}[31m/x"],
        &["sample", "--source", EVIL],
        &["sample", "--read", EVIL],
        &["gpio", "get", EVIL],
        &["link", "send", "--output", EVIL],
        &["tune", "plan", EVIL],
        &["kernel", "list", "--root", EVIL],
        &["switch", "check", EVIL],
    ] {
        let output = run(arguments);
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        assert_harmless(&format!("{arguments:?}"), &output);
    }
}

#[test]
fn names_in_files_do_not_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("switch.toml");
    let name = quoted(EVIL).replace('\u{9b}', "\\u009b");
    for text in [
        format!("[switch]\nname = {name}\n[[port]]\nname = \"p1\"\n"),
        format!("[switch]\nname = \"s\"\n[[class]]\nname = {name}\nqueue = 99\n"),
        format!("[switch]\nname = \"s\"\n[[port]]\nname = {name}\n[[port]]\nname = {name}\n"),
        format!("[switch]\nname = \"s\"\n[[port]]\nname = \"p1\"\n{name} = 1\n"),
        format!("[network]\nname = {name}\n[[node]]\nname = {name}\n[[stream]]\nname = {name}\n"),
        format!("[switch]\nname = \"{}\"\n", EVIL),
    ] {
        fs::write(&file, &text).unwrap();
        let path = file.to_str().unwrap();
        for arguments in [
            &["switch", "check", path][..],
            &["switch", "export", path],
            &["switch", "plan", path],
            &["network", "plan", path],
            &["network", "show", path],
            &["network", "validate", path, path],
            &["switch", "unit", path],
            &["switch", "import", path],
        ] {
            assert_harmless(&format!("{arguments:?} of {text}"), &run(arguments));
        }
    }
}

#[test]
fn a_machines_release_and_processes_do_not_steer_the_terminal() {
    let machine = crate::machine::Machine::lay("pi5");
    let place = |path: &str| machine.place(path);
    for path in ["/proc/sys/kernel/osrelease", "/proc/version", "/etc/os-release", "/proc/device-tree/model"] {
        if place(path).is_file() {
            fs::write(place(path), format!("NAME={EVIL}\nID=debian\nVERSION_ID={EVIL}\n")).unwrap();
        }
    }
    let root = machine.folder().to_str().unwrap().to_string();
    for arguments in [
        &["check", "--root", &root][..],
        &["tune", "plan", "--root", &root],
        &["tune", "status", "--root", &root],
        &["kernel", "check", "--root", &root],
        &["kernel", "list", "--root", &root],
    ] {
        assert_harmless(&format!("{arguments:?}"), &ontick(arguments).output().unwrap());
    }
}
