//! `ontick network time`: linuxptp accepts its files, and two nodes in network namespaces share one time.
//!
//! Both have the clock of this machine, so nothing here may set one: every ptp4l is free-running.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use ontick_switch::verify::namespace::Namespace;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::{Running, has, namespace::namespace, ontick, run, runs, send, stderr, stdout, wait_until};

/// Two stations on one cable; a master is lost after 1.5 s without a word of it.
pub(super) const NETWORK: &str = r#"
station = [{ name = "a" }, { name = "b" }]
link = [{ between = ["a", "b"], ports = ["porta", "portb"] }]
stream = [{ name = "f", from = "a", to = "b", size = 100, period = "1ms" }]
[time]
profile = "gptp"
grandmaster = "a"
sync-interval = "500ms"
announce-interval = "500ms"
"#;
/// Lines of a run that are looked through for one that must come.
const LINES: usize = 300;

/// A cable between two namespaces, and a folder with the network's file.
pub(super) struct Cable {
    pub(super) a: Namespace,
    pub(super) b: Namespace,
    pub(super) folder: TempDir,
}

pub(super) fn cable(network: &str) -> Option<Cable> {
    if !has("ptp4l") {
        return None;
    }
    let (a, b) = (namespace()?, namespace()?);
    a.join("porta", &b, "portb").unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("network.toml"), network).unwrap();
    Some(Cable { a, b, folder })
}

/// `network time run`, at work.
pub(super) struct Node {
    pub(super) child: Running,
    lines: BufReader<ChildStdout>,
}

impl Cable {
    /// A node in its namespace, by this file.
    pub(super) fn start(&self, node: &str, file: &str) -> Node {
        self.start_with(node, file, &[])
    }

    /// The same with more options.
    pub(super) fn start_with(&self, node: &str, file: &str, more: &[&str]) -> Node {
        let mut command = ontick(&["network", "time", "run", file, "--node", node, "--free-running", "--json"]);
        command
            .current_dir(&self.folder)
            .args(["--sockets", "sockets"])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let namespace = if node == "a" { &self.a } else { &self.b };
        let mut child = namespace.within(|| command.spawn()).unwrap().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Node { child: Running(child), lines }
    }

    /// The processes of ptp4l that were started with a socket in this folder.
    pub(super) fn programs(&self) -> Vec<i32> {
        let folder = self.folder.path().file_name().unwrap().to_str().unwrap().to_owned();
        let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        let is_one = |pid: &i32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let at_work = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            words.starts_with(b"/") && words.windows(5).any(|w| w == b"ptp4l") && at_work.ends_with(&folder)
        };
        pids.filter(|pid| is_one(pid) && runs(*pid)).collect()
    }
}

impl Node {
    /// The next document of which this holds.
    pub(super) fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let mut seen = String::new();
        for _ in 0..LINES {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                let mut said = String::new();
                let _ = std::io::Read::read_to_string(self.child.0.stderr.as_mut().unwrap(), &mut said);
                panic!("it ended before {what}: {said}\n{seen}");
            }
            let document: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if holds(&document) {
                return document;
            }
            seen += &line;
        }
        panic!("waited in vain for {what}:\n{seen}");
    }

    pub(super) fn event(&mut self, name: &str) -> Value {
        self.until(name, |document| document["event"] == name)
    }

    /// What it came to after Ctrl-C, and its exit status.
    pub(super) fn end(mut self) -> (Value, Option<i32>) {
        send(self.child.0.id(), Signal::INT);
        let summary = self.until("the summary", |document| document["kind"] == "summary");
        (summary, self.child.0.wait().unwrap().code())
    }
}

#[test]
fn a_grandmaster_that_is_killed_and_comes_back_is_reported_by_the_one_that_follows() {
    let Some(cable) = cable(NETWORK) else { return };
    let mut a = cable.start("a", "network.toml");
    a.event("grandmaster");
    let mut b = cable.start("b", "network.toml");
    b.event("follows");
    let state = b.until("an offset", |document| document["offset_ns"].is_i64() && document["path_delay_ns"].is_i64());
    assert_eq!((&state["role"], &state["ports"][0]["interface"]), (&"follower".into(), &"portb".into()));
    // One clock on both sides: far below what two clocks would differ by that nobody set.
    assert!(state["offset_ns"].as_i64().unwrap().abs() < 100_000_000, "{state}");
    wait_until("both programs", || cable.programs().len() == 2);

    a.child.0.kill().unwrap();
    a.child.0.wait().unwrap();
    wait_until("the program of the one that was killed to end", || cable.programs().len() == 1);
    let lost = b.event("lost");
    assert_eq!(lost["text"], format!("the grandmaster {} is lost", state["grandmaster"].as_str().unwrap()));
    b.event("grandmaster");

    let again = cable.start("a", "network.toml");
    let returned = b.event("returned");
    assert!(returned["text"].as_str().unwrap().contains("is back, after "), "{returned}");
    let (summary, status) = b.end();
    // On a busy machine more than the one that was killed may be lost.
    assert!(status == Some(1) && summary["losses"].as_u64().unwrap() >= 1, "{summary}");
    let lost_ns = returned["at_ns"].as_u64().unwrap() - lost["at_ns"].as_u64().unwrap();
    assert!(summary["without_master_ns"].as_u64().unwrap() >= lost_ns, "{summary}, of {lost_ns} ns");
    assert!(summary["offset_ns"]["count"].as_u64().unwrap() > 0 && summary["sync_error_ns"].is_null(), "{summary}");
    let (summary, status) = again.end();
    assert_eq!((status, &summary["losses"]), (Some(0), &0.into()), "{summary}");
    wait_until("all programs to end", || cable.programs().is_empty());
    let left: Vec<_> = fs::read_dir(cable.folder.path().join("sockets")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Nobody knows what was while ptp4l hung.
#[test]
fn a_follower_whose_ptp4l_hangs_did_not_have_the_time_throughout() {
    let Some(cable) = cable(NETWORK) else { return };
    let mut a = cable.start("a", "network.toml");
    a.event("grandmaster");
    let of_a = cable.programs();
    let mut b = cable.start("b", "network.toml");
    b.event("follows");
    b.until("an offset", |document| document["offset_ns"].is_i64());
    let program = cable.programs().into_iter().find(|program| !of_a.contains(program)).unwrap() as u32;
    send(program, Signal::STOP);
    let silent = b.event("silent");
    send(program, Signal::CONT);
    let answers = b.event("answers");
    let at_ns = |of: &Value| of["at_ns"].as_u64().unwrap();
    assert!(at_ns(&answers) > at_ns(&silent));
    let (summary, status) = b.end();
    // Of which it is silent for 5 s, and all but the first 2 s are not good.
    assert!(status == Some(1) && summary["not_good_ns"].as_u64().unwrap() > 2_000_000_000, "{summary}");
}

#[test]
fn a_run_whose_ptp4l_hangs_ends_with_ctrl_c() {
    let Some(cable) = cable(NETWORK) else { return };
    let mut a = cable.start("a", "network.toml");
    a.event("grandmaster");
    send(cable.programs()[0] as u32, Signal::STOP);
    // By then its socket is full of questions, and the next one waits: the signal is to come meanwhile.
    a.event("silent");
    std::thread::sleep(Duration::from_millis(200));
    let (summary, status) = a.end();
    assert!(status == Some(1) && summary["losses"] == 0, "{status:?} {summary}");
    wait_until("its program to end", || cable.programs().is_empty());
}

#[test]
fn two_grandmasters_of_one_network_are_reported() {
    let Some(cable) = cable(NETWORK) else { return };
    // Of two clocks that are alike, the one with the lower identity gives the time.
    for (namespace, port, address) in
        [(&cable.a, "porta", "02:00:00:00:00:01"), (&cable.b, "portb", "02:00:00:00:00:02")]
    {
        namespace.ip(&["link", "set", "dev", port, "address", address]).unwrap();
    }
    let other = NETWORK.replace("grandmaster = \"a\"", "grandmaster = \"b\"");
    fs::write(cable.folder.path().join("other.toml"), other).unwrap();
    let mut a = cable.start("a", "network.toml");
    a.event("grandmaster");
    let said = cable.start("b", "other.toml").event("two-grandmasters");
    let text =
        "two clocks are configured as this grandmaster (priority1 64): the other one, 020000.fffe.000001, is followed";
    assert_eq!(said["text"], text);
}

#[test]
fn linuxptp_accepts_the_files_of_both_profiles() {
    for (profile, delay) in [("gptp", "P2P"), ("default", "E2E")] {
        let Some(cable) = cable(&NETWORK.replace("\"gptp\"", &format!("\"{profile}\""))) else { return };
        let files = cable.folder.path().join("files");
        let words = ["network", "time", "config", "network.toml", "--node", "b", "--out", "files"];
        let written = cable.b.within(|| ontick(&words).current_dir(&cable.folder).output()).unwrap().unwrap();
        assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
        let text = fs::read_to_string(files.join("ptp4l.conf")).unwrap();
        assert!(text.contains(delay) && text.contains("[portb]"), "{text}");
        assert!(!files.join("phc2sys.conf").exists(), "no card has a clock here");
        let mut ptp4l = Command::new("ptp4l");
        ptp4l.args(["-f", "files/ptp4l.conf", "--free_running", "1", "--uds_address", "uds", "-m", "-q"]);
        ptp4l.current_dir(&cable.folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Running(cable.b.within(|| ptp4l.spawn()).unwrap().unwrap());
        let lines: Vec<String> = BufReader::new(child.0.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap)
            .take_while(|line| !line.contains("INITIALIZING to LISTENING"))
            .take(50)
            .collect();
        assert!(lines.len() < 50 && child.0.try_wait().unwrap().is_none(), "{profile}: {lines:?}\n{text}");

        // With hardware's stamps: what it then lacks is the hardware.
        let words = [
            "network",
            "time",
            "config",
            "network.toml",
            "--node",
            "b",
            "--time-stamping",
            "hardware",
            "--out",
            "hard",
        ];
        let written = run_in(&cable, &words);
        assert_eq!(written.0, Some(0), "{}", written.1);
        let mut ptp4l = Command::new("ptp4l");
        ptp4l.args(["-f", "hard/ptp4l.conf", "--free_running", "1", "--uds_address", "uds", "-m", "-q"]);
        let ended = cable.b.within(|| ptp4l.current_dir(&cable.folder).output()).unwrap().unwrap();
        let said = stdout(&ended) + &stderr(&ended);
        assert!(said.contains("does not support requested timestamping mode") && !said.contains("parse"), "{said}");
        let mut phc2sys = Command::new("phc2sys");
        phc2sys.args(["-f", "hard/phc2sys.conf", "-a", "-r", "--uds_address", "nobody", "-m", "-q"]);
        let mut child = Running(phc2sys.current_dir(&cable.folder).stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("Waiting for ptp4l"), "{line}");
    }
}

/// Its own judge: ts2phc accepts the file, and then lacks the card.
#[test]
fn linuxptp_accepts_the_files_of_a_grandmaster_with_a_pulse() {
    if !has("ts2phc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (source, name) in [("nmea:/dev/ttyS9", "nmea"), ("generic", "generic")] {
        let pps = format!("pps = {{ source = \"{source}\", pin = 1, channel = 2, accuracy = \"1us\" }}\n");
        let file = folder.path().join("network.toml");
        fs::write(&file, NETWORK.to_owned() + &pps).unwrap();
        let files = folder.path().join(name);
        let [file, out] = [&file, &files].map(|path| path.display().to_string());
        let config = ["network", "time", "config", &file, "--node", "a"];
        let written = run(&[&config[..], &["--time-stamping", "hardware", "--out", &out]].concat());
        assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
        let read = |name: &str| fs::read_to_string(files.join(name)).unwrap();
        assert!(read("ptp4l.conf").contains("0x23") && read("phc2sys.conf").contains("-s porta -w"));
        let judge = |text: String| {
            fs::write(files.join("ts2phc.conf"), text).unwrap();
            let mut ts2phc = Command::new("ts2phc");
            ts2phc.arg("-f").arg(files.join("ts2phc.conf")).args(["-s", name, "-m", "-q", "-l", "7"]);
            let ended = ts2phc.output().unwrap();
            stdout(&ended) + &stderr(&ended)
        };
        let text = read("ts2phc.conf");
        let said = judge(text.clone());
        for part in ["porta.ts2phc.pin_index is 1", "porta.ts2phc.channel is 2", "unknown clock porta"] {
            assert!(said.contains(part) && !said.contains("parse"), "{said}");
        }
        assert!(judge(text.replace("pin_index", "pin")).contains("failed to parse"), "it judges");

        let software = run(&[&config[..], &["--time-stamping", "software"]].concat());
        let said = stderr(&software);
        assert_eq!(software.status.code(), Some(2), "{said}");
        assert!(said.contains("[time.pps] needs a network card with a clock") && said.lines().count() == 1, "{said}");
    }
}

/// Outside of the namespaces, where the interfaces are not.
fn run_in(cable: &Cable, words: &[&str]) -> (Option<i32>, String) {
    let output = ontick(words).current_dir(&cable.folder).output().unwrap();
    (output.status.code(), stderr(&output))
}

#[test]
fn what_cannot_be_done_is_said_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let network = file("network.toml", NETWORK);
    let without = file("without.toml", NETWORK.split("[time]").next().unwrap());
    let unnamed = file("unnamed.toml", &NETWORK.replace(", ports = [\"porta\", \"portb\"]", ""));
    let wrong = file("wrong.toml", &NETWORK.replace("announce-interval = \"500ms\"", "announce-interval = \"200ms\""));
    for (file, node, says) in [
        (&network, "c", "the network has no node c; its nodes are a, b"),
        (
            &network,
            "a",
            "there is no interface porta on this machine: write the files of node a there, or say what stamps",
        ),
        (&without, "a", "the network's file has no [time]: write one with `profile = \"gptp\"`"),
        (&unnamed, "a", "the file does not name all interfaces of node a: name them by `ports`"),
        (&wrong, "a", "`announce-interval`: "),
    ] {
        let output = run(&["network", "time", "config", file, "--node", node]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says) && said.lines().count() == 1, "{said}");
    }
    if rustix::process::geteuid().is_root() {
        let output = run(&["network", "time", "run", &network, "--node", "a", "--free-running"]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(stderr(&output), "ontick: there is no interface porta on this machine\n");
    }
}

#[test]
fn a_program_that_ends_ends_the_run_with_its_words() {
    let Some(cable) = cable(NETWORK) else { return };
    let mut a = cable.start("a", "network.toml");
    a.event("grandmaster");
    let programs = cable.programs();
    assert_eq!(programs.len(), 1);
    send(programs[0] as u32, Signal::KILL);
    a.until("the summary", |document| document["kind"] == "summary");
    wait_until("the run to end", || a.child.0.try_wait().unwrap().is_some());
    assert_eq!(a.child.0.wait().unwrap().code(), Some(2));
    let mut said = String::new();
    std::io::Read::read_to_string(a.child.0.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert!(said.contains("ontick: ptp4l ended: ptp4l says \""), "{said}");
}
