//! `ontick latency roundtrip`: requests from one namespace to another, and tcpdump as the judge of what is on the cable.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ontick_switch::verify::namespace::Namespace;
use rustix::process::Signal;
use serde_json::Value;

use super::explain::Tracing;
use super::wire_capture::{Capture, Frame};
use super::{Running, alone_on_this_machine, has, namespace::namespace, ontick, record, samples, send, stderr, stdout};

/// A cable between two namespaces.
pub struct Cable {
    pub asks: Namespace,
    answers: Namespace,
    folder: tempfile::TempDir,
    _alone: crate::apart::Alone,
}

pub fn cable() -> Option<Cable> {
    if !has("ip") {
        return None;
    }
    let (asks, answers) = (namespace()?, namespace()?);
    asks.join("out", &answers, "in").unwrap();
    Some(Cable { asks, answers, folder: tempfile::tempdir().unwrap(), _alone: alone_on_this_machine() })
}

fn roundtrip(more: &[&str]) -> Command {
    let mut command = ontick(&["latency", "roundtrip"]);
    command.args(more);
    command
}

impl Cable {
    fn ask(&self, more: &[&str]) -> Output {
        self.asks.within(|| roundtrip(more).output()).unwrap().unwrap()
    }

    /// A responder at work, and what the other end is to be started with: its address.
    pub fn respond(&self, more: &[&str]) -> (Running, String) {
        self.respond_by(&[&["--interface", "in"], more].concat())
    }

    fn respond_by(&self, more: &[&str]) -> (Running, String) {
        let mut command = roundtrip(&["--respond"]);
        command.args(more).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Running(self.answers.within(|| command.spawn()).unwrap().unwrap());
        let mut said = BufReader::new(child.0.stdout.take().unwrap()).lines();
        let address = said.find_map(|line| Some(line.unwrap().split_once("--to ")?.1.to_owned()));
        child.0.stdout = None;
        // What it prints at its end has a reader until then.
        std::thread::spawn(move || said.for_each(drop));
        (child, address.expect("it says its address"))
    }

    /// Gives both ends addresses; the responder's is 198.51.100.2.
    fn address(&self) {
        for (end, name, address) in [(&self.asks, "out", "198.51.100.1/30"), (&self.answers, "in", "198.51.100.2/30")] {
            end.ip(&["address", "add", address, "dev", name]).unwrap();
        }
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Frames that came to the responder so far.
    fn came(&self) -> u64 {
        let text = self.answers.run("ip", &["-s", "-j", "link", "show", "dev", "in"]).unwrap();
        let links: Value = serde_json::from_str(&text).unwrap();
        links[0]["stats64"]["rx"]["packets"].as_u64().unwrap()
    }
}

fn number(octets: &[u8]) -> u64 {
    octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet))
}

/// The messages of a capture, of what kind they are, and their numbers.
fn messages(frames: Vec<Frame>, head: usize) -> Vec<(u8, u64, Frame)> {
    let ours = frames.into_iter().filter(|frame| frame.bytes[head - 2..head] == [0x88, 0xb6]);
    ours.map(|frame| {
        let data = &frame.bytes[head..];
        assert_eq!((&data[..4], &data[5..8]), (&b"OTR1"[..], &[0; 3][..]));
        (data[4], number(&data[12..20]), frame)
    })
    .collect()
}

fn missed(series: &Value) -> u64 {
    series["missed"].as_u64().unwrap()
}

#[test]
fn what_is_on_the_cable_is_what_the_record_says() {
    let Some(cable) = cable() else { return };
    let captures = [(&cable.answers, "in"), (&cable.asks, "out")].map(|(namespace, interface)| {
        let file = cable.folder.path().join(interface);
        namespace.within(|| Capture::begin(interface, &file)).unwrap()
    });
    let [Some(at_responder), Some(at_requester)] = captures else { return };
    let (_responder, to) = cable.respond(&["--wait", "block"]);
    let more = ["--interface", "out", "--to", &to, "--count", "300", "--period", "2ms", "--deadline", "1ms"];
    let tagged = ["--priority-code", "5", "--vlan", "7", "--json"];
    let run = record(&cable.ask(&[&more[..], &tagged].concat()));
    let (requests, answers) = (messages(at_responder.end(), 18), messages(at_requester.end(), 18));

    let whole = &run["series"][0];
    let trips = &whole["round_trips"];
    let count = |of: &str| trips[of].as_u64().unwrap();
    assert_eq!((run["measurement"].as_str(), whole["name"].as_str()), (Some("roundtrip"), Some("round trip")));
    assert_eq!((trips["link"].as_str(), trips["responder"].as_str()), (Some("out"), Some(to.as_str())));
    // Each of the periods has an answer or is missed.
    assert_eq!(samples(whole) + missed(whole), 300);
    assert_eq!(count("sent") + count("skipped") + count("refused"), 300);
    assert_eq!(count("answered"), samples(whole));
    assert_eq!((count("duplicates"), count("out_of_order")), (0, 0));

    // Requests: 0, answers: 1; with 2 more in practice.
    let of_kind = |all: &[(u8, u64, Frame)], kind: u8| -> Vec<(u64, Frame)> {
        all.iter().filter(|message| message.0 == kind).map(|(_, number, frame)| (*number, frame.clone())).collect()
    };
    let (measured, answered) = (of_kind(&requests, 0), of_kind(&answers, 1));
    assert_eq!((measured.len() as u64, answered.len() as u64), (count("sent"), count("sent")));
    assert!(requests.iter().all(|message| message.0 & 1 == 0) && answers.iter().all(|message| message.0 & 1 == 1));
    let practised = of_kind(&requests, 2).len();
    assert!(practised > 0 && of_kind(&answers, 3).len() == practised);
    let mut largest_ns = 0;
    for (n, ((request, asked), (answer, came))) in measured.iter().zip(&answered).enumerate() {
        assert_eq!((*request, *answer), (n as u64, n as u64));
        for frame in [asked, came] {
            assert_eq!((frame.octets, &frame.bytes[12..16]), (60, &[0x81, 0, 5 << 5, 7][..]));
            assert_eq!(number(&frame.bytes[18 + 20..18 + 28]), 2_000_000);
        }
        assert_eq!((&asked.bytes[..6], &asked.bytes[6..12]), (&came.bytes[6..12], &came.bytes[..6]));
        let address: Vec<String> = asked.bytes[..6].iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(address.join(":"), to);
        // From the responder's interface to the requester's: its residence is within.
        let residence = number(&came.bytes[18 + 28..18 + 32]) + number(&came.bytes[18 + 32..18 + 36]);
        let took_ns = came.at_ns.checked_sub(asked.at_ns).expect("an answer comes behind its request");
        assert!(residence <= took_ns + 1_000, "{residence} of {took_ns}");
        largest_ns = largest_ns.max(took_ns);
    }
    if missed(whole) == 0 {
        assert!(whole["latency"]["max_ns"].as_u64().unwrap() + 1_000 >= largest_ns, "{largest_ns} {whole}");
    }
}

#[test]
fn requests_and_answers_are_as_long_as_is_asked() {
    let Some(cable) = cable() else { return };
    cable.address();
    let (_frames, station) = cable.respond(&["--wait", "block"]);
    let (_datagrams, host) = cable.respond_by(&["--udp", "198.51.100.2:5000", "--wait", "block"]);
    let by_frames = ["--interface", "out", "--to", &station, "--vlan", "7", "--size", "1000"];
    let by_datagrams = ["--to", &host, "--size", "1000"];
    // Behind the headers of Ethernet with its tag; of Ethernet, IPv4 and UDP.
    for (way, head, octets) in [(&by_frames[..], 18, 1_000), (&by_datagrams, 42, 42 + 1_000)] {
        // What is handed right to the driver is seen where it comes alone.
        let captures = [(&cable.answers, "in"), (&cable.asks, "out")].map(|(namespace, interface)| {
            let file = cable.folder.path().join(interface);
            namespace.within(|| Capture::begin(interface, &file)).unwrap()
        });
        let [Some(at_responder), Some(at_requester)] = captures else { return };
        let run = record(&cable.ask(&[way, &["--count", "50", "--period", "2ms", "--json"]].concat()));
        assert_eq!(run["series"][0]["settings"]["octets"], 1_000);
        assert!(!run["notes"].to_string().contains("shorter"), "{}", run["notes"]);
        let is_ours = |frame: &&Frame| frame.bytes.get(head..head + 4) == Some(b"OTR1");
        let frames = [at_responder.end(), at_requester.end()].concat();
        let sizes: Vec<(u8, u64)> =
            frames.iter().filter(is_ours).map(|frame| (frame.bytes[head + 4] & 1, frame.octets)).collect();
        assert!(sizes.iter().all(|(_, size)| *size == octets), "{sizes:?}");
        assert!([0, 1].iter().all(|kind| sizes.iter().filter(|of| of.0 == *kind).count() >= 50), "{sizes:?}");
    }
    cable.asks.ip(&["link", "set", "dev", "out", "mtu", "500"]).unwrap();
    for (way, words) in [
        (&by_frames[..], "frames of 1000 octets are longer than out takes: its MTU of 500 leaves 518 octets"),
        (&by_datagrams, "datagrams of 1000 octets would go in fragments: a packet on the way has room for 472"),
    ] {
        let refused = cable.ask(way);
        assert!(refused.status.code() == Some(2) && stderr(&refused).contains(words), "{}", stderr(&refused));
    }
}

#[test]
fn datagrams_on_the_cable_are_those_of_the_record() {
    let Some(cable) = cable() else { return };
    cable.address();
    let file = cable.folder.path().join("datagrams");
    let Some(capture) = cable.answers.within(|| Capture::begin("in", &file)).unwrap() else { return };
    let (_responder, to) = cable.respond_by(&["--udp", "198.51.100.2:5000", "--wait", "block", "--busy-poll", "50us"]);
    assert_eq!(to, "198.51.100.2:5000");
    let more =
        ["--to", &to, "--count", "200", "--period", "2ms", "--busy-poll", "20us", "--priority-code", "6", "--json"];
    let run = record(&cable.ask(&more));
    // Behind the headers of Ethernet, IPv4 and UDP.
    let datagrams: Vec<(u8, u64, Frame)> = capture
        .end()
        .into_iter()
        .filter(|frame| frame.bytes[12..14] == [8, 0] && frame.bytes[23] == 17 && frame.bytes[42..46] == *b"OTR1")
        .map(|frame| (frame.bytes[46], number(&frame.bytes[54..62]), frame))
        .collect();
    let whole = &run["series"][0];
    let trips = &whole["round_trips"];
    let sent = trips["sent"].as_u64().unwrap();
    assert_eq!((trips["link"].as_str(), trips["responder"].as_str()), (Some("UDP"), Some(to.as_str())));
    assert_eq!((samples(whole) + missed(whole), trips["answered"].as_u64()), (200, Some(samples(whole))));
    assert!(run["simulated"].is_null(), "{run}");
    let of_kind = |kind: u8| datagrams.iter().filter(|datagram| datagram.0 == kind).collect::<Vec<_>>();
    let (requests, answers) = (of_kind(0), of_kind(1));
    assert_eq!((requests.len() as u64, answers.len() as u64), (sent, sent));
    assert!(!of_kind(2).is_empty() && of_kind(2).len() == of_kind(3).len());
    for ((_, asked, request), (_, answered, answer)) in requests.into_iter().zip(answers) {
        assert_eq!(
            (asked, &request.bytes[36..38], &answer.bytes[34..36]),
            (answered, &[0x13, 0x88][..], &[0x13, 0x88][..])
        );
        assert_eq!(
            (&request.bytes[26..34], request.octets),
            (&[198, 51, 100, 1, 198, 51, 100, 2][..], 14 + 20 + 8 + 36)
        );
        assert_eq!(request.bytes[34..36], answer.bytes[36..38]);
    }
    let names: Vec<&str> = run["series"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["round trip", "sender", "out in kernel", "there and back", "responder", "receiver"]);
    // Nobody at a port is known at once from the machine there.
    let nobody = cable.ask(&["--to", "198.51.100.2:5001"]);
    assert_eq!(nobody.status.code(), Some(2), "{}", stdout(&nobody));
    let said = stderr(&nobody);
    assert!(said.contains("1s: the machine there says that nobody is at port 5001: run `ontick latency"), "{said}");
    let taken =
        cable.answers.within(|| roundtrip(&["--respond", "--udp", "198.51.100.2:5000"]).output()).unwrap().unwrap();
    assert_eq!(taken.status.code(), Some(2), "{}", stdout(&taken));
    assert!(stderr(&taken).contains("no datagrams can be received at 198.51.100.2:5000"), "{}", stderr(&taken));
}

#[test]
fn datagrams_go_between_both_ends_here() {
    if namespace().is_none() || !has("ip") {
        return;
    }
    let _alone = alone_on_this_machine();
    if !std::path::Path::new("/sys/devices/system/cpu/cpu1").is_dir() {
        return ontick_skip::skipped!("one CPU");
    }
    for wait in ["hybrid", "spin", "block"] {
        let more = ["--udp", "--duration", "200ms", "--cpu", "1", "--responder-cpu", "0", "--wait", wait, "--json"];
        let run = record(&roundtrip(&more).output().unwrap());
        let whole = &run["series"][0];
        assert_eq!(whole["round_trips"]["link"], "UDP over virtual Ethernet (veth), no wire");
        assert_eq!((run["series"].as_array().unwrap().len(), samples(whole) + missed(whole)), (6, 200), "{wait}");
    }
}

#[test]
fn both_ends_here_need_no_wire_and_the_parts_are_the_whole() {
    if namespace().is_none() || !has("ip") {
        return;
    }
    let _alone = alone_on_this_machine();
    if !std::path::Path::new("/sys/devices/system/cpu/cpu1").is_dir() {
        return ontick_skip::skipped!("one CPU");
    }
    let here = || {
        ["/run/netns", "/sys/class/net"].map(|path| {
            let all = fs::read_dir(path).into_iter().flatten();
            let mut names: Vec<_> = all.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        })
    };
    let before = here();
    let mut whole_with_parts = 0;
    for wait in ["hybrid", "spin", "block"] {
        let more = ["--duration", "200ms", "--cpu", "1", "--responder-cpu", "0", "--wait", wait, "--json"];
        let run = record(&roundtrip(&more).output().unwrap());
        assert_eq!(run["simulated"], "cable: virtual Ethernet (veth), no wire");
        let series = run["series"].as_array().unwrap();
        let names: Vec<&str> = series.iter().map(|series| series["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["round trip", "sender", "out in kernel", "there and back", "responder", "receiver"]);
        let whole = &series[0];
        assert_eq!(samples(whole) + missed(whole), 200, "{wait}");
        assert_eq!((&whole["settings"]["method"], &whole["settings"]["peer_cpu"]), (&wait.into(), &0.into()));
        let mean = |series: &Value| series["latency"]["mean_ns"].as_f64().unwrap();
        // Unless the clock was set meanwhile, each answer has all of its parts.
        if series[1..].iter().all(|part| samples(part) == samples(whole)) {
            let apart = (series[1..].iter().map(mean).sum::<f64>() - mean(whole)).abs();
            assert!(apart < 1.0, "{wait}: the means of the parts are {apart} ns apart from that of the whole");
            whole_with_parts += 1;
        }
    }
    assert!(whole_with_parts > 0, "no wait had all parts of its answers");
    let shown =
        roundtrip(&["--duration", "100ms", "--require", "max < 1s", "--require", "p50 < 1ns"]).output().unwrap();
    let text = stdout(&shown);
    assert_eq!(shown.status.code(), Some(1), "{text}{}", stderr(&shown));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in
        ["simulated cable: virtual Ethernet (veth), no wire", "by virtual Ethernet (veth), no wire ·", "within 1ms"]
    {
        assert!(flat.contains(words), "{words}: {text}");
    }
    assert_eq!(here(), before);
}

/// Answers requests by datagrams at this machine's port, each fifth after 1 ms, until an empty one comes.
fn answer_some_late(socket: UdpSocket) {
    let mut message = [0; 200];
    let mut answered = 0;
    loop {
        let (length, from) = socket.recv_from(&mut message).unwrap();
        if length == 0 {
            break;
        }
        let began = Instant::now();
        answered += 1;
        if answered % 5 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        message[4] |= 1;
        message[28..32].fill(0);
        message[32..36].copy_from_slice(&(began.elapsed().as_nanos() as u32).to_be_bytes());
        socket.send_to(&message[..length], from).unwrap();
    }
}

/// What lies outside the kernel, in the firmware or on the kernel's own way is somebody else's fault.
#[test]
fn an_answer_that_the_responder_held_back_is_late_for_no_fault_of_this_machine() {
    if Tracing::find().is_none() {
        return;
    }
    let _alone = alone_on_this_machine();
    for wait in ["hybrid", "block"] {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_addr().unwrap().to_string();
        let responder = std::thread::spawn(|| answer_some_late(socket));
        let more = ["--to", &to, "--wait", wait, "--period", "4ms", "--count", "300", "--explain", "--json"];
        let output = roundtrip(&more).args(["--outlier-threshold", "900us"]).output().unwrap();
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[], &to).unwrap();
        responder.join().unwrap();
        let run = record(&output);
        let causes = run["series"][0]["causes"].as_array().unwrap();
        let counted = |which: &dyn Fn(&Value) -> bool| -> u64 {
            causes.iter().filter(|cause| which(cause)).map(|cause| cause["count"].as_u64().unwrap()).sum()
        };
        let all = counted(&|_| true);
        if causes.iter().any(|cause| cause["detail"] == "not traced") {
            return ontick_skip::skipped!("nothing was traced: {}", run["notes"]);
        }
        let waited = counted(&|cause| cause["detail"] == "it waited for the answer");
        assert!(all >= 40 && waited > all / 2, "{wait}: {causes:?}");
    }
}

#[test]
fn a_responder_that_is_killed_is_missed_and_the_run_ends_in_its_time() {
    let Some(cable) = cable() else { return };
    let (mut responder, to) = cable.respond(&[]);
    let file = cable.file("run.json");
    let mut command = roundtrip(&["--interface", "out", "--to", &to, "--duration", "2s", "--period", "5ms"]);
    command.args(["--record", &file, "--require", "missed = 0"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut asking = Running(cable.asks.within(|| command.spawn()).unwrap().unwrap());
    // Practice is 50 requests and one more.
    crate::wait_until("requests are measured", || cable.came() > 100);
    responder.0.kill().unwrap();
    responder.0.wait().unwrap();
    assert_eq!(asking.0.wait().unwrap().code(), Some(1));
    let run: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let whole = &run["series"][0];
    assert!(samples(whole) > 0 && missed(whole) > 0, "{whole}");
    assert_eq!(samples(whole) + missed(whole), 400);
    assert!(whole["round_trips"]["sent"].as_u64() > whole["round_trips"]["answered"].as_u64(), "{whole}");
    // And with nobody left there is nothing to be measured.
    let began = Instant::now();
    let refused = cable.ask(&["--interface", "out", "--to", &to]);
    assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
    assert!(
        stderr(&refused).contains("nobody answered within 1s: run `ontick latency roundtrip"),
        "{}",
        stderr(&refused)
    );
    assert!(began.elapsed().as_secs() < 30);
}

#[test]
fn killed_with_both_ends_it_leaves_nothing_behind() {
    if namespace().is_none() || !has("ip") || !std::path::Path::new("/sys/devices/system/cpu/cpu1").is_dir() {
        return;
    }
    let _alone = alone_on_this_machine();
    let here = || fs::read_dir("/sys/class/net").unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    let before = here();
    let mut child =
        Running(roundtrip(&["--duration", "60s"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let pid = child.0.id();
    // A name for one of its namespaces shows whether its cable is still there.
    let held = || {
        let fds = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let is_namespace = |path: &std::path::PathBuf| {
            fs::read_link(path).is_ok_and(|link| link.to_string_lossy().starts_with("net:["))
        };
        fds.map(|fd| fd.path()).filter(is_namespace).collect::<Vec<_>>()
    };
    crate::wait_until("both namespaces are there", || held().len() >= 2);
    let other = fs::File::open(&held()[0]).unwrap();
    let links = || {
        let path = format!("--net=/proc/{}/fd/{}", std::process::id(), std::os::fd::AsRawFd::as_raw_fd(&other));
        let shown = Command::new("nsenter").args([&path, "ip", "-o", "link", "show", "type", "veth"]).output().unwrap();
        stdout(&shown)
    };
    crate::wait_until("the cable is there", || links().contains("requests"));
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    // The other end's namespace is gone, and with it the cable.
    crate::wait_until("the cable to go", || links().is_empty());
    assert_eq!(here(), before);
}

#[test]
fn a_responder_ends_by_ctrl_c_and_says_what_it_did() {
    let Some(cable) = cable() else { return };
    let mut command =
        roundtrip(&["--interface", "in", "--respond", "--wait", "block", "--policy", "other", "--cpu", "any"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = cable.answers.within(|| command.spawn()).unwrap().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let (mut first, mut rest) = (String::new(), String::new());
    said.read_line(&mut first).unwrap();
    assert!(first.contains("on in, block wait, until Ctrl-C"), "{first}");
    send(child.id(), Signal::INT);
    std::io::Read::read_to_string(&mut said, &mut rest).unwrap();
    assert!(rest.contains("Answered 0 requests") && child.wait().unwrap().success(), "{rest}");
    // One that has its time ends by itself.
    let mut command = roundtrip(&["--interface", "in", "--respond", "--duration", "50ms"]);
    let timed = cable.answers.within(|| command.output()).unwrap().unwrap();
    assert_eq!(timed.status.code(), Some(0), "{}", stderr(&timed));
}

#[test]
fn what_cannot_be_measured_is_said_in_a_sentence() {
    let Some(cable) = cable() else { return };
    let refused = |more: &[&str], words: &str| {
        let output = cable.ask(more);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stdout(&output));
        let said = stderr(&output);
        assert!(said.contains(words) && said.trim().lines().count() <= 2, "{words}: {said}");
    };
    let to = ["--to", "02:00:00:00:00:01"];
    let own = cable.asks.run("ip", &["-j", "link", "show", "dev", "out"]).unwrap();
    let own: Value = serde_json::from_str(&own).unwrap();
    let own = own[0]["address"].as_str().unwrap();
    refused(&[&["--interface", "nowhere"][..], &to].concat(), "there is no interface nowhere");
    refused(&[&["--interface", "lo"][..], &to].concat(), "lo does not carry Ethernet frames");
    refused(&["--size", "59"], "--size: frames have 60 to 1514 octets, not 59");
    refused(&["--udp", "--size", "1473"], "--size: datagrams carry 36 to 1472 octets, not 1473");
    refused(&["--respond", "--interface", "in", "--size", "100"], "cannot be used with");
    refused(&["--interface", "nowhere", "--respond"], "there is no interface nowhere");
    refused(&["--interface", "out"], "name who answers: --to MAC");
    refused(&["--interface", "out", "--to", "eth1"], "\"eth1\" is no address of a station");
    refused(&["--interface", "out", "--to", "192.0.2.7:5000"], "leave out --interface out");
    refused(&["--to", "192.0.2.7:5000", "--vlan", "3"], "leave out --vlan");
    refused(&["--to", "192.0.2.7:5000"], "no datagrams can be sent to 192.0.2.7:5000");
    refused(&["--to", "224.0.0.1:5000"], "224.0.0.1:5000 is no address of one host");
    refused(&["--to", "nowhere.invalid:5000"], "nowhere.invalid:5000 is no host that is known here");
    refused(&["--udp", "127.0.0.1:5000"], "--udp 127.0.0.1:5000 is where --respond answers");
    refused(&["--respond", "--udp"], "name where requests come: --udp 0.0.0.0:5000");
    refused(&["--udp", "--busy-poll", "2ms"], "--busy-poll is from 1us to 1ms, and 2ms is not");
    refused(&["--busy-poll", "50us"], "--busy-poll is for datagrams");
    refused(&["--interface", "out", "--to", own], &format!("{own} is the address of out itself"));
    refused(&["--interface", "out", "--to", "ff:ff:ff:ff:ff:ff"], "is the address of a group of stations");
    refused(&[&["--interface", "out", "--vlan", "4095"][..], &to].concat(), "4095 is not from 0 to 4094");
    refused(&[&["--interface", "out", "--priority-code", "8"][..], &to].concat(), "8 is not from 0 to 7");
    refused(&["--period", "99us"], "the period must be from 100us to 1s, and 99us is not");
    refused(&["--deadline", "2ms"], "the deadline 2ms is beyond the period 1ms");
    refused(&["--wait", "poll"], "\"poll\" is no way to wait for an answer");
    refused(&to, "--interface");
    refused(&["--respond"], "--interface");
    refused(&["--cpu", "4000"], "CPU 4000 is not online");
    refused(&["--interface", "out", "--to", "02:00:00:00:00:01", "--junit", &cable.file("run.xml")], "nobody answered");
    assert!(fs::read_to_string(cable.file("run.xml")).unwrap().contains("nobody answered within 1s"));
    cable.asks.ip(&["link", "set", "dev", "out", "down"]).unwrap();
    refused(&[&["--interface", "out"][..], &to].concat(), "nobody answered within 1s: out has no link");
    if has("setpriv") && rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", env!("CARGO_BIN_EXE_ontick")]);
        command.args(["latency", "roundtrip", "--policy", "other"]).current_dir("/");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        assert!(stderr(&output).contains(" lacks CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN: "), "{}", stderr(&output));
    }
}
