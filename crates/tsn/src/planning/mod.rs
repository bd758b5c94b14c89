//! Schedules: when each message is on which link, and so when which gate is open.
//!
//! Streams are placed one after the other, those with the least freedom first, each at the first start from which it
//! runs through without waiting (`place`; no-wait scheduling: Dürr and Nayak, No-wait Packet Scheduling for IEEE
//! Time-sensitive Networks, RTNS 2016), on the first of its k shortest paths where there is one, else waiting in
//! queues (Craciunas et al., RTNS 2016). What is taken is kept as intervals modulo each period
//! ([`periodic_intervals`]), not as a list of instants or of all messages of a hyperperiod. A stream that finds no
//! place takes one, and those in its way are placed anew: ejection with weights that grow with each failure (as in
//! Nagata and Braysy's route minimisation, Operations Research Letters 37, 2009).

mod balance;
mod candidates;
pub mod certificate;
mod document;
mod eviction;
pub mod forwarding;
pub mod gate_control_list;
pub mod nodes;
pub mod occupancy;
mod path_cost;
pub mod periodic_intervals;
mod place;
pub mod random;
mod route;
mod routes;
mod search;
mod short_gaps;
mod suits;
pub mod timetable;
pub mod tsnkit;

use std::collections::VecDeque;

use crate::network::{LinkId, Network, StreamId};

pub use certificate::Certificate;

pub use document::{Document, DocumentError};
pub use search::SearchEffort;
pub use short_gaps::close_short_gaps;
pub use timetable::{Placed, PlacedHop, Timetable};

use routes::Routes;
use search::{Order, Planner, WaitPolicy};

#[cfg(test)]
mod known_instances;
#[cfg(test)]
mod restarts;
#[cfg(test)]
mod tests;

/// What a plan should be like.
#[derive(Debug, Clone)]
pub struct PlanOptions {
    /// Routes of each stream that are tried.
    pub routes: usize,
    /// Whether frames may wait in switches where they cannot run through.
    pub wait: bool,
    /// Where windows go that could go anywhere.
    pub prefer: Prefer,
    /// Starts, ends and lengths of windows are multiples of it, in ns, if periods are.
    pub slot_ns: u64,
    /// The shortest entry of a port's list, in ns. Frames that may come before their gate opens find their queue, and the link
    /// if they run through, free for as long before: the gap is an entry of its own then, and nothing leaves in it.
    pub shortest_ns: u64,
    /// Choices by chance follow from it.
    pub seed: u64,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self { routes: 4, wait: true, prefer: Prefer::Early, slot_ns: 1, shortest_ns: 1, seed: 1 }
    }
}

/// Where windows go that could go anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefer {
    /// As early in the period as they fit: short delays, and windows packed together.
    Early,
    /// Over the whole period: time for best effort between them everywhere.
    Spread,
    /// Next to each other: gate control lists with few entries, and few guard bands.
    FewEntries,
}

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// All streams have their place.
    Planned(Timetable),
    /// No schedule exists.
    Impossible(Vec<Certificate>),
    /// None was found.
    NotFound(NotFound),
}

/// The best that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct NotFound {
    /// It holds for the streams that have a place in it.
    pub table: Timetable,
    /// What was done.
    pub effort: SearchEffort,
    /// Links by the share of their time that the placed streams take on them, the fullest first.
    pub tightest: Vec<(LinkId, f64)>,
}

/// Ways and orders that are begun with, in turn; no order is best for all networks.
const BEGINNINGS: [(bool, Order, WaitPolicy); 9] = [
    (false, Order::LeastFreedom, WaitPolicy::Last),
    (true, Order::LeastFreedom, WaitPolicy::Last),
    (true, Order::LargestShare, WaitPolicy::Last),
    (true, Order::ShortestPeriod, WaitPolicy::Last),
    (true, Order::LargestShare, WaitPolicy::AtOnce),
    (true, Order::ShortestPeriod, WaitPolicy::AtOnce),
    (true, Order::LeastFreedom, WaitPolicy::AtOnce),
    (false, Order::ShortestPeriod, WaitPolicy::AtOnce),
    (false, Order::LeastFreedom, WaitPolicy::AtOnce),
];

/// Places all streams. Those of `kept` stay where they are. `go_on` is asked now and then; when it says no, the best so
/// far is what comes out. Until then the search restarts, unless it ends with a plan or a proof.
///
/// ```
/// use ontick_tsn::network;
/// use ontick_tsn::planning::{Outcome, Timetable, PlanOptions, plan};
/// let network = network::read(r#"
/// switch = [{ name = "s1" }]
/// station = [{ name = "a" }, { name = "b" }]
/// link = [{ between = ["a", "s1"] }, { between = ["s1", "b"] }]
/// stream = [
///   { name = "x", from = "a", to = "b", size = 1000, period = "500us" },
///   { name = "y", from = "a", to = "b", size = 200, period = "1ms", deadline = "50us" },
/// ]
/// "#).unwrap();
/// let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else { panic!() };
/// let [x, y] = [0, 1].map(|stream| table.placed[stream].as_ref().unwrap());
/// // The one with the nearer deadline goes first; the other follows at once.
/// assert_eq!((y.offset_ns(), x.offset_ns()), (0, y.hops[0].end_ns));
/// ```
pub fn plan(network: &Network, options: &PlanOptions, kept: &Timetable, go_on: &dyn Fn() -> bool) -> Outcome {
    let mut best: Option<(VecDeque<StreamId>, Planner)> = None;
    let routes = Routes::new(network, options.routes, options.slot_ns);
    let crowded = search::is_crowded(network, &routes, kept);
    let mut proofs = None;
    // Windows next to each other leave the longest gaps: where nothing fits as it was wanted, that is tried.
    let packed = PlanOptions { prefer: Prefer::FewEntries, ..options.clone() };
    let another = (options.prefer != packed.prefer).then_some(&packed);
    let styles = [options].into_iter().chain(another);
    let beginnings = BEGINNINGS.into_iter().filter(|(balanced, ..)| *balanced || !crowded);
    let beginnings: Vec<Beginning> = styles.flat_map(|style| beginnings.clone().map(move |b| (style, b))).collect();
    for beginning in &beginnings {
        let (planner, left) = begin(&routes, network, *beginning, (kept, 0), go_on);
        if left.is_empty() {
            return Outcome::Planned(planner.into_table());
        }
        let proofs = proofs.get_or_insert_with(|| certificate::certificates(network));
        if !proofs.is_empty() {
            return Outcome::Impossible(std::mem::take(proofs));
        }
        if best.as_ref().is_none_or(|(least, _)| left.len() < least.len()) {
            best = Some((left, planner));
        }
        if !go_on() {
            break;
        }
    }
    let Some((left, mut planner)) = best else { return Outcome::Impossible(Vec::new()) };
    let mut patience = Planner::patience(network.streams.len());
    planner.improve(left, patience, go_on);
    let mut effort = planner.effort;
    let mut table = planner.into_table();
    // Another start and other choices by chance find what one long search does not.
    for (restart, beginning) in (1..).zip(beginnings.iter().cycle()) {
        if table.missing().next().is_none() {
            return Outcome::Planned(table);
        }
        if !go_on() {
            break;
        }
        let (mut planner, left) = begin(&routes, network, *beginning, (kept, restart), go_on);
        planner.improve(left, patience, go_on);
        patience = patience.saturating_add(patience / 8);
        effort = effort + planner.effort;
        let other = planner.into_table();
        if other.missing().count() < table.missing().count() {
            table = other;
        }
    }
    Outcome::NotFound(NotFound { tightest: tightest(network, &table), effort, table })
}

/// A style, and what is begun with.
type Beginning<'a> = (&'a PlanOptions, (bool, Order, WaitPolicy));

/// Places streams one after the other; those that found no place are left over. Restarts begin in a different order each.
fn begin<'a>(
    routes: &Routes<'a>,
    network: &'a Network,
    (style, (balanced, order, waits)): Beginning<'a>,
    (kept, restart): (&Timetable, u64),
    go_on: &dyn Fn() -> bool,
) -> (Planner<'a>, VecDeque<StreamId>) {
    let mut planner = Planner::with(routes.clone(), (network, style), kept, restart);
    if balanced {
        planner.balance();
    }
    let left = planner.construct(order, waits, go_on);
    (planner, left)
}

/// Links by the share of their time that placed streams take.
pub fn tightest(network: &Network, table: &Timetable) -> Vec<(LinkId, f64)> {
    let mut streams: Vec<Vec<StreamId>> = vec![Vec::new(); network.links.len()];
    for placed in table.placed.iter().flatten() {
        placed.hops.iter().for_each(|hop| streams[hop.link].push(placed.stream));
    }
    let mut links: Vec<(LinkId, f64)> = streams
        .iter()
        .enumerate()
        .map(|(link, streams)| (link, network.utilisation(link, streams.iter().copied())))
        .collect();
    links.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    links
}
