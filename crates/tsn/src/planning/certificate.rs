//! Why no schedule exists, where that can be known for sure.
//!
//! Each of these holds whatever a planner does: it is about links that every path takes, about all links between two
//! parts of the network, and about times that no path undercuts. Frames may wait anywhere, in any order and apart from
//! each other, and clocks agree: what is impossible then is impossible. A frame takes its exact time, rounded down, and
//! the gap behind it holds up the next frame alone. Only [`Certificate::Exclusive`] is about schedules in which each
//! frame passes each link at the same time of all its periods.

mod cut_bound;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use super::periodic_intervals::gcd;
use crate::network::{Bits, Graph, LinkId, Network, NodeId, StreamId};

/// Messages on one link that are looked at.
const MOST_JOBS: usize = 1_000_000;
/// Certificates of one kind that are reported.
const LISTED: usize = 20;

/// Proof that not all streams can be carried.
#[derive(Debug, Clone, PartialEq)]
pub enum Certificate {
    /// The quickest way is too slow.
    Deadline {
        /// Whose.
        stream: StreamId,
        /// Without waiting anywhere, in ns.
        quickest_ns: u64,
    },
    /// A link that all these streams must take has not enough time for them.
    Overloaded {
        /// The link.
        link: LinkId,
        /// Parts of one that they need.
        utilisation: f64,
        /// How many.
        streams: usize,
    },
    /// Within some stretch of time a link must carry more than fits into it: these streams cannot be there earlier, and
    /// may not be there later.
    Crowded {
        /// The link.
        link: LinkId,
        /// From this time of the common period on, in ns,
        from_ns: u64,
        /// until then.
        to_ns: u64,
        /// What they need in it, in ns.
        needed_ns: u64,
        /// How many messages.
        messages: usize,
    },
    /// Two streams that both must take a link and whose periods bring them onto it at the same time, whatever their
    /// offsets: together they need more than the greatest common divisor of their periods. Of a message of several
    /// frames that is its longest frame, or what of all frames is left in each divisor if they are spread over all.
    Exclusive {
        /// The link.
        link: LinkId,
        /// The two.
        streams: [StreamId; 2],
        /// What they need together, in ns.
        needed_ns: u64,
        /// The divisor.
        common_ns: u64,
    },
    /// All links between two parts of the network together are not enough.
    Cut {
        /// One part is this node,
        around: NodeId,
        /// and the nearest to it, so many with it.
        nodes: usize,
        /// Whether it is about what goes into that part, not out of it.
        inward: bool,
        /// How many links the streams would fill.
        needed: f64,
        /// How many there are.
        links: usize,
        /// Streams that must cross.
        streams: usize,
    },
}

impl Certificate {
    /// One sentence.
    pub fn in_words(&self, network: &Network) -> String {
        let show = ontick_units::exact;
        let name = |stream: &StreamId| &network.streams[*stream].name;
        match self {
            Certificate::Deadline { stream, quickest_ns } => format!(
                "stream {} takes {} at least (no waiting, shortest path); its deadline is {}{}",
                name(stream),
                show(*quickest_ns),
                show(network.streams[*stream].deadline_ns),
                plane(network)
            ),
            Certificate::Overloaded { link, utilisation, streams } => format!(
                "link {} is the only way for {streams} stream{}, which need{} {:.1} % of its time{}",
                network.link_name(*link),
                if *streams == 1 { "" } else { "s" },
                if *streams == 1 { "s" } else { "" },
                utilisation * 100.0,
                match network.timing.spacing_ns {
                    0 => String::new(),
                    ns => format!(" (the data plane begins a frame every {} at most)", show(ns)),
                }
            ),
            Certificate::Crowded { link, from_ns, to_ns, needed_ns, messages } => format!(
                "link {} must carry {messages} messages between {} and {} of the common period, which take {} of these {}",
                network.link_name(*link),
                show(*from_ns),
                show(*to_ns),
                show(*needed_ns),
                show(to_ns - from_ns)
            ),
            Certificate::Cut { around, nodes, inward, needed, links, streams } => format!(
                "{streams} streams must go {} the {nodes} nodes around {}, and would fill {needed:.2} links; there are {links}",
                if *inward { "into" } else { "out of" },
                network.nodes[*around].name
            ),
            Certificate::Exclusive { link, streams: [a, b], needed_ns, common_ns } => format!(
                "streams {} and {} exclude each other on link {} at any offsets that stay the same: periods of {} and {} meet at every multiple of {}, and together they need {}",
                name(a),
                name(b),
                network.link_name(*link),
                show(network.streams[*a].period_ns),
                show(network.streams[*b].period_ns),
                show(*common_ns),
                show(*needed_ns)
            ),
        }
    }
}

/// What the nodes add to that.
fn plane(network: &Network) -> String {
    let (send_ns, forward_ns) = (network.timing.latest_ns(), network.timing.forwarding_ns);
    if send_ns + forward_ns == 0 {
        return String::new();
    }
    let [send, forward] = [send_ns, forward_ns].map(ontick_units::exact);
    format!(" (the data plane takes up to {send} to send and {forward} to forward)")
}

/// A stream on a link that it cannot avoid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub stream: StreamId,
    period_ns: u64,
    /// The gaps behind all frames included.
    needs_ns: u64,
    /// Of its longest frame.
    frame_ns: u64,
    /// Not there before, and the link free again by then (the gap behind the last frame included), from the beginning of
    /// a period.
    earliest_ns: u64,
    latest_ns: u64,
}

impl Demand {
    /// What it takes at least of each multiple of a divisor of its period.
    fn within(&self, common_ns: u64) -> u64 {
        self.frame_ns.max((u128::from(self.needs_ns) * u128::from(common_ns) / u128::from(self.period_ns)) as u64)
    }
}

/// All proofs of these kinds that there are, up to a number that can be read.
pub fn certificates(network: &Network) -> Vec<Certificate> {
    let mut found = deadlines(network);
    let demands = demands(network);
    let mut links: Vec<LinkId> = demands.keys().copied().collect();
    links.sort_unstable();
    for link in links {
        let streams = &demands[&link];
        let before = found.len();
        found.extend(overloaded(network, link, streams));
        found.extend(exclusive(link, streams));
        if found.len() == before {
            found.extend(crowded(link, streams));
        }
    }
    if found.is_empty() {
        found.extend(cut_bound::overloaded(network));
    }
    found
}

fn deadlines(network: &Network) -> Vec<Certificate> {
    let mut bounds = Bounds::new(network);
    let late = |stream: StreamId| {
        let of = &network.streams[stream];
        let quickest_ns = of.listeners.iter().map(|to| bounds.talker_to(stream, *to)).max().unwrap_or(0);
        (quickest_ns > of.deadline_ns).then_some(Certificate::Deadline { stream, quickest_ns })
    };
    (0..network.streams.len()).filter_map(late).take(LISTED).collect()
}

/// Times that no path undercuts.
struct Bounds<'a> {
    network: &'a Network,
    graph: Graph,
    /// By nodes and the message's length.
    known: HashMap<(NodeId, NodeId, u32), u64>,
}

impl<'a> Bounds<'a> {
    fn new(network: &'a Network) -> Self {
        Self { network, graph: Graph::new(network), known: HashMap::new() }
    }

    /// From the beginning of a frame on the first link until it can leave the last node: the smallest frame of the
    /// message on the quickest path, without the gaps behind it.
    fn between(&mut self, stream: StreamId, from: NodeId, to: NodeId) -> u64 {
        let network = self.network;
        let size = network.streams[stream].size;
        let graph = &self.graph;
        *self.known.entry((from, to, size)).or_insert_with(|| {
            let cost = |link: LinkId| {
                let way = &network.links[link];
                let frame_ns = Bits::least_ns(network.bits(stream).last_alone, way.rate);
                network.timing.latest_ns() + frame_ns + way.propagation_ns + network.processing_ns(link).1
            };
            let path = graph.path(from, to, cost, |_, _| false).unwrap_or_default();
            path.iter().map(|link| cost(*link)).sum()
        })
    }

    /// What a node takes at most to send on, which counts for nothing where it is the end.
    fn processing_at(&self, listener: NodeId) -> u64 {
        let ways = (0..self.network.links.len()).filter(|link| self.network.links[*link].to == listener);
        ways.map(|link| self.network.processing_ns(link).1).max().unwrap_or(0)
    }

    /// From the talker's first bit until the last bit is at a listener.
    fn talker_to(&mut self, stream: StreamId, listener: NodeId) -> u64 {
        let network = self.network;
        let talker = network.streams[stream].talker;
        // All of the message leaves the talker, by whatever link.
        let bits = network.bits(stream);
        let first = network.links.iter().filter(|way| way.from == talker);
        let others =
            first.map(|way| Bits::least_ns(bits.all - bits.gap - bits.last_alone, way.rate)).min().unwrap_or(0);
        (self.between(stream, talker, listener) + others).saturating_sub(self.processing_at(listener))
    }
}

/// Streams by the links that they cannot avoid.
pub(super) fn demands(network: &Network) -> HashMap<LinkId, Vec<Demand>> {
    let graph = Graph::new(network);
    let mut bounds = Bounds::new(network);
    let mut unavoidable: HashMap<(NodeId, NodeId), Vec<LinkId>> = HashMap::new();
    let mut demands: HashMap<LinkId, Vec<Demand>> = HashMap::new();
    for (stream, of) in network.streams.iter().enumerate() {
        // Whose deadline no way keeps is reported by that.
        if of.listeners.iter().any(|listener| bounds.talker_to(stream, *listener) > of.deadline_ns) {
            continue;
        }
        for &listener in &of.listeners {
            let links =
                unavoidable.entry((of.talker, listener)).or_insert_with(|| graph.unavoidable(of.talker, listener));
            for &link in links.iter() {
                let way = &network.links[link];
                let earliest_ns = if way.from == of.talker { 0 } else { bounds.between(stream, of.talker, way.from) };
                let behind = match way.to == listener {
                    true => 0,
                    false => (network.processing_ns(link).1 + bounds.between(stream, way.to, listener))
                        .saturating_sub(bounds.processing_at(listener)),
                };
                let bits = network.bits(stream);
                let gap_ns = Bits::most_ns(bits.gap, way.rate);
                let latest_ns = of.deadline_ns.saturating_sub(behind + way.propagation_ns) + gap_ns;
                let [needs_ns, frame_ns] = [bits.all, bits.first].map(|bits| Bits::least_ns(bits, way.rate));
                let demand = Demand { stream, period_ns: of.period_ns, needs_ns, frame_ns, earliest_ns, latest_ns };
                let there = demands.entry(link).or_default();
                match there.last_mut().filter(|last| last.stream == stream) {
                    // The listener that is farther away decides.
                    Some(last) => last.latest_ns = last.latest_ns.min(latest_ns),
                    None => there.push(demand),
                }
            }
        }
    }
    demands
}

fn overloaded(network: &Network, link: LinkId, demands: &[Demand]) -> Option<Certificate> {
    let rate = network.links[link].rate as f64;
    // However short a frame is, the next one begins no sooner than a spacing later.
    let paced = |bits: u64| (bits as f64 * 1e9 / rate).max(network.timing.spacing_ns as f64);
    let share = |demand: &Demand| {
        let (bits, frames) = (network.bits(demand.stream), network.message_time(demand.stream, link).frames);
        (f64::from(frames - 1) * paced(bits.first) + paced(bits.last_alone + bits.gap)) / demand.period_ns as f64
    };
    let utilisation: f64 = demands.iter().map(share).sum();
    // What is but rounding is no proof.
    (utilisation > 1.0 + 1e-9).then_some(Certificate::Overloaded { link, utilisation, streams: demands.len() })
}

/// Those of any two periods that take most: if they fit, others do.
fn exclusive(link: LinkId, demands: &[Demand]) -> Vec<Certificate> {
    // The one with the longest frame, and the one with the longest message.
    let mut longest: BTreeMap<u64, [Demand; 2]> = BTreeMap::new();
    for demand in demands {
        let [frame, message] = longest.entry(demand.period_ns).or_insert([*demand; 2]);
        if demand.frame_ns > frame.frame_ns {
            *frame = *demand;
        }
        if demand.needs_ns > message.needs_ns {
            *message = *demand;
        }
    }
    let longest: Vec<[Demand; 2]> = longest.into_values().collect();
    let mut found = Vec::new();
    for (n, of_period) in longest.iter().enumerate() {
        for of_other in &longest[..n] {
            let common_ns = gcd(of_period[0].period_ns, of_other[0].period_ns);
            let most = |[frame, message]: [Demand; 2]| match message.within(common_ns) > frame.within(common_ns) {
                true => message,
                false => frame,
            };
            let (a, b) = (most(*of_period), most(*of_other));
            let needed_ns = a.within(common_ns) + b.within(common_ns);
            if needed_ns > common_ns && found.len() < LISTED {
                found.push(Certificate::Exclusive { link, streams: [b.stream, a.stream], needed_ns, common_ns });
            }
        }
    }
    found
}

/// A message that must be on a link within some time.
#[derive(Debug, Clone, Copy)]
struct Job {
    from_ns: u64,
    to_ns: u64,
    needs_ns: u64,
}

/// If the link cannot carry all messages in time even if it could interrupt each for a more urgent one, some stretch
/// of time has too much in it (earliest deadline first is optimal then: Liu and Layland, JACM 20, 1973).
fn crowded(link: LinkId, demands: &[Demand]) -> Option<Certificate> {
    let mut jobs = jobs(demands)?;
    jobs.sort_unstable_by_key(|job| (job.from_ns, job.to_ns));
    let late = first_late(&jobs)?;
    // Somewhere before the late one too much begins.
    let due: Vec<&Job> = jobs.iter().filter(|job| job.to_ns <= late).collect();
    let mut needed_ns = 0;
    for (n, job) in due.iter().enumerate().rev() {
        needed_ns += job.needs_ns;
        if needed_ns > late - job.from_ns.min(late) {
            let messages = due.len() - n;
            return Some(Certificate::Crowded { link, from_ns: job.from_ns, to_ns: late, needed_ns, messages });
        }
    }
    None
}

/// All messages until the periods begin together again, or of a stretch that can be looked at.
fn jobs(demands: &[Demand]) -> Option<Vec<Job>> {
    let longest = demands.iter().map(|demand| demand.period_ns).max()?;
    let common = demands.iter().try_fold(1u64, |common, demand| {
        (common / gcd(common, demand.period_ns)).checked_mul(demand.period_ns).filter(|ns| *ns <= 64 * longest)
    });
    let horizon = common.unwrap_or(8 * longest);
    let mut jobs = Vec::new();
    for demand in demands {
        for n in 0..horizon.div_ceil(demand.period_ns) {
            let begin = n * demand.period_ns;
            jobs.push(Job {
                from_ns: begin + demand.earliest_ns,
                to_ns: begin + demand.latest_ns,
                needs_ns: demand.needs_ns,
            });
            if jobs.len() > MOST_JOBS {
                return None;
            }
        }
    }
    Some(jobs)
}

/// The deadline of the first job that is late under earliest deadline first.
fn first_late(jobs: &[Job]) -> Option<u64> {
    let mut ready: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let (mut now, mut next) = (0, 0);
    loop {
        while next < jobs.len() && jobs[next].from_ns <= now {
            ready.push(Reverse((jobs[next].to_ns, jobs[next].needs_ns)));
            next += 1;
        }
        let until = jobs.get(next).map_or(u64::MAX, |job| job.from_ns);
        let Some(Reverse((due, needs))) = ready.pop() else {
            if next == jobs.len() {
                return None;
            }
            now = until;
            continue;
        };
        let runs = needs.min(until - now);
        now += runs;
        if now > due {
            return Some(due);
        }
        if runs < needs {
            ready.push(Reverse((due, needs - runs)));
        }
    }
}

#[cfg(test)]
mod models;
#[cfg(test)]
mod tests;
