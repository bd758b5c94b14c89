//! A node's time, and what its work takes of it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ontick_switch::user::port::{Port, Received, Sent};
use ontick_switch::user::time::Time;
use ontick_tsn::planning::random::Random;

use super::clock::Clock;
use super::link::{Arriving, Shared};
use crate::costs::Costs;
use crate::frame::HEAD;

/// What a node's parts have in common.
#[derive(Debug)]
pub(super) struct Node {
    /// True time, as far as the node has come.
    pub now_ns: Cell<u64>,
    pub clock: Cell<Clock>,
    /// Its clock was set, and whoever asks was not told yet.
    pub was_set: Cell<bool>,
    pub costs: Costs,
    random: RefCell<Random>,
}

impl Node {
    pub fn new(now_ns: u64, clock: Clock, costs: Costs, seed: u64) -> Rc<Self> {
        let (now_ns, clock) = (Cell::new(now_ns), Cell::new(clock));
        Rc::new(Self { now_ns, clock, was_set: Cell::new(false), costs, random: RefCell::new(Random::new(seed)) })
    }

    /// A time within a pair of times.
    #[inline]
    pub fn draw(&self, (least, most): (u64, u64)) -> u64 {
        if least == most { least } else { least + self.random.borrow_mut().below(most - least + 1) }
    }

    #[inline]
    pub fn pass(&self, ns: u64) {
        self.now_ns.set(self.now_ns.get() + ns);
    }

    #[inline]
    pub fn local_ns(&self) -> u64 {
        self.clock.get().local_ns(self.now_ns.get())
    }
}

/// The clock that a core reads.
pub(super) struct NodeTime(pub Rc<Node>);

impl Time for NodeTime {
    #[inline]
    fn now_ns(&mut self) -> u64 {
        self.0.pass(self.0.costs.look_ns);
        self.0.local_ns()
    }

    fn was_set(&mut self) -> bool {
        self.0.was_set.replace(false)
    }
}

/// Links that got a frame from a node while it worked, each with when the frame is at its end.
pub(super) type Outgoing = Rc<RefCell<Vec<(usize, u64)>>>;

/// A port of a simulated switch.
pub(super) struct SimPort {
    pub node: Rc<Node>,
    pub input: Shared,
    /// Where the input notes when its first frame arrives.
    pub arriving: (Arriving, usize),
    pub output: Shared,
    /// The number of the link that leads away.
    pub link: usize,
    /// What the far end takes until it has a frame.
    pub far_ingress_ns: (u64, u64),
    pub outgoing: Outgoing,
}

impl Port for SimPort {
    #[inline]
    fn receive(&mut self, slot: &mut [u8]) -> Received {
        let (arriving, place) = &self.arriving;
        let is_there = arriving[*place].get() <= self.node.now_ns.get();
        let Some(flight) = is_there.then(|| self.input.borrow_mut().take()).flatten() else {
            // Looking costs as much as a look at the clock.
            self.node.pass(self.node.costs.look_ns / 2);
            return Received::Nothing;
        };
        slot[..HEAD].copy_from_slice(&flight.head);
        self.node.pass(self.node.costs.take_in_ns);
        Received::Frame(flight.octets.into())
    }

    #[inline]
    fn send(&mut self, frame: &[u8]) -> Sent {
        let Some(head) = frame.first_chunk() else { return Sent::Refused };
        self.node.pass(self.node.draw(self.node.costs.hand_over_ns));
        let ingress_ns = self.node.draw(self.far_ingress_ns);
        let arrives = self.output.borrow_mut().transmit(self.node.now_ns.get(), frame.len() as u16, head, ingress_ns);
        if let Some(arrives_ns) = arrives {
            self.outgoing.borrow_mut().push((self.link, arrives_ns));
        }
        Sent::Done
    }

    fn overflowed(&mut self) -> u64 {
        0
    }
}
