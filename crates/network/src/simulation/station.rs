//! A station: its streams at their planned offsets, and best-effort frames between them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use ontick_tsn::network::{LinkId, StreamId};
use ontick_tsn::schedule::Schedule as Gates;

use super::link::Shared;
use super::node::{Node, Outgoing};
use super::turns::NEVER;
use crate::frame::{self, Address, BEST_EFFORT, Numbered};

/// Best-effort frames wait so long for a gap at most before they are given up, in ns: a gate that never opens long enough.
const PATIENCE_NS: u64 = 100_000_000;
/// Lengths of best-effort frames, from the first address to the last octet of data.
const LENGTHS: (u64, u64) = (60, 1_518);

/// A stream that a station sends.
#[derive(Debug, Clone)]
pub(super) struct Sending {
    pub stream: StreamId,
    pub address: Address,
    pub offset_ns: u64,
    pub period_ns: u64,
    /// Octets of data.
    pub size: u32,
    pub parts: u32,
    /// Where it goes out, by the place in the station's ports.
    pub ports: Vec<usize>,
}

/// Where a station is connected.
pub(super) struct Way {
    pub link: LinkId,
    pub shared: Shared,
    /// What the far end takes until it has a frame.
    pub far_ingress_ns: (u64, u64),
    /// When best effort may leave.
    pub gates: Option<Gates>,
}

/// Frames that no plan knows.
pub(super) struct BestEffort {
    /// Part of the link's time.
    pub load: f64,
    pub next_local_ns: u64,
    waits_since_ns: Option<u64>,
    /// Octets of the next, and to whom.
    chosen: (u16, usize),
    /// Stations, by their node.
    others: Vec<usize>,
    pub sent: u64,
}

/// A station.
pub(super) struct Station {
    pub node: Rc<Node>,
    own: usize,
    pub ways: Vec<Way>,
    sendings: Vec<Sending>,
    /// By the time on its clock: place in `sendings`, and message.
    departures: BinaryHeap<Reverse<(u64, u32, u32)>>,
    base_ns: u64,
    /// Nothing is begun that is due from here on, on its clock. It may be behind by so much, and no more: what it would begin
    /// later has no time left to arrive.
    end_ns: u64,
    behind_ns: u64,
    best_effort: Option<BestEffort>,
    /// It sends without end in this stretch of true time.
    pub babbles: Option<(u64, u64)>,
    /// By sending, messages that were sent, and the time that the last of them was for: 0 before the first.
    sent: Vec<u64>,
    last_ns: Vec<u64>,
    outgoing: Outgoing,
}

impl Sending {
    /// Messages that are due within so long from the beginning of the first period.
    pub fn due_within(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.offset_ns).div_ceil(self.period_ns)
    }

    /// The first time from then on at which a message is planned, where the first periods begin at `base_ns`.
    fn planned_from(&self, base_ns: u64, from_ns: u64) -> u64 {
        let first_ns = base_ns + self.offset_ns;
        first_ns + from_ns.saturating_sub(first_ns).div_ceil(self.period_ns) * self.period_ns
    }
}

impl Station {
    pub fn new(
        (own, node): (usize, Rc<Node>),
        ways: Vec<Way>,
        sendings: Vec<Sending>,
        (base_ns, end_ns, behind_ns): (u64, u64, u64),
        outgoing: Outgoing,
    ) -> Self {
        let departures = sendings.iter().enumerate();
        let departures = departures.map(|(n, sending)| Reverse((base_ns + sending.offset_ns, n as u32, 0))).collect();
        let (sent, last_ns) = (vec![0; sendings.len()], vec![0; sendings.len()]);
        Self {
            node,
            own,
            ways,
            sendings,
            departures,
            base_ns,
            end_ns,
            behind_ns,
            best_effort: None,
            babbles: None,
            sent,
            last_ns,
            outgoing,
        }
    }

    /// Sends best-effort frames to others, too.
    pub fn with_best_effort(&mut self, load: f64, others: Vec<usize>) {
        if load > 0.0 && !others.is_empty() && !self.ways.is_empty() {
            let mut best =
                BestEffort { load, next_local_ns: 0, waits_since_ns: None, chosen: (60, 0), others, sent: 0 };
            best.next_local_ns = self.base_ns + self.node.draw((0, 100_000));
            self.best_effort = Some(best);
            self.choose();
        }
    }

    /// Each stream's sending, and how many messages it sent.
    pub fn sent(&self) -> impl Iterator<Item = (&Sending, u64)> {
        self.sendings.iter().zip(self.sent.iter().copied())
    }

    pub fn best_effort_sent(&self) -> u64 {
        self.best_effort.as_ref().map_or(0, |best| best.sent)
    }

    /// It begins nothing more that is due from then on.
    pub fn stop(&mut self, end_ns: u64) {
        self.end_ns = self.end_ns.min(end_ns);
    }

    /// Its clock was set by so much: messages are due where the plan has them next, under the numbers that are next. What goes
    /// by no plan goes on as if nothing had happened.
    pub fn follow_clock(&mut self, now_ns: u64, by_ns: i64) {
        let (local_ns, babbles) = (self.node.clock.get().local_ns(now_ns), self.babbles_at(now_ns));
        let mut all = std::mem::take(&mut self.departures).into_vec();
        for Reverse((due_ns, n, _)) in &mut all {
            *due_ns = match babbles {
                true => due_ns.saturating_add_signed(by_ns),
                false => self.planned_from(*n as usize, local_ns),
            };
        }
        self.departures = all.into();
        if let Some(best) = &mut self.best_effort {
            best.next_local_ns = best.next_local_ns.saturating_add_signed(by_ns);
            best.waits_since_ns = best.waits_since_ns.map(|since_ns| since_ns.saturating_add_signed(by_ns));
        }
    }

    fn babbles_at(&self, now_ns: u64) -> bool {
        self.babbles.is_some_and(|(from_ns, until_ns)| (from_ns..until_ns).contains(&now_ns))
    }

    /// When the plan has a stream's next message from then on, on the station's clock: the same time is not used twice.
    fn planned_from(&self, n: usize, from_ns: u64) -> u64 {
        let due_ns = self.sendings[n].planned_from(self.base_ns, from_ns);
        if due_ns == self.last_ns[n] { due_ns + self.sendings[n].period_ns } else { due_ns }
    }

    /// When it has something to do next, in true time.
    pub fn next_ns(&self) -> u64 {
        let clock = self.node.clock.get();
        let departs = self.departures.peek().map_or(NEVER, |Reverse((local_ns, ..))| *local_ns);
        let best = self.best_effort.as_ref().map_or(NEVER, |best| best.next_local_ns);
        let local_ns = departs.min(best);
        if local_ns >= self.end_ns {
            return NEVER;
        }
        let at_ns = clock.when_ns(local_ns).max(self.node.now_ns.get());
        if at_ns >= self.end_ns + self.behind_ns { NEVER } else { at_ns }
    }

    /// Says to all switches that it is here, as any station does that comes up.
    pub fn announce(&mut self, now_ns: u64) {
        let address = Address { to: [0xff; 6], from: frame::station(self.own), pcp: 0, vlan: 0 };
        let head = frame::write(address, Numbered { stream: BEST_EFFORT, message: 0, part: 0, stamp_ns: 0 });
        for way in 0..self.ways.len() {
            self.transmit(way, now_ns, 60, &head);
        }
    }

    /// Does what is due.
    pub fn wake(&mut self, now_ns: u64) {
        self.node.now_ns.set(now_ns);
        let local_ns = self.node.local_ns();
        while let Some(&Reverse((due_ns, n, message))) = self.departures.peek() {
            if due_ns > local_ns || due_ns >= self.end_ns {
                break;
            }
            self.departures.pop();
            let next_ns = self.send(n as usize, message, now_ns, due_ns);
            self.departures.push(Reverse((next_ns, n, message + 1)));
        }
        if self.best_effort.as_ref().is_some_and(|best| best.next_local_ns <= local_ns) {
            self.send_best_effort(now_ns, local_ns);
        }
    }

    /// A message; when the next one is due, on the station's clock.
    fn send(&mut self, n: usize, message: u32, now_ns: u64, due_ns: u64) -> u64 {
        let costs = self.node.costs;
        let mut begin_ns = now_ns + self.node.draw(costs.talker_ns);
        let sending = &self.sendings[n];
        let (stream, address, size, parts, period_ns) =
            (sending.stream as u32, sending.address, sending.size, sending.parts, sending.period_ns);
        let babbles = self.babbles_at(now_ns);
        let stamp_ns = match self.babbles {
            None => due_ns,
            // Its numbers run away from the plan, and each says what it is for.
            Some(_) if babbles => self.base_ns + sending.offset_ns + u64::from(message) * period_ns,
            // The first one afterwards may be due between two of the plan's.
            Some(_) => sending.planned_from(self.base_ns, due_ns),
        };
        for part in 0..parts {
            let numbered = Numbered { stream, message, part: part as u16, stamp_ns };
            let head = frame::write(address, numbered);
            for port in 0..self.sendings[n].ports.len() {
                let way = self.sendings[n].ports[port];
                self.transmit(way, begin_ns, frame::octets(size, part), &head);
            }
            begin_ns += costs.talker_spacing_ns;
        }
        self.sent[n] += 1;
        self.last_ns[n] = stamp_ns;
        match self.babbles {
            // As soon as the link has taken the last one, and without a look at any plan.
            Some(_) if babbles => {
                let free_ns = self.sendings[n].ports.iter().map(|way| self.ways[*way].shared.borrow().free_ns()).max();
                self.node.clock.get().local_ns(free_ns.unwrap_or(0).max(now_ns + 1))
            }
            // Where the plan has it next, whichever number it has by now.
            Some(_) => self.planned_from(n, due_ns + 1),
            None => due_ns + period_ns,
        }
    }

    fn transmit(&mut self, way: usize, now_ns: u64, octets: u16, head: &[u8; frame::HEAD]) {
        let way = &self.ways[way];
        let ingress_ns = self.node.draw(way.far_ingress_ns);
        if let Some(arrives_ns) = way.shared.borrow_mut().transmit(now_ns, octets, head, ingress_ns) {
            self.outgoing.borrow_mut().push((way.link, arrives_ns));
        }
    }

    /// The best-effort frame that is due, if it ends before its gate closes; else it waits.
    fn send_best_effort(&mut self, now_ns: u64, local_ns: u64) {
        let Some(best) = &mut self.best_effort else { return };
        let way = &self.ways[0];
        let (octets, to) = best.chosen;
        let (takes_ns, free_ns) = (way.shared.borrow().time_ns(octets), way.shared.borrow().free_ns());
        let view = way.gates.as_ref().map(|gates| gates.at(local_ns));
        let fits = view.is_none_or(|view| view.open & 1 != 0 && local_ns + takes_ns <= view.closes_ns[0]);
        if free_ns > now_ns {
            best.next_local_ns = self.node.clock.get().local_ns(free_ns) + 1;
            return;
        }
        let since_ns = *best.waits_since_ns.get_or_insert(local_ns);
        if fits {
            let numbered = Numbered { stream: BEST_EFFORT, message: best.sent as u32, part: 0, stamp_ns: local_ns };
            let address = Address { to: frame::station(to), from: frame::station(self.own), pcp: 0, vlan: 0 };
            best.sent += 1;
            self.transmit(0, now_ns, octets, &frame::write(address, numbered));
        } else if local_ns < since_ns + PATIENCE_NS {
            best.next_local_ns = view.map_or(local_ns, |view| view.until_ns).max(local_ns + 1);
            return;
        }
        let Some(best) = &mut self.best_effort else { return };
        best.waits_since_ns = None;
        let (least_ns, mean_ns) = (takes_ns, takes_ns as f64 / best.load);
        // Evenly around the mean, and never before this one has left.
        let pause_ns = self.node.draw((0, 2 * (mean_ns as u64).saturating_sub(least_ns)));
        best.next_local_ns = local_ns + least_ns + pause_ns;
        self.choose();
    }

    /// The next best-effort frame: most are short or long, as in any network.
    fn choose(&mut self) {
        let Some(best) = &mut self.best_effort else { return };
        let octets = match self.node.draw((0, 3)) {
            0 => LENGTHS.0,
            1 => LENGTHS.1,
            _ => self.node.draw(LENGTHS),
        };
        let to = self.node.draw((0, best.others.len() as u64 - 1)) as usize;
        best.chosen = (octets as u16, best.others[to]);
    }
}
