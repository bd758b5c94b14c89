//! What was on a wire, by other means than the program's: captured by tcpdump, read octet by octet, and held against gates
//! that the test gives. Nothing here calls the crates under test.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::process::Signal;
use rustix::time::{ClockId, DynamicClockId, clock_gettime_dynamic};

use super::{has, send, wait_until};

/// Octets that are captured of each frame: all headers and the mark.
const SNAP: &str = "192";
/// Preamble and start of frame delimiter, then the check sequence (IEEE 802.3 clause 3.1.1).
const BEFORE: u64 = 8;
const CHECK: u64 = 4;
const GAP: u64 = 12;
/// The shortest frame without its check sequence.
const SHORTEST: u64 = 60;

/// tcpdump at work on one interface.
pub struct Capture {
    tcpdump: Child,
    said: BufReader<ChildStderr>,
    file: PathBuf,
}

/// A captured frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// When it was stamped, on CLOCK_REALTIME, in ns.
    pub at_ns: u64,
    /// Its length without the check sequence.
    pub octets: u64,
    /// Its beginning.
    pub bytes: Vec<u8>,
}

/// The mark of a numbered frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// What the frames of one run have in common.
    pub run: [u8; 3],
    /// The place of its class in the configuration.
    pub class: u8,
    /// Its number.
    pub number: u64,
}

impl Capture {
    /// Captures in the network namespace of the calling thread. Nothing where tcpdump is not installed.
    pub fn begin(interface: &str, file: &Path) -> Option<Self> {
        Self::with(Command::new("tcpdump"), interface, file)
    }

    /// Captures in the network namespace of this path.
    pub fn within(namespace: &Path, interface: &str, file: &Path) -> Option<Self> {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", namespace.display())).arg("tcpdump");
        Self::with(command, interface, file)
    }

    fn with(mut command: Command, interface: &str, file: &Path) -> Option<Self> {
        if !has("tcpdump") {
            return None;
        }
        command.args(["-i", interface, "-n", "-j", "host", "--time-stamp-precision=nano"]);
        command.args(["-s", SNAP, "-B", "65536", "-Z", "root", "-w"]).arg(file);
        let mut tcpdump = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("tcpdump starts");
        let mut said = BufReader::new(tcpdump.stderr.take().expect("it is piped"));
        line(&mut said, "listening on");
        Some(Self { tcpdump, said, file: file.into() })
    }

    /// Ends it when all that came is taken down, and gives the frames in the order of their arrival, those that went out
    /// by the interface among them. None may have been lost by tcpdump itself.
    pub fn end(mut self) -> Vec<Frame> {
        wait_until("tcpdump takes down what came", || {
            // "tcpdump: 5 packets captured, 5 packets received by filter, 0 packets dropped by kernel"
            send(self.tcpdump.id(), Signal::USR1);
            let counts = line(&mut self.said, "dropped by kernel");
            let counts: Vec<&str> = counts.split(&[' ', ',', ':']).filter(|word| word.parse::<u64>().is_ok()).collect();
            assert_eq!((counts.len(), counts[2]), (3, "0"), "captured, received and lost: {counts:?}");
            counts[0] == counts[1]
        });
        send(self.tcpdump.id(), Signal::INT);
        self.tcpdump.wait().expect("tcpdump ends");
        frames(&std::fs::read(&self.file).expect("the capture"))
    }
}

/// The next line that has these words in it.
fn line(from: &mut impl BufRead, words: &str) -> String {
    let mut said = String::new();
    while !said.lines().last().is_some_and(|line| line.contains(words)) {
        let octets = from.read_line(&mut said).expect("text");
        assert!(octets > 0, "tcpdump: {said}");
    }
    said.lines().last().unwrap_or_default().into()
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = self.tcpdump.kill();
        let _ = self.tcpdump.wait();
    }
}

/// The frames of a capture file (draft-ietf-opsawg-pcap; nanoseconds, of either octet order).
pub fn frames(file: &[u8]) -> Vec<Frame> {
    let big = match file.get(..4) {
        Some([0xa1, 0xb2, 0x3c, 0x4d]) => true,
        Some([0x4d, 0x3c, 0xb2, 0xa1]) => false,
        other => panic!("not a capture with nanoseconds: {other:x?}"),
    };
    let word = |at: usize| {
        let octets = file[at..at + 4].try_into().expect("four octets");
        u64::from(if big { u32::from_be_bytes(octets) } else { u32::from_le_bytes(octets) })
    };
    assert_eq!(word(20) & 0xffff, 1, "Ethernet");
    let (mut at, mut found) = (24, Vec::new());
    while at < file.len() {
        let captured = word(at + 8) as usize;
        let bytes = file[at + 16..at + 16 + captured].to_vec();
        found.push(Frame { at_ns: word(at) * 1_000_000_000 + word(at + 4), octets: word(at + 12), bytes });
        at += 16 + captured;
    }
    found
}

impl Frame {
    /// The mark behind its headers, if frames of this kind have one.
    pub fn mark(&self) -> Option<Mark> {
        let half = |at: usize| Some(u16::from_be_bytes(self.bytes.get(at..at + 2)?.try_into().ok()?));
        let mut at = 12;
        while half(at)? == 0x8100 {
            at += 4;
        }
        let transport = |protocol: u8, ports_at: usize| match protocol {
            17 => ports_at + 8,
            6 => ports_at + 20,
            _ => ports_at,
        };
        let mark_at = match half(at)? {
            0x0800 => transport(*self.bytes.get(at + 11)?, at + 2 + 4 * usize::from(self.bytes.get(at + 2)? & 15)),
            0x86dd => transport(*self.bytes.get(at + 8)?, at + 42),
            _ => at + 2,
        };
        let mark = self.bytes.get(mark_at..mark_at + 14)?;
        let number = mark[4..9].iter().fold(0, |number, octet| number << 8 | u64::from(*octet));
        Some(Mark { run: mark[..3].try_into().ok()?, class: mark[3], number })
    }
}

/// What TAI is ahead of CLOCK_REALTIME on this machine, in ns: whole seconds.
pub fn tai_ahead_ns() -> u64 {
    let [tai, realtime] = [DynamicClockId::Tai, DynamicClockId::Known(ClockId::Realtime)].map(|clock| {
        let now = clock_gettime_dynamic(clock).expect("the clock is there");
        now.tv_sec as i64 * 1_000 + now.tv_nsec as i64 / 1_000_000
    });
    ((tai - realtime + 500) / 1_000) as u64 * 1_000_000_000
}

/// A link without a clock of its own, which takes frames in the order in which they come, one after the other.
#[derive(Debug, Clone)]
pub struct Wire {
    rate: u64,
    free_ns: u64,
}

impl Wire {
    /// Of so many bits per second.
    pub fn new(rate: u64) -> Self {
        Self { rate, free_ns: 0 }
    }

    /// When a frame that is handed over at this time begins, and when its last octet is through.
    pub fn carry(&mut self, at_ns: u64, octets: u64) -> (u64, u64) {
        let begins_ns = at_ns.max(self.free_ns);
        let octets = BEFORE + octets.max(SHORTEST) + CHECK;
        let time_ns = |octets: u64| (octets * 8_000_000_000).div_ceil(self.rate);
        self.free_ns = begins_ns + time_ns(octets + GAP);
        (begins_ns, begins_ns + time_ns(octets))
    }
}

/// A list of gates: which queues are open, one bit for each, and for how long in ns.
#[derive(Debug, Clone)]
pub struct Gates {
    /// When some cycle begins.
    pub base_ns: u64,
    /// The list.
    pub list: Vec<(u8, u64)>,
}

/// How a frame keeps to its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It begins and ends in one window.
    Inside,
    /// It begins while its gate is closed.
    BeginsOutside,
    /// It begins while its gate is open, and ends so many ns after the closing.
    EndsLate(u64),
}

impl Gates {
    fn is_open(&self, queue: u8, at_ns: u64) -> bool {
        self.list[self.entry(at_ns).0].0 >> queue & 1 == 1
    }

    /// The entry in force, and when it ends.
    fn entry(&self, at_ns: u64) -> (usize, u64) {
        let cycle_ns: u64 = self.list.iter().map(|entry| entry.1).sum();
        let offset = (i128::from(at_ns) - i128::from(self.base_ns)).rem_euclid(i128::from(cycle_ns)) as u64;
        let mut end_ns = 0;
        for (place, entry) in self.list.iter().enumerate() {
            end_ns += entry.1;
            if offset < end_ns {
                return (place, at_ns + end_ns - offset);
            }
        }
        unreachable!("the offset is within the cycle")
    }

    /// When a gate that is open closes; nothing where it never does.
    pub fn closes_ns(&self, queue: u8, at_ns: u64) -> Option<u64> {
        let mut next_ns = at_ns;
        for _ in 0..=self.list.len() {
            next_ns = self.entry(next_ns).1;
            if !self.is_open(queue, next_ns) {
                return Some(next_ns);
            }
        }
        None
    }

    /// Judges a frame; it may begin `guard_ns` before its window and end so much after it.
    pub fn judge(&self, queue: u8, (begins_ns, ends_ns): (u64, u64), guard_ns: u64) -> Verdict {
        // Of two windows that are near, the one that suits better.
        let suits = |at_ns: u64| {
            let late_ns = |closes_ns: u64| ends_ns.saturating_sub(closes_ns);
            self.is_open(queue, at_ns).then(|| self.closes_ns(queue, at_ns).map_or(0, late_ns))
        };
        // The moment itself, the windows that begin a little later, and those that ended a little earlier.
        let edges = [begins_ns, begins_ns + guard_ns, begins_ns.saturating_sub(guard_ns)];
        match edges.into_iter().filter_map(suits).min() {
            Some(late_ns) if late_ns <= guard_ns => Verdict::Inside,
            Some(late_ns) if self.is_open(queue, begins_ns) => Verdict::EndsLate(late_ns),
            _ => Verdict::BeginsOutside,
        }
    }
}

#[test]
fn a_capture_is_read_octet_by_octet() {
    let header = |magic: [u8; 4]| [&magic[..], &[2, 0, 4, 0], &[0; 8], &[192, 0, 0, 0], &[1, 0, 0, 0]].concat();
    let mut udp = vec![0; 12];
    udp.extend([0x81, 0, 0xa0, 1, 8, 0, 0x45, 0]);
    udp.resize(16 + 2 + 9, 0);
    udp.push(17);
    udp.resize(16 + 2 + 20 + 8, 0);
    udp.extend([7, 8, 9, 2, 0, 0, 0, 1, 4, 0, 0, 0, 0, 0]);
    let record = [[5, 0, 0, 0], [0xff, 0xc9, 0x9a, 0x3b], [udp.len() as u8, 0, 0, 0], [0xee, 5, 0, 0]].concat();
    let file = [header([0x4d, 0x3c, 0xb2, 0xa1]), record, udp.clone()].concat();
    let found = frames(&file);
    assert_eq!(found, [Frame { at_ns: 5_999_999_999, octets: 1_518, bytes: udp }]);
    assert_eq!(found[0].mark(), Some(Mark { run: [7, 8, 9], class: 2, number: 260 }));
}

#[test]
fn a_frame_is_judged_by_its_end_too() {
    let gates = Gates { base_ns: 5_000_000, list: vec![(1, 800_000), (2, 150_000), (0, 50_000)] };
    let judged = |queue, begins_ns, ends_ns| gates.judge(queue, (begins_ns, ends_ns), 1_000);
    assert_eq!(judged(0, 7_000_000, 7_012_000), Verdict::Inside);
    assert_eq!(judged(0, 6_999_000, 7_011_000), Verdict::Inside);
    assert_eq!(judged(0, 6_998_999, 7_010_000), Verdict::BeginsOutside);
    assert_eq!(judged(0, 7_789_000, 7_801_000), Verdict::Inside);
    assert_eq!(judged(0, 7_789_001, 7_801_001), Verdict::EndsLate(1_001));
    assert_eq!(judged(1, 7_789_001, 7_801_001), Verdict::BeginsOutside);
    assert_eq!(judged(0, 7_800_500, 7_812_500), Verdict::BeginsOutside);
    assert_eq!(judged(3, 7_800_500, 7_812_500), Verdict::BeginsOutside);
    // Frames that come at once leave one after the other: 1 518 octets and the preamble, then the gap.
    let mut wire = Wire::new(1_000_000_000);
    assert_eq!([0, 0].map(|_| wire.carry(100, 1_514)), [(100, 12_308), (12_404, 24_612)]);
    assert_eq!(wire.carry(50_000, 42), (50_000, 50_576));
}

#[test]
fn tcpdump_sees_what_comes_in_here_and_in_another_namespace() {
    use ontick_switch::user::packet::PacketPort;
    use ontick_switch::user::port::{Port, Sent};
    use ontick_switch::verify::namespace::Namespace;
    if !has("tcpdump") || !has("nsenter") {
        return;
    }
    let (Ok(here), Ok(there)) = (Namespace::new(), Namespace::new()) else {
        return ontick_skip::skipped!("network namespaces need root");
    };
    here.join("left", &there, "right").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let inside = there.within(|| Capture::begin("right", &first)).unwrap().unwrap();
    let from_outside = Capture::within(&there.path(), "right", &second).unwrap();
    let mut port = here.within(|| PacketPort::open("left", 16)).unwrap().unwrap();
    // For experiments (IEEE 802.1Q clause H.1), with a mark.
    let mut frame = [&[2; 12][..], &[0x88, 0xb5], &[1, 2, 3], &[0; 11]].concat();
    frame.resize(1_000, 0);
    let began_ns = ontick_rt::clock::ClockId::Realtime.now_ns();
    for number in 0..50 {
        frame[22] = number;
        assert_eq!(port.send(&frame), Sent::Done);
    }
    let ended_ns = ontick_rt::clock::ClockId::Realtime.now_ns();
    for capture in [inside, from_outside] {
        let frames = capture.end();
        assert_eq!(
            frames.iter().filter_map(Frame::mark).map(|mark| mark.number).collect::<Vec<_>>(),
            Vec::from_iter(0..50)
        );
        assert!(frames.iter().all(|frame| frame.octets == 1_000 && (began_ns..=ended_ns).contains(&frame.at_ns)));
    }
    assert!(tai_ahead_ns() <= 60_000_000_000);
}
