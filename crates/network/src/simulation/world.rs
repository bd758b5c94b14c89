//! One thing after the other, the earliest first.

use std::cell::Cell;

use ontick_switch::user::core::Command;
use ontick_switch::user::counters::Counters;
use ontick_tsn::network::{Kind, LinkId, Network, NodeId};
use ontick_tsn::planning::Timetable;
use ontick_tsn::schedule;
use ontick_tsn::validate::Schedule;

use super::clock::SYNC_NS;
use super::listening::Listening;
use super::setup::{self, Actor, BASE_NS, Parts, Running};
use super::turns::{NEVER, Turns};
use super::{Options, Outcome, SimulationError};
use crate::arrivals::{Arrivals, Expected, LastHop};
use crate::delivered::Delivered;
use crate::fault::Resolved;
use crate::switches::{dropped, models, out_of, user_form};

/// A core does what it does now and then after so many turns.
const HOUSEKEEPING: u64 = 1_024;
/// After the last message was sent, frames are followed for two periods, what clocks differ by, and so much more, in ns.
const PATIENCE_NS: u64 = 10_000_000;

/// What changes at a certain time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Sync,
    Link([LinkId; 2], bool),
    Drift(NodeId, i64),
    Synchronised(NodeId),
    Step(NodeId, i64),
}

/// Runs a planned network.
///
/// `table` is where the schedule comes from; it says when messages are to arrive. `go_on` is asked many times a second of
/// simulated time, with how much of that has passed, in ns; when it says no, no further message is sent.
pub fn simulate(
    network: &Network,
    table: &Timetable,
    schedule: &Schedule,
    options: &Options,
    go_on: &dyn Fn(u64) -> bool,
) -> Result<Outcome, SimulationError> {
    setup::check(network, options)?;
    let models = models(network, schedule, user_form(BASE_NS))?;
    let faults = options.faults.iter().map(|fault| {
        fault.happens_within(options.duration_ns)?;
        Ok((fault, fault.resolve(network)?))
    });
    let faults = faults.collect::<Result<Vec<_>, SimulationError>>()?;
    let counters: Vec<Counters> =
        (0..network.nodes.len()).map(|node| Counters::new(out_of(network, node).len())).collect();
    let parts = setup::parts(network, options);
    let mut actors = Vec::new();
    for (node, of) in network.nodes.iter().enumerate() {
        actors.push(match (of.kind, &models[node]) {
            (Kind::Switch, Some(model)) => {
                Actor::Switch(Box::new(setup::switch(network, &parts, options, node, model, &counters[node])))
            }
            (_, model) => {
                Actor::Station(Box::new(setup::station((network, schedule), &parts, options, node, model.as_ref())))
            }
        });
    }
    let mut changes = Vec::new();
    for (fault, resolved) in faults {
        let from_ns = BASE_NS + fault.from_ns;
        let until_ns = fault.until_ns.map_or(NEVER, |until_ns| BASE_NS + until_ns);
        match resolved {
            Resolved::LinkDown(links) => {
                links.iter().for_each(|link| parts.links[*link].borrow_mut().interrupt(from_ns, until_ns));
                changes.extend([(from_ns, Change::Link(links, false)), (until_ns, Change::Link(links, true))]);
            }
            Resolved::Babble(talker) => {
                if let Actor::Station(station) = &mut actors[talker] {
                    station.babbles = Some((from_ns, until_ns));
                }
            }
            Resolved::ClockDrift(node, ppb) => {
                changes.extend([(from_ns, Change::Drift(node, ppb)), (until_ns, Change::Synchronised(node))]);
            }
            Resolved::ClockStep(node, ns) => changes.push((from_ns, Change::Step(node, ns))),
        }
    }
    changes.sort_by_key(|(at_ns, _)| std::cmp::Reverse(*at_ns));
    let planned = |stream: usize, listener: NodeId| {
        let hops = &table.placed.get(stream)?.as_ref()?.hops;
        let hop = hops.iter().find(|hop| network.links[hop.link].to == listener)?;
        Some(LastHop { window_ns: (hop.begin_ns, hop.end_ns), delivered_ns: hop.delivered_ns })
    };
    let expected = Expected::all(network, &planned);
    let expected = expected.into_iter().map(|of| Expected { window_ns: None, ..of }).collect();
    let longest_ns = network.streams.iter().map(|stream| stream.period_ns).max().unwrap_or(0);
    // Whose clock is behind begins its last messages as much later.
    let drains_ns = 2 * longest_ns + network.sync_error_ns + PATIENCE_NS;
    let mut world = World {
        network,
        turns: Turns::new(network.nodes.len()),
        next_sync_ns: parts.start_ns,
        parts,
        actors,
        far_ends: network.links.iter().map(|link| (link.to, network.nodes[link.to].kind)).collect(),
        listening: Listening::new(network, schedule, expected),
        changes,
        apart_ns: 0,
        drains_ns,
        ends_ns: BASE_NS + options.duration_ns + drains_ns,
        sends_ns: options.duration_ns,
    };
    world.announce();
    world.run(go_on);
    Ok(world.outcome(&counters, options))
}

struct World<'c> {
    network: &'c Network,
    parts: Parts,
    actors: Vec<Actor<'c>>,
    turns: Turns,
    /// Where each link leads.
    far_ends: Vec<(NodeId, Kind)>,
    listening: Listening,
    /// The latest first.
    changes: Vec<(u64, Change)>,
    next_sync_ns: u64,
    apart_ns: u64,
    /// Frames are followed so long after the last was sent, and to this moment.
    drains_ns: u64,
    ends_ns: u64,
    /// For how long messages are sent.
    sends_ns: u64,
}

impl World<'_> {
    /// Each station says that it is here, one after the other, before anything else.
    fn announce(&mut self) {
        let mut at_ns = self.parts.start_ns;
        for node in 0..self.actors.len() {
            if let Actor::Station(station) = &mut self.actors[node] {
                station.announce(at_ns);
                at_ns += 100_000;
            }
            self.deliver();
        }
        for node in 0..self.actors.len() {
            self.schedule(node);
        }
    }

    fn run(&mut self, go_on: &dyn Fn(u64) -> bool) {
        let mut stopped = false;
        loop {
            let (at_ns, node) = self.turns.next();
            let change_ns = self.changes.last().map_or(NEVER, |(at_ns, _)| *at_ns).min(self.next_sync_ns);
            // Servos work to the end, also where nobody has anything to do any more.
            if at_ns.min(change_ns) > self.ends_ns {
                break;
            }
            if change_ns <= at_ns {
                self.change(change_ns);
                if !stopped && !go_on(change_ns.saturating_sub(BASE_NS)) {
                    stopped = true;
                    self.stop(change_ns);
                }
                continue;
            }
            match &mut self.actors[node] {
                Actor::Switch(switch) => {
                    let next_ns = switch.turn(at_ns);
                    self.turns.set(node, next_ns);
                }
                Actor::Station(station) => {
                    station.wake(at_ns);
                    let next_ns = station.next_ns();
                    self.turns.set(node, next_ns);
                }
            }
            self.deliver();
        }
        self.look_at_clocks(self.ends_ns);
    }

    /// Nothing more is sent from now on; what is on its way still arrives.
    fn stop(&mut self, now_ns: u64) {
        self.ends_ns = self.ends_ns.min(now_ns.max(BASE_NS) + self.drains_ns);
        self.sends_ns = self.sends_ns.min(now_ns.saturating_sub(BASE_NS));
        for node in 0..self.actors.len() {
            if let Actor::Station(station) = &mut self.actors[node] {
                station.stop(now_ns);
            }
            self.schedule(node);
        }
    }

    /// Frames that left go to where they arrive. A station takes them in when they come, whatever it does.
    #[inline]
    fn deliver(&mut self) {
        let mut outgoing = self.parts.outgoing.borrow_mut();
        for &(link, arrives_ns) in outgoing.iter() {
            match self.far_ends[link] {
                (switch, Kind::Switch) => self.turns.sooner(switch, arrives_ns),
                (station, Kind::Station) => {
                    let clock = self.parts.nodes[station].clock.get();
                    let mut link = self.parts.links[link].borrow_mut();
                    while let Some(flight) = link.take() {
                        self.listening.arrived(station, &flight, clock.local_ns(flight.arrives_ns));
                    }
                }
            }
        }
        outgoing.clear();
    }

    /// A node's next time, after something about it changed.
    fn schedule(&mut self, node: NodeId) {
        let next_ns = match &mut self.actors[node] {
            Actor::Switch(switch) => switch.next_ns(),
            Actor::Station(station) => station.next_ns(),
        };
        self.turns.set(node, next_ns);
    }

    fn look_at_clocks(&mut self, now_ns: u64) {
        let offsets = || self.parts.nodes.iter().map(|node| node.clock.get().offset_ns(now_ns));
        let apart = offsets().max().zip(offsets().min()).map_or(0, |(most, least)| (most - least) as u64);
        self.apart_ns = self.apart_ns.max(apart);
    }

    fn change(&mut self, now_ns: u64) {
        let change = match self.changes.last() {
            Some((at_ns, _)) if *at_ns <= now_ns => self.changes.pop().map_or(Change::Sync, |(_, change)| change),
            _ => Change::Sync,
        };
        self.look_at_clocks(now_ns);
        let set_clock = |node: NodeId, set: &dyn Fn(&mut super::clock::Clock)| {
            let mut clock = self.parts.nodes[node].clock.get();
            set(&mut clock);
            self.parts.nodes[node].clock.set(clock);
        };
        match change {
            Change::Sync => {
                self.next_sync_ns = now_ns + SYNC_NS;
                for node in 0..self.actors.len() {
                    let mut clock = self.parts.nodes[node].clock.get();
                    self.parts.servos[node].look(&mut clock, now_ns);
                    self.parts.nodes[node].clock.set(clock);
                    self.schedule(node);
                }
            }
            Change::Drift(node, ppb) => {
                self.parts.servos[node].lost = true;
                set_clock(node, &|clock| clock.run_at(now_ns, ppb));
                self.schedule(node);
            }
            Change::Synchronised(node) => self.parts.servos[node].lost = false,
            Change::Step(node, ns) => {
                set_clock(node, &|clock| clock.step(now_ns, ns));
                self.parts.nodes[node].was_set.set(true);
                match &mut self.actors[node] {
                    Actor::Switch(switch) => switch.core.housekeeping(),
                    Actor::Station(station) => station.follow_clock(now_ns, ns),
                }
                self.schedule(node);
            }
            Change::Link(links, up) => {
                for link in links {
                    let from = self.network.links[link].from;
                    let port = out_of(self.network, from).iter().position(|out| *out == link);
                    if let (Actor::Switch(switch), Some(port)) = (&mut self.actors[from], port) {
                        // There is room: each command is handled at once.
                        let _ = switch.commands.push(Command::Link(port, up));
                        switch.core.housekeeping();
                        self.schedule(from);
                    }
                }
            }
        }
        self.look_at_clocks(now_ns);
    }

    fn outcome(self, counters: &[Counters], options: &Options) -> Outcome {
        let mut counts = vec![(0, 0); self.network.streams.len()];
        let (mut best_effort, mut turns, mut frames) = (0, 0, 0);
        for actor in &self.actors {
            match actor {
                Actor::Switch(switch) => turns += switch.turns,
                Actor::Station(station) => {
                    best_effort += station.best_effort_sent();
                    for (sending, messages) in station.sent() {
                        let (planned, sent) = &mut counts[sending.stream];
                        *planned += sending.due_within(self.sends_ns);
                        *sent += messages;
                        frames += messages * u64::from(sending.parts);
                    }
                }
            }
        }
        let delivered = |of: &Arrivals| {
            let (planned, sent) = counts[of.expected().stream];
            Delivered { planned, ..of.delivered(sent) }
        };
        let dropped = dropped(counters.iter());
        let passed = |link: &super::link::Shared| {
            let from_start = |passed: &super::Passed| super::Passed {
                begin_ns: passed.begin_ns.saturating_sub(BASE_NS),
                end_ns: passed.end_ns.saturating_sub(BASE_NS),
                ..*passed
            };
            let link = link.borrow();
            link.passed.iter().filter(|passed| passed.begin_ns >= BASE_NS).map(from_start).collect::<Vec<_>>()
        };
        let sum =
            |of: fn(&super::link::Link) -> u64| self.parts.links.iter().map(|link| of(&link.borrow())).sum::<u64>();
        Outcome {
            delivered: self.listening.arrivals().iter().map(delivered).collect(),
            frames,
            hops: sum(|link| link.frames),
            best_effort,
            lost_on_links: sum(|link| link.lost),
            dropped,
            turns,
            clocks_apart_ns: self.apart_ns,
            simulated_ns: self.sends_ns,
            interrupted: self.sends_ns < options.duration_ns,
            passed: self.parts.links.iter().map(passed).collect(),
        }
    }
}

impl Running<'_> {
    /// The core looks at each port once; when it should next.
    #[inline]
    fn turn(&mut self, at_ns: u64) -> u64 {
        let node = &self.node;
        if at_ns > node.now_ns.get() {
            // It looked around all the time, and is somewhere within such a turn.
            let turn_ns = node.costs.look_ns * (2 + self.inputs.1.len() as u64) / 2;
            node.now_ns.set(at_ns + node.draw((0, turn_ns)));
            self.core.rested(node.local_ns().saturating_sub(self.core.seen_ns()));
        }
        self.core.turn();
        self.turns += 1;
        if self.turns % HOUSEKEEPING == 0 {
            self.core.housekeeping();
        }
        self.next_ns()
    }

    #[inline]
    fn next_ns(&mut self) -> u64 {
        let now_ns = self.node.now_ns.get();
        let (arriving, inputs) = &self.inputs;
        let arrives_ns = arriving[inputs.clone()].iter().map(Cell::get).min().unwrap_or(NEVER);
        if arrives_ns <= now_ns {
            return now_ns;
        }
        let due_ns = match self.core.due_ns() {
            schedule::NEVER => NEVER,
            local_ns => self.node.clock.get().when_ns(local_ns),
        };
        arrives_ns.min(due_ns).max(now_ns)
    }
}
