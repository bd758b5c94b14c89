//! `[port.preemption]`: the commands for ports that can do it, and the refusal of ports that cannot.

use std::process::Output;

use serde_json::Value;

use super::{has, namespace::namespace, ontick, stderr, stdout, wait_until};

/// Port a preempts without gates, port b with those of its hardware.
const FILE: &str = r#"
[switch]
name = "br7"

[[class]]
name = "control"
queue = 7
match = [{ pcp = 6 }]

[[class]]
name = "rest"
queue = 0

[[port]]
name = "port0"
rate = "1Gbit"

[port.preemption]
preemptible = ["rest"]
min-fragment-size = 124

[[port]]
name = "port1"
rate = "1Gbit"
offload = "full"

[port.preemption]
preemptible = ["rest"]
verify-time = "20ms"

[port.gates]
entries = [{ open = ["control"], for = "200us" }, { open = ["rest"], for = "800us" }]
"#;

/// The file in a folder of its own.
fn file() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("br7.toml");
    std::fs::write(&path, FILE).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

#[test]
fn the_commands_for_ports_that_preempt_frames_are_printed() {
    let (_folder, file) = file();
    let plan = |more: &[&str]| -> Output {
        ontick(&[&["switch", "plan", &file, "--for-another-machine"], more].concat()).output().unwrap()
    };
    let output = plan(&[]);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for part in [
        "port0, port1: ports that preempt frames (assumed)",
        "ethtool --set-mm port0 pmac-enabled on tx-enabled on tx-min-frag-size 124 verify-enabled on verify-time 10\n",
        "ethtool --set-mm port1 pmac-enabled on tx-enabled on tx-min-frag-size 60 verify-enabled on verify-time 20\n",
        "queues 1@0 1@1 fp P E hw 1\n",
        " fp P E flags 0x2\n",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let old = plan(&["--kernel-version", "6.3"]);
    assert_eq!(old.status.code(), Some(2), "{}", stdout(&old));
    let said = stderr(&old);
    assert!(said.contains("port port0: Linux 6.3 knows no preemptible classes (Linux 6.4 does)"), "{said}");
}

#[test]
fn ports_that_preempt_nothing_are_refused_before_anything_is_changed() {
    if !has("ip") || !has("tc") {
        return;
    }
    let (Some(here), Some(far)) = (namespace(), namespace()) else { return };
    for n in 0..2 {
        here.join(&format!("port{n}"), &far, &format!("far{n}")).unwrap();
    }
    let (folder, file) = file();
    let state = folder.path().join("state").display().to_string();
    let switch = |words: &[&str]| -> Output {
        here.within(|| ontick(&[&["switch"], words].concat()).output()).unwrap().unwrap()
    };
    let links = || here.within(|| std::process::Command::new("ip").args(["-d", "link"]).output()).unwrap().unwrap();
    // The state of a link follows a little later.
    wait_until("both links are up", || stdout(&links()).matches("state UP").count() == 2);
    let before = stdout(&links());
    let applied = switch(&["apply", &file, "--plane", "kernel", "--state", &state]);
    assert_eq!(applied.status.code(), Some(2), "{}", stdout(&applied));
    for port in ["port0", "port1"] {
        let why = format!("port {port}: frame preemption takes a MAC Merge sublayer (IEEE 802.3 clause 99), and the ");
        assert!(stderr(&applied).contains(&why), "{}", stderr(&applied));
    }
    assert_eq!(stdout(&links()), before);
    // No core does it in place of the port.
    let user = switch(&["apply", &file, "--plane", "user", "--state", &state]);
    assert_eq!(user.status.code(), Some(2), "{}", stdout(&user));
    assert!(stderr(&user).contains("port port0: frames are preempted by the port's hardware"), "{}", stderr(&user));
    let checked = switch(&["check", &file, "--json"]);
    assert_eq!(checked.status.code(), Some(1));
    let checked: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(
        (&checked["ports"][0]["preemption"]["fits"], &checked["ports"][0]["mac_merge"]),
        (&false.into(), &Value::Null)
    );
    let findings = checked["findings"].as_array().unwrap();
    let bad = findings.iter().find(|finding| finding["id"] == "port1 preemption").unwrap();
    assert_eq!(bad["severity"], "bad", "{bad}");
    assert_eq!(checked["plane"]["plane"], Value::Null, "{}", checked["plane"]);
}
