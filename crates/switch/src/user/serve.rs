//! The user data plane on real ports: opened, watched, closed again when they vanish and opened when they return.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ontick_rt::clock::ClockId;
use serde::{Deserialize, Serialize};

use super::bpf::NO_QUEUE;
use super::core::{Command, PortConfig, Stall};
use super::counters::Counters;
use super::either::EitherPort;
use super::loop_guard::{Action, LoopGuard, QUIET};
use super::loop_probe;
use super::open::OpenError;
use super::packet::least_egress_ns;
use super::placement::CorePlacement;
use super::running::{CoreEvent, Running, StartError, Stopped};
use super::settings::Settings;
use crate::apply::{Live, SwitchDir};
use crate::ethtool;
use crate::link::{self, Change, Watch};
use crate::loops;
use ontick_tsn::config;
use ontick_tsn::model::{Base, Guard, Port, Socket, Switch};
use ontick_tsn::schedule::Schedule;

/// Rate of a link that tells none, in bits per second.
const RATE: u64 = 1_000_000_000;
/// Of the least time that a frame took to its link, this part is relied on: the processor may become faster, and no frame
/// may leave before its gate opens.
const SURE: (u64, u64) = (3, 4);
/// An interface that is there again and cannot be used is tried so often.
const RETRY: Duration = Duration::from_secs(1);
/// Frames that an interface does not take are reported so often at most.
const AGAIN: Duration = Duration::from_secs(60);

/// Why it cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A port cannot be used.
    #[error(transparent)]
    Port(#[from] OpenError),
    /// The core was not started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Ports cannot be watched.
    #[error("the interfaces cannot be watched: {0}")]
    Watch(#[from] io::Error),
    /// It would make a loop.
    #[error("{0}")]
    Loop(loops::Loop),
}

/// Why a switch that is set up was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// Something else differs, too.
    #[error("only gates can change while the switch is set up; for anything else revert it and apply it again")]
    MoreThanGates,
    /// The core has commands that it has not taken yet.
    #[error("the core does not take commands at the moment; try again")]
    Busy,
}

/// What happened, for people and records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceEvent {
    /// A port's link came up.
    Up(String),
    /// A port's link went down; what waited for it was dropped.
    Down(String),
    /// A port's interface is gone.
    Gone(String),
    /// It is there again.
    Back(String),
    /// It is there again, but cannot be used.
    Unusable(String, String),
    /// It is joined outside with a port before it, and closed for as long as that is so.
    Loop(String),
    /// That is over.
    Reopened(String),
    /// Another program changed its settings; what came of it.
    Changed(String, String),
    /// Its interface did not take frames: how many since this was said last, and the octets of the last one.
    Refused(String, u64, u64),
    /// To the core, or its clock.
    Core(CoreEvent),
}

impl fmt::Display for ServiceEvent {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ServiceEvent::Up(port) => write!(f, "port {port}: the link is up"),
            ServiceEvent::Down(port) => write!(f, "port {port}: the link is down"),
            ServiceEvent::Gone(port) => write!(f, "port {port}: the interface is gone; the other ports go on"),
            ServiceEvent::Back(port) => write!(f, "port {port}: the interface is there again, and used"),
            ServiceEvent::Unusable(port, why) => write!(f, "port {port}: the interface is there again, but {why}"),
            ServiceEvent::Loop(port) => write!(
                f,
                "port {port}: it is joined outside with another port of this switch, which makes a loop; this port is closed \
                 until no probe has come back for {} s",
                QUIET.as_secs()
            ),
            ServiceEvent::Changed(port, what) => write!(f, "port {port}: {what}"),
            ServiceEvent::Refused(port, frames, octets) => write!(
                f,
                "port {port}: its interface did not take {frames} frames, the last one of {octets} octets; they are \
                 dropped (is the MTU at the other end smaller?)"
            ),
            ServiceEvent::Reopened(port) => {
                write!(f, "port {port}: no probe comes back any more; the port is open again")
            }
            ServiceEvent::Core(CoreEvent::ClockSet(ns)) => {
                write!(f, "the clock was set by {:.6} s: gates follow it", *ns as f64 / 1e9)
            }
            ServiceEvent::Core(CoreEvent::Demoted) => {
                write!(f, "the core showed no sign of life and has lost its real-time priority")
            }
            ServiceEvent::Core(CoreEvent::Moved(why, cpu)) => write!(f, "{why}: the core goes on on CPU {cpu}"),
            ServiceEvent::Core(CoreEvent::Ended) => write!(f, "the core has ended"),
        }
    }
}

/// A data plane at work on the machine's ports.
pub struct Service {
    switch: Switch,
    place: CorePlacement,
    running: Running<EitherPort>,
    watch: Watch,
    ports: Vec<Watched>,
    guard: LoopGuard,
    began: Instant,
    base_ns: u64,
    settings: Option<Settings<Live>>,
    /// When interfaces were last tried that are there and not open.
    tried: Instant,
}

/// A port, as it is seen from outside of the core.
struct Watched {
    /// Index of the interface that is open.
    index: Option<u32>,
    link: bool,
    /// Bits per second that the core reckons with.
    rate: u64,
    /// So much earlier frames are handed over, in ns.
    ahead_ns: u64,
    /// Frames that its interface had refused when that was said last, and when.
    refused: (u64, Option<Instant>),
    /// Why its other end may join frames, which are lost then.
    joined: Option<String>,
    /// Times that a setting was put back which another program had changed.
    put_back: u64,
    /// What was said of it last.
    said: Option<String>,
}

/// What is known of it, for `ontick switch status`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The process.
    pub pid: u32,
    /// When this was written, on the monotonic clock, in ns.
    pub at_ns: u64,
    /// The configuration that is in force.
    pub configuration: String,
    /// When the first cycle began, on the switch's clock, in ns.
    pub base_ns: u64,
    /// Where the core runs.
    pub cpu: Option<u32>,
    /// Other CPUs on which it was found: its own was unplugged or taken from it.
    #[serde(default)]
    pub strayed_to: Vec<u32>,
    /// How.
    pub policy: String,
    /// What it asked for and did not get.
    pub refused: Vec<String>,
    /// Whether it sleeps now and then, as real-time throttling is on.
    pub rests: bool,
    /// The ports, in the order of the file.
    pub ports: Vec<PortReport>,
    /// What was counted; ports are in the same order.
    pub counters: Arc<Counters>,
}

/// What is known of a port.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PortReport {
    /// Its name.
    pub name: String,
    /// Whether its interface is there, and open.
    pub open: bool,
    /// Whether it has a link.
    pub link: bool,
    /// Whether it is closed because it made a loop.
    pub closed: bool,
    /// So much before a gate opens its first frame is handed over, in ns: less than the kernel takes until a frame is on
    /// its link.
    #[serde(default)]
    pub ahead_ns: u64,
    /// Times that its settings were put back, which another program had changed.
    #[serde(default)]
    pub put_back: u64,
}

/// The ports of a switch, open, before its core runs.
struct OpenPorts {
    watch: Watch,
    ports: Vec<Watched>,
    base_ns: u64,
    attachments: Vec<PortConfig<EitherPort>>,
}

impl OpenPorts {
    fn new(switch: &Switch) -> Result<Self, ServeError> {
        let names: Vec<&str> = switch.ports.iter().map(|port| port.name.as_str()).collect();
        let watch = Watch::begin()?;
        let links: Vec<link::Link> = watch.links().cloned().collect();
        if let Some(found) = loops::known(&links, &names, None).into_iter().next() {
            return Err(ServeError::Loop(found));
        }
        if let Some(found) = loop_probe::probe(&names, loop_probe::LISTEN)?.loops.into_iter().next() {
            return Err(ServeError::Loop(found));
        }
        let mut opened = Vec::new();
        let mut joined = Vec::new();
        for name in &names {
            let mut open = EitherPort::open(name, switch.socket)?;
            joined.push(keep_whole(&mut open, name, &watch));
            opened.push(open);
        }
        let base_ns = base_ns(switch);
        let mut ports = Vec::new();
        let mut attachments = Vec::new();
        for ((port, open), joined) in switch.ports.iter().zip(opened).zip(joined) {
            let link = watch.named(&port.name).is_some_and(|link| link.carrier);
            let rate = rate(port);
            ports.push(Watched {
                index: Some(open.index()),
                link,
                rate,
                ahead_ns: 0,
                refused: (0, None),
                joined,
                put_back: 0,
                said: None,
            });
            attachments.push(PortConfig {
                port: Some(open),
                rate,
                schedule: Schedule::of(switch, port, base(port, base_ns), rate),
            });
        }
        Ok(Self { watch, ports, base_ns, attachments })
    }
}

impl Service {
    /// Opens the ports in the calling thread's network namespace and begins. Steps of [`super::plan`] come before.
    pub fn start(switch: &Switch, place: CorePlacement) -> Result<Self, ServeError> {
        let mut one = Self::start_together(std::slice::from_ref(switch), place)?;
        Ok(one.swap_remove(0))
    }

    /// Several switches whose work one core does by turns; where one of them is stopped, all are.
    pub fn start_together(switches: &[Switch], place: CorePlacement) -> Result<Vec<Self>, ServeError> {
        let mut opened = switches.iter().map(OpenPorts::new).collect::<Result<Vec<_>, _>>()?;
        let attachments = opened.iter_mut().map(|opened| std::mem::take(&mut opened.attachments));
        let planes = switches.iter().zip(attachments).collect();
        let running = Running::start_together(planes, place)?;
        let services = switches.iter().zip(opened).zip(running);
        Ok(services.map(|((switch, opened), running)| Self::new(switch, place, opened, running)).collect())
    }

    fn new(switch: &Switch, place: CorePlacement, opened: OpenPorts, mut running: Running<EitherPort>) -> Self {
        let OpenPorts { watch, ports, base_ns, .. } = opened;
        for (index, _) in ports.iter().enumerate().filter(|(_, port)| !port.link) {
            let _ = running.tell(Command::Link(index, false));
        }
        let guard = LoopGuard::new(ports.len(), Duration::ZERO);
        let mut service = Self {
            switch: switch.clone(),
            place,
            running,
            watch,
            ports,
            guard,
            began: Instant::now(),
            base_ns,
            settings: None,
            tried: Instant::now(),
        };
        (0..service.ports.len()).for_each(|at| service.look_ahead(at));
        service
    }

    /// From now on the settings of the ports are kept, too; the folder has the journal of what was set.
    pub fn keep_settings(&mut self, folder: &SwitchDir) {
        self.settings = Some(Settings::new(Live, folder.clone()));
    }

    /// Looks after everything for about so long, and tells what happened.
    pub fn service(&mut self, at_most: Duration) -> io::Result<Vec<ServiceEvent>> {
        let mut happened = Vec::new();
        let until = Instant::now() + at_most;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.watch.next(left)? {
                Some(link::Event::Link { index, name, change }) => happened.extend(self.changed(index, &name, &change)),
                // What was lost is followed by what it amounts to.
                Some(_) => {}
                None => break,
            }
        }
        happened.extend(self.running.service().into_iter().map(ServiceEvent::Core));
        happened.extend(self.look_for_loops());
        happened.extend(self.look_for_refused());
        happened.extend(self.look_at_settings());
        happened.extend(self.try_again());
        Ok(happened)
    }

    /// Stalls of the core since this was last asked.
    pub fn stalls(&mut self) -> impl Iterator<Item = Stall> {
        self.running.stalls()
    }

    /// The core's thread, as the kernel numbers it.
    pub fn tid(&self) -> i32 {
        self.running.tid()
    }

    /// How far the switch's clock is from the monotonic one, in ns.
    pub fn distance_ns(&self) -> i64 {
        self.running.distance_ns()
    }

    /// Takes over the gates of a changed model; everything else of it must be as it was.
    pub fn change(&mut self, switch: &Switch) -> Result<(), ChangeError> {
        let without = |switch: &Switch| {
            let mut plain = switch.clone();
            plain.ports.iter_mut().for_each(|port| port.gates = None);
            plain
        };
        if without(switch) != without(&self.switch) {
            return Err(ChangeError::MoreThanGates);
        }
        let base_ns = base_ns(switch);
        for (index, port) in switch.ports.iter().enumerate() {
            if port.gates == self.switch.ports[index].gates {
                continue;
            }
            let schedule = Schedule::of(switch, port, base(port, base_ns), rate(port));
            let reported = self.running.tell(Command::Gates(index, schedule));
            reported.map_err(|_| ChangeError::Busy)?;
        }
        (self.switch, self.base_ns) = (switch.clone(), base_ns);
        // Ports that have gates for the first time.
        for at in 0..self.ports.len() {
            if self.ports[at].ahead_ns == 0 {
                self.look_ahead(at);
            }
        }
        Ok(())
    }

    /// What is known of it.
    pub fn report(&self) -> Report {
        let port = |(at, (port, watched)): (usize, (&Port, &Watched))| PortReport {
            name: port.name.clone(),
            open: watched.index.is_some(),
            link: watched.link,
            closed: self.guard.is_closed(at),
            ahead_ns: watched.ahead_ns,
            put_back: watched.put_back,
        };
        Report {
            pid: std::process::id(),
            at_ns: ClockId::Monotonic.now_ns(),
            configuration: config::write(&self.switch),
            base_ns: self.base_ns,
            cpu: self.place.cpu,
            strayed_to: self.running.strayed_to().to_vec(),
            policy: self.place.policy.to_string(),
            refused: self
                .running
                .refused()
                .iter()
                .chain(self.ports.iter().filter_map(|port| port.joined.as_ref()))
                .cloned()
                .collect(),
            rests: self.running.rests(),
            ports: self.switch.ports.iter().zip(&self.ports).enumerate().map(port).collect(),
            counters: self.running.counters().clone(),
        }
    }

    /// Ends it, and closes the ports.
    pub fn stop(self) -> Stopped {
        self.running.stop()
    }

    fn changed(&mut self, index: u32, name: &str, change: &Change) -> Option<ServiceEvent> {
        let at = self.ports.iter().position(|port| port.index == Some(index));
        match (change, at) {
            (Change::Gone, Some(at)) => self.gone(at),
            // A port that is called otherwise now is the same port still.
            (Change::Appeared | Change::Renamed { .. }, None) => self.back(name),
            (Change::CarrierUp, Some(at)) => self.link(at, true),
            (Change::CarrierDown, Some(at)) => self.link(at, false),
            (Change::Flapped, Some(at)) => {
                self.link(at, false);
                self.link(at, true)
            }
            _ => None,
        }
    }

    fn link(&mut self, at: usize, up: bool) -> Option<ServiceEvent> {
        self.ports[at].link = up;
        if self.guard.link_changed(at) {
            let _ = self.running.tell(Command::Close(at, false));
        }
        if up {
            self.follow_rate(at);
            self.look_ahead(at);
        }
        let _ = self.running.tell(Command::Link(at, up));
        let name = self.switch.ports[at].name.clone();
        Some(if up { ServiceEvent::Up(name) } else { ServiceEvent::Down(name) })
    }

    /// A link that comes up may have agreed on another rate, by which frames and guard bands are reckoned.
    fn follow_rate(&mut self, at: usize) {
        let port = &self.switch.ports[at];
        let rate = rate(port);
        if std::mem::replace(&mut self.ports[at].rate, rate) == rate {
            return;
        }
        let _ = self.running.tell(Command::Rate(at, rate));
        if port.gates.as_ref().is_some_and(|gates| gates.guard == Guard::LargestFrame) {
            let schedule = Schedule::of(&self.switch, port, base(port, self.base_ns), rate);
            let _ = self.running.tell(Command::Gates(at, schedule));
        }
    }

    /// Finds out how long frames are on their way to the link at least: so much earlier they can be handed over.
    fn look_ahead(&mut self, at: usize) {
        let port = &self.switch.ports[at];
        // AF_XDP has another way, which nothing stamps.
        if port.gates.is_none() || self.switch.socket != Socket::Packet || !self.ports[at].link {
            return;
        }
        // Without it gates open all the same.
        let least_ns = least_egress_ns(&port.name).ok().flatten().unwrap_or(0);
        let ahead_ns = least_ns * SURE.0 / SURE.1;
        self.ports[at].ahead_ns = ahead_ns;
        let _ = self.running.tell(Command::Ahead(at, ahead_ns));
    }

    fn gone(&mut self, at: usize) -> Option<ServiceEvent> {
        (self.ports[at].index, self.ports[at].link) = (None, false);
        let _ = self.running.tell(Command::Replace(at, None, RATE));
        Some(ServiceEvent::Gone(self.switch.ports[at].name.clone()))
    }

    fn back(&mut self, name: &str) -> Option<ServiceEvent> {
        let at = self.switch.ports.iter().position(|port| port.name == name)?;
        if self.ports[at].index.is_some() {
            return None;
        }
        let set_up =
            self.settings.as_ref().map_or(Ok(()), |settings| settings.set_up_again(name).map_err(|e| e.to_string()));
        let opened = set_up.and_then(|()| EitherPort::open(name, self.switch.socket).map_err(|why| why.to_string()));
        let mut open = match opened {
            Ok(open) => open,
            Err(why) if self.ports[at].said.replace(why.clone()).as_ref() == Some(&why) => return None,
            Err(why) => return Some(ServiceEvent::Unusable(name.into(), why)),
        };
        let link = self.watch.named(name).is_some_and(|link| link.carrier);
        let rate = rate(&self.switch.ports[at]);
        let joined = keep_whole(&mut open, name, &self.watch);
        let port = &mut self.ports[at];
        port.said = None;
        (port.index, port.link, port.rate, port.joined) = (Some(open.index()), link, rate, joined);
        self.guard.link_changed(at);
        let _ = self.running.tell(Command::Replace(at, Some(open), rate));
        if !link {
            let _ = self.running.tell(Command::Link(at, false));
        }
        self.look_ahead(at);
        Some(ServiceEvent::Back(name.into()))
    }

    /// What another program changed at the ports is put back.
    fn look_at_settings(&mut self) -> Vec<ServiceEvent> {
        let Some(settings) = &mut self.settings else { return Vec::new() };
        let named = self.switch.ports.iter().zip(&self.ports);
        let open: Vec<(&str, u32)> =
            named.filter_map(|(port, watched)| Some((port.name.as_str(), watched.index?))).collect();
        let mut happened = Vec::new();
        for done in settings.service(&open) {
            let Some(at) = self.switch.ports.iter().position(|port| port.name == done.port) else { continue };
            self.ports[at].put_back += 1;
            // One who insists gets no line every second.
            if self.ports[at].said.replace(done.what.clone()).as_ref() != Some(&done.what) {
                happened.push(ServiceEvent::Changed(done.port, done.what));
            }
        }
        happened
    }

    /// Interfaces that are there again and could not be used at once.
    fn try_again(&mut self) -> Vec<ServiceEvent> {
        if self.tried.elapsed() < RETRY {
            return Vec::new();
        }
        self.tried = Instant::now();
        let there = |at: &usize| {
            let name = &self.switch.ports[*at].name;
            (self.ports[*at].index.is_none() && self.watch.named(name).is_some()).then(|| name.clone())
        };
        let names: Vec<String> = (0..self.ports.len()).filter_map(|at| there(&at)).collect();
        names.iter().filter_map(|name| self.back(name)).collect()
    }

    /// Frames that interfaces do not take are reported at once, and then now and then.
    fn look_for_refused(&mut self) -> Vec<ServiceEvent> {
        let counters = self.running.counters().clone();
        let mut happened = Vec::new();
        for (at, counters) in counters.ports.iter().enumerate() {
            let (before, reported) = self.ports[at].refused;
            let refused = counters.queues.iter().map(|queue| queue.refused.get()).sum();
            if refused == before || reported.is_some_and(|reported| reported.elapsed() < AGAIN) {
                continue;
            }
            self.ports[at].refused = (refused, Some(Instant::now()));
            let name = self.switch.ports[at].name.clone();
            happened.push(ServiceEvent::Refused(name, refused - before, counters.refused_octets.get()));
        }
        happened
    }

    fn look_for_loops(&mut self) -> Vec<ServiceEvent> {
        let counters = self.running.counters();
        let looped: Vec<u64> = counters.ports.iter().map(|port| port.looped.get()).collect();
        let moved = counters.addresses_moved.get();
        let actions = self.guard.poll(self.began.elapsed(), &looped, moved);
        actions.into_iter().filter_map(|action| self.take_action(action)).collect()
    }

    fn take_action(&mut self, action: Action) -> Option<ServiceEvent> {
        let name = |at: usize| self.switch.ports[at].name.clone();
        match action {
            Action::Probe => {
                let _ = self.running.tell(Command::Probe);
                None
            }
            Action::Close(at) => {
                let _ = self.running.tell(Command::Close(at, true));
                Some(ServiceEvent::Loop(name(at)))
            }
            Action::Reopen(at) => {
                let _ = self.running.tell(Command::Close(at, false));
                let _ = self.running.tell(Command::Link(at, self.ports[at].link));
                Some(ServiceEvent::Reopened(name(at)))
            }
        }
    }
}

/// Has the other end of a virtual Ethernet pair send single frames; why it may not.
fn keep_whole(open: &mut EitherPort, name: &str, watch: &Watch) -> Option<String> {
    if watch.named(name).and_then(|link| link.kind.as_deref()) != Some("veth") {
        return None;
    }
    let error = open.keep_whole().err()?;
    let why = match error.raw_os_error() {
        Some(NO_QUEUE) => format!("it sends by more queues than {name} receives by, so that no program stops it"),
        _ => error.to_string(),
    };
    Some(format!(
        "port {name}: the other end of this pair may join frames, which are dropped then ({why}): switch that off there \
         (ethtool -K INTERFACE tso off gso off)"
    ))
}

/// One second for all ports that begin with the next one.
fn base_ns(switch: &Switch) -> u64 {
    Base::NextSecond.resolve(crate::clock::now_ns(switch.clock))
}

fn base(port: &Port, next_second_ns: u64) -> u64 {
    port.gates.as_ref().map_or(next_second_ns, |gates| gates.base.at_second(next_second_ns))
}

/// Bits per second of a port's link: what the file says, what the interface says, or what is usual.
pub fn rate(port: &Port) -> u64 {
    port.rate.or_else(|| ethtool::rate(&port.name)).unwrap_or(RATE)
}
