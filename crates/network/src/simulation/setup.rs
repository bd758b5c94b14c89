//! A network's nodes and links, made to run.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use ontick_rt::rtrb::{Consumer, Producer, RingBuffer};
use ontick_switch::user::core::{Channels, Command, Core, Discarded, PortConfig, Stall};
use ontick_switch::user::counters::Counters;
use ontick_tsn::model::Switch;
use ontick_tsn::network::{Kind, LinkId, Network, NodeId, Stream};
use ontick_tsn::schedule::Schedule as Gates;
use ontick_tsn::validate::Schedule;
use ontick_units::exact;

use super::clock::Servo;
use super::link::{Arriving, Link, Shared};
use super::node::{Node, NodeTime, Outgoing, SimPort};
use super::station::{Sending, Station, Way};
use super::turns::NEVER;
use super::{Options, SimulationError};
use crate::endpoint::{Outgoing as Planned, outgoing};
use crate::frame::station as source;
use crate::switches::out_of;

/// When the first periods of all streams begin, in true time, in ns.
pub(super) const BASE_NS: u64 = 10_000_000_000;
/// From one station's announcement to the next, in ns.
const ANNOUNCEMENTS_NS: u64 = 100_000;
/// The longest simulation, in ns: 100 days.
const LONGEST_NS: u64 = 100 * 86_400 * 1_000_000_000;
/// Messages of one stream at most: each has a number of 32 bits.
const MOST_MESSAGES: u64 = u32::MAX as u64 / 4;
const MINUTE_NS: u64 = 60_000_000_000;
/// Ports of a switch at most.
const MOST_PORTS: usize = 256;

/// A switch at work.
pub(super) struct Running<'c> {
    pub core: Core<'c, SimPort, NodeTime>,
    pub node: Rc<Node>,
    pub commands: Producer<Command<SimPort>>,
    /// Where it is noted when frames come in, in the order of its ports.
    pub inputs: (Arriving, Range<usize>),
    pub turns: u64,
    _discarded: Consumer<Discarded<SimPort>>,
    _stalls: Consumer<Stall>,
}

/// A node at work.
pub(super) enum Actor<'c> {
    Switch(Box<Running<'c>>),
    Station(Box<Station>),
}

/// What is made before anything runs.
pub(super) struct Parts {
    pub nodes: Vec<Rc<Node>>,
    pub servos: Vec<Servo>,
    pub links: Vec<Shared>,
    /// When the first frame on each link arrives, and where each link's time is in it.
    arriving: (Arriving, Vec<usize>),
    pub outgoing: Outgoing,
    /// When the world begins, in true time.
    pub start_ns: u64,
}

/// Whether it can be simulated at all.
pub(super) fn check(network: &Network, options: &Options) -> Result<(), SimulationError> {
    if network.overhead == ontick_tsn::network::Overhead::PayloadOnly {
        return Err(SimulationError::PayloadOnly);
    }
    if options.duration_ns > LONGEST_NS {
        return Err(SimulationError::TooLong(exact(options.duration_ns)));
    }
    let most = |stream: &&Stream| options.duration_ns / stream.period_ns > MOST_MESSAGES;
    if let Some(stream) = network.streams.iter().filter(most).min_by_key(|stream| stream.period_ns) {
        return Err(SimulationError::TooManyMessages {
            stream: stream.name.clone(),
            period: exact(stream.period_ns),
            duration: exact(options.duration_ns),
            longest: exact(MOST_MESSAGES * stream.period_ns / MINUTE_NS * MINUTE_NS),
        });
    }
    for (node, of) in network.nodes.iter().enumerate() {
        let ports = network.links.iter().filter(|link| link.from == node).count();
        if of.kind == Kind::Switch && ports > MOST_PORTS {
            return Err(SimulationError::Ports(of.name.clone(), ports));
        }
    }
    Ok(())
}

pub(super) fn parts(network: &Network, options: &Options) -> Parts {
    let start_ns = BASE_NS - 1_000_000 - ANNOUNCEMENTS_NS * (network.nodes.len() as u64).min(50_000);
    let mixed = |node: usize| options.seed ^ (node as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (mut nodes, mut servos) = (Vec::new(), Vec::new());
    for node in 0..network.nodes.len() {
        let (servo, clock) = Servo::new(mixed(node) ^ 0x5eed, network.sync_error_ns / 2, start_ns);
        servos.push(servo);
        nodes.push(Node::new(start_ns, clock, options.costs, mixed(node)));
    }
    let arriving = arriving(network);
    let link = |(id, link): (LinkId, &ontick_tsn::network::Link)| {
        let mut link = Link::new(link.rate, link.propagation_ns, (arriving.0.clone(), arriving.1[id]));
        link.trace_until_ns = if options.trace_ns > 0 { BASE_NS + options.trace_ns } else { 0 };
        Rc::new(RefCell::new(link))
    };
    let links = network.links.iter().enumerate().map(link).collect();
    Parts { nodes, servos, links, arriving, outgoing: Rc::default(), start_ns }
}

/// Places for the links into each node, in the order of its ports.
fn arriving(network: &Network) -> (Arriving, Vec<usize>) {
    let nodes = 0..network.nodes.len();
    let inputs = nodes.flat_map(|node| out_of(network, node).into_iter().filter_map(|link| network.reverse(link)));
    let mut places = vec![usize::MAX; network.links.len()];
    inputs.enumerate().for_each(|(place, link)| places[link] = place);
    (network.links.iter().map(|_| Cell::new(NEVER)).collect(), places)
}

/// What a link's far end takes until it has a frame: a station stamps the last bit, a switch's core has to see it first.
fn far_ingress_ns(network: &Network, link: LinkId, options: &Options) -> (u64, u64) {
    let of = &network.links[link];
    match network.nodes[of.to].kind {
        Kind::Station => (0, 0),
        // What a link states of its own is the least that it takes; the core's work comes on top.
        Kind::Switch if network.timing.forwarding_ns == 0 => (of.processing_ns, of.processing_ns),
        Kind::Switch => options.costs.ingress_ns,
    }
}

pub(super) fn switch<'c>(
    network: &Network,
    parts: &Parts,
    options: &Options,
    node: NodeId,
    model: &Switch,
    counters: &'c Counters,
) -> Running<'c> {
    let out = out_of(network, node);
    let inputs: Vec<LinkId> = out.iter().filter_map(|link| network.reverse(*link)).collect();
    let (arriving, places) = &parts.arriving;
    let place = |input: &LinkId| (arriving.clone(), places[*input]);
    let ports = out.iter().zip(&inputs).zip(&model.ports).map(|((link, input), port)| PortConfig {
        port: Some(SimPort {
            node: parts.nodes[node].clone(),
            input: parts.links[*input].clone(),
            arriving: place(input),
            output: parts.links[*link].clone(),
            link: *link,
            far_ingress_ns: far_ingress_ns(network, *link, options),
            outgoing: parts.outgoing.clone(),
        }),
        rate: network.links[*link].rate,
        schedule: Gates::of(model, port, BASE_NS, network.links[*link].rate),
    });
    let ((commands, from_commands), (to_discarded, _discarded), (to_stalls, _stalls)) =
        (RingBuffer::new(64), RingBuffer::new(64), RingBuffer::new(8));
    let channels = Channels { commands: from_commands, discarded: to_discarded, stalls: to_stalls };
    let time = NodeTime(parts.nodes[node].clone());
    let core = Core::new(model, ports.collect(), time, counters, channels, options.seed);
    let first = inputs.first().map_or(0, |input| places[*input]);
    let inputs = (arriving.clone(), first..first + inputs.len());
    Running { core, node: parts.nodes[node].clone(), commands, inputs, turns: 0, _discarded, _stalls }
}

pub(super) fn station(
    (network, schedule): (&Network, &Schedule),
    parts: &Parts,
    options: &Options,
    node: NodeId,
    model: Option<&Switch>,
) -> Station {
    let out = out_of(network, node);
    let way = |(place, link): (usize, &LinkId)| Way {
        link: *link,
        shared: parts.links[*link].clone(),
        far_ingress_ns: far_ingress_ns(network, *link, options),
        gates: model.and_then(|model| Gates::of(model, &model.ports[place], BASE_NS, network.links[*link].rate)),
    };
    let sending = |planned: Planned| Sending {
        stream: planned.stream,
        address: planned.address(source(node)),
        offset_ns: planned.offset_ns,
        period_ns: planned.period_ns,
        size: planned.size,
        parts: planned.parts,
        ports: planned.ports,
    };
    let times = (BASE_NS, BASE_NS + options.duration_ns, network.sync_error_ns);
    let ways = out.iter().enumerate().map(way).collect();
    let mut station = Station::new(
        (node, parts.nodes[node].clone()),
        ways,
        outgoing(network, schedule, node).into_iter().map(sending).collect(),
        times,
        parts.outgoing.clone(),
    );
    let is_other = |other: &NodeId| *other != node && network.nodes[*other].kind == Kind::Station;
    station.with_best_effort(options.load, (0..network.nodes.len()).filter(is_other).collect());
    station
}
