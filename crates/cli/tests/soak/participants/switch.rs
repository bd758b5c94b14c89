//! `switch run` in a network namespace, with stations at two cables that send and receive numbered frames.

use std::process::{Command, Output, Stdio};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ontick_switch::user::packet::PacketPort;
use ontick_switch::user::port::{Port, Received, Sent};
use ontick_switch::verify::namespace::Namespace;
use rustix::process::Signal;
use serde_json::Value;

use super::{Count, PATIENCE, Participant};
use crate::oracle::frames::{CLASSES, Drops, Frames, Look, balance, is_quiet};
use crate::site::{Killed, Site};

/// The second of the experimental EtherTypes (IEEE 802, 88-b6; the switch's own probes have the first), behind a tag whose
/// priority decides the class.
const HEADER: [u8; 18] = [2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa, 0x81, 0, 0, 0, 0x88, 0xb6];
const EVERY: Duration = Duration::from_millis(2);
const FRAMES_IN_RING: u32 = 4096;
const ATTEMPTS: u32 = 5;
/// Lengths of the windows of the two classes, in us.
const GATES: [[u32; 2]; 2] = [[800, 200], [500, 500]];

pub struct Switching {
    site: Rc<Site>,
    here: Namespace,
    far: Namespace,
    traffic: Traffic,
    life: Option<Killed>,
    /// As it was when no frame was under way last, and what interfaces had dropped by then.
    before: (Frames, u64),
    counted_by_switch: u64,
    gates: usize,
    count: Count,
    settings: String,
}

/// The stations, on a thread of their own.
struct Traffic {
    stations: Arc<Mutex<Stations>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Stations {
    frames: Frames,
    /// How often they have looked what came.
    turns: u64,
    sends: bool,
    ended: bool,
}

impl Traffic {
    fn begin(far: &Namespace) -> Self {
        let open = |name: &str| far.within(|| PacketPort::open(name, FRAMES_IN_RING)).expect("in it").expect("a port");
        let (mut from, mut to) = (open("far0"), open("far1"));
        let stations: Arc<Mutex<Stations>> = Arc::default();
        let of = stations.clone();
        let thread = std::thread::spawn(move || {
            let mut slot = [0; 2048];
            loop {
                let mut stations = of.lock().expect("nobody panics");
                if stations.ended {
                    return;
                }
                while let Received::Frame(octets) = to.receive(&mut slot) {
                    if let Some((class, number)) = number(&slot[..octets]) {
                        stations.frames.receive(class, number);
                    }
                }
                stations.frames.overflowed += to.overflowed();
                stations.turns += 1;
                let next = stations.frames.next();
                // One that the interface does not take is not sent: the cable is out.
                if stations.sends && from.send(&frame(next)) == Sent::Done {
                    stations.frames.sent = next;
                }
                drop(stations);
                std::thread::sleep(EVERY);
            }
        });
        Self { stations, thread: Some(thread) }
    }

    fn send(&self, sends: bool) {
        self.stations.lock().expect("the stations work").sends = sends;
    }

    fn frames(&self) -> Frames {
        self.look().0
    }

    fn look(&self) -> (Frames, u64) {
        let stations = self.stations.lock().expect("the stations work");
        (stations.frames.clone(), stations.turns)
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        if let Ok(mut stations) = self.stations.lock() {
            stations.ended = true;
        }
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn frame(number: u64) -> Vec<u8> {
    let class = (number as usize) % CLASSES;
    let mut frame = HEADER.to_vec();
    frame[14] = if class == 1 { 7 << 5 } else { 0 };
    frame.extend([&[class as u8][..], &number.to_be_bytes()].concat());
    frame.resize(64, 0);
    frame
}

/// Class and number of one of the stations' frames.
fn number(frame: &[u8]) -> Option<(usize, u64)> {
    let behind = frame.windows(2).take(20).position(|two| two == [0x88, 0xb6])? + 2;
    let number = frame.get(behind + 1..behind + 9)?.try_into().ok()?;
    Some((usize::from(frame[behind]), u64::from_be_bytes(number)))
}

impl Switching {
    /// Nothing where there are no namespaces to be had.
    pub fn new(site: &Rc<Site>) -> Option<Self> {
        let (here, far) = (crate::namespace::namespace()?, crate::namespace::namespace()?);
        for n in 0..2 {
            here.join(&format!("port{n}"), &far, &format!("far{n}")).unwrap();
        }
        let traffic = Traffic::begin(&far);
        let mut switching = Self {
            site: site.clone(),
            here,
            far,
            traffic,
            life: None,
            before: Default::default(),
            counted_by_switch: 0,
            gates: 0,
            count: Count { of: "frames", ..Count::default() },
            settings: String::new(),
        };
        switching.settings = switching.settings();
        Some(switching)
    }

    fn file(&self) -> String {
        self.site.path("cell.toml").display().to_string()
    }

    fn configure(&self) {
        let [blue, red] = GATES[self.gates];
        let text = format!(
            "[switch]\nname = \"cell\"\nplane = \"user\"\n\n[[class]]\nname = \"blue\"\nqueue = 0\n\n[[class]]\nname = \
             \"red\"\nqueue = 1\nmatch = [{{ pcp = 7 }}]\n\n[[port]]\nname = \"port0\"\nrate = \"1Gbit\"\n\n[[port]]\n\
             name = \"port1\"\nrate = \"1Gbit\"\n[port.gates]\nentries = [{{ open = [\"blue\"], for = \"{blue}us\" }}, \
             {{ open = [\"red\"], for = \"{red}us\" }}]\n"
        );
        std::fs::write(self.file(), text).unwrap();
    }

    /// A command of `switch` where its ports are, started through another one.
    fn command(&self, through: &[&str], words: &[&str]) -> Command {
        let inside = format!("--net={}", self.here.path().display());
        let state = self.site.path("switch").display().to_string();
        let through = [&["nsenter", &inside], through].concat();
        self.site.command(true, &through, &[&["switch"], words, &["--state", &state]].concat())
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(&[], words).stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("setpriv starts")
    }

    fn counters(&self) -> Option<Value> {
        let status: Value = serde_json::from_slice(&self.run(&["status", "--json"]).stdout).ok()?;
        let counters = &status["report"]["counters"];
        counters.is_object().then(|| counters.clone())
    }

    /// Frames that interfaces of both namespaces dropped on the way out since they are there. On the way in they count what
    /// no protocol of the kernel takes, which is every frame.
    fn dropped_by_interfaces(&self) -> u64 {
        let of = |namespace: &Namespace| -> u64 {
            let links = namespace.run("ip", &["-s", "-j", "link", "show"]).expect("ip works");
            let links: Vec<Value> = serde_json::from_str(&links).expect("JSON");
            links.iter().map(|link| link["stats64"]["tx"]["dropped"].as_u64().unwrap_or(0)).sum()
        };
        of(&self.here) + of(&self.far)
    }

    /// Lets all frames that are under way arrive, and looks whether they add up.
    pub fn settle(&mut self) -> Vec<String> {
        self.traffic.send(false);
        let until = Instant::now() + PATIENCE;
        let (mut turns, mut fresh) = (None, None);
        let balanced = loop {
            let Some((now, counted, by_interfaces)) = self.look() else {
                return vec!["switch: its status has no counters".into()];
            };
            let balanced = balance(&self.before.0, &now.frames, now.drops);
            let is_over = balanced.is_ok() && fresh.as_ref().is_some_and(|fresh| is_quiet(fresh, &now));
            if is_over || Instant::now() >= until {
                self.count.delivered += now.frames.received - self.before.0.received;
                (self.before, self.counted_by_switch) = ((now.frames, by_interfaces), counted);
                break balanced;
            }
            // The core's counters are written once a second: just then they say what it has done by now.
            if turns.replace(now.turns[0]).is_some_and(|turns| turns != now.turns[0]) {
                fresh = Some(now);
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        self.traffic.send(true);
        match balanced {
            Ok(lost) => {
                self.count.missed += lost;
                Vec::new()
            }
            Err(why) => vec![format!("switch: {why}")],
        }
    }

    /// What is to be seen now, and what switch and interfaces have dropped in all.
    fn look(&self) -> Option<(Look, u64, u64)> {
        let counters = self.counters()?;
        let (counted, turns) = (Drops::of_switch(&counters)?, counters["turns"].as_u64()?);
        let by_interfaces = self.dropped_by_interfaces();
        let (frames, looks) = self.traffic.look();
        let drops = Drops { by_switch: counted - self.counted_by_switch, by_interfaces: by_interfaces - self.before.1 };
        Some((Look { frames, drops, turns: [turns, looks] }, counted, by_interfaces))
    }

    /// Takes a cable out, or puts it in.
    pub fn cable(&self, n: usize, is_in: bool) {
        let end = format!("far{n}");
        self.far.ip(&["link", "set", "dev", &end, if is_in { "up" } else { "down" }]).expect("ip works");
    }

    /// A core that gets no time takes no gates, which `apply` reports: then it is asked again.
    pub fn change_gates(&mut self) -> Vec<String> {
        self.gates = (self.gates + 1) % GATES.len();
        self.configure();
        let mut said = String::new();
        for _ in 0..ATTEMPTS {
            let applied = self.run(&["apply", &self.file()]);
            said = String::from_utf8_lossy(&applied.stderr).into_owned();
            if applied.status.success() {
                return Vec::new();
            }
            if !said.contains("they are as before") {
                break;
            }
        }
        vec![format!("switch: apply: {said}")]
    }

    /// Everything that setting up changes.
    fn settings(&self) -> String {
        let links = self.here.run("ip", &["-o", "link", "show"]).expect("ip works");
        let queues = self.here.run("tc", &["qdisc", "show"]).expect("tc works");
        let offloads = ["port0", "port1"].map(|port| {
            self.here.within(|| format!("{:?}", ontick_switch::features::get(port).expect("a port"))).expect("in it")
        });
        format!("{links}{queues}{offloads:?}")
    }

    /// Its guardian puts back what it changed.
    fn is_taken_away(&self) -> Vec<String> {
        let until = Instant::now() + PATIENCE;
        while self.settings() != self.settings {
            if Instant::now() > until {
                return vec![format!("switch: settings are left: {} instead of {}", self.settings(), self.settings)];
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Vec::new()
    }
}

impl Participant for Switching {
    fn name(&self) -> &'static str {
        "switch"
    }

    fn start(&mut self) {
        self.configure();
        // It spins: little more than what nobody else wants.
        let mut command = self.command(&["nice", "-n", "19"], &["run", &self.file(), "--keep-throttling"]);
        self.life = Some(self.site.start("switch", &mut command));
        let mut counted = None;
        crate::wait_until("the switch works", || {
            counted = self.counters().as_ref().and_then(Drops::of_switch);
            counted.is_some()
        });
        self.counted_by_switch = counted.unwrap_or_default();
        self.before = (self.traffic.frames(), self.dropped_by_interfaces());
        self.count.lives += 1;
        self.traffic.send(true);
    }

    fn processes(&self) -> Vec<(&'static str, u32)> {
        self.life.iter().map(|process| ("switch run", process.0.id())).collect()
    }

    fn check(&mut self) -> Vec<String> {
        let Some(process) = &mut self.life else { return Vec::new() };
        let ended = process.0.try_wait().expect("a child");
        let ended =
            ended.map(|status| format!("switch: ended by itself, {status}: {}", self.site.last_words("switch")));
        let mut stations = self.traffic.stations.lock().expect("the stations work");
        let wrong = stations.frames.wrong.take().map(|why| format!("switch: {why}"));
        ended.into_iter().chain(wrong).collect()
    }

    fn kill(&mut self) -> Vec<String> {
        let mut findings = self.settle();
        // Frames are under way.
        std::thread::sleep(EVERY * 20);
        self.life = None;
        self.traffic.send(false);
        findings.extend(self.is_taken_away());
        let now = self.traffic.frames();
        let (sent, came) = (now.sent - self.before.0.sent, now.received - self.before.0.received);
        if came > sent {
            findings.push(format!("switch: {came} frames came of {sent} in the killed life"));
        }
        self.count.delivered += came;
        self.count.killed += sent.saturating_sub(came);
        findings
    }

    fn end(&mut self) -> Vec<String> {
        let mut findings = self.settle();
        self.traffic.send(false);
        let Some(mut process) = self.life.take() else { return findings };
        process.signal(Signal::INT);
        let status = process.status_within(PATIENCE);
        if status != Some(0) {
            findings
                .push(format!("switch: Ctrl-C ended it with status {status:?}: {}", self.site.last_words("switch")));
        }
        findings.extend(self.is_taken_away());
        findings
    }

    fn count(&self) -> Count {
        self.count.clone()
    }
}
