//! One core's part of one switch, seen from outside: what it is sent, what it gives back, and that it is alive.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ontick_rt::cpus::Whereabouts;
use ontick_rt::rtrb::{Consumer, Producer, PushError, RingBuffer};
use ontick_rt::thread::{Policy, set_policy};
use ontick_tsn::model::Switch;

use super::CoreEvent;
use super::thread::CoreThread;
use super::work::Work;
use crate::user::core::{Channels, Command, Discarded, Part, PortConfig, Stall};
use crate::user::counters::{Counter, Counters};
use crate::user::time::Distance;

/// A core that shows no sign of life for so long is not trusted with its CPU any more.
const SILENT: Duration = Duration::from_secs(2);
/// Commands, and things given back, that may be on their way: other gates and idle slopes of every port, and some more.
const COMMANDS: usize = 1024;
/// Stalls that may wait to be asked for.
const STALLS: usize = 1 << 16;

/// What whoever looks after a core has of it.
pub struct Lane<P> {
    commands: Producer<Command<P>>,
    discarded: Consumer<Discarded<P>>,
    stalls: Consumer<Stall>,
    /// Turns of the core.
    turns: Arc<Counter>,
    /// How many there were when there were more than before.
    alive: (u64, Instant),
    demoted: bool,
    tid: i32,
    whereabouts: Option<Whereabouts>,
}

/// That, and what the core has.
pub fn ends<P>(
    switch: &Switch,
    part: Part,
    attachments: Vec<PortConfig<P>>,
    counters: &Arc<Counters>,
    distance: &Distance,
) -> (Lane<P>, Work<P>) {
    let (commands, to_obey) = RingBuffer::new(COMMANDS);
    let (to_free, discarded) = RingBuffer::new(COMMANDS);
    let (to_tell, stalls) = RingBuffer::new(STALLS);
    let channels = Channels { commands: to_obey, discarded: to_free, stalls: to_tell };
    let (turns, alive) = (part.alive(), (0, Instant::now()));
    let lane = Lane { commands, discarded, stalls, turns, alive, demoted: false, tid: 0, whereabouts: None };
    let (counters, distance) = (counters.clone(), distance.clone());
    (lane, Work { switch: switch.clone(), part, attachments, channels, counters, distance })
}

impl<P> Lane<P> {
    /// The core works on this thread.
    pub fn watch(&mut self, thread: &CoreThread) {
        self.tid = thread.tid;
        self.whereabouts = thread.pinned.map(Whereabouts::of_one_pinned_to);
        self.alive = (0, Instant::now());
    }

    /// Sends it something; it is given back while too much is on its way already.
    pub fn send(&mut self, command: Command<P>) -> Result<(), Command<P>> {
        self.commands.push(command).map_err(|PushError::Full(command)| command)
    }

    /// How many commands it can be sent now.
    pub fn room(&self) -> usize {
        self.commands.slots()
    }

    pub fn has_taken_all(&self) -> bool {
        self.commands.slots() == COMMANDS
    }

    /// Frees what it gave back.
    pub fn free(&mut self) {
        while self.discarded.pop().is_ok() {}
    }

    pub fn stalls(&mut self) -> impl Iterator<Item = Stall> {
        std::iter::from_fn(|| self.stalls.pop().ok())
    }

    /// Other CPUs than its own on which it was found.
    pub fn strayed_to(&self) -> &[u32] {
        self.whereabouts.as_ref().map_or(&[], Whereabouts::strayed_to)
    }

    /// Whether it is where it should be, and alive.
    pub fn look(&mut self) -> Vec<CoreEvent> {
        let mut noticed = Vec::new();
        if let Some(whereabouts) = &mut self.whereabouts {
            let moved = whereabouts.update(self.tid);
            noticed.extend(moved.map(|cpu| CoreEvent::Moved(whereabouts.why(), cpu)));
        }
        let turns = self.turns.get();
        if turns != self.alive.0 {
            self.alive = (turns, Instant::now());
        } else if !self.demoted && self.alive.1.elapsed() > SILENT {
            self.demoted = set_policy(self.tid, Policy::Other).is_ok();
            noticed.extend(self.demoted.then_some(CoreEvent::Demoted));
        }
        noticed
    }
}
