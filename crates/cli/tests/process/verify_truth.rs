//! What `switch verify` says of each frame, held against a capture of the same run; and its counts against those of the
//! switch.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use ontick_switch::verify::namespace::Namespace;
use serde_json::Value;

use super::put_back::revert_switches;
use super::wire_capture::{Capture, Frame, Gates, Mark, Verdict, Wire, tai_ahead_ns};
use super::{alone_on_this_machine, has, namespace::namespace, ontick, stderr};

const MS: u64 = 1_000_000;
const GUARD_NS: u64 = 1_000;
const CLASSES: [&str; 3] = ["control", "video", "rest"];
const QUEUES: [u8; 3] = [7, 4, 0];

/// One frame of the class "rest" may wait.
const FILE: &str = r#"
[switch]
name = "truth"
plane = "user"

[[class]]
name = "control"
queue = 7
match = [{ pcp = 6 }]

[[class]]
name = "video"
queue = 4
match = [{ udp-port = 5004 }]

[[class]]
name = "rest"
queue = 0
limit = 1

[[port]]
name = "in"
rate = "1Gbit"

[[port]]
name = "out"
rate = "1Gbit"

[port.gates]
entries = [{ open = ["control"], for = "200us" }, { open = ["video", "rest"], for = "700us" }, { open = [], for = "100us" }]
"#;

/// The same, by hand: cycles of 1 ms, which begin with every second.
fn gates() -> Gates {
    Gates { base_ns: 0, list: vec![(1 << 7, MS / 5), (1 << 4 | 1, MS / 10 * 7), (0, MS / 10)] }
}

/// A switch at work between two interfaces of another namespace.
struct Bench {
    here: Namespace,
    far: Namespace,
    folder: tempfile::TempDir,
    _alone: crate::apart::Alone,
}

impl Bench {
    fn new() -> Option<Self> {
        if !has("ip") {
            return None;
        }
        let (here, far) = (namespace()?, namespace()?);
        here.join("in", &far, "to").unwrap();
        here.join("out", &far, "from").unwrap();
        let bench = Self { here, far, folder: tempfile::tempdir().unwrap(), _alone: alone_on_this_machine() };
        fs::write(bench.path("truth.toml"), FILE).unwrap();
        let applied = bench.switch(&bench.here, &["apply", &bench.path("truth.toml")]);
        assert!(applied.status.success(), "{}", stderr(&applied));
        Some(bench)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn switch(&self, space: &Namespace, words: &[&str]) -> Output {
        let state = self.path("state");
        let all = [&["switch"], words, &["--state", &state]].concat();
        space.within(|| ontick(&all).output()).unwrap().unwrap()
    }

    fn verify(&self, more: &[&str]) -> Value {
        let file = self.path("truth.toml");
        let words = ["verify", &file, "--send", "to", "--receive", "from", "--json", "--duration", "300ms"];
        let output = self.switch(&self.far, &[&words, more].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        revert_switches(&self.here, &self.folder.path().join("state"));
    }
}

/// What verify wrote of a frame.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    octets: u64,
    stamp_ns: u64,
    on_link_ns: (u64, u64),
    judgement: String,
    by_ns: u64,
}

fn rows(path: &str) -> BTreeMap<(String, u64), Row> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let field = |name: &str| fields[head.iter().position(|head| *head == name).unwrap()];
        let number = |name: &str| field(name).parse::<u64>().unwrap();
        let row = Row {
            octets: number("octets"),
            stamp_ns: number("stamp_ns"),
            on_link_ns: (number("begins_ns"), number("ends_ns")),
            judgement: field("judgement").into(),
            by_ns: number("by_ns"),
        };
        ((field("class").to_string(), number("number")), row)
    };
    lines.map(row).collect()
}

/// What a capture says of each numbered frame.
fn captured(frames: &[Frame]) -> BTreeMap<(String, u64), (Row, Verdict)> {
    let (mut wire, gates, ahead_ns) = (Wire::new(1_000_000_000), gates(), tai_ahead_ns());
    let mut found = BTreeMap::new();
    for frame in frames {
        let stamp_ns = frame.at_ns + ahead_ns;
        let on_link_ns = wire.carry(stamp_ns, frame.octets);
        // Frames of the switch itself have no mark that anybody sent.
        let Some(Mark { class, number, .. }) = frame.mark().filter(|mark| mark.run != [0; 3]) else { continue };
        let Some(name) = CLASSES.get(usize::from(class)) else { continue };
        let verdict = gates.judge(QUEUES[usize::from(class)], on_link_ns, GUARD_NS);
        let by_ns = if let Verdict::EndsLate(by_ns) = verdict { by_ns } else { 0 };
        let row = Row { octets: frame.octets + 4, stamp_ns, on_link_ns, judgement: String::new(), by_ns };
        found.insert((name.to_string(), number), (row, verdict));
    }
    found
}

#[test]
fn verify_and_a_capture_agree_frame_by_frame() {
    let Some(bench) = Bench::new() else { return };
    let capture = bench.far.within(|| Capture::begin("from", Path::new(&bench.path("pcap")))).unwrap();
    let Some(capture) = capture else { return };
    let table = bench.path("frames.csv");
    let record = bench.verify(&["--rate", "130%", "--frames", &table]);
    let (wire, rows) = (captured(&capture.end()), rows(&table));
    let trial = &record["switch"]["trials"][0];
    let sum = |of: &str| trial["classes"].as_array().unwrap().iter().map(|c| c[of].as_u64().unwrap()).sum::<u64>();
    assert_eq!(rows.len() as u64, sum("received"));
    assert!(rows.len() > 1_000, "{} frames", rows.len());
    assert_eq!(record["switch"]["link"], "modelled at 1 Gb/s");
    let (mut outside, mut ends) = (0, 0);
    for (frame, row) in &rows {
        let (on_wire, verdict) = wire.get(frame).unwrap_or_else(|| panic!("{frame:?} is not in the capture"));
        assert_eq!((row.octets, row.stamp_ns), (on_wire.octets, on_wire.stamp_ns), "{frame:?}");
        assert_eq!(row.on_link_ns, on_wire.on_link_ns, "{frame:?}");
        let agree = match verdict {
            Verdict::Inside => row.judgement == "inside",
            Verdict::BeginsOutside => row.judgement.starts_with("begins-"),
            Verdict::EndsLate(by_ns) => row.judgement == "ends-late" && row.by_ns == *by_ns,
        };
        assert!(agree, "{frame:?}: {row:?}, {verdict:?} by the capture");
        outside += u64::from(*verdict != Verdict::Inside);
        ends += u64::from(matches!(verdict, Verdict::EndsLate(_)));
    }
    assert_eq!((sum("outside"), sum("ends_outside")), (outside, ends));
    // What the receiver of verify had no room for is said; tcpdump may have had it.
    let overflowed: u64 =
        trial["elsewhere"].as_array().unwrap().iter().map(|lost| lost["frames"].as_u64().unwrap()).sum();
    assert!(wire.len() as u64 - rows.len() as u64 <= overflowed, "{} {}", wire.len(), rows.len());
}

#[test]
fn what_verify_misses_is_what_the_switch_dropped_by_cause() {
    let Some(bench) = Bench::new() else { return };
    let record = bench.verify(&["--rate", "150%"]);
    let trial = &record["switch"]["trials"][0];
    assert!(
        record["switch"]["about"].as_str().unwrap().contains("with the counters of its user data plane"),
        "{record}"
    );
    let status = bench.switch(&bench.here, &["status", "--json"]);
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let counters = &status["report"]["counters"]["ports"];
    let number = |value: &Value| value.as_u64().unwrap();
    let mut missing = 0;
    for (class, queue) in trial["classes"].as_array().unwrap().iter().zip(QUEUES) {
        let queue = &counters[1]["queues"][usize::from(queue)];
        let causes = [("full", "too many waited"), ("no_window", "no window long enough"), ("down", "link down")];
        for (counter, cause) in causes {
            let drops = class["drops"].as_array().into_iter().flatten();
            let named: u64 = drops.filter(|lost| lost["place"] == cause).map(|lost| number(&lost["frames"])).sum();
            assert_eq!(named, number(&queue[counter]), "{cause}: {class} {queue}");
        }
        missing += number(&class["sent"]) - number(&class["received"]) - number(&class["dropped"]);
    }
    let rest = &trial["classes"][2];
    assert!(number(&rest["dropped"]) > 0, "one frame fits into its queue, and more come in a cycle: {rest}");
    // Sent = received + dropped by cause + lost at a place that is known, and nothing else.
    let elsewhere: u64 = trial["elsewhere"].as_array().unwrap().iter().map(|lost| number(&lost["frames"])).sum();
    assert_eq!(missing, elsewhere, "{trial}");
}

/// The far end of a port takes no frame of this length: virtual Ethernet counts that at the port.
#[test]
fn verify_accounts_for_what_the_kernel_counts() {
    if !has("ip") {
        return;
    }
    let Some(here) = namespace() else { return };
    here.join("in", &here, "to").unwrap();
    here.join("out", &here, "from").unwrap();
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state").display().to_string();
    let [plain, gated] = ["plain.toml", "gated.toml"].map(|name| folder.path().join(name).display().to_string());
    let text = "[switch]\nname = \"plain\"\nplane = \"kernel\"\n[[class]]\nname = \"all\"\nqueue = 0\n\
                [[port]]\nname = \"in\"\n[[port]]\nname = \"out\"\n";
    fs::write(&plain, text).unwrap();
    // Arrivals are held against gates, which not every kernel has.
    let gates = "rate = \"1Gbit\"\n[port.gates]\nentries = [{ open = [\"all\"], for = \"1ms\" }]\n";
    fs::write(&gated, format!("{text}{gates}")).unwrap();
    let switch = |words: &[&str]| {
        let all = [&["switch"], words, &["--state", &state]].concat();
        here.within(|| ontick(&all).output()).unwrap().unwrap()
    };
    let applied = switch(&["apply", &plain]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    here.ip(&["link", "set", "from", "mtu", "500"]).unwrap();
    let words = ["--send", "to", "--receive", "from", "--json", "--duration", "200ms", "--size", "1000"];
    let output = switch(&[&["verify", &gated][..], &words].concat());
    let reverted = switch(&["revert"]);
    assert!(reverted.status.success(), "{}", stderr(&reverted));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    let about = record["switch"]["about"].as_str().unwrap();
    assert!(about.contains("with the counters of the kernel"), "{about}");
    let trial = &record["switch"]["trials"][0];
    let of = |key: &str| trial["classes"][0][key].as_u64().unwrap();
    let missing = of("sent") - of("received");
    assert!(missing > 0, "{trial}");
    let lost = trial["elsewhere"].as_array().unwrap().iter().find(|lost| lost["place"] == "out of port out");
    assert!(lost.is_some_and(|lost| lost["frames"].as_u64() >= Some(missing)), "{missing} missing: {trial}");
}
