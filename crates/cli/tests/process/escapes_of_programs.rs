//! Names of processes and releases of packages, which any user can choose, must not steer the terminal either.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use crate::escapes::{EVIL, assert_harmless};
use crate::gpio::Chip;
use crate::machine::{Machine, packed};
use crate::{run, stderr, stdout};

/// As long as the kernel keeps: a title for the terminal, and C1's CSI.
const NAME: &str = "\u{1b}]0;own\u{7}\u{9b}2J";

#[test]
fn a_processs_name_does_not_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(NAME);
    symlink(env!("CARGO_BIN_EXE_ontick"), &program).unwrap();
    let chip = Chip::new("escapes");
    let (line, level) = (chip.line(4), format!("{}=1", chip.line(4)));
    let mut holder = Command::new(&program).args(["gpio", "set", &level]).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    let name = fs::read_to_string(format!("/proc/{}/comm", holder.id())).unwrap();
    let refused = run(&["gpio", "set", &level]);
    let listed = run(&["gpio", "list", &line]);
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(name.trim_end(), NAME);
    assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
    // The rest of the name is there, so that this test sees what is printed of it.
    assert!(stderr(&refused).contains("]0;own"), "{}", stderr(&refused));
    assert_harmless("gpio set", &refused);
    assert_harmless("gpio list", &listed);
}

#[test]
fn a_cause_in_a_record_does_not_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = crate::record(&run(&["latency", "timer", "--count", "50", "--stock", "--json"]));
    let cause = format!("another task: {EVIL} (other)");
    record["series"][0]["causes"] =
        serde_json::json!([{"cause": cause, "detail": EVIL, "count": 3, "share": 1.0, "p50_ns": 9, "max_ns": 9}]);
    let path = folder.path().join("run.json");
    fs::write(&path, record.to_string()).unwrap();
    for format in ["summary", "plot", "rows", "openmetrics", "json"] {
        let output = run(&["report", path.to_str().unwrap(), "--as", format]);
        assert!(output.status.code().is_some_and(|code| code < 2), "{format}: {}", stderr(&output));
        assert!(format != "summary" || stdout(&output).contains("]0;owned"), "{}", stdout(&output));
        assert_harmless(format, &output);
    }
}

/// A Debian package as dpkg-deb writes it, without the tool's own doubts about names.
fn deb(control: &str, files: &packed::Files) -> Vec<u8> {
    let mut deb = b"!<arch>\n".to_vec();
    let control = packed::tar(&vec![("./control".into(), control.as_bytes().to_vec())]);
    for (name, content) in
        [("debian-binary", b"2.0\n".to_vec()), ("control.tar", control), ("data.tar", packed::tar(files))]
    {
        deb.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, "100644", content.len()).bytes());
        deb.extend(&content);
        deb.extend(&b"\n"[..content.len() % 2]);
    }
    deb
}

#[test]
fn a_packages_release_and_fields_do_not_steer_the_terminal() {
    let machine = Machine::lay("pi4");
    let root = machine.folder().to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let release = format!("6.12{NAME}");
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (tar, package) = (path("kernel.tar"), path("kernel.deb"));
    let control = format!("Package: linux{EVIL}\nVersion: 1{EVIL}\nArchitecture: arm64{EVIL}\n");
    let evil = packed::files(packed::Arch::Arm64, &release);
    fs::write(&tar, packed::tar(&evil)).unwrap();
    fs::write(&package, deb(&control, &evil)).unwrap();
    // Of another architecture than the machine: the error names what is in the package.
    let other = path("other.deb");
    fs::write(&other, deb(&control, &packed::files(packed::Arch::Amd64, &release))).unwrap();
    for file in [&tar, &package, &other] {
        for more in [&["--dry-run"][..], &["--dry-run", "--json"]] {
            let output = run(&[&["kernel", "install", file, "--root", root], more].concat());
            let (printed, said) = (stdout(&output), stderr(&output));
            assert!(printed.contains("]0;own") || said.contains("]0;own"), "{file} {more:?}: {printed}{said}");
            assert_harmless(file, &output);
        }
    }
}
