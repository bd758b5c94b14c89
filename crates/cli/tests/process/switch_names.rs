//! Interfaces that are called as `ip` calls its arguments, and what other programs say in ontick's errors.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::switch_proof::turn;
use super::{ontick, run, stderr, stdout};

const FILE: &str = r#"
[switch]
name = "named"
plane = "PLANE"

[[class]]
name = "rest"
queue = 0

[[port]]
name = "FIRST"
rate = "1Gbit"

[[port]]
name = "SECOND"
rate = "1Gbit"

[port.gates]
cycle = "1ms"
entries = [{ open = ["rest"], for = "1ms" }]
"#;

fn file(folder: &tempfile::TempDir, plane: &str, [first, second]: [&str; 2]) -> String {
    let path = folder.path().join("switch.toml");
    fs::write(&path, FILE.replace("PLANE", plane).replace("FIRST", first).replace("SECOND", second)).unwrap();
    path.to_str().unwrap().into()
}

#[test]
fn ports_may_be_called_as_ip_calls_its_arguments() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().unwrap();
    for ports in [["a", "name"], ["dev", "type"], ["up", "peer"]] {
        let path = file(&folder, "user", ports);
        let short = ["--duration=50ms", "--without-gates=0s", "--rate=500", "--allow-outside=100%"];
        let lenient = ["--require=sent >= 0%", "--require=delivered >= 0%"];
        let output = run(&[&["switch", "verify", &path][..], &short[..], &lenient[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{ports:?}: {}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains(&format!("from {} to {}", ports[0], ports[1])), "{}", stdout(&output));
    }
}

#[test]
fn what_another_program_says_is_quoted_at_the_end_of_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    // Whoever it is that says this, it is not ontick.
    let ip = folder.path().join("ip");
    fs::write(&ip, "#!/bin/sh\nprintf 'Error: Unknown \"thing\".\\nCommand failed -:1\\n' >&2\nexit 1\n").unwrap();
    fs::set_permissions(&ip, fs::Permissions::from_mode(0o755)).unwrap();
    let path = file(&folder, "kernel", ["left", "right"]);
    let output = ontick(&["switch", "plan", &path, "--plane", "kernel"])
        .env("PATH", format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default()))
        .output()
        .unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said, "ontick: `ip -d -j link show` was refused: ip says \"Unknown 'thing'\"\n");
}

#[test]
fn a_program_that_is_not_installed_is_named_with_its_package() {
    let Some(_turn) = turn() else { return };
    let nothing = tempfile::tempdir().unwrap();
    let output = ontick(&["switch", "demo", "--duration", "50ms"]).env("PATH", nothing.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert_eq!(stderr(&output), "ontick: the program ip is not installed (package iproute2)\n");
}
