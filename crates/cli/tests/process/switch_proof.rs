//! `ontick switch demo` and `verify` as processes: what they count, write, refuse and leave behind. When frames come
//! is the machine's affair; that each of them is accounted for is not.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::apart::Alone;
use crate::{alone_on_this_machine, ontick, record, run, send, stderr, stdout};

/// Alone, as the switch's core goes before all else on its CPU. Network namespaces need root.
pub fn turn() -> Option<Alone> {
    if !rustix::process::geteuid().is_root() {
        ontick_skip::skipped!("network namespaces need root");
        return None;
    }
    Some(alone_on_this_machine())
}

/// Little enough for any machine, and nothing is asked for that a busy one may not do.
const SHORT: [&str; 10] = [
    "--duration",
    "300ms",
    "--without-gates",
    "200ms",
    "--rate",
    "2000",
    "--plane=user",
    "--allow-outside=100%",
    "--require=sent >= 0%",
    "--require=delivered >= 0%",
];

/// The record of a run whose status is the one that its own judgements ask for: whether the windows were kept is the
/// machine's affair.
fn measured(output: &Output) -> Value {
    let record: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("--json prints a record: {e}: {}", stderr(output)));
    let judged = record["requirements"].as_array().unwrap();
    let status = match judged.iter().find(|judged| judged["met"] == false && judged["unproven"] != true) {
        Some(_) => 1,
        None if judged.iter().any(|judged| judged["met"] == false) => 3,
        None => 0,
    };
    assert_eq!(output.status.code(), Some(status), "{judged:?}");
    record
}

fn trials(record: &Value) -> &Vec<Value> {
    record["switch"]["trials"].as_array().unwrap()
}

fn sum(trial: &Value, of: &str) -> u64 {
    trial["classes"].as_array().unwrap().iter().map(|class| class[of].as_u64().unwrap()).sum()
}

/// Nothing lost uncounted, doubled, turned round or changed.
fn is_sound(trial: &Value) {
    let elsewhere: u64 =
        trial["elsewhere"].as_array().unwrap().iter().map(|lost| lost["frames"].as_u64().unwrap()).sum();
    assert_eq!(sum(trial, "sent"), sum(trial, "received") + sum(trial, "dropped") + elsewhere, "{trial}");
    for never in ["duplicates", "out_of_order", "damaged"] {
        assert_eq!(sum(trial, never), 0, "{never}: {trial}");
    }
}

#[test]
fn the_demo_accounts_for_every_frame_and_shows_the_difference() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let [svg, html] = ["a.svg", "a.html"].map(file);
    let output = run(&[&["switch", "demo", "--json", "--svg", &svg, "--html", &html], &SHORT[..]].concat());
    let record = measured(&output);
    // Nothing is asked for that a busy machine may not do.
    assert_eq!(output.status.code(), Some(0));
    assert_eq!((&record["measurement"], &record["schema"]), (&"switch demo".into(), &"ontick-run/1".into()));
    assert!(record["simulated"].as_str().unwrap().contains("virtual Ethernet"));
    let [on, off] = trials(&record).as_slice() else { panic!("{record}") };
    [on, off].into_iter().for_each(is_sound);
    let names: Vec<&str> =
        on["classes"].as_array().unwrap().iter().map(|class| class["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["blue", "red"]);
    // Red frames come all the time where no gate holds them.
    let red = |trial: &Value| {
        let red = &trial["classes"][1];
        red["outside"].as_u64().unwrap() as f64 / red["judged"].as_u64().unwrap().max(1) as f64
    };
    assert!(red(on) < red(off), "{} {}", red(on), red(off));
    let picture = fs::read_to_string(svg).unwrap();
    assert!(picture.contains("gates on") && picture.contains("gates off") && picture.contains("virtual Ethernet"));
    assert!(fs::read_to_string(html).unwrap().contains("Arrivals over the gates"));
}

#[test]
fn the_demo_s_record_reads_back() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let path = path.to_str().unwrap();
    let output = run(&[&["switch", "demo", "--record", path], &SHORT[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = stdout(&output);
    assert!(shown.contains("gates on") && shown.contains("blue") && shown.contains("simulated"), "{shown}");
    let again = run(&["report", path]);
    assert_eq!(stdout(&again).trim_end(), shown.trim_end());
    let picture = run(&["report", path, "--svg", &format!("{path}.svg"), "--plot", "arrivals"]);
    assert_eq!(picture.status.code(), Some(0), "{}", stderr(&picture));
    assert!(fs::read_to_string(format!("{path}.svg")).unwrap().contains("data-name=\"red\""));
}

const FILE: &str = r#"
[switch]
name = "tried"
plane = "user"

[[class]]
name = "control"
queue = 7
match = [{ pcp = 6 }]

[[class]]
name = "video"
queue = 4
match = [{ udp-port = 5004 }, { pcp = 4 }]

[[class]]
name = "rest"
queue = 0

[[port]]
name = "left"
rate = "1Gbit"

[[port]]
name = "right"
rate = "1Gbit"

[port.gates]
cycle = "2ms"
entries = [{ open = ["control"], for = "500us" }, { open = ["video", "rest"], for = "1500us" }]
"#;

#[test]
fn verify_sends_a_flow_of_every_class() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("switch.toml");
    fs::write(&path, FILE).unwrap();
    let path = path.to_str().unwrap();
    let output = run(&[
        "switch",
        "verify",
        path,
        "--json",
        "--duration",
        "300ms",
        "--without-gates",
        "0s",
        "--rate",
        "1000",
        "--size",
        "64",
    ]);
    let record = measured(&output);
    let [trial] = trials(&record).as_slice() else { panic!("{record}") };
    is_sound(trial);
    let classes = trial["classes"].as_array().unwrap();
    let seen: Vec<(&str, u64)> =
        classes.iter().map(|class| (class["name"].as_str().unwrap(), class["octets"].as_u64().unwrap())).collect();
    // The control class's frames have a tag, which comes on top.
    assert_eq!(seen, [("control", 68), ("video", 64), ("rest", 64)]);
    assert!(classes.iter().all(|class| class["received"].as_u64().unwrap() > 0));
}

#[test]
fn a_switch_that_is_at_work_already_is_verified_between_two_interfaces() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("switch.toml");
    fs::write(&path, FILE).unwrap();
    // Every frame comes back, and most not when they should.
    let output = verified_through_a_bridge(&path, &["--json", "--duration=300ms", "--rate=1000"]);
    let record = measured(&output);
    // Most frames are outside, which nobody allowed.
    assert_eq!(output.status.code(), Some(1));
    let [trial] = trials(&record).as_slice() else { panic!("{record}") };
    is_sound(trial);
    assert!(sum(trial, "received") > 0 && sum(trial, "outside") > 0, "{trial}");
    assert_eq!(record["switch"]["plane"], "outside");
    // Nobody takes a bridge between virtual interfaces for a real one.
    assert!(record["simulated"].as_str().unwrap().contains("there nor back"), "{record}");
}

/// `switch verify` of a switch with ports `left` and `right`, for which a plain bridge stands, without gates or shapers.
pub fn verified_through_a_bridge(file: &Path, options: &[&str]) -> Output {
    let script = r#"
        set -e
        for of in all default; do echo 1 > /proc/sys/net/ipv6/conf/$of/disable_ipv6 || true; done
        ip link add there type veth peer name left
        ip link add back type veth peer name right
        ip link add bridge type bridge
        ip link set left master bridge
        ip link set right master bridge
        for name in there back left right bridge; do ip link set $name up; done
        exec "$0" switch verify --send there --receive back "$@"
    "#;
    std::process::Command::new("unshare")
        .args(["--net", "sh", "-c", script, env!("CARGO_BIN_EXE_ontick"), file.to_str().unwrap()])
        .args(options)
        .output()
        .expect("unshare runs")
}

/// No machine sends twenty million frames a second through a packet socket.
const TOO_MANY: [&str; 7] = [
    "--duration=300ms",
    "--without-gates=0s",
    "--size=64",
    "--rate=10000000",
    "--plane=user",
    "--allow-outside=100%",
    "--require=delivered >= 0%",
];

#[test]
fn a_load_that_was_not_reached_proves_nothing() {
    let Some(_turn) = turn() else { return };
    let output = run(&[&["switch", "demo"], &TOO_MANY[..]].concat());
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(3), "{shown}{}", stderr(&output));
    // What was sent of what was asked for, and that the rest was not, stands in the verdict.
    assert!(shown.contains("not proven  sent >= 95% — "), "{shown}");
    let verdict = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(verdict.contains("Of 6 000 000 frames asked for ") && verdict.contains(" sent, "), "{verdict}");
    // The same load is enough for who asks for less.
    let enough = run(&[&["switch", "demo", "--require", "sent > 0.0001%"], &TOO_MANY[..]].concat());
    assert_eq!(enough.status.code(), Some(0), "{}", stdout(&enough));
}

#[test]
fn dropped_frames_are_refused_where_none_may_be() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("switch.toml");
    // Video's gate never opens, so all of it is dropped once its queue is full.
    let file =
        FILE.replace("queue = 4", "queue = 4\nlimit = 8").replace("open = [\"video\", \"rest\"]", "open = [\"rest\"]");
    fs::write(&path, file).unwrap();
    let path = path.to_str().unwrap();
    let verify = |requirement: &str| {
        let all = ["switch", "verify", path, "--json", "--rate=2000", "--duration=300ms", "--without-gates=0s"];
        run(&[&all[..], &["--require", requirement]].concat())
    };
    let of = |record: &Value, requirement: &str| {
        let all = record["requirements"].as_array().unwrap();
        all.iter().find(|judged| judged["requirement"] == requirement).unwrap_or_else(|| panic!("{record}")).clone()
    };
    let record = measured(&verify("dropped = 0"));
    assert_eq!(of(&record, "dropped = 0")["met"], false);
    let dropped = sum(&trials(&record)[0], "dropped");
    assert!(dropped > 0);
    assert!(
        of(&record, "dropped = 0")["observed"].as_str().unwrap().starts_with(&format!("{dropped} of ")),
        "{record}"
    );
    assert_eq!(of(&measured(&verify("dropped <= 100%")), "dropped <= 100%")["met"], true);
    let other = run(&["latency", "timer", "--duration=10ms", "--require", "dropped = 0"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("switch verify"), "{}", stderr(&other));
}

#[test]
fn a_requirement_that_cannot_be_met_is_not() {
    let Some(_turn) = turn() else { return };
    let plane = ["--plane", "bridge", "--duration", "100ms"];
    let output = run(&[&["switch", "demo", "--json"], &plane[..]].concat());
    // Without gates nothing is promised.
    let record = record(&output);
    assert_eq!(trials(&record).len(), 1);
    is_sound(&trials(&record)[0]);
    let impossible = run(&[&["switch", "demo", "--require", "max < 1ns", "--json"], &SHORT[..]].concat());
    assert_eq!(impossible.status.code(), Some(1), "{}", stderr(&impossible));
}

#[test]
fn what_cannot_be_tried_is_said_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("switch.toml");
    fs::write(&path, FILE).unwrap();
    let path = path.to_str().unwrap();
    for (arguments, says) in [
        (&["demo", "--cycle", "10us"][..], "from 100us to 1s"),
        (&["demo", "--guard-band", "some"], "none of \"none\", \"largest-frame\" or a time"),
        (&["demo", "--guard-band", "190us"], "no room for a frame in the 200us that red has"),
        (&["demo", "--rate", "fast"], "is not a rate"),
        (&["demo", "--allow-outside", "some"], "is not a share of frames"),
        (&["demo", "--size", "2000"], "2000"),
        (&["demo", "--svg", "/no/such/folder/a.svg"], "/no/such/folder"),
        (&["verify", "/no/such/file"], "/no/such/file"),
        (&["verify", path, "--to", "nowhere"], "there is no port nowhere (its ports: left, right)"),
        (&["verify", path, "--to", "left", "--from", "right"], "port left has neither gates nor an idle-slope"),
        (&["verify", path, "--from", "right"], "same port"),
        (&["verify", path, "--send", "lo"], "--receive"),
        (&["verify", path, "--send", "nothing0", "--receive", "nothing1"], "nothing0"),
        (&["verify", path, "--send", "lo", "--receive", "lo"], "same interface"),
    ] {
        let output = run(&[&["switch"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
}

/// A demo that goes on for a minute, once its namespaces are there.
fn begun() -> std::process::Child {
    let child = ontick(&["switch", "demo", "--duration", "60s", "--rate", "2000", "--json", "--plane", "user"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let begun = Instant::now();
    while spaces(child.id()).len() < 3 {
        assert!(begun.elapsed() < Duration::from_secs(30), "no namespaces were made");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

/// Network namespaces that a process holds and is not in.
fn spaces(id: u32) -> Vec<String> {
    let Ok(files) = fs::read_dir(format!("/proc/{id}/fd")) else { return Vec::new() };
    let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    links.map(|link| link.display().to_string()).filter(|link| link.starts_with("net:[")).collect()
}

#[test]
fn control_c_gives_what_was_found_so_far() {
    let Some(_turn) = turn() else { return };
    // Cycles begin with the next second; frames flow soon after, but on a machine that is slow enough.
    let record = [4, 10, 25].into_iter().find_map(|seconds| ended_after(Duration::from_secs(seconds)));
    let record = record.expect("nothing was measured in 25 s");
    assert_eq!(record["interrupted"], true);
    assert_eq!(trials(&record).len(), 1);
    is_sound(&trials(&record)[0]);
}

/// The record of a demo that is ended by Ctrl-C; none if nothing was measured yet, which is said.
fn ended_after(time: Duration) -> Option<Value> {
    let mut child = begun();
    std::thread::sleep(time);
    send(child.id(), Signal::INT);
    let (mut said, mut complained) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut complained).unwrap();
    if child.wait().unwrap().code() == Some(2) {
        assert!(complained.contains("ended before anything was measured"), "{complained}");
        return None;
    }
    Some(serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said} {complained}")))
}

#[test]
fn a_killed_demo_leaves_nothing_behind() {
    let Some(_turn) = turn() else { return };
    let mut child = begun();
    let held = spaces(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    // Whoever is still in one would hold it.
    let begun = Instant::now();
    loop {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let still: Vec<String> = processes
            .filter_map(|process| fs::read_link(process.path().join("ns/net")).ok())
            .map(|link| link.display().to_string())
            .filter(|link| held.contains(link))
            .collect();
        if still.is_empty() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{still:?} are still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// With all gates open frames come at any time of the cycle, and no farther from their window than its length.
#[test]
fn a_guard_is_how_far_outside_a_frame_still_counts_as_inside() {
    let Some(_turn) = turn() else { return };
    let outside = |more: &[&str]| {
        let record = measured(&run(&[&["switch", "demo", "--json"], &SHORT[..], more].concat()));
        let trials = record["switch"]["trials"].as_array().unwrap().clone();
        let classes = trials.iter().flat_map(|trial| trial["classes"].as_array().unwrap());
        classes.map(|class| class["outside"].as_u64().unwrap()).sum::<u64>()
    };
    assert!(outside(&[]) > 0);
    assert_eq!(outside(&["--guard", "1ms"]), 0);
}
