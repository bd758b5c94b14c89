//! A planned network on this machine: the switches in one network namespace, the stations in another, tcpdump at the
//! receiving end of every link.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use ontick_rt::clock::ClockId;
use ontick_switch::user::packet::PacketPort;
use ontick_switch::user::port::{Port, Sent};
use ontick_switch::verify::namespace::Namespace;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::put_back::revert_switches;
use crate::wire_capture::{Capture, Frame, Gates, Verdict, Wire, tai_ahead_ns};
use crate::{alone_on_this_machine, has, namespace::namespace, ontick, send, stderr, stdout, wait_until};

/// Messages of each stream.
pub const CYCLES: u64 = 1_000;
const PERIOD_NS: u64 = 2_000_000;
/// So much earlier than planned a talker sends: it has no gates, and the first switch holds the frame until its window.
const EARLY_NS: u64 = 250_000;
const RATE: u64 = 1_000_000_000;
/// What the capture may be later than the frame itself.
const STAMP_NS: u64 = 10_000;
const RUN: [u8; 3] = [0xc4, 0xa1, 0x17];
/// The number of broadcasts, in place of a stream's.
const BROADCAST: u8 = 0xff;

/// A stream, as the plan has it.
struct Stream {
    name: String,
    talker: String,
    listeners: Vec<String>,
    address: [u8; 6],
    queue: u8,
    offset_ns: u64,
    /// Interfaces at which it is to come in.
    route: Vec<String>,
}

/// A direction of a cable that a switch sends by.
struct Link {
    /// The interface that sends, and whose it is.
    out: String,
    switch: String,
    /// The interface that receives.
    into: String,
    gates: Option<Gates>,
}

pub struct Bench {
    switches: Namespace,
    stations: Namespace,
    folder: TempDir,
    names: Vec<String>,
    links: Vec<Link>,
    streams: Vec<Stream>,
    _alone: crate::apart::Alone,
}

impl Drop for Bench {
    fn drop(&mut self) {
        revert_switches(&self.switches, &self.folder.path().join("state"));
    }
}

/// Plans a network for the user data plane: `plan.json` and `nodes` in this folder.
pub fn plan(network: &str, spread: &str, folder: &Path) -> Output {
    fs::write(folder.join("network.toml"), network).unwrap();
    // One core serves all of the switches, in a build that is not optimised, beside tcpdump and the talkers: windows have
    // room for that, which a calibration would ask for.
    let words = format!(
        "network plan network.toml --time 2s --target user --hand-over 10us --spread {spread} --window-guard 10us \
         --forwarding 100us --out plan.json --nodes nodes"
    );
    let words: Vec<&str> = words.split_whitespace().collect();
    ontick(&words).current_dir(folder).output().unwrap()
}

/// What came of it.
pub struct Carried {
    bench: Bench,
    /// Frames of each stream that its talker sent.
    pub sent: Vec<u64>,
    /// By the interface that received them.
    captured: BTreeMap<String, Vec<Frame>>,
    /// What each switch counted.
    reports: BTreeMap<String, Value>,
}

impl Bench {
    /// Plans the network and joins its interfaces. Nothing where there are no namespaces to be had.
    pub fn new(network: &str) -> Option<Self> {
        Self::with_spread(network, "80us")
    }

    /// The same, with windows that have room for a hand-over which takes so much longer at times.
    pub fn with_spread(network: &str, spread: &str) -> Option<Self> {
        if !["ip", "tc", "tcpdump", "nsenter"].into_iter().all(has) {
            return None;
        }
        let (switches, stations) = (namespace()?, namespace()?);
        let folder = tempfile::tempdir().unwrap();
        let planned = plan(network, spread, folder.path());
        assert!(planned.status.success(), "{}{}", stdout(&planned), stderr(&planned));
        let plan: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("plan.json")).unwrap()).unwrap();
        let mut bench = Self {
            switches,
            stations,
            folder,
            names: Vec::new(),
            links: Vec::new(),
            streams: Vec::new(),
            _alone: alone_on_this_machine(),
        };
        bench.join(network);
        bench.read_plan(&plan);
        Some(bench)
    }

    /// A veth pair for each cable.
    fn join(&mut self, network: &str) {
        let space = |name: &str| if name.starts_with('s') { &self.switches } else { &self.stations };
        for line in network.lines().filter_map(|line| line.strip_prefix("ports = ")) {
            let ports: Vec<String> = serde_json::from_str(line).unwrap();
            let [a, b] = [&ports[0], &ports[1]];
            space(a).join(a, space(b), b).unwrap();
            for (out, into) in [(a, b), (b, a)] {
                let switch = out.split('-').next().unwrap().to_owned();
                self.links.push(Link { out: out.clone(), switch, into: into.clone(), gates: None });
            }
        }
        let names: std::collections::BTreeSet<String> =
            self.links.iter().map(|link| link.switch.clone()).filter(|name| name.starts_with('s')).collect();
        self.names = names.into_iter().collect();
    }

    fn read_plan(&mut self, plan: &Value) {
        // The interface that the link of a hop or of gates comes in by.
        let out = |of: &Value| {
            let again = if of["cable"] == 2 { "x" } else { "" };
            format!("{}-{}{again}", of["link"][0].as_str().unwrap(), of["link"][1].as_str().unwrap())
        };
        for gates in plan["gates"].as_array().unwrap() {
            let out = out(gates);
            let cycle_ns = gates["cycle_ns"].as_u64().unwrap();
            let (mut list, mut at) = (Vec::new(), 0);
            for window in gates["windows"].as_array().unwrap() {
                let [queue, begin, end] = [0, 1, 2].map(|n| window[n].as_u64().unwrap());
                list.extend([(1u8, begin - at), (1 << queue, end - begin)]);
                at = end;
            }
            list.push((1, cycle_ns - at));
            list.retain(|(_, ns)| *ns > 0);
            // Cycles begin with a second of TAI.
            let link = self.links.iter_mut().find(|link| link.out == out).unwrap();
            link.gates = Some(Gates { base_ns: 0, list });
        }
        for stream in plan["streams"].as_array().unwrap() {
            let hops = stream["hops"].as_array().unwrap();
            let into = |out: &str| self.links.iter().find(|link| link.out == out).unwrap().into.clone();
            let name = |hop: &Value, end: usize| hop["link"][end].as_str().unwrap().to_owned();
            let octets: Vec<u8> =
                stream["address"].as_str().unwrap().split(':').map(|n| u8::from_str_radix(n, 16).unwrap()).collect();
            self.streams.push(Stream {
                name: stream["name"].as_str().unwrap().to_owned(),
                talker: name(&hops[0], 0),
                listeners: hops.iter().map(|hop| name(hop, 1)).filter(|name| name.starts_with('h')).collect(),
                address: octets.try_into().unwrap(),
                queue: stream["queue"].as_u64().unwrap() as u8,
                offset_ns: stream["offset_ns"].as_u64().unwrap(),
                route: hops.iter().map(|hop| into(&out(hop))).collect(),
            });
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let state = self.folder.path().join("state").display().to_string();
        ontick(&[&["switch"], words, &["--state", &state]].concat())
    }

    fn switch(&self, words: &[&str]) -> Output {
        self.switches.within(|| self.command(words).output()).unwrap().unwrap()
    }

    fn report(&self, name: &str) -> Option<Value> {
        let status: Value = serde_json::from_slice(&self.switch(&["status", name, "--json"]).stdout).ok()?;
        status["report"].is_object().then(|| status["report"].clone())
    }

    fn start(&self) -> Child {
        let files: Vec<String> = self
            .names
            .iter()
            .map(|name| self.folder.path().join(format!("nodes/{name}.toml")).display().to_string())
            .collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let mut command = self.command(&[&["run", "--plane", "user"], &files[..]].concat());
        let said = fs::File::create(self.folder.path().join("said")).unwrap();
        self.switches.within(|| command.stdout(Stdio::null()).stderr(said).spawn()).unwrap().unwrap()
    }

    fn said(&self) -> String {
        fs::read_to_string(self.folder.path().join("said")).unwrap_or_default()
    }

    /// Carries all messages, and a broadcast of each station.
    pub fn carry(self) -> Carried {
        let mut run = self.start();
        wait_until("the switches to work", || {
            assert!(run.try_wait().unwrap().is_none(), "{}", self.said());
            self.names.iter().all(|name| self.report(name).is_some())
        });
        let capture = |link: &Link| {
            let file = self.folder.path().join(format!("{}.pcap", link.into));
            let space = if link.into.starts_with('s') { &self.switches } else { &self.stations };
            (link.into.clone(), space.within(|| Capture::begin(&link.into, &file)).unwrap().unwrap())
        };
        let captures: Vec<(String, Capture)> =
            self.links.iter().filter(|link| link.switch.starts_with('s')).map(capture).collect();
        let (sent, broadcasts) = self.stations.within(|| self.send()).unwrap();
        assert_eq!(broadcasts, self.talkers().len());
        // All that waits has left, and all is counted: the report is of each second.
        let settled = |report: &Value| {
            let queues =
                report["counters"]["ports"].as_array().unwrap().iter().flat_map(|p| p["queues"].as_array().unwrap());
            queues.map(|queue| queue["waiting"].as_u64().unwrap()).sum::<u64>() == 0
        };
        let after_ns = ClockId::Monotonic.now_ns();
        let mut reports = BTreeMap::new();
        wait_until("the queues to be empty", || {
            reports = self.names.iter().filter_map(|name| Some((name.clone(), self.report(name)?))).collect();
            let fresh = |report: &Value| report["at_ns"].as_u64().unwrap() > after_ns + 100_000_000;
            reports.len() == self.names.len() && reports.values().all(|report| fresh(report) && settled(report))
        });
        let captured = captures.into_iter().map(|(name, capture)| {
            let mut frames = capture.end();
            // What goes out by the interface is not what came in.
            frames.retain(|frame| frame.mark().is_some_and(|mark| mark.run == RUN) && self.comes_in(&name, frame));
            (name, frames)
        });
        let captured = captured.collect();
        send(run.id(), Signal::TERM);
        assert!(run.wait().unwrap().success(), "{}", self.said());
        Carried { bench: self, sent, captured, reports }
    }

    /// Whether a frame that was captured at a station was not sent by it.
    fn comes_in(&self, interface: &str, frame: &Frame) -> bool {
        !interface.starts_with('h') || frame.bytes[11] != station(interface)
    }

    fn talkers(&self) -> Vec<String> {
        let mut talkers: Vec<String> =
            self.links.iter().map(|link| link.out.clone()).filter(|name| name.starts_with('h')).collect();
        talkers.sort();
        talkers
    }

    /// Sends, each stream's messages at the planned times.
    fn send(&self) -> (Vec<u64>, usize) {
        let talkers = self.talkers();
        let mut ports: Vec<PacketPort> = talkers.iter().map(|name| PacketPort::open(name, 64).unwrap()).collect();
        let port = |talker: &str| talkers.iter().position(|name| name.starts_with(&format!("{talker}-"))).unwrap();
        let mut frames: Vec<(usize, u64, Vec<u8>)> = (self.streams.iter().enumerate())
            .map(|(n, stream)| {
                let at = port(&stream.talker);
                (n, stream.offset_ns, frame(stream.address, station(&talkers[at]), stream.queue, n as u8, 200))
            })
            .collect();
        frames.sort_by_key(|(_, offset_ns, _)| *offset_ns);
        let mut broadcasts = 0;
        for (at, name) in talkers.iter().enumerate() {
            let frame = frame([0xff; 6], station(name), 0, BROADCAST, 60);
            broadcasts += usize::from(ports[at].send(&frame) == Sent::Done);
        }
        // From a cycle on in which all gates move.
        let first_ns = (ClockId::Tai.now_ns() / 1_000_000_000 + 2) * 1_000_000_000;
        let mut sent = vec![0; self.streams.len()];
        for cycle in 0..CYCLES {
            for (n, offset_ns, frame) in &mut frames {
                let due_ns = first_ns + cycle * PERIOD_NS + *offset_ns - EARLY_NS;
                std::thread::sleep(Duration::from_nanos(due_ns.saturating_sub(ClockId::Tai.now_ns())));
                frame[22..27].copy_from_slice(&cycle.to_be_bytes()[3..]);
                sent[*n] += u64::from(ports[port(&self.streams[*n].talker)].send(frame) == Sent::Done);
            }
        }
        (sent, broadcasts)
    }
}

/// The last octet of a station's address, by its interface: `h1-s1`.
fn station(interface: &str) -> u8 {
    interface[1..].split('-').next().unwrap().parse().unwrap()
}

/// A tagged frame with a mark: a stream's or class's number in it, and room for the message's.
fn frame(to: [u8; 6], from: u8, pcp: u8, stream: u8, octets: usize) -> Vec<u8> {
    let mut frame = [&to[..], &[2, 0, 0, 0, 0, from], &[0x81, 0, pcp << 5, 0, 0x88, 0xb5], &RUN, &[stream]].concat();
    frame.resize(18 + octets, 0);
    frame
}

impl Carried {
    /// The names of the streams that came in by an interface, without repetition, in the order of the plan.
    pub fn streams_at(&self, interface: &str) -> Vec<&str> {
        let streams = self.bench.streams.iter().enumerate();
        let came = streams.filter(|(n, _)| !self.of(interface, *n as u8).is_empty());
        came.map(|(_, stream)| stream.name.as_str()).collect()
    }

    /// The messages of a stream (or broadcasts) that came in by an interface.
    fn of(&self, interface: &str, stream: u8) -> Vec<&Frame> {
        let is = |frame: &&Frame| frame.mark().unwrap().class == stream;
        self.captured.get(interface).into_iter().flatten().filter(is).collect()
    }

    /// Every link carries the streams that are planned on it, and none besides; no message twice.
    pub fn links_carry_planned_streams_alone(&self, name: &str) {
        for (n, stream) in self.bench.streams.iter().enumerate() {
            for interface in self.captured.keys() {
                let frames = self.of(interface, n as u8);
                let planned = stream.route.contains(interface);
                assert!(planned || frames.is_empty(), "{name}: {} at {interface}: {}", stream.name, frames.len());
                let mut numbers: Vec<u64> = frames.iter().map(|frame| frame.mark().unwrap().number).collect();
                numbers.sort_unstable();
                assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{name}: {} twice", stream.name);
            }
        }
    }

    /// What was captured and counted, for who looks for the cause of a failure.
    fn described(&self) -> String {
        let mut text = String::new();
        for (interface, frames) in &self.captured {
            text += &format!("{interface}: {} frames captured\n", frames.len());
        }
        for (switch, report) in &self.reports {
            for (port, counters) in report["counters"]["ports"].as_array().unwrap().iter().enumerate() {
                let of = |counters: &Value| -> Vec<String> {
                    let counted =
                        counters.as_object().unwrap().iter().filter(|(_, n)| n.as_u64().is_some_and(|n| n > 0));
                    counted.map(|(key, n)| format!("{key} {n}")).collect()
                };
                text += &format!("{switch} port {port}: {}\n", of(counters).join(", "));
                for (queue, counters) in counters["queues"].as_array().unwrap().iter().enumerate() {
                    let counted = of(counters).join(", ");
                    text += &if counted.is_empty() { counted } else { format!("  queue {queue}: {counted}\n") };
                }
            }
        }
        text + &self.bench.said()
    }

    fn counted(&self, switch: &str, which: &[&str]) -> u64 {
        let ports = self.reports[switch]["counters"]["ports"].as_array().unwrap();
        let queues = ports.iter().flat_map(|port| port["queues"].as_array().unwrap().iter().chain([port]));
        queues.map(|of| which.iter().map(|key| of[key].as_u64().unwrap_or(0)).sum::<u64>()).sum()
    }

    /// What is sent and does not arrive is counted by some switch, with its cause.
    pub fn every_message_arrives_or_is_counted(&self, name: &str) {
        let mut missing = 0;
        for (n, stream) in self.bench.streams.iter().enumerate() {
            for listener in &stream.listeners {
                let interface = stream.route.iter().find(|into| into.starts_with(&format!("{listener}-"))).unwrap();
                let arrived = self.of(interface, n as u8).len() as u64;
                assert!(arrived > 0, "{name}: {} never arrives at {listener}\n{}", stream.name, self.described());
                missing += self.sent[n] - arrived;
            }
        }
        let causes = ["overflowed", "full", "over_sdu", "no_window", "down", "refused"];
        let counted: u64 = self.bench.names.iter().map(|switch| self.counted(switch, &causes)).sum();
        // A message to several listeners that is lost once is missing at each.
        assert!(missing <= 3 * counted, "{name}: {missing} messages are missing, and {counted} are counted");
        println!("{name}: {missing} messages missing, {counted} counted as dropped");
    }

    /// What the core counts as late at a port that a link leaves by.
    fn late(&self, link: &Link, queue: u8) -> u64 {
        let report = &self.reports[&link.switch];
        let port =
            report["ports"].as_array().unwrap().iter().position(|port| port["name"] == link.out.as_str()).unwrap();
        report["counters"]["ports"][port]["queues"][usize::from(queue)]["late"].as_u64().unwrap()
    }

    /// A frame outside of its window is one that the core counts as late, at the same port and queue: it takes the time
    /// after it has handed a frame over, so that whatever held it up is in that time.
    pub fn frames_keep_to_their_windows_or_are_counted(&self, name: &str) {
        let ahead_ns = tai_ahead_ns();
        let mut judged = 0;
        for link in self.bench.links.iter().filter(|link| link.switch.starts_with('s')) {
            let Some(gates) = &link.gates else { continue };
            let mut wire = Wire::new(RATE);
            let mut outside: BTreeMap<u8, Vec<Verdict>> = BTreeMap::new();
            for frame in &self.captured[&link.into] {
                let mark = frame.mark().unwrap();
                if mark.class == BROADCAST {
                    continue;
                }
                judged += 1;
                let queue = self.bench.streams[usize::from(mark.class)].queue;
                let on_wire = wire.carry(frame.at_ns + ahead_ns, frame.octets);
                let verdict = gates.judge(queue, on_wire, STAMP_NS);
                if verdict != Verdict::Inside {
                    outside.entry(queue).or_default().push(verdict);
                }
            }
            for (queue, outside) in outside {
                let late = self.late(link, queue);
                println!(
                    "{name}: {}: queue {queue}: {} frames outside, {late} counted as late",
                    link.out,
                    outside.len()
                );
                assert!(outside.len() as u64 <= late, "{name}: {}: {late} late, {outside:?}", link.out);
            }
        }
        let hops: u64 = self.bench.streams.iter().map(|stream| stream.route.len() as u64 - 1).sum();
        assert!(judged > hops * CYCLES / 2, "{name}: {judged} of {} were captured", hops * CYCLES);
        println!("{name}: {judged} frames judged");
    }

    /// Each station has the broadcast of every other one, and no link carries one twice.
    pub fn broadcasts_arrive_once(&self, name: &str) {
        for (interface, frames) in &self.captured {
            let broadcasts = frames.iter().filter(|frame| frame.mark().unwrap().class == BROADCAST);
            let mut senders: Vec<u8> = broadcasts.map(|frame| frame.bytes[11]).collect();
            senders.sort_unstable();
            assert!(senders.windows(2).all(|pair| pair[0] < pair[1]), "{name}: {interface}: {senders:?}");
            if interface.starts_with('h') {
                assert_eq!(senders.len(), self.bench.talkers().len() - 1, "{name}: {interface}: {senders:?}");
            }
        }
    }
}
