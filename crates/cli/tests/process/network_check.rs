//! `ontick network check`, with real lldpds at both ends of cables between network namespaces.
//!
//! lldpd gives up root's rights for those of a user, in an empty folder: it has both in a mount namespace of its own, so that
//! it need not be installed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ontick_switch::verify::namespace::Namespace;
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::examples::files;
use crate::judges::{python_runs, python_with, said};
use crate::neighbours::VALIDATE;
use crate::{Running, has, namespace::namespace, ontick, run, send, stderr, stdout, wait_until};

/// What lldpd needs of a machine: a folder for its socket, an empty one to be shut into, and a user.
const SHUT_IN: &str = "mount -t tmpfs tmpfs /run && mkdir /run/lldpd && cat /etc/passwd >/run/passwd && cat /etc/group >/run/group && \
    echo '_lldpd:x:64123:64123::/run/lldpd:/bin/false' >>/run/passwd && echo '_lldpd:x:64123:' >>/run/group && \
    mount --bind /run/passwd /etc/passwd && mount --bind /run/group /etc/group && exec \"$@\"";

/// The example of the page, and what the page says that is printed once two cables are swapped.
fn example() -> (String, String) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/network.md");
    let page = fs::read_to_string(page).unwrap();
    let file = files(&page).into_iter().find(|(name, _)| *name == "cables.toml").unwrap().1;
    let printed = page.split("```text\n").filter_map(|rest| rest.split("```").next());
    let printed = printed.into_iter().find(|block| block.starts_with("s1  3 cables")).unwrap();
    (file.into(), printed.into())
}

/// A switch and three stations, each on a cable, and a folder with the network's file.
struct Bench {
    s1: Namespace,
    stations: [(&'static str, Namespace); 3],
    folder: TempDir,
}

/// An lldpd at work. Asked to end, it tells its neighbours.
struct Lldpd(Running);

impl Drop for Lldpd {
    fn drop(&mut self) {
        send(self.0.0.id(), Signal::TERM);
        let _ = self.0.0.wait();
    }
}

fn bench() -> Option<Bench> {
    if !["lldpd", "lldpcli", "unshare", "ip"].into_iter().all(has) {
        return None;
    }
    let bench = Bench {
        s1: namespace()?,
        stations: [("camera", namespace()?), ("drive", namespace()?), ("hmi", namespace()?)],
        folder: tempfile::tempdir().unwrap(),
    };
    // Whoever lldpcli belongs to.
    fs::set_permissions(&bench.folder, PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(bench.folder.path().join("cables.toml"), example().0).unwrap();
    for (port, station) in ["p1", "p2", "p3"].into_iter().zip(["camera", "drive", "hmi"]) {
        bench.cable(port, station);
    }
    Some(bench)
}

impl Bench {
    fn station(&self, name: &str) -> &Namespace {
        &self.stations.iter().find(|(station, _)| *station == name).unwrap().1
    }

    fn node(&self, name: &str) -> &Namespace {
        if name == "s1" { &self.s1 } else { self.station(name) }
    }

    fn cable(&self, port: &str, station: &str) {
        self.s1.join(port, self.station(station), "eth0").unwrap();
    }

    fn socket(&self, node: &str) -> PathBuf {
        self.folder.path().join(format!("{node}.socket"))
    }

    /// lldpd on a node that calls itself so, with a frame each second, once it can be asked.
    fn lldpd(&self, node: &str, interfaces: &str, system_name: &str) -> Lldpd {
        let mut command = Command::new("unshare");
        let log = fs::File::create(self.folder.path().join(format!("{node}.log"))).unwrap();
        command.args(["--mount", "sh", "-c", SHUT_IN, "sh", "lldpd", "-dd", "-L", "", "-I", interfaces, "-u"]);
        command.arg(self.socket(node)).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let lldpd = Lldpd(Running(self.node(node).within(|| command.spawn()).unwrap().unwrap()));
        wait_until("lldpd", || self.lldpcli(node, &["show", "chassis"]).status.success());
        for words in [&["system", "hostname", system_name][..], &["lldp", "tx-interval", "1"]] {
            let output = self.lldpcli(node, &[&["configure"], words].concat());
            assert!(output.status.success(), "{}", stderr(&output));
        }
        lldpd
    }

    fn lldpcli(&self, node: &str, words: &[&str]) -> Output {
        Command::new("lldpcli").arg("-u").arg(self.socket(node)).args(words).output().unwrap()
    }

    fn check(&self, node: &str, words: &[&str]) -> Output {
        let mut command = self.command(words);
        command.arg("--socket").arg(self.socket(node));
        self.node(node).within(|| command.output()).unwrap().unwrap()
    }

    /// As root it starts no program that another user could have put there, such as who owns the checkout: a starter of its
    /// own leads to the lldpcli of the tests.
    fn command(&self, words: &[&str]) -> Command {
        let lldpcli = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join("lldpcli"))
            .find(|file| file.is_file())
            .unwrap();
        self.stand_in(&format!("exec '{}' \"$@\"", lldpcli.display()));
        let path = format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap());
        let mut command = ontick(&[&["network", "check", "cables.toml"], words].concat());
        command.current_dir(&self.folder).env("PATH", path);
        command
    }

    fn stand_in(&self, script: &str) {
        stand_in(self.folder.path(), script);
    }

    /// The verdict of each port, in the order of the file.
    fn verdicts(&self, node: &str) -> Vec<String> {
        let document = document(&self.check(node, &["--json"]));
        let ports = document["nodes"][0]["ports"].as_array().unwrap();
        ports.iter().map(|port| port["verdict"].as_str().unwrap().to_owned()).collect()
    }

    fn until(&self, node: &str, verdicts: &[&str]) {
        wait_until(&format!("{verdicts:?} at {node}"), || self.verdicts(node) == verdicts);
    }
}

/// A program in place of lldpcli.
fn stand_in(folder: &Path, script: &str) {
    let file = folder.join("lldpcli");
    // One that is at work is not written to.
    let new = folder.join("lldpcli.new");
    fs::write(&new, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&new, PermissionsExt::from_mode(0o755)).unwrap();
    fs::rename(new, file).unwrap();
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

/// The text without ages, which change.
fn without_ages(text: &str) -> String {
    let is_age = |word: &str| word.strip_suffix('s').is_some_and(|n| n.parse::<u32>().is_ok());
    let line =
        |line: &str| line.split(' ').map(|word| if is_age(word) { "1s" } else { word }).collect::<Vec<_>>().join(" ");
    text.lines().map(|text| line(text).replace("  1s", " 1s").replace("  1s", " 1s") + "\n").collect()
}

#[test]
fn cables_as_planned_swapped_and_silent_are_told_apart() {
    let Some(bench) = bench() else { return };
    let _s1 = bench.lldpd("s1", "p*", "s1.plant.example");
    let _camera = bench.lldpd("camera", "eth*", "CAMERA");
    let _drive = bench.lldpd("drive", "eth*", "plc-7.plant.example");
    bench.until("s1", &["as-planned", "as-planned", "silent"]);
    let found = bench.check("s1", &["--json"]);
    assert_eq!(found.status.code(), Some(1));
    let found = document(&found);
    let (camera, drive) = (&found["nodes"][0]["ports"][0], &found["nodes"][0]["ports"][1]);
    assert_eq!(camera["heard"][0]["system_name"], "CAMERA");
    assert_eq!(camera["heard"][0]["port_description"], "eth0");
    assert_eq!(drive["heard"][0]["node"], "drive", "by system-name of the file");
    assert_eq!(drive["planned"], json!({ "node": "drive", "port": "eth0" }));
    assert_eq!(found["nodes"][0]["ports"][2]["heard"], json!([]));
    valid(&bench, &found);

    // The one who was silent speaks, and a station sees the same cable from its end.
    let hmi = bench.lldpd("hmi", "eth*", "hmi");
    bench.until("s1", &["as-planned"; 3]);
    assert_eq!(bench.check("s1", &[]).status.code(), Some(0));
    bench.until("drive", &["as-planned"]);
    let text = stdout(&bench.check("drive", &[]));
    assert!(text.starts_with("drive  1 cable as planned\n\n  port  planned"), "{text}");
    let named = bench.check("drive", &["--node", "camera"]);
    assert_eq!(named.status.code(), Some(1), "{}", stderr(&named));
    let says = "differs  eth0: a cable is swapped: port p2 of s1 is heard, not p1, and belongs";
    assert!(stdout(&named).contains(says), "{}", stdout(&named));

    drop(hmi);
    bench.s1.ip(&["link", "del", "p1"]).unwrap();
    bench.s1.ip(&["link", "del", "p2"]).unwrap();
    bench.cable("p1", "drive");
    bench.cable("p2", "camera");
    bench.until("s1", &["other-node", "other-node", "silent"]);
    let swapped = bench.check("s1", &[]);
    assert_eq!(swapped.status.code(), Some(1));
    assert_eq!(without_ages(&stdout(&swapped)), without_ages(&example().1));

    // The right node, by an interface that the file does not have; a port that is down.
    bench.s1.ip(&["link", "del", "p2"]).unwrap();
    bench.s1.ip(&["link", "del", "p1"]).unwrap();
    bench.s1.join("p1", bench.station("camera"), "eth7").unwrap();
    bench.cable("p2", "drive");
    bench.s1.ip(&["link", "set", "p3", "down"]).unwrap();
    bench.until("s1", &["other-port", "as-planned", "link-down"]);
    let text = stdout(&bench.check("s1", &[]));
    assert!(text.contains("differs  p1: port eth7 of camera is heard, not eth0\n"), "{text}");
    assert!(text.contains("differs  p3: the link is down\n"), "{text}");
}

fn valid(bench: &Bench, document: &Value) {
    let Some(python) = python_with("jsonschema, tomllib") else { return };
    let file = |name: &str| bench.folder.path().join(name).to_str().unwrap().to_owned();
    let [schema, good, wrong] = ["schema.json", "check.json", "wrong.json"].map(file);
    fs::write(&schema, run(&["schema", "network-check"]).stdout).unwrap();
    fs::write(&good, document.to_string()).unwrap();
    let mut other = document.clone();
    other["nodes"][0]["ports"][0]["verdict"] = json!("good");
    fs::write(&wrong, other.to_string()).unwrap();
    let judge = |document: &str| {
        let output = python_runs(&python, VALIDATE, &[&schema, document], "");
        assert!(output.status.success(), "{}", said(&output));
        stdout(&output)
    };
    assert_eq!(judge(&good), "");
    assert!(judge(&wrong).contains("good"));
}

/// Sends frames of LLDP each half second: a chassis, a port, a time to live, and a system name of any octets.
const SPEAK: &str = r#"
import socket, sys, time
tlv = lambda kind, value: bytes([kind << 1 | len(value) >> 8, len(value) & 255]) + value
name = bytes.fromhex(sys.argv[2])
frame = bytes.fromhex('0180c200000e02000000000988cc') + tlv(1, b'\x07evil') + tlv(2, b'\x05eth0') + tlv(3, b'\0\x78')
frame += tlv(5, name) + tlv(0, b'')
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind((sys.argv[1], 0))
while True:
    sender.send(frame.ljust(60, b'\0'))
    time.sleep(0.5)
"#;

#[test]
fn a_hub_is_told_and_what_neighbours_say_steers_no_terminal() {
    let Some(bench) = bench() else { return };
    if !has("python3") {
        return;
    }
    // The camera is behind a bridge that passes LLDP on, with another one, who may say what it likes.
    bench.s1.ip(&["link", "del", "p1"]).unwrap();
    let hub = namespace().unwrap();
    bench.s1.join("p1", &hub, "h1").unwrap();
    hub.join("h2", bench.station("camera"), "eth0").unwrap();
    hub.join("h3", &hub, "evil").unwrap();
    hub.ip(&["link", "add", "hub", "type", "bridge", "group_fwd_mask", "0x4000"]).unwrap();
    for port in ["h1", "h2", "h3"] {
        hub.ip(&["link", "set", port, "master", "hub"]).unwrap();
    }
    hub.ip(&["link", "set", "hub", "up"]).unwrap();
    let _s1 = bench.lldpd("s1", "p*", "s1");
    let _camera = bench.lldpd("camera", "eth*", "camera");
    bench.until("s1", &["as-planned", "silent", "silent"]);

    let name = b"a\x1b[2J\x07\"\\\nb \xff\xfe \xe2\x80\xae".map(|octet| format!("{octet:02x}")).concat();
    let mut speak = Command::new("python3");
    speak.args(["-c", SPEAK, "evil", &name]);
    let _evil = Running(hub.within(|| speak.spawn()).unwrap().unwrap());
    bench.until("s1", &["several", "silent", "silent"]);
    let text = stdout(&bench.check("s1", &[]));
    let says = "differs  p1: 2 neighbours are heard, ";
    assert!(text.contains(says) && text.contains("something in between passes LLDP on"), "{text}");
    assert!(!text.contains(|c: char| c != '\n' && c.is_control()) && !text.contains('\u{202e}'), "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with('b')), "{text}");
    let heard = document(&bench.check("s1", &["--json"]));
    let heard = heard["nodes"][0]["ports"][0]["heard"].as_array().unwrap();
    let evil = heard.iter().find(|one| one["chassis"]["value"] == "evil").unwrap();
    assert!(evil["system_name"].as_str().unwrap().starts_with("a\u{1b}[2J\u{7}\"\\\nb "), "{evil}");
    assert_eq!(evil["node"], Value::Null);
}

#[test]
fn where_lldpd_cannot_be_asked_it_is_said_what_to_do() {
    if !has("ip") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("cables.toml"), example().0).unwrap();
    let check = |words: &[&str]| {
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let mut command = ontick(&[&["network", "check", "cables.toml"], words].concat());
        let output = command.current_dir(&folder).env("PATH", path).output().unwrap();
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
        stderr(&output)
    };
    let warns = |words: &str| format!("echo '2026-11-27T16:47:10 [WARN/control] {words}' >&2; exit 1");
    let connects = |why: &str| warns(&format!("unable to connect to socket /run/lldpd.socket: {why}"));
    let nobody =
        r#"echo '{"lldp": [{"interface": [{"name": "lo", "chassis": [{"name": [{"value": "x\u001b[2J"}]}]}]}]}'"#;
    for (script, says) in [
        (
            connects("No such file or directory").as_str(),
            "ontick: lldpd does not run: start it (sudo systemctl start lldpd)",
        ),
        (&connects("Connection refused"), "ontick: lldpd does not run: start it"),
        (&connects("Permission denied"), "ontick: lldpd's socket is not open to the user that lldpcli runs as"),
        (&warns("unknown command"), "ontick: lldpd cannot be asked: lldpcli says \"unknown command\"\n"),
        ("exit 1", "ontick: lldpd cannot be asked: lldpcli says nothing of the reason\n"),
        ("exit 0", "ontick: lldpcli prints nothing\n"),
        ("exec sleep 600", "ontick: lldpd does not answer within 5 s\n"),
        (
            "echo 'LLDP neighbors:'",
            "ontick: lldpcli's answer is not what `lldpcli -f json0` of lldpd 0.9.8 and later prints",
        ),
        ("echo '{}'", "missing field `lldp`"),
        ("printf '\\377'", "ontick: lldpcli's answer is not what"),
        ("yes '{' | head -c 17000000", "ontick: lldpcli's answer is longer than 16 MiB\n"),
        (
            nobody,
            "ontick: no node of the network is known to be this machine: none is called x\u{fffd}[2J, as lldpd calls it",
        ),
    ] {
        stand_in(folder.path(), script);
        let said = check(&[]);
        assert!(said.contains(says) && said.lines().count() == 1, "{script}: {said}");
    }
    stand_in(folder.path(), &connects("No such file or directory"));
    let said = check(&["--socket", "none"]);
    assert!(said.starts_with("ontick: lldpd does not run at none: "), "{said}");
    stand_in(folder.path(), &connects("Permission denied"));
    assert_eq!(check(&[]).ends_with(": run it with sudo\n"), !rustix::process::geteuid().is_root());
    stand_in(folder.path(), "echo '{\"lldp\": [{}]}'");
    let said = check(&["--node", "plotter"]);
    assert!(
        said.starts_with("ontick: the network has no node plotter; its nodes are s1, camera, drive, hmi"),
        "{said}"
    );
    if !Path::new("/usr/sbin/lldpcli").exists() {
        fs::remove_file(folder.path().join("lldpcli")).unwrap();
        let mut command = ontick(&["network", "check", "cables.toml"]);
        // Where ip is.
        let output = command.current_dir(&folder).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").output().unwrap();
        let says = "ontick: the program lldpcli is not installed: it is in the package lldpd, ";
        assert!(output.status.code() == Some(2) && stderr(&output).starts_with(says), "{}", stderr(&output));
    }
}
