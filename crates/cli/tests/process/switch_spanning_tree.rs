//! `stp`: two bridges with two cables between them, and a protocol that nobody speaks here.

use std::process::Output;
use std::time::{Duration, Instant};

use ontick_switch::user::packet::PacketPort;
use ontick_switch::user::port::{Port, Received, Sent};
use ontick_switch::verify::namespace::Namespace;
use serde_json::Value;

use super::put_back::RevertSwitches;
use super::{apart, has, namespace::namespace, ontick, stderr, stdout, wait_until};

const FILE: &str = r#"
[switch]
name = "cell"
plane = "kernel"
stp = true
bridge-priority = 61440

[[class]]
name = "all"
queue = 0

[[port]]
name = "port0"

[[port]]
name = "port1"

[[port]]
name = "port2"
"#;
/// Where bridges speak to each other (IEEE 802.1Q-2022 Table 8-1).
const BPDU: [u8; 6] = [1, 0x80, 0xc2, 0, 0, 0];

fn switch(here: &Namespace, words: &[&str]) -> Output {
    here.within(|| ontick(&[&["switch"], words].concat()).output()).unwrap().unwrap()
}

/// How the spanning tree has each port, as `status` says.
fn states(here: &Namespace, state: &str) -> Vec<String> {
    let status = switch(here, &["status", "--json", "--state", state]);
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    status["ports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|port| port["spanning_tree"].as_str().unwrap_or("none").to_owned())
        .collect()
}

fn frame(to: [u8; 6], from: u8, number: u8) -> Vec<u8> {
    let mut frame = [to, [2, 0, 0, 0, 0, from]].concat();
    frame.extend([0x88, 0xb5, number]);
    frame.resize(60, 0);
    frame
}

/// Frames of others' that came in until there were none for a while: by their last address octet and their number.
fn came(port: &mut PacketPort) -> Vec<u8> {
    let (mut numbers, mut slot, mut last) = (Vec::new(), [0; 2048], Instant::now());
    while last.elapsed() < Duration::from_millis(300) {
        match port.receive(&mut slot) {
            Received::Frame(octets) if octets >= 60 && slot[12..14] == [0x88, 0xb5] => {
                numbers.push(slot[14]);
                last = Instant::now();
            }
            Received::Frame(_) => {}
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    numbers
}

#[test]
fn of_two_cables_one_carries_frames_and_the_other_takes_over() {
    if !has("ip") || !has("tc") {
        return;
    }
    // The kernel's bridges carry the frames.
    apart::keeps_no_cpu();
    let (Some(here), Some(far), Some(stations)) = (namespace(), namespace(), namespace()) else { return };
    // A bridge that is the root of the tree if the other one has its priority from the file, with the shortest times of the
    // protocol, which hold for the whole tree.
    far.ip(&[
        "link",
        "add",
        "far",
        "type",
        "bridge",
        "stp_state",
        "1",
        "priority",
        "36864",
        "forward_delay",
        "200",
        "hello_time",
        "100",
        "max_age",
        "600",
    ])
    .unwrap();
    for n in 0..2 {
        here.join(&format!("port{n}"), &far, &format!("far{n}")).unwrap();
    }
    here.join("port2", &stations, "left").unwrap();
    far.join("far2", &stations, "right").unwrap();
    for n in 0..3 {
        far.ip(&["link", "set", "dev", &format!("far{n}"), "master", "far"]).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, state) = (folder.path().join("cell.toml"), folder.path().join("state").display().to_string());
    let _as_before = RevertSwitches { here: &here, state: state.as_ref() };
    std::fs::write(&file, FILE).unwrap();
    let file = file.display().to_string();
    let applied = switch(&here, &["apply", &file, "--state", &state]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    far.ip(&["link", "set", "dev", "far", "up"]).unwrap();

    let is = |wanted: [&str; 3]| {
        // A process for each look.
        std::thread::sleep(Duration::from_millis(200));
        states(&here, &state) == wanted
    };
    wait_until("one of two cables to be in the tree", || is(["forwarding", "blocking", "forwarding"]));
    let shown = stdout(&switch(&here, &["status", "--state", &state]));
    assert!(shown.contains("port port1  up · noqueue · spanning tree: blocking"), "{shown}");
    let open = |of: &Namespace, name: &str| of.within(|| PacketPort::open(name, 1024)).unwrap().unwrap();
    let (mut left, mut right) = (open(&stations, "left"), open(&stations, "right"));
    let everybody = [0xff; 6];
    // Each once, and none comes back to its sender.
    for number in 0..10 {
        assert_eq!(left.send(&frame(everybody, 0xa, number)), Sent::Done);
    }
    assert_eq!(came(&mut right), (0..10).collect::<Vec<u8>>());
    assert_eq!(came(&mut left), [0; 0]);
    // The bridges speak to each other on the cable that carries nothing else.
    let mut cable = open(&here, "port1");
    let mut slot = [0; 2048];
    wait_until(
        "a bridge protocol data unit",
        || matches!(cable.receive(&mut slot), Received::Frame(octets) if octets > 6 && slot[..6] == BPDU),
    );
    drop(cable);

    far.ip(&["link", "set", "dev", "far0", "down"]).unwrap();
    wait_until("the other cable to take over", || is(["disabled", "forwarding", "forwarding"]));
    assert_eq!(left.send(&frame(everybody, 0xa, 20)), Sent::Done);
    assert_eq!(came(&mut right), [20]);
    far.ip(&["link", "set", "dev", "far0", "up"]).unwrap();
    wait_until("the first cable to be back", || is(["forwarding", "blocking", "forwarding"]));
    assert_eq!(right.send(&frame(everybody, 0xb, 30)), Sent::Done);
    assert_eq!(came(&mut left), [30]);
    let reverted = switch(&here, &["revert", "--state", &state]);
    assert!(stdout(&reverted).contains("everything else is as before"), "{}{}", stdout(&reverted), stderr(&reverted));
}

#[test]
fn a_protocol_that_nobody_speaks_here_is_refused_before_anything_is_changed() {
    if !has("ip") || !has("tc") {
        return;
    }
    if std::path::Path::new("/sbin/bridge-stp").exists() {
        return ontick_skip::skipped!("something speaks rapid spanning tree here");
    }
    let (Some(here), Some(far)) = (namespace(), namespace()) else { return };
    for n in 0..3 {
        here.join(&format!("port{n}"), &far, &format!("far{n}")).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, state) = (folder.path().join("cell.toml"), folder.path().join("state").display().to_string());
    std::fs::write(&file, FILE.replace("stp = true", "stp = \"rstp\"")).unwrap();
    let applied = switch(&here, &["apply", &file.display().to_string(), "--state", &state]);
    assert_eq!(applied.status.code(), Some(2), "{}", stdout(&applied));
    let said = stderr(&applied);
    assert!(said.contains("stp = \"rstp\" needs the daemon mstpd with its program /sbin/bridge-stp"), "{said}");
    assert!(!here.run("ip", &["-br", "link"]).unwrap().contains("cell"), "there is a bridge");
    let checked = switch(&here, &["check", &file.display().to_string()]);
    assert_eq!(checked.status.code(), Some(1), "{}", stdout(&checked));
}
