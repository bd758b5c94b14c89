//! What becomes of a switch's gates when the network's time is lost: frames by scapy, captured by tcpdump, between two
//! ptp4l of which the master is killed and comes back.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use ontick_rt::clock::ClockId;
use serde_json::Value;

use super::network_time::{Cable, NETWORK, Node, cable};
use super::switch_user::{Bench, bench};
use super::wire_capture::Capture;
use super::{Running, has, stderr, stdout, wait_until};

/// Red has the last tenth of each cycle.
const CYCLE_NS: u64 = 100_000_000;
const RED_NS: u64 = 90_000_000;
/// About one each millisecond: over several cycles.
const FRAMES: usize = 400;

/// What scapy's frames show of the gates.
#[derive(Debug, PartialEq, Eq)]
enum Gates {
    /// All that came had left in its window.
    Scheduled,
    /// They came at any time.
    Open,
    /// None came.
    Closed,
}

/// Sends red frames by scapy, as often as it is asked to: to load scapy takes longer than to send them.
const TALKER: &str = "import sys
from scapy.all import Ether, IP, UDP, sendp
frame = Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / IP(src='10.0.0.1', dst='10.0.0.2') / UDP(dport=7777)
for count in sys.stdin:
    sendp(frame, iface='far0', inter=0.001, count=int(count), verbose=0)
    print('sent', flush=True)
";

struct Talker {
    asked: ChildStdin,
    says: BufReader<ChildStdout>,
    _python: Running,
}

impl Talker {
    fn new(bench: &Bench) -> Self {
        let mut python = Command::new("/usr/bin/python3");
        python.args(["-c", TALKER]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut python = bench.far.within(|| python.spawn()).unwrap().unwrap();
        let says = BufReader::new(python.stdout.take().unwrap());
        Self { asked: python.stdin.take().unwrap(), says, _python: Running(python) }
    }

    fn send(&mut self) {
        writeln!(self.asked, "{FRAMES}").unwrap();
        let mut said = String::new();
        self.says.read_line(&mut said).unwrap();
        assert_eq!(said, "sent\n", "scapy's own words stand above");
    }
}

struct Machine {
    talker: Talker,
    bench: Bench,
    cable: Cable,
}

impl Machine {
    /// A switch with gates at work, and a network that has its time watched.
    fn new(policy: &str) -> Option<Self> {
        if !["scapy", "tcpdump"].into_iter().all(has) {
            return None;
        }
        let more = format!("on-time-loss = \"{policy}\"\nholdover = \"2s\"\ngood-readings = 2\n");
        let (cable, bench) = (cable(&(NETWORK.to_owned() + &more))?, bench()?);
        let machine = Self { talker: Talker::new(&bench), bench, cable };
        let file = machine.bench.file();
        let text = std::fs::read_to_string(&file).unwrap().replace("800us", "90ms").replace("200us", "10ms");
        std::fs::write(&file, text).unwrap();
        let applied = machine.bench.switch(&["apply", &file]);
        assert!(applied.status.success(), "{}", stderr(&applied));
        // Until then all gates are open.
        wait_until("the base time to come", || {
            machine.bench.status()["report"]["base_ns"].as_u64().is_some_and(|at_ns| at_ns < ClockId::Realtime.now_ns())
        });
        Some(machine)
    }

    fn follower(&self) -> Node {
        let state = self.bench.folder.path().join("state").display().to_string();
        self.cable.start_with("b", "network.toml", &["--state", &state])
    }

    /// Waits until the process of the switch reports this of its gates.
    fn wait_for(&self, forced: Value) {
        wait_until(&format!("gates that are {forced}"), || self.bench.status()["report"]["forced"] == forced);
    }

    /// Red frames go in; what tcpdump has of them where they come out.
    fn gates(&mut self) -> Gates {
        let file = self.cable.folder.path().join("red.pcap");
        let capture = self.bench.far.within(|| Capture::begin("far1", &file)).unwrap().unwrap();
        self.talker.send();
        let all_sent_ns = ClockId::Monotonic.now_ns();
        wait_until("none to wait", || {
            let report = &self.bench.status()["report"];
            let queues = report["counters"]["ports"][1]["queues"].as_array().unwrap();
            report["at_ns"].as_u64() > Some(all_sent_ns) && queues.iter().all(|queue| queue["waiting"] == 0)
        });
        let frames = capture.end();
        let red = frames.iter().filter(|frame| frame.bytes[12..14] == [8, 0] && frame.bytes[36..38] == [0x1e, 0x61]);
        // Whole seconds are the same on all clocks of the machine.
        let inside: Vec<bool> = red.map(|frame| frame.at_ns % CYCLE_NS >= RED_NS).collect();
        let share = inside.iter().filter(|inside| **inside).count() as f64 / inside.len().max(1) as f64;
        match (inside.len(), share) {
            (0, _) => Gates::Closed,
            // On a busy machine the core may be kept from its work as a gate closes.
            (came, share) if came > FRAMES / 2 && share > 0.9 => Gates::Scheduled,
            (came, share) if came > FRAMES / 2 && share < 0.5 => Gates::Open,
            (came, share) => panic!("{came} of {FRAMES} came, {share} of them in their window"),
        }
    }
}

fn gates_when_time_is_lost(policy: &str, forced: &str, expected: &Gates) {
    let Some(mut machine) = Machine::new(policy) else { return };
    assert_eq!(machine.gates(), Gates::Scheduled);
    // Nobody has the time yet.
    let mut b = machine.follower();
    let lost = b.event("time-lost");
    assert!(lost["text"].as_str().unwrap().contains("longer than its holdover, 2s: all gates"), "{lost}");
    machine.wait_for(forced.into());
    assert_eq!(&machine.gates(), expected);
    let status = machine.bench.switch(&["status"]);
    assert_eq!(status.status.code(), Some(1));
    assert!(stdout(&status).contains(&format!("the network's is lost: all gates are {forced}")), "{}", stdout(&status));

    let a = machine.cable.start("a", "network.toml");
    b.event("time-good");
    machine.wait_for(Value::Null);
    assert_eq!(machine.gates(), Gates::Scheduled);

    let kill = |mut process: Node| {
        process.child.0.kill().unwrap();
        process.child.0.wait().unwrap();
    };
    kill(a);
    b.event("time-lost");
    machine.wait_for(forced.into());
    // One that is killed says nothing any more: as without it.
    kill(b);
    machine.wait_for(Value::Null);
    assert_eq!(machine.gates(), Gates::Scheduled);
    assert!(machine.bench.switch(&["status"]).status.success());
}

#[test]
fn gates_open_when_the_time_is_lost_and_come_back_with_it() {
    gates_when_time_is_lost("open", "open", &Gates::Open);
}

#[test]
fn traffic_stops_when_the_time_is_lost_and_comes_back_with_it() {
    gates_when_time_is_lost("stop", "closed", &Gates::Closed);
}
