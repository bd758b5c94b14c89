//! What arrivals say about a switch, in memory that does not grow with them.
//!
//! A frame is within its window if it begins from the gate's opening on and its last octet is through before the closing,
//! with a tolerance at both ends, on the clock that the gates follow. On virtual Ethernet a frame takes no time: there a
//! model of the link says when it ends ([`Link`]).

mod distribution;
mod envelope;
mod link;
mod order;
mod windows;

use ontick_record::Histogram;

pub use distribution::Distribution;
pub use envelope::{Envelope, Limit};
pub use link::Link;
use link::Occupied;
use ontick_tsn::schedule::Schedule;
pub use order::Order;
pub use windows::{Position, Windows};

/// How arrivals are to be held against the gates.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The gates.
    pub schedule: Schedule,
    /// A frame may begin so much before its window, or end so much after it, in ns: what stamps and clocks cannot tell.
    pub guard_ns: u64,
    /// The link that frames arrive by.
    pub link: Link,
    /// Into how many parts the cycle is divided where arrivals are folded onto it.
    pub bins: usize,
    /// Arrivals are kept one by one from the first cycle that begins at or after this time, or from a later one if some
    /// flow did not arrive meanwhile: a picture is to show all of them.
    pub kept_from_ns: u64,
    /// For so many cycles.
    pub kept_cycles: u32,
}

/// Arrivals of a flow that are kept one by one, at most.
const KEPT: usize = 8_192;
/// Cycles in which some flow did not arrive are passed over so often.
const TRIES: u32 = 200;
/// A frame that was sent so long before a gate's opening certainly waited for it, in ns.
const WAITED_NS: u64 = 10_000;
/// Violations that are kept one by one, at most.
const VIOLATIONS: usize = 1_000;

/// A frame that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The place of its flow among those that are judged.
    pub flow: usize,
    /// Its number, from 0.
    pub number: u64,
    /// When it was sent, on the gates' clock, in ns.
    pub sent_ns: u64,
    /// When it was stamped, on the same clock, in ns.
    pub at_ns: u64,
}

/// How a frame keeps to the windows of its gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// The gate has no edges.
    Unjudged,
    /// It begins and ends within one window.
    Inside,
    /// It does not.
    Outside {
        /// Whether it begins in a window, and ends after the closing.
        ends: bool,
        /// How far it is from the edge.
        by_ns: u64,
        /// Whether that is a closing; else the opening after it.
        late: bool,
        /// When that edge was.
        edge_ns: u64,
    },
}

/// Frames of one flow in the wrong window, or in none: those of one gate's edge together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// The place of the flow among those that are judged.
    pub flow: usize,
    /// When the first of them began to arrive.
    pub at_ns: u64,
    /// When the last of them did.
    pub until_ns: u64,
    /// How many.
    pub frames: u64,
    /// How far the worst was from its gate's nearest edge, in ns.
    pub by_ns: u64,
    /// Whether they came after the gate had closed; else before it opened.
    pub late: bool,
    /// Whether they began before it closed, and ended after it.
    pub ends: bool,
    /// When that edge was.
    pub edge_ns: u64,
}

/// What arrived of a flow.
#[derive(Debug, Clone, Default)]
pub struct Flow {
    /// Numbers: what came, came twice, came late.
    pub order: Order,
    /// Frames that were held against a gate.
    pub judged: u64,
    /// Frames outside their window.
    pub outside: u64,
    /// Of these, frames that began within it.
    pub ends_outside: u64,
    /// From a gate's opening to the first frame, where that frame had been sent 10 us before and so waited for it.
    pub first: Distribution,
    /// Windows whose first frame had not been sent by then.
    pub unqueued: u64,
    /// First frames before the opening, but within the tolerance; counted as 0 in `first`.
    pub early: u64,
    /// From being sent to arriving.
    pub delay: Distribution,
    /// By how much that differs from the frame before (RFC 3393, inter-packet delay variation).
    pub jitter: Distribution,
    /// Of a shaped class: how it keeps to its idle slope.
    pub shaped: Option<Envelope>,
    /// Arrivals by their place in the cycle.
    pub folded: Vec<u64>,
    /// The first arrivals, after [`Analysis::kept_from_ns`].
    pub kept: Vec<u64>,
    /// The window of the frame before.
    window_ns: Option<u64>,
    /// The delay of the frame before.
    delay_ns: Option<u64>,
}

/// Takes arrivals in the order in which they came.
#[derive(Debug)]
pub struct Analysis {
    terms: Terms,
    kept_from_ns: u64,
    kept_until_ns: u64,
    tries: u32,
    windows: Vec<Windows>,
    occupied: Occupied,
    flows: Vec<Flow>,
    violations: Vec<Violation>,
    more_violations: u64,
}

impl Analysis {
    /// For flows whose classes have these queues.
    pub fn new(terms: Terms, queues: &[u8]) -> Self {
        let (cycle_ns, bins) = (terms.schedule.cycle_ns(), terms.bins.max(1));
        let into_ns = terms.schedule.offset_ns(terms.kept_from_ns);
        let kept_from_ns = terms.kept_from_ns + (cycle_ns - into_ns) % cycle_ns;
        Self {
            kept_from_ns,
            kept_until_ns: kept_from_ns + u64::from(terms.kept_cycles) * cycle_ns,
            tries: 0,
            windows: queues.iter().map(|queue| Windows::new(&terms.schedule, usize::from(*queue))).collect(),
            flows: queues.iter().map(|_| Flow { folded: vec![0; bins], ..Flow::default() }).collect(),
            violations: Vec::new(),
            more_violations: 0,
            occupied: Occupied::new(terms.link),
            terms,
        }
    }

    /// Holds a flow to the idle slope of its class, too.
    pub fn hold_to(&mut self, flow: usize, limit: Limit) {
        self.flows[flow].shaped = Some(Envelope::new(limit));
    }

    /// When a frame that was stamped at this time began on the link and ended. To be asked of every frame that comes by
    /// it, whoever sent it, as it keeps the next one waiting.
    #[inline]
    pub fn on_link(&mut self, stamp_ns: u64, octets: u32) -> (u64, u64) {
        self.occupied.take(stamp_ns, octets)
    }

    /// Takes in an arrival, and judges it by when it was on the link ([`Self::on_link`]). One of a flow that is not judged
    /// here is passed over.
    pub fn take(&mut self, arrival: Arrival, on_link_ns: (u64, u64)) -> Judgement {
        if arrival.at_ns >= self.kept_until_ns && self.tries < TRIES {
            self.try_again(arrival.at_ns);
        }
        let Some(flow) = self.flows.get_mut(arrival.flow) else { return Judgement::Unjudged };
        flow.order.take(arrival.number);

        let delay_ns = arrival.at_ns.saturating_sub(arrival.sent_ns);
        flow.delay.add(delay_ns);
        if let Some(before_ns) = flow.delay_ns.replace(delay_ns) {
            flow.jitter.add(delay_ns.abs_diff(before_ns));
        }

        let offset_ns = self.terms.schedule.offset_ns(arrival.at_ns);
        let bins = flow.folded.len() as u128;
        let bin = u128::from(offset_ns) * bins / u128::from(self.terms.schedule.cycle_ns());
        flow.folded[bin as usize] += 1;
        if (self.kept_from_ns..self.kept_until_ns).contains(&arrival.at_ns) && flow.kept.len() < KEPT {
            flow.kept.push(arrival.at_ns);
        }
        if let Some(envelope) = &mut flow.shaped {
            envelope.take(on_link_ns.0);
        }
        let judgement = self.judge(&arrival, on_link_ns);
        self.count(&arrival, on_link_ns.0, judgement);
        judgement
    }

    /// Keeps later arrivals if some flow is missing in those that are kept.
    #[cold]
    fn try_again(&mut self, now_ns: u64) {
        self.tries += 1;
        let cycle_ns = self.terms.schedule.cycle_ns();
        let cycles = u64::from(self.terms.kept_cycles);
        let from_ns = self.kept_from_ns;
        let in_cycle = |flow: &Flow, n| {
            let cycle = from_ns + n * cycle_ns..from_ns + (n + 1) * cycle_ns;
            flow.kept.iter().any(|at_ns| cycle.contains(at_ns))
        };
        let enough = |flow: &Flow| flow.kept.len() == KEPT || (0..cycles).all(|n| in_cycle(flow, n));
        if self.flows.iter().all(enough) {
            self.tries = TRIES;
            return;
        }
        self.kept_from_ns += (now_ns - from_ns).next_multiple_of(cycle_ns);
        self.kept_until_ns = self.kept_from_ns + cycles * cycle_ns;
        self.flows.iter_mut().for_each(|flow| flow.kept.clear());
    }

    fn judge(&mut self, arrival: &Arrival, (begins_ns, ends_ns): (u64, u64)) -> Judgement {
        let (windows, guard_ns) = (&self.windows[arrival.flow], self.terms.guard_ns);
        let (opened_ns, closes_ns) = match windows.place(begins_ns, guard_ns) {
            Position::Unjudged => return Judgement::Unjudged,
            Position::Outside { by_ns, late, edge_ns } => {
                return Judgement::Outside { ends: false, by_ns, late, edge_ns };
            }
            Position::Inside { opened_ns, closes_ns } => (opened_ns, closes_ns),
        };
        let late_ns = ends_ns.saturating_sub(closes_ns);
        // Where the next window opens within the tolerance, it is taken to be of that one.
        let next = match windows.place(begins_ns + guard_ns, 0) {
            Position::Inside { opened_ns, closes_ns } if ends_ns <= closes_ns + guard_ns => Some(opened_ns),
            _ => None,
        };
        let in_time = Some(opened_ns).filter(|_| late_ns <= guard_ns).or(next);
        if begins_ns < closes_ns || in_time.is_some() {
            self.flows[arrival.flow].opened(arrival, in_time.unwrap_or(opened_ns));
        }
        let edge_ns = closes_ns;
        match in_time {
            Some(_) => Judgement::Inside,
            None if begins_ns < closes_ns => Judgement::Outside { ends: true, by_ns: late_ns, late: true, edge_ns },
            None => Judgement::Outside { ends: false, by_ns: begins_ns - closes_ns, late: true, edge_ns },
        }
    }

    fn count(&mut self, arrival: &Arrival, at_ns: u64, judgement: Judgement) {
        let flow = &mut self.flows[arrival.flow];
        flow.judged += u64::from(judgement != Judgement::Unjudged);
        let Judgement::Outside { ends, by_ns, late, edge_ns } = judgement else { return };
        flow.outside += 1;
        flow.ends_outside += u64::from(ends);
        let flow = arrival.flow;
        // The last one of this flow: others may have come in between.
        let before = self.violations.iter_mut().rev().take(8).find(|violation| violation.flow == flow);
        let same =
            |violation: &&mut Violation| (violation.edge_ns, violation.late, violation.ends) == (edge_ns, late, ends);
        if let Some(same) = before.filter(same) {
            same.frames += 1;
            same.until_ns = at_ns;
            same.by_ns = same.by_ns.max(by_ns);
        } else if self.violations.len() < VIOLATIONS {
            self.violations.push(Violation { flow, at_ns, until_ns: at_ns, frames: 1, by_ns, late, ends, edge_ns });
        } else {
            self.more_violations += 1;
        }
    }

    /// Frames received so far, each once.
    pub fn received(&self) -> u64 {
        self.flows.iter().map(|flow| flow.order.received).sum()
    }

    /// What was found of each flow so far.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Frames outside their window, those that belong together in one; in time order, at most a thousand.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Frames outside their window beyond those.
    pub fn more_violations(&self) -> u64 {
        self.more_violations
    }

    /// When the arrivals begin that are kept one by one: at the beginning of a cycle.
    pub fn kept_from_ns(&self) -> u64 {
        self.kept_from_ns
    }

    /// The gates.
    pub fn schedule(&self) -> &Schedule {
        &self.terms.schedule
    }

    /// The windows of a flow's class, as beginning and length within the cycle.
    pub fn windows(&self, flow: usize) -> &[(u64, u64)] {
        self.windows[flow].within()
    }
}

impl Flow {
    fn opened(&mut self, arrival: &Arrival, opened_ns: u64) {
        // What the very first window held before the run began is not known.
        let begins =
            self.window_ns.is_none_or(|before_ns| before_ns < opened_ns) && self.window_ns.replace(opened_ns).is_some();
        if !begins {
            return;
        }
        if arrival.sent_ns + WAITED_NS > opened_ns {
            self.unqueued += 1;
            return;
        }
        self.early += u64::from(arrival.at_ns < opened_ns);
        self.first.add(arrival.at_ns.saturating_sub(opened_ns));
    }

    /// From a gate's opening to the first frame that had waited for it.
    pub fn first_histogram(&self) -> Histogram {
        self.first.histogram()
    }
}

#[cfg(test)]
mod tests;
