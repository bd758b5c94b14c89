//! What a frame costs the core, beside a bare send: a ring that another CPU has filled is drained, so that no sender is
//! the limit. Core and bare send use the same thread, interface and far end, by turns.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::rtrb::RingBuffer;
use ontick_rt::thread::{Policy, Setup};
use ontick_switch::user::core::{Channels, Command, Core, PortConfig};
use ontick_switch::user::counters::Counters;
use ontick_switch::user::either::EitherPort;
use ontick_switch::user::packet::{PacketSender, least_egress_ns};
use ontick_switch::user::port::Sent;
use ontick_switch::user::time::{Distance, SwitchClock};
use ontick_switch::verify::namespace::Namespace;
use ontick_tsn::model::{Entry, Socket, Switch};
use ontick_tsn::schedule::Schedule;

use super::cables::{self, FAR, PORTS, RATE};
use super::load::{CLASSES, number, tagged};
use crate::goals::Goal;
use crate::page::Table;
use crate::side::Job;

/// Frames that are drained at a time: fewer than any ring or queue on the way has room for.
pub const FRAMES: u64 = 1_800;
/// The switch has room for so many addresses at least, and for so many times the stations: none takes another one's place.
const ROOM: u64 = 1024;
const ROOM_FOR_EACH: u64 = 4;
/// A core that has not sent them after so long never will.
const PATIENCE: Duration = Duration::from_secs(5);
/// The gate of each class in turn is closed for so long, while those of all others are open, in ns: gates move, and there
/// is always something to send.
const SLOT_NS: u64 = 50_000;
/// The core's cost per frame, as a share of that of a bare send, without gates and with them.
const SHARE: f64 = 0.75;
const SHARE_WITH_GATES: f64 = 1.0;

/// What is drained by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    pub socket: Socket,
    pub gates: bool,
    /// Of the switch; frames go from the first to the second.
    pub ports: usize,
    /// Stations behind the second port; frames are for each in turn.
    pub stations: u64,
}

/// All of them, in the order in which they are shown.
pub const WAYS: [Way; 4] = [
    Way::new(Socket::Packet, false),
    Way::new(Socket::Packet, true),
    Way::new(Socket::Xdp, false),
    Way::new(Socket::Xdp, true),
];

impl Way {
    /// The smallest switch.
    pub const fn new(socket: Socket, gates: bool) -> Self {
        Self { socket, gates, ports: PORTS.len(), stations: 1 }
    }

    pub fn name(self) -> String {
        let socket = match self.socket {
            Socket::Packet => "packet sockets",
            Socket::Xdp => "AF_XDP",
        };
        format!("{socket}, gates {}", if self.gates { "on" } else { "off" })
    }
}

/// Costs per frame, in ns, of each pair of turns.
pub struct Figures {
    way: Way,
    pairs: Vec<Pair>,
    /// Frames that neither the core counted nor the far end saw.
    missing: u64,
}

#[derive(Debug, Clone, Copy)]
struct Pair {
    core_ns: f64,
    bare_ns: f64,
}

/// Drains as many full rings as `pairs` says, with as many turns of bare sends between them.
pub fn measure(job: &Job, way: Way, pairs: u32, elsewhere: Option<u32>) -> Result<Figures, String> {
    measure_after(|| Ok(()), job, way, pairs, elsewhere)
}

/// The same, in a thread that did something before.
pub fn measure_after(
    prepare: impl FnOnce() -> Result<(), String> + Send,
    job: &Job,
    way: Way,
    pairs: u32,
    elsewhere: Option<u32>,
) -> Result<Figures, String> {
    let scene = Scene::new(way.ports).map_err(|e| format!("switch: {e}"))?;
    let measured = std::thread::scope(|scope| {
        let (fill, asked) = sync_channel(0);
        let (done, filled) = sync_channel(0);
        let mut source = scene.sender(0)?;
        scope.spawn(move || fill_when_asked(&mut source, way.stations, elsewhere, &asked, &done));
        let scene = &scene;
        let core = scope.spawn(move || {
            let setup = Setup::new().policy(Policy::Fifo(job.priority)).lock_memory().cpu_latency_us(0);
            let _held = setup.cpu(job.cpu).best_effort();
            drain(scene, way, prepare, pairs, &fill, &filled)
        });
        core.join().map_err(|_| "switch: the core's thread panicked")?
    })?;
    let (pairs, sent) = measured;
    let arrived = scene.arrived()?;
    Ok(Figures { way, pairs, missing: sent.abs_diff(arrived) })
}

/// Two stations, two ports between them without anything at work, and ports at which nothing happens.
struct Scene {
    stations: [Namespace; 2],
    here: Namespace,
    _silent: Namespace,
}

impl Scene {
    fn new(ports: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let stations = [Namespace::new()?, Namespace::new()?];
        let (here, silent) = (Namespace::new()?, Namespace::new()?);
        for (index, (station, far)) in stations.iter().zip(FAR).enumerate() {
            here.join(PORTS[index], station, far)?;
        }
        for index in PORTS.len()..ports {
            here.join(&cables::port(index), &silent, &format!("far{index}"))?;
        }
        Ok(Self { stations, here, _silent: silent })
    }

    fn sender(&self, station: usize) -> Result<PacketSender, String> {
        opened(&self.stations[station], || PacketSender::open(FAR[station]))
    }

    fn arrived(&self) -> Result<u64, String> {
        cables::arrived(&self.stations[1])
    }
}

fn opened<T: Send, E: std::fmt::Display + Send>(
    within: &Namespace,
    open: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, String> {
    within.within(open).map_err(|e| format!("switch: {e}"))?.map_err(|e| format!("switch: {e}"))
}

/// On a CPU of its own, so that the core finds what another processor wrote.
fn fill_when_asked(
    source: &mut PacketSender,
    stations: u64,
    cpu: Option<u32>,
    asked: &Receiver<()>,
    done: &SyncSender<bool>,
) {
    let _held = cpu.into_iter().fold(Setup::new(), Setup::cpu).best_effort();
    let (mut frame, mut next) = (tagged(), 0);
    while asked.recv().is_ok() {
        let all = (0..FRAMES).all(|n| {
            number(&mut frame, n);
            frame[..6].copy_from_slice(&address(next));
            next = (next + 1) % stations;
            source.send(&frame) == Sent::Done
        });
        if done.send(all).is_err() {
            return;
        }
    }
}

/// Of a station behind the second port.
fn address(station: u64) -> [u8; 6] {
    let [.., a, b, c, d] = station.to_be_bytes();
    [2, 1, a, b, c, d]
}

/// Somebody answers from each address, so that it is known: what floods costs more.
fn make_known(sender: &mut PacketSender, stations: u64, mut turn: impl FnMut()) -> Result<(), String> {
    let mut answer = tagged();
    answer[..6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    for station in 0..stations {
        answer[6..12].copy_from_slice(&address(station));
        if sender.send(&answer) != Sent::Done {
            return Err("switch: an answer could not be sent".into());
        }
        (0..16).for_each(|_| turn());
    }
    (0..100_000).for_each(|_| turn());
    Ok(())
}

/// Every pair, and how many frames were sent to the far end in all.
fn drain(
    scene: &Scene,
    way: Way,
    prepare: impl FnOnce() -> Result<(), String>,
    pairs: u32,
    fill: &SyncSender<()>,
    filled: &Receiver<bool>,
) -> Result<(Vec<Pair>, u64), String> {
    let switch = cables::model_of(way.socket, way.ports, ROOM.max(ROOM_FOR_EACH * way.stations) as usize);
    let mut bare = opened(&scene.here, || PacketSender::open(PORTS[1]))?;
    let mut ports = Vec::new();
    for index in 0..way.ports {
        ports.push(opened(&scene.here, || EitherPort::open(&cables::port(index), way.socket))?);
    }
    let ahead = opened(&scene.here, || least_egress_ns(PORTS[1]))?.filter(|_| way.socket == Socket::Packet);
    let counters = Counters::new(way.ports);
    let (mut commands, to_core) = RingBuffer::new(4);
    let ((discarded, _freed), (stalls, _reported)) = (RingBuffer::new(4), RingBuffer::new(1));
    let channels = Channels { commands: to_core, discarded, stalls };
    let mut core = core_of(&switch, ports, way.gates, &counters, channels);
    if let Some(least_ns) = ahead.filter(|_| way.gates) {
        // As the switch itself has it.
        let _ = commands.push(Command::Ahead(1, least_ns * 3 / 4));
    }
    make_known(&mut scene.sender(1)?, way.stations, || core.turn())?;
    let mut clock = Clock::new(ClockId::Monotonic);
    let (mut measured, mut sent, mut frame) = (Vec::new(), 0, tagged());
    // What the ports were opened and tried with has gone the same way.
    let before = scene.arrived()?;
    prepare()?;
    for pair in 0..pairs {
        core.housekeeping();
        let mut drained = || {
            fill.send(()).map_err(|_| "switch: the sender is gone")?;
            match filled.recv() {
                Ok(true) => {}
                _ => return Err("switch: the ring could not be filled"),
            }
            let until = sent_by(&counters) + FRAMES;
            let patience = Instant::now();
            let begun_ns = clock.now_ns();
            core.turn();
            while sent_by(&counters) < until {
                (0..16).for_each(|_| core.turn());
                if patience.elapsed() > PATIENCE {
                    return Err("switch: the core did not send every frame of a full ring");
                }
            }
            Ok((clock.now_ns() - begun_ns) as f64 / FRAMES as f64)
        };
        let first = (pair % 2 == 0).then(&mut drained).transpose()?;
        let begun = Instant::now();
        for n in 0..FRAMES {
            number(&mut frame, n);
            if bare.send(&frame) != Sent::Done {
                return Err("switch: a bare send failed".into());
            }
        }
        let bare_ns = begun.elapsed().as_nanos() as f64 / FRAMES as f64;
        let core_ns = first.map_or_else(drained, Ok)?;
        sent += 2 * FRAMES;
        measured.push(Pair { core_ns, bare_ns });
    }
    Ok((measured, before + sent))
}

fn core_of<'c>(
    switch: &Switch,
    ports: Vec<EitherPort>,
    gates: bool,
    counters: &'c Counters,
    channels: Channels<EitherPort>,
) -> Core<'c, EitherPort, SwitchClock> {
    let entries: Vec<Entry> = (0..CLASSES).map(|closed| Entry { open: !(1 << closed), for_ns: SLOT_NS }).collect();
    let attach = |(index, port)| PortConfig {
        port: Some(port),
        rate: RATE,
        schedule: (gates && index == 1).then(|| Schedule::new(0, &entries)),
    };
    let attachments = ports.into_iter().enumerate().map(attach).collect();
    Core::new(switch, attachments, SwitchClock::new(Distance::of(ClockId::Tai)), counters, channels, 7)
}

fn sent_by(counters: &Counters) -> u64 {
    counters.ports[1].queues.iter().map(|queue| queue.sent.get()).sum()
}

impl Figures {
    /// Of the core, in ns per frame: the median, and what was not accounted for.
    pub fn core_ns(&self) -> (f64, u64) {
        (at(&sorted(self.pairs.iter().map(|pair| pair.core_ns)), 0.5), self.missing)
    }

    /// The median of the core's cost as a share of that of a bare send.
    pub fn share(&self) -> f64 {
        at(&self.shares(), 0.5)
    }

    /// The core's cost as a share of that of a bare send, of each pair, the least first.
    fn shares(&self) -> Vec<f64> {
        sorted(self.pairs.iter().map(|pair| pair.core_ns / pair.bare_ns))
    }

    fn row(&self) -> [String; 6] {
        let shares = self.shares();
        let median_ns = |of: fn(&Pair) -> f64| format!("{:.0}ns", at(&sorted(self.pairs.iter().map(of)), 0.5));
        [
            self.way.name(),
            median_ns(|pair| pair.core_ns),
            median_ns(|pair| pair.bare_ns),
            format!("{:.2}", at(&shares, 0.5)),
            format!("{:.2} to {:.2}", at(&shares, 0.25), at(&shares, 0.75)),
            self.missing.to_string(),
        ]
    }

    fn goal(&self) -> Goal {
        let most = if self.way.gates { SHARE_WITH_GATES } else { SHARE };
        let share = self.share();
        let seen = format!("{share:.2}, {} missing", self.missing);
        Goal::new(
            format!("switch: the core's cost per frame beside a bare send, {} (virtual Ethernet)", self.way.name()),
            format!("≤ {most}, none missing"),
            (!self.pairs.is_empty()).then_some((seen, share <= most && self.missing == 0)),
        )
    }
}

/// One row for each way.
pub fn table(all: &[Figures]) -> Table {
    let mut table = Table::new(&["", "core, per frame", "bare send", "core / bare", "half of the pairs", "missing"]);
    all.iter().for_each(|figures| table.row(figures.row()));
    table
}

pub fn goals(all: &[Figures]) -> impl Iterator<Item = Goal> + '_ {
    all.iter().map(Figures::goal)
}

fn sorted(of: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = of.collect();
    all.sort_by(f64::total_cmp);
    all
}

fn at(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    sorted.get((share * last).round() as usize).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_each_pair_and_none_may_be_missing() {
        let pair = |core_ns, bare_ns| Pair { core_ns, bare_ns };
        let way = Way::new(Socket::Packet, false);
        let pairs = vec![pair(700.0, 1_000.0), pair(3_000.0, 1_500.0), pair(1_400.0, 2_000.0)];
        let met = |missing| Figures { way, pairs: pairs.clone(), missing }.goal().reached;
        assert_eq!((met(0), met(1)), (Some(true), Some(false)));
        let slow = Figures { way, pairs: vec![pair(800.0, 1_000.0)], missing: 0 };
        assert_eq!(slow.goal().reached, Some(false));
        assert_eq!(Figures { way: Way { gates: true, ..way }, ..slow }.goal().reached, Some(true));
        assert_eq!(Figures { way, pairs: vec![], missing: 0 }.goal().reached, None);
    }
}
