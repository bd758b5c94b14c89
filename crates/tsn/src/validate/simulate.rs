//! Every message of the common period, twice, through queues and gates: a discrete-event simulation.
//!
//! A port sends the first frame of the highest queue whose gate is open for as long as the frame takes (IEEE
//! 802.1Q-2022 clauses 8.6.8.1 and 8.6.8.4). Switches store a frame wholly before they forward it. Where clocks may
//! differ, or data planes take longer at some times than at others, the run is repeated with extremes of both, in
//! several ways.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet, VecDeque};

use super::event::{Event, Events, Frame};
use super::fault::Fault;
use super::gate::Gates;
use super::schedule::Send;
use super::verdict::{Delay, Verdict};
use super::{Schedule, ValidationInput};
use crate::egress::EgressTiming;
use crate::network::{LinkId, Network, NodeId, StreamId};

/// Ways in which clocks and data planes differ that are tried.
const WAYS: u64 = 8;
/// A frame that has not arrived so many periods after it was sent is lost.
const PATIENCE: u64 = 4;
/// Of a port (IEEE 802.1Q-2022 clause 8.6.6).
const QUEUES: u8 = 8;
/// Frames that wait or are on their way at once at most: 50 MiB.
pub(super) const MOST_UNDER_WAY: usize = 1 << 20;

pub(super) fn run(input: &ValidationInput, verdict: &mut Verdict) {
    let Some(plan) = FollowedSchedule::new(input, verdict) else { return };
    verdict.followed_ns = plan.horizon_ns;
    verdict.complete = plan.complete;
    let same = input.network.sync_error_ns == 0 && input.network.timing == EgressTiming::IDEAL;
    let ways = if same { 1 } else { 1 + WAYS };
    let mut delays: HashMap<(StreamId, NodeId), Delay> = HashMap::new();
    let mut crossed = HashSet::new();
    for way in 0..ways {
        let ahead = ahead(input.network, way);
        let mut world = Simulation::new(input.network, &plan, &ahead, way, (verdict, &mut delays));
        let followed = world.run();
        if followed.is_ok() {
            world.judge();
        }
        let (sent, crossings) = (world.sent, world.crossings);
        verdict.messages += sent;
        if let Err(too_many) = followed {
            verdict.add(too_many);
            verdict.complete = false;
            break;
        }
        for crossing in crossings {
            if crossed.insert(crossing) {
                let (link, queue, a, b) = crossing;
                verdict.add(Fault::Crossing(link, queue, a, b));
            }
        }
    }
    let mut delays: Vec<Delay> = delays.into_values().collect();
    delays.sort_unstable_by_key(|delay| (delay.stream, delay.listener));
    for delay in &delays {
        let of = &input.network.streams[delay.stream];
        let spread = delay.most_ns - delay.least_ns;
        // What clocks and data planes differ by is no doing of the schedule's; frames that come behind the first of their
        // message need not wait for a gate, so it adds up from link to link of the way to the listener.
        let of_link = |link: LinkId| {
            let (least, most) = input.network.processing_ns(link);
            input.network.timing.latest_ns() + most - least
        };
        let of_links: u64 = plan.next[delay.stream].towards(input.network, delay.listener).map(of_link).sum();
        let unsteady_ns = 2 * input.network.sync_error_ns + of_links;
        if spread > of.jitter_ns.saturating_add(unsteady_ns) {
            verdict.add(Fault::Jitter(delay.stream, delay.listener, spread));
        }
    }
    verdict.delays = delays;
}

/// By how much each node's clock is ahead, in ns; all are behind by as much at most.
fn ahead(network: &Network, way: u64) -> Vec<i64> {
    let most = (network.sync_error_ns / 2) as i64;
    let of = |node: usize| match way {
        0 => 0,
        _ if upper(node, way) => most,
        _ => -most,
    };
    (0..network.nodes.len()).map(of).collect()
}

/// Which of two extremes: in patterns that differ from place to place.
fn upper(place: usize, way: u64) -> bool {
    let mixed = (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ way.wrapping_mul(0xbf58_476d_1ce4_e5b9));
    (mixed >> 40) & 1 == 0
}

/// The schedule in the form that it is followed in.
struct FollowedSchedule<'a> {
    gates: Vec<Option<Gates>>,
    /// Sendings of each stream, which take turns.
    sends: Vec<Vec<&'a Send>>,
    /// Links that follow a node, by stream.
    next: Vec<Next>,
    horizon_ns: u64,
    complete: bool,
}

impl<'a> FollowedSchedule<'a> {
    fn new(input: &ValidationInput<'a>, verdict: &mut Verdict) -> Option<Self> {
        let (network, schedule) = (input.network, input.schedule);
        let mut by_link: Vec<Vec<&super::Window>> = vec![Vec::new(); network.links.len()];
        schedule.windows.iter().for_each(|window| by_link[window.link].push(window));
        let gates = by_link.iter().map(|windows| Gates::new(windows.iter().copied())).collect();
        let mut sends: Vec<Vec<&Send>> = vec![Vec::new(); network.streams.len()];
        schedule.sends.iter().for_each(|send| sends[send.stream].push(send));
        for (stream, sends) in sends.iter().enumerate() {
            if sends.is_empty() {
                verdict.add(Fault::NotSent(stream));
            }
            for (link, queue) in sends.iter().flat_map(|send| &send.queues) {
                if *queue >= network.links[*link].queues {
                    verdict.add(Fault::Queue(*link, *queue));
                }
            }
        }
        let next = (0..network.streams.len()).map(|stream| route(network, schedule, stream, verdict)).collect();
        let (horizon_ns, complete) = horizon(input)?;
        Some(Self { gates, sends, next, horizon_ns, complete })
    }

    /// Frames of a message, as they come to a listener.
    fn parts(&self, network: &Network, stream: StreamId, listener: NodeId) -> u16 {
        let mut links = self.next[stream].links.iter();
        let last = links.find(|(_, link)| network.links[*link].to == listener);
        last.map_or(1, |(_, link)| network.message_time(stream, *link).frames as u16)
    }
}

/// A stream's links, by the node they leave.
struct Next {
    /// In the order of the nodes; of one node, in that of the route.
    links: Vec<(NodeId, LinkId)>,
}

impl Next {
    fn new(network: &Network, route: &[LinkId]) -> Self {
        let mut links: Vec<_> = route.iter().map(|link| (network.links[*link].from, *link)).collect();
        links.sort_by_key(|(node, _)| *node);
        Self { links }
    }

    fn behind(&self, node: NodeId) -> impl Iterator<Item = LinkId> {
        let first = self.links.partition_point(|(other, _)| *other < node);
        self.links[first..].iter().take_while(move |(other, _)| *other == node).map(|(_, link)| *link)
    }

    /// The links by which messages come to a node, the last first.
    fn towards<'a>(&'a self, network: &'a Network, node: NodeId) -> impl Iterator<Item = LinkId> + 'a {
        let into = |node: NodeId| self.links.iter().map(|(_, link)| *link).find(|link| network.links[*link].to == node);
        let back = move |link: &LinkId| into(network.links[*link].from);
        // One link leads to each node, and none to the talker; what does not begin there may go in circles.
        std::iter::successors(into(node), back).take(self.links.len())
    }
}

/// A stream's links by the node they leave, after a look at whether they lead where they should.
fn route(network: &Network, schedule: &Schedule, stream: StreamId, verdict: &mut Verdict) -> Next {
    let links = schedule.routes.get(stream).map_or(&[][..], Vec::as_slice);
    let mut next = Next::new(network, links);
    let of = &network.streams[stream];
    let mut reached = HashSet::from([of.talker]);
    let mut used = HashSet::new();
    let mut waiting = vec![of.talker];
    while let Some(node) = waiting.pop() {
        for link in next.behind(node) {
            let to = network.links[link].to;
            if !used.insert(link) || !reached.insert(to) {
                verdict.add(Fault::StrayLink(stream, link));
            } else {
                waiting.push(to);
            }
        }
    }
    links.iter().filter(|link| !used.contains(*link)).for_each(|link| verdict.add(Fault::StrayLink(stream, *link)));
    for listener in of.listeners.iter().filter(|listener| !reached.contains(*listener)) {
        verdict.add(Fault::Route(stream, *listener));
    }
    // A message that goes in circles would never end.
    let mut seen = HashSet::from([of.talker]);
    next.links.retain(|(_, link)| seen.insert(network.links[*link].to));
    next
}

/// Twice the time until everything begins together again, or as much of it as there may be frames.
fn horizon(input: &ValidationInput) -> Option<(u64, bool)> {
    let network = input.network;
    let times = input.schedule.windows.iter().map(|window| window.cycle_ns);
    let times = times.chain(network.streams.iter().map(|stream| stream.period_ns)).filter(|ns| *ns > 0);
    let common = times.clone().try_fold(1u64, |common, ns| (common / gcd(common, ns)).checked_mul(ns));
    times.max()?;
    let wanted = common.and_then(|common| common.checked_mul(2)).unwrap_or(u64::MAX);
    let per_ns: f64 = network
        .streams
        .iter()
        .zip(&input.schedule.routes)
        .map(|(stream, route)| {
            let frames = network.overhead.message_time(stream.size, 1).frames;
            route.len().max(1) as f64 * f64::from(frames) / stream.period_ns as f64
        })
        .sum();
    let most = (input.most_messages as f64 / per_ns.max(1e-18)) as u64;
    let horizon = wanted.min(most.max(1));
    Some((horizon, horizon == wanted))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A port: what waits, and until when it is busy.
#[derive(Debug, Clone, Default)]
struct Port {
    /// With when each came.
    queues: Vec<VecDeque<(Frame, u64)>>,
    busy_until_ns: u64,
    /// Whether it looks again when it is idle: only where something waits.
    looks_again: bool,
}

impl Port {
    fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }
}

struct Simulation<'a> {
    network: &'a Network,
    plan: &'a FollowedSchedule<'a>,
    ahead: &'a [i64],
    /// Which extremes data planes are at.
    way: u64,
    ports: Vec<Port>,
    events: Events,
    /// Frames in queues.
    waiting: usize,
    sent: u64,
    /// By stream and listener.
    arrived: HashMap<(StreamId, NodeId), Arrived>,
    crossings: HashSet<(LinkId, u8, StreamId, StreamId)>,
    verdict: &'a mut Verdict,
    delays: &'a mut HashMap<(StreamId, NodeId), Delay>,
}

/// What came of a stream to a listener: of each message its parts alone, for there may be millions of messages.
struct Arrived {
    /// Of a message that came wholly.
    parts: u16,
    /// Of each message.
    came: Vec<u16>,
}

impl<'a> Simulation<'a> {
    fn new(
        network: &'a Network,
        plan: &'a FollowedSchedule<'a>,
        ahead: &'a [i64],
        way: u64,
        (verdict, delays): (&'a mut Verdict, &'a mut HashMap<(StreamId, NodeId), Delay>),
    ) -> Self {
        let port = Port { queues: vec![VecDeque::new(); QUEUES.into()], ..Port::default() };
        Self {
            network,
            plan,
            ahead,
            way,
            ports: vec![port; network.links.len()],
            events: Events::default(),
            waiting: 0,
            sent: 0,
            arrived: HashMap::new(),
            crossings: HashSet::new(),
            verdict,
            delays,
        }
    }

    /// When a node's clock shows this time. The world begins a little later than its clocks.
    fn when(&self, node: NodeId, local_ns: u64) -> u64 {
        local_ns.saturating_add(self.network.sync_error_ns).saturating_add_signed(-self.ahead[node])
    }

    fn local(&self, node: NodeId, now_ns: u64) -> u64 {
        now_ns.saturating_add_signed(self.ahead[node]).saturating_sub(self.network.sync_error_ns)
    }

    /// Or what more frames came to than can be followed.
    fn run(&mut self) -> Result<(), Fault> {
        // Each stream's next period is an event, too.
        let most = MOST_UNDER_WAY + self.network.streams.len();
        (0..self.network.streams.len()).for_each(|stream| self.send(stream as u32, 0));
        let longest = self.network.streams.iter().map(|stream| stream.period_ns).max().unwrap_or(1);
        let end = self.plan.horizon_ns.saturating_add(PATIENCE * longest);
        while let Some((now, event)) = self.events.next() {
            if now > end {
                break;
            }
            match event {
                Event::Period(stream, message) => self.send(stream, message),
                Event::Port(link) => self.serve(link, now),
                Event::Queued(link, frame) => {
                    if self.waiting + self.events.len() >= most {
                        return Err(Fault::UnderWay(link, self.queue_of(link, frame), MOST_UNDER_WAY));
                    }
                    self.enqueue(link, frame, now);
                    self.serve(link, now);
                }
                Event::Delivered(link, frame) => self.deliver(link, frame, now),
            }
        }
        Ok(())
    }

    /// Messages of a stream within the time that is followed.
    fn messages(&self, stream: StreamId) -> u64 {
        (self.plan.horizon_ns / self.network.streams[stream].period_ns).min(u64::from(u32::MAX))
    }

    /// The talker sends a message, and will send the next.
    fn send(&mut self, stream: u32, message: u32) {
        let id = stream as usize;
        let of = &self.network.streams[id];
        let sends = &self.plan.sends[id];
        if u64::from(message) >= self.messages(id) || sends.is_empty() {
            return;
        }
        let send = sends[message as usize % sends.len()];
        let begin = u64::from(message) * of.period_ns;
        let at = self.when(of.talker, begin.saturating_add(send.offset_ns));
        self.sent += 1;
        for link in self.plan.next[id].behind(of.talker) {
            for part in 0..self.network.message_time(id, link).frames {
                self.events.at(at, Event::Queued(link, Frame { stream, message, part: part as u16 }));
            }
        }
        self.events.at(self.when(of.talker, begin + of.period_ns), Event::Period(stream, message + 1));
    }

    fn queue_of(&self, link: LinkId, frame: Frame) -> u8 {
        let sends = &self.plan.sends[frame.stream as usize];
        let send = sends[frame.message as usize % sends.len()];
        send.queues.iter().find(|(of, _)| *of == link).map_or(0, |(_, queue)| *queue).min(QUEUES - 1)
    }

    fn enqueue(&mut self, link: LinkId, frame: Frame, now: u64) {
        let queue = self.queue_of(link, frame);
        let waiting = &mut self.ports[link].queues[usize::from(queue)];
        let other = waiting.iter().find(|(other, _)| (other.stream, other.message) != (frame.stream, frame.message));
        if let Some((other, _)) = other {
            let (a, b) = (other.stream.min(frame.stream) as usize, other.stream.max(frame.stream) as usize);
            self.crossings.insert((link, queue, a, b));
        }
        waiting.push_back((frame, now));
        self.waiting += 1;
    }

    fn length_ns(&self, link: LinkId, frame: Frame) -> u64 {
        let carried = self.network.message_time(frame.stream as usize, link);
        if u32::from(frame.part) + 1 == carried.frames { carried.last_ns } else { carried.first_ns }
    }

    /// Sends what can be sent, or comes back when something could be.
    fn serve(&mut self, link: LinkId, now: u64) {
        let port = &mut self.ports[link];
        if port.is_empty() {
            return;
        }
        if now < port.busy_until_ns {
            if !std::mem::replace(&mut port.looks_again, true) {
                self.events.at(port.busy_until_ns, Event::Port(link));
            }
            return;
        }
        let from = self.network.links[link].from;
        let local = self.local(from, now);
        let mut again = u64::MAX;
        for queue in (0..QUEUES).rev() {
            let Some(&(frame, came)) = self.ports[link].queues[usize::from(queue)].front() else { continue };
            let length = self.length_ns(link, frame);
            let gates = self.plan.gates[link].as_ref();
            // Handing over goes on while the link is busy, once the frame is there and its gate is open.
            let ready = self.local(from, came).max(gates.map_or(0, |gates| gates.open_since(queue, local)));
            let late = (ready + self.network.timing.latest_ns()).saturating_sub(local);
            let ends = local + late + length + self.network.timing.guard_ns;
            let fits = gates.is_none_or(|gates| gates.open_until(queue, local).is_some_and(|end| ends <= end));
            if fits {
                return self.transmit(link, queue, frame, (now, late), length);
            }
            // At an opening the port is idle, or looks again when it is.
            let needed = self.network.timing.latest_ns() + length + self.network.timing.guard_ns;
            if let Some(opens) = gates.and_then(|gates| gates.opens_after(queue, local, needed)) {
                again = again.min(self.when(from, opens));
            }
        }
        if again != u64::MAX {
            self.events.at(again.max(now + 1), Event::Port(link));
        }
    }

    /// Now, or later by what handing over may still take.
    fn transmit(&mut self, link: LinkId, queue: u8, frame: Frame, (now, late): (u64, u64), length: u64) {
        let (way, timing) = (&self.network.links[link], &self.network.timing);
        let slow = self.way == 0 || upper(link, self.way);
        let late = if slow { late } else { 0 };
        // The gap behind a frame is the next one's wait, not this one's.
        let gone = now + late + length - self.network.message_time(frame.stream as usize, link).gap_ns;
        let port = &mut self.ports[link];
        port.queues[usize::from(queue)].pop_front();
        self.waiting -= 1;
        port.busy_until_ns = now + late + timing.spaced_ns(length);
        port.looks_again = !port.is_empty();
        if port.looks_again {
            self.events.at(port.busy_until_ns, Event::Port(link));
        }
        let there = gone + way.propagation_ns;
        if self.network.streams[frame.stream as usize].listeners.contains(&way.to) {
            self.events.at(there, Event::Delivered(link, frame));
        }
        let (least, most) = self.network.processing_ns(link);
        let processing = if self.way == 0 || upper(link, !self.way) { most } else { least };
        for next in self.plan.next[frame.stream as usize].behind(way.to) {
            self.events.at(there + processing, Event::Queued(next, frame));
        }
    }

    fn deliver(&mut self, link: LinkId, frame: Frame, now: u64) {
        let (stream, listener) = (frame.stream as usize, self.network.links[link].to);
        let (network, plan) = (self.network, self.plan);
        let of = &network.streams[stream];
        let none = || Arrived { parts: plan.parts(network, stream, listener), came: Vec::new() };
        let arrived = self.arrived.entry((stream, listener)).or_insert_with(none);
        let message = frame.message as usize;
        if arrived.came.len() <= message {
            arrived.came.resize(message + 1, 0);
        }
        arrived.came[message] = arrived.came[message].saturating_add(1);
        if arrived.came[message] != arrived.parts {
            return;
        }
        let latency_ns = self.local(listener, now).saturating_sub(u64::from(frame.message) * of.period_ns);
        if latency_ns > of.deadline_ns {
            self.verdict.add(Fault::Late(stream, listener, latency_ns));
        }
        let new = Delay { stream, listener, least_ns: u64::MAX, most_ns: 0, received: 0 };
        let delay = self.delays.entry((stream, listener)).or_insert(new);
        delay.least_ns = delay.least_ns.min(latency_ns);
        delay.most_ns = delay.most_ns.max(latency_ns);
        delay.received += 1;
    }

    /// Each message once.
    fn judge(&mut self) {
        let (network, plan) = (self.network, self.plan);
        for (stream, sends) in plan.sends.iter().enumerate().filter(|(_, sends)| !sends.is_empty()) {
            let of = &network.streams[stream];
            for &listener in &of.listeners {
                let arrived = self.arrived.get(&(stream, listener));
                for message in 0..self.messages(stream) {
                    let came = arrived.and_then(|arrived| arrived.came.get(message as usize)).copied().unwrap_or(0);
                    let sent = message * of.period_ns + sends[message as usize % sends.len()].offset_ns;
                    match came.cmp(&arrived.map_or(1, |arrived| arrived.parts)) {
                        Ordering::Less => self.verdict.add(Fault::Missing(stream, listener, sent)),
                        Ordering::Equal => {}
                        Ordering::Greater => self.verdict.add(Fault::Twice(stream, listener, sent)),
                    }
                }
            }
        }
    }
}
