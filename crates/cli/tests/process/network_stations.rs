//! `ontick network talk` and `ontick network listen`: real frames from one namespace to another, and tcpdump as the judge of
//! what is on the cable.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use ontick_switch::verify::namespace::Namespace;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::wire_capture::{Capture, Frame, tai_ahead_ns};
use super::{Running, alone_on_this_machine, has, namespace::namespace, ontick, record, samples, send, stderr, stdout};

/// Two streams through a switch; the second in frames of three, in a VLAN.
pub const NETWORK: &str = r#"
switch = [{ name = "s1" }]
station = [{ name = "a" }, { name = "b" }]
link = [{ between = ["a", "s1"] }, { between = ["s1", "b"] }]
stream = [
  { name = "setpoint", from = "a", to = "b", size = 100, period = "1ms" },
  { name = "video", from = "a", to = "b", size = 3400, period = "4ms", vlan = 100 },
]
"#;
/// Octets before the data of a frame with a tag: two addresses, the tag, the EtherType.
const HEAD: usize = 18;
const PLAN: [&str; 2] = ["network.toml", "plan.json"];

/// A cable between two namespaces, and a plan. Stations do not care that no switch is between them.
struct Cable {
    talks: Namespace,
    listens: Namespace,
    folder: TempDir,
    _alone: crate::apart::Alone,
}

fn cable() -> Option<Cable> {
    if !has("ip") {
        return None;
    }
    let (talks, listens) = (namespace()?, namespace()?);
    talks.join("out", &listens, "in").unwrap();
    talks.ip(&["link", "set", "dev", "lo", "up"]).unwrap();
    Some(Cable { talks, listens, folder: planned(NETWORK), _alone: alone_on_this_machine() })
}

/// The network and its plan.
fn planned(network: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("network.toml"), network).unwrap();
    let words = ["network", "plan", "network.toml", "--target", "user", "--out", "plan.json"];
    let planned = ontick(&words).current_dir(&folder).output().unwrap();
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    folder
}

fn in_folder(folder: &TempDir, command: &str, station: &str, more: &[&str]) -> Command {
    let mut all = ontick(&[]);
    all.current_dir(folder).args(["network", command]).args(PLAN).args(["--station", station]).args(more);
    all
}

impl Cable {
    fn talk(&self, more: &[&str]) -> Output {
        self.talks.within(|| in_folder(&self.folder, "talk", "a", more).output()).unwrap().unwrap()
    }

    /// A listener at work.
    fn listen(&self, more: &[&str]) -> (Running, BufReader<ChildStderr>) {
        self.listen_in(&self.folder, more)
    }

    fn listen_in(&self, folder: &TempDir, more: &[&str]) -> (Running, BufReader<ChildStderr>) {
        let spawn = || in_folder(folder, "listen", "b", more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = Running(self.listens.within(spawn).unwrap().unwrap());
        let mut said = BufReader::new(child.0.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("listening for 2 streams of station b"), "{line}");
        (child, said)
    }
}

/// What it printed until it ended after Ctrl-C.
fn ended(mut child: Running) -> (Option<i32>, String) {
    send(child.0.id(), Signal::INT);
    let mut text = String::new();
    std::io::Read::read_to_string(child.0.stdout.as_mut().unwrap(), &mut text).unwrap();
    (wait(&mut child.0), text)
}

fn tai_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64 + tai_ahead_ns()
}

fn wait(child: &mut Child) -> Option<i32> {
    child.wait().unwrap().code()
}

fn sorted(lines: &[impl AsRef<str>]) -> Vec<&str> {
    let mut lines: Vec<&str> = lines.iter().map(AsRef::as_ref).collect();
    lines.sort_unstable();
    lines
}

fn number(octets: &[u8]) -> u64 {
    octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet))
}

/// Frames of talkers, by the EtherType behind the tag.
fn of_talkers(frames: Vec<Frame>) -> Vec<Frame> {
    frames.into_iter().filter(|frame| frame.bytes[12..14] == [0x81, 0] && frame.bytes[16..18] == [0x88, 0xb6]).collect()
}

/// Which base time is the best depends on the machine; that it is one, and taken by all, does not.
#[test]
fn a_base_time_that_was_looked_for_is_one_to_talk_from() {
    let Some(cable) = cable() else { return };
    let base_time = |more: &[&str]| in_folder(&cable.folder, "base-time", "a", more).output().unwrap();
    let begun_ns = tai_ns();
    let found = base_time(&["--cpu", "any", "--policy", "other", "--ahead", "2s"]);
    assert_eq!(found.status.code(), Some(0), "{}", stderr(&found));
    let base: u64 = stdout(&found).trim().parse().unwrap();
    // The streams begin anew together every 4 ms.
    assert!((begun_ns + 2_000_000_000..tai_ns() + 2_004_000_000).contains(&base), "{base} from {begun_ns}");
    assert!(stderr(&found).contains("held the CPU up") || stderr(&found).contains("the CPU was held up "));
    let talked = cable.talk(&["--interface", "out", "--base-time", &base.to_string(), "--count", "50", "--json"]);
    assert_eq!((talked.status.code(), samples(&record(&talked)["series"][0])), (Some(0), 50));

    let nowhere = base_time(&["--cpu", "1023"]);
    assert_eq!((nowhere.status.code(), stdout(&nowhere)), (Some(2), String::new()));
    assert!(stderr(&nowhere).starts_with("ontick: CPU 1023 is not online"), "{}", stderr(&nowhere));
    let own = base_time(&["--policy", "deadline:200us/1ms/1ms"]);
    assert_eq!((own.status.code(), stdout(&own)), (Some(2), String::new()));
    assert!(stderr(&own).contains("held up by its own budget"), "{}", stderr(&own));
    let refused = in_folder(&cable.folder, "base-time", "b", &[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).starts_with("ontick: station b sends "), "{}", stderr(&refused));
    let folder = planned(&NETWORK.replace("\"4ms\"", "\"300ms\""));
    let long = in_folder(&folder, "base-time", "a", &[]).output().unwrap();
    assert_eq!((long.status.code(), stdout(&long)), (Some(2), String::new()));
    assert!(stderr(&long).contains("begin together only every 300ms"), "{}", stderr(&long));
}

#[test]
fn every_frame_on_the_cable_is_as_planned_and_the_listener_counts_them_all() {
    let Some(cable) = cable() else { return };
    let file = cable.folder.path().join("cable.pcap");
    let Some(capture) = cable.listens.within(|| Capture::begin("in", &file)).unwrap() else { return };
    let more = ["--interface", "in", "--record", "heard.json", "--frames", "frames.csv"];
    let (listener, _said) = cable.listen(&more);
    // Cycles begin two seconds from now, at no round time.
    let base_ns = tai_ns() / 1_000_000_000 * 1_000_000_000 + 2_000_123_000;
    fs::write(cable.folder.path().join("payload"), b"a payload of 21 bytes").unwrap();
    let base = base_ns.to_string();
    let more = ["--interface", "out", "--base-time", &base, "--payload", "setpoint=payload"];
    let talked = cable.talk(&[&more[..], &["--count", "500", "--json"]].concat());
    let talked = record(&talked);
    assert_eq!(samples(&talked["series"][0]), 500);
    let (_, text) = ended(listener);
    let frames = of_talkers(capture.end());

    let plan: Value = serde_json::from_slice(&fs::read(cable.folder.path().join("plan.json")).unwrap()).unwrap();
    let mut counts = [0u64, 0];
    let mut on_cable = Vec::new();
    for frame in &frames {
        let (data, bytes) = (&frame.bytes[HEAD..], &frame.bytes);
        assert_eq!(&data[..4], b"OTN1");
        let stream = number(&data[8..12]) as usize;
        let planned = &plan["streams"][stream];
        // The tag: priority as the queue, and the VLAN of the file.
        let vlan = [0, 100][stream];
        let tag = planned["queue"].as_u64().unwrap() << 13 | vlan;
        assert_eq!(number(&bytes[14..16]), tag, "{planned}");
        let to: Vec<String> = bytes[..6].iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(planned["address"], to.join(":"), "{planned}");
        // In the period of its number, at the stream's offset.
        let [part, message] = [number(&data[12..14]), number(&data[16..24])];
        let [planned_ns, sent_ns] = [number(&data[24..32]), number(&data[32..40])];
        let [offset_ns, period_ns] = ["offset_ns", "period_ns"].map(|of| planned[of].as_u64().unwrap());
        assert_eq!(planned_ns, base_ns + message * period_ns + offset_ns);
        // Never before it, by the talker's clock and by tcpdump's.
        let at_ns = frame.at_ns + tai_ahead_ns();
        assert!(planned_ns <= sent_ns && planned_ns <= at_ns, "{planned_ns} {sent_ns} {at_ns}");
        let (octets, payload) = match (stream, part) {
            (0, 0) => (118, &b"a payload of 21 bytes"[..]),
            (1, 0 | 1) => (1_518, &b""[..]),
            (1, 2) => (418, &b""[..]),
            other => panic!("{other:?}"),
        };
        assert_eq!(frame.octets, octets);
        assert_eq!(number(&data[14..16]), payload.len() as u64);
        assert_eq!(&data[40..40 + payload.len()], payload);
        counts[stream] += 1;
        let latency_ns = at_ns + offset_ns - planned_ns;
        let judgement = if latency_ns > period_ns { "late" } else { "in-time" };
        let name = ["setpoint", "video"][stream];
        on_cable
            .push(format!("{name},{message},{part},{planned_ns},{sent_ns},{at_ns},kernel,{latency_ns},{judgement}"));
    }
    // The listener has a line for each of them, with the stamp of the capture.
    let listed = fs::read_to_string(cable.folder.path().join("frames.csv")).unwrap();
    let (lost, came): (Vec<&str>, Vec<&str>) = listed.lines().skip(1).partition(|line| line.ends_with(",lost"));
    assert_eq!(sorted(&came), sorted(&on_cable), "{listed}");
    // The second stream's messages have three frames, and are fewer.
    assert!(counts[0] + counts[1] / 3 == 500 && counts[0] > counts[1] / 3 && counts[1] > 0, "{counts:?}");

    assert!(text.contains("station b") && text.contains("stamped by the kernel"), "{text}");
    let heard: Value = serde_json::from_slice(&fs::read(cable.folder.path().join("heard.json")).unwrap()).unwrap();
    assert_eq!(heard["network"]["frames"].as_u64(), Some(counts.iter().sum()));
    let streams = heard["network"]["streams"].as_array().unwrap();
    let received = |n: usize| streams[n]["received"].as_u64().unwrap();
    assert_eq!((received(0), received(1)), (counts[0], counts[1] / 3));
    for of in streams {
        for what in ["duplicates", "out_of_order", "early"] {
            assert_eq!(of[what], 0, "{of}");
        }
    }
    // A message for which the talker was held up too long is missed there, and lacks here.
    let lacking = |n: usize| streams[n]["lost_frames"].as_u64().unwrap();
    assert_eq!(lost.len() as u64, lacking(0) + lacking(1), "{lost:?}");
    assert_eq!(Some(lacking(0) + lacking(1) / 3), talked["series"][0]["missed"].as_u64(), "{streams:?}");
    // A record is shown as the run was.
    let again = ontick(&["report", "heard.json"]).current_dir(&cable.folder).output().unwrap();
    assert_eq!(stdout(&again), text);
}

#[test]
fn what_is_lost_or_never_comes_is_said_by_stream() {
    let Some(cable) = cable() else { return };
    let (listener, _said) = cable.listen(&["--interface", "in", "--json"]);
    // Only one of the streams comes by this cable.
    let talked = cable.talk(&["--interface", "out", "--udp", "setpoint=127.0.0.1:5000", "--duration", "100ms"]);
    assert_eq!(talked.status.code(), Some(0), "{}", stderr(&talked));
    let (status, text) = ended(listener);
    let heard: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(status, Some(1));
    assert!(
        heard["notes"].to_string().contains("nothing came of setpoint: does its talker send"),
        "{}",
        heard["notes"]
    );
    assert!(heard["network"]["streams"][1]["received"].as_u64().unwrap() > 0, "{heard}");
    // Another plan, so another network for all the listener knows.
    let other = planned(&NETWORK.replace("size = 100", "size = 101"));
    let (listener, _said) = cable.listen_in(&other, &["--interface", "in"]);
    let talked = cable.talk(&["--interface", "out", "--count", "10"]);
    assert_eq!(talked.status.code(), Some(0), "{}", stderr(&talked));
    send(listener.0.id(), Signal::INT);
    let mut listener = listener;
    assert_eq!(wait(&mut listener.0), Some(2));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut { _said }, &mut said).unwrap();
    assert!(said.contains("before any message came") && said.contains("another plan or another network"), "{said}");
}

/// Handing frames to an interface that is down is quick, and no latency.
#[test]
fn without_a_link_nothing_is_sent_and_that_is_an_error() {
    let Some(cable) = cable() else { return };
    cable.talks.ip(&["link", "set", "dev", "out", "down"]).unwrap();
    for length in [["--duration", "100ms"], ["--count", "20"]] {
        let talked = cable.talk(&[&["--interface", "out", "--require", "99% < 1s"][..], &length].concat());
        let said = stderr(&talked);
        assert_eq!(talked.status.code(), Some(2), "{said}{}", stdout(&talked));
        assert!(said.contains("the kernel took none of ") && said.contains("no link"), "{said}");
        assert!(stdout(&talked).is_empty(), "{}", stdout(&talked));
    }
}

/// Its numbers begin at 0 again, which are no copies of those before.
#[test]
fn a_talker_that_is_started_again_is_heard_by_the_same_listener() {
    let Some(cable) = cable() else { return };
    let (listener, _said) = cable.listen(&["--interface", "in", "--json"]);
    let sent: u64 = [200, 100]
        .map(|count| {
            samples(&record(&cable.talk(&["--interface", "out", "--count", &count.to_string(), "--json"]))["series"][0])
        })
        .iter()
        .sum();
    let (_, text) = ended(listener);
    let heard: Value = serde_json::from_str(&text).unwrap();
    let streams = heard["network"]["streams"].as_array().unwrap();
    assert_eq!(streams.iter().map(|of| of["received"].as_u64().unwrap()).sum::<u64>(), sent, "{streams:?}");
    assert!(streams.iter().all(|of| of["duplicates"] == 0), "{streams:?}");
}

#[test]
fn datagrams_come_as_frames_do() {
    let Some(cable) = cable() else { return };
    for (of, address) in [(&cable.talks, "192.0.2.1/24"), (&cable.listens, "192.0.2.2/24")] {
        let interface = if address.starts_with("192.0.2.1/") { "out" } else { "in" };
        of.ip(&["addr", "add", address, "dev", interface]).unwrap();
    }
    // A message of three frames is no datagram.
    let refused = cable.talk(&["--udp", "video=192.0.2.2:5000", "--udp", "setpoint=192.0.2.2:5000"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("messages of 3 frames, and a datagram is one"), "{}", stderr(&refused));
    // And neither is one that would go in two packets.
    cable.talks.ip(&["link", "set", "dev", "out", "mtu", "120"]).unwrap();
    let refused = cable.talk(&["--interface", "out", "--udp", "setpoint=192.0.2.2:5000"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("has room for 92, so each would go in fragments"), "{}", stderr(&refused));
    cable.talks.ip(&["link", "set", "dev", "out", "mtu", "1500"]).unwrap();
    let (mut listener, _said) =
        cable.listen(&["--interface", "in", "--udp", "192.0.2.2:5000", "--count", "50", "--json"]);
    let talked = cable.talk(&["--interface", "out", "--udp", "setpoint=192.0.2.2:5000", "--duration", "500ms"]);
    assert_eq!(talked.status.code(), Some(0), "{}", stderr(&talked));
    assert!(matches!(wait(&mut listener.0), Some(0 | 1)));
    let mut text = String::new();
    std::io::Read::read_to_string(listener.0.stdout.as_mut().unwrap(), &mut text).unwrap();
    let heard: Value = serde_json::from_str(&text).unwrap();
    let received = |n: usize| heard["network"]["streams"][n]["received"].as_u64().unwrap();
    assert!(received(0) > 0 && received(1) > 0 && received(0) + received(1) >= 50, "{heard}");
}

#[test]
fn what_cannot_be_sent_or_received_is_said_in_a_sentence() {
    let Some(cable) = cable() else { return };
    let refused = |output: Output, words: &str| {
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stdout(&output));
        let said = stderr(&output);
        assert!(said.contains(words) && said.trim().lines().count() <= 2, "{words}: {said}");
    };
    let changed = planned(&NETWORK.replace("size = 100", "size = 101"));
    let talk = |station: &str, more: &[&str]| {
        cable.talks.within(|| in_folder(&cable.folder, "talk", station, more).output()).unwrap().unwrap()
    };
    refused(talk("c", &["--interface", "out"]), "the network has no station c; its stations are a, b");
    refused(talk("s1", &["--interface", "out"]), "s1 is a switch, and only stations");
    refused(talk("b", &["--interface", "out"]), "station b sends no stream");
    fs::copy(cable.folder.path().join("plan.json"), changed.path().join("plan.json")).unwrap();
    let of_another = in_folder(&changed, "talk", "a", &["--interface", "out"]).output().unwrap();
    refused(of_another, "the plan has no place for setpoint as the network has it now: plan again");
    refused(talk("a", &["--interface", "nowhere"]), "there is no interface nowhere");
    refused(talk("a", &["--interface", "lo"]), "lo does not carry Ethernet frames");
    refused(talk("a", &[]), "name the interface that frames leave by");
    refused(talk("a", &["--interface", "out", "--interface", "out"]), "station a has 1 cable (a>s1)");
    refused(talk("a", &["--interface", "out", "--base-time", "1000000000"]), "the same schedule begins anew at");
    refused(talk("a", &["--interface", "out", "--base-time", "18446744073709551615"]), "is more than a year ahead");
    refused(talk("a", &["--interface", "out", "--launch-time", "500us"]), "no queueing discipline etf");
    refused(talk("a", &["--interface", "out", "--udp", "video"]), "write STREAM=ADDRESS:PORT");
    refused(talk("a", &["--interface", "out", "--udp", "audio=127.0.0.1:1"]), "station a sends no stream audio");
    fs::write(cable.folder.path().join("large"), vec![0; 61]).unwrap();
    refused(talk("a", &["--interface", "out", "--payload", "setpoint=large"]), "61 octets are too many");
    refused(talk("a", &["--interface", "out", "--payload", "setpoint=none"]), "none: ");
    refused(talk("a", &["--interface", "out", "--payload", "setpoint=/dev/zero"]), "/dev/zero: longer than 1 MiB");
    let listen = |station: &str, more: &[&str]| {
        cable.listens.within(|| in_folder(&cable.folder, "listen", station, more).output()).unwrap().unwrap()
    };
    refused(listen("a", &["--interface", "in"]), "no stream comes to station a");
    refused(listen("b", &[]), "name the interface that frames come by");
    refused(listen("b", &["--interface", "in", "--frames", "none/frames.csv"]), "none/frames.csv: No such file");
    refused(
        listen("b", &["--interface", "in", "--frames", "plan.json"]),
        "plan.json is read, and --frames would replace",
    );
    let _taken = cable.listens.within(|| std::net::UdpSocket::bind("0.0.0.0:5000")).unwrap().unwrap();
    let taken = listen("b", &["--udp", "0.0.0.0:5000", "--duration", "1s"]);
    refused(taken, "no datagrams can be received at 0.0.0.0:5000");
    // Nobody talks: that is said, and nothing is kept.
    let silent = listen("b", &["--interface", "in", "--duration", "50ms", "--junit", "heard.xml"]);
    assert_eq!(silent.status.code(), Some(1), "{}", stderr(&silent));
    assert!(stdout(&silent).contains("nothing came of setpoint, video"), "{}", stdout(&silent));
    assert!(fs::read_to_string(cable.folder.path().join("heard.xml")).unwrap().contains("<failure"));
}
