//! Frames that take both ways around a ring of four switches, of which one is cut meanwhile; sent and judged by scapy.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use ontick_switch::verify::namespace::Namespace;

use super::judges::python_with;
use super::namespace::namespace;
use super::put_back::RevertSwitches;
use super::{Running, alone_on_this_machine, has, ontick, stderr, stdout, wait_until};

/// Where the talker is: it numbers and replicates. Other frames take the way by `b` alone.
const FIRST: &str = r#"
[[stream]]
name = "axis"
to = "02:00:00:00:01:00"
vlan = 100
ingress = ["a0"]
replicate = ["ab", "ac"]
"#;
/// Where the listener is.
const LAST: &str = r#"
[[stream]]
name = "axis"
to = "02:00:00:00:01:00"
vlan = 100
ingress = ["db", "dc"]
eliminate = { history-length = 128 }

[[forward]]
to = "02:00:00:00:01:00"
ports = ["d0"]
"#;

/// The switch file of one node of the ring.
fn file(name: &str, flood: &[&str], ports: &[&str], rest: &str) -> String {
    let port = |port: &&str| format!("[[port]]\nname = \"{port}\"\nrate = \"1Gbit\"\n");
    format!(
        "[switch]\nname = \"{name}\"\nplane = \"user\"\nflood = {flood:?}\n[[class]]\nname = \"control\"\nqueue = 1\nmatch = \
         [{{ pcp = 5 }}]\n[[class]]\nname = \"others\"\nqueue = 0\n{}{rest}",
        ports.iter().map(port).collect::<String>()
    )
}

fn forward(port: &str) -> String {
    format!("[[forward]]\nto = \"02:00:00:00:01:00\"\nports = [\"{port}\"]\n")
}

/// Both ends of each cable: of the ring, and to the stations.
const CABLES: [[&str; 2]; 6] =
    [["ab", "ba"], ["bd", "db"], ["ac", "ca"], ["cd", "dc"], ["a0", "talker"], ["d0", "listener"]];

fn join(here: &Namespace) {
    for [one, other] in CABLES {
        here.ip(&["link", "add", one, "type", "veth", "peer", "name", other]).unwrap();
        for end in [one, other] {
            here.ip(&["link", "set", end, "up"]).unwrap();
        }
    }
}

#[test]
fn a_cut_of_one_path_loses_no_frame_and_passes_none_twice() {
    if !has("ip") {
        return;
    }
    let Some(here) = namespace() else { return };
    // Where Debian's python3-scapy is, which other Pythons do not find.
    let Some(python) = has("scapy").then_some("/usr/bin/python3") else { return };
    let _alone = alone_on_this_machine();
    join(&here);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let state = path("state");
    let _back = RevertSwitches { here: &here, state: std::path::Path::new(&state) };
    let files = [
        file("a", &["a0", "ab"], &["a0", "ab", "ac"], FIRST),
        file("b", &["ba", "bd"], &["ba", "bd"], &forward("bd")),
        file("c", &["cd"], &["ca", "cd"], &forward("cd")),
        file("d", &["d0", "db", "dc"], &["d0", "db", "dc"], LAST),
    ];
    let names = ["a", "b", "c", "d"].map(|name| path(&format!("{name}.toml")));
    names.iter().zip(files).for_each(|(name, text)| std::fs::write(name, text).unwrap());
    let mut words = vec!["switch", "run", "--state", &state];
    words.extend(names.iter().map(String::as_str));
    let mut command = ontick(&words);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let run = Running(here.within(|| command.spawn()).unwrap().unwrap());
    let status = |name: &str| -> Option<serde_json::Value> {
        let output = here.within(|| ontick(&["switch", "status", name, "--json", "--state", &state]).output());
        serde_json::from_slice(&output.unwrap().unwrap().stdout).ok()
    };
    let is_up = |name: &str| {
        let report = status(name)?["report"].take();
        let ports = report["ports"].as_array()?.clone();
        Some(!ports.is_empty() && ports.iter().all(|port| port["link"] == true && port["closed"] == false))
    };
    wait_until("all four work", || ["a", "b", "c", "d"].iter().all(|name| is_up(name) == Some(true)));

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/process/switch_redundancy.py");
    let mut judge = Command::new(python);
    judge
        .args([script, "talker", "listener", "db"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut judge = here.within(|| judge.spawn()).unwrap().unwrap();
    let (mut answer, mut asked) = (judge.stdin.take().unwrap(), BufReader::new(judge.stdout.take().unwrap()));
    let mut verdict = String::new();
    loop {
        let mut line = String::new();
        if asked.read_line(&mut line).unwrap() == 0 {
            break;
        }
        match line.trim() {
            "cut" => here.ip(&["link", "set", "bd", "down"]).unwrap(),
            "join" => here.ip(&["link", "set", "bd", "up"]).unwrap(),
            other => verdict += other,
        }
        let _ = answer.write_all(b"done\n");
    }
    let mut errors = String::new();
    judge.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(judge.wait().unwrap().success(), "{verdict}{errors}");
    println!("{verdict}");

    // The cut was noticed, though no frame was missing. What is counted is shown a moment later.
    let mut counters = serde_json::Value::Null;
    let count = |counters: &serde_json::Value, name: &str| counters[name].as_u64().unwrap_or(0);
    let passed = |counters: &serde_json::Value| count(counters, "frames") - count(counters, "duplicates");
    wait_until("the last frame and the copies that are missing are counted", || {
        counters = status("d").map_or(counters.take(), |mut status| status["report"]["counters"]["streams"][0].take());
        passed(&counters) >= 2400 && count(&counters, "latent_errors") > 0
    });
    assert_eq!(passed(&counters), 2400, "{counters}");
    assert_eq!(["lost", "rogue", "tagless"].map(|name| count(&counters, name)), [0; 3], "{counters}");
    let Some(python) = python_with("ncclient.transport.unixSocket") else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/process/netconf_statistics.py");
    let server = ontick(&["switch", "netconf", "d", "--state", &state]);
    let reported = || {
        // A new socket each time.
        let socket = tempfile::tempdir_in(folder.path()).unwrap().keep().join("socket");
        let mut client = Command::new(&python);
        client.args(["-B", script, "socket"]).arg(socket).arg(server.get_program()).args(server.get_args());
        let output = here.within(|| client.output()).unwrap().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let lines = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        serde_json::Value::Array(lines)
    };
    // At both ports NETCONF has what `status` has.
    let expected = || {
        let streams = status("d").map(|mut status| status["report"]["counters"]["streams"][0].take());
        let counters = streams.unwrap_or_default();
        let of = |name: &str| count(&counters, name).to_string();
        let at = |port: &str| {
            serde_json::json!({
                "port": port,
                "direction-out-facing": "true",
                "handle": "1",
                "rx-passed-pkts": "2400",
                "rx-discarded-pkts": of("duplicates"),
                "rx-rogue-pkts": "0",
                "rx-tagless-pkts": "0",
                "rx-lost-pkts": "0",
                "rx-out-of-order-pkts": of("out_of_order"),
                "rx-resets": of("resets"),
            })
        };
        serde_json::json!([at("db"), at("dc")])
    };
    wait_until("NETCONF reports what status does", || reported() == expected());
    assert!(expected()[0]["rx-discarded-pkts"] != "0", "{counters}");
    drop(run);
}
