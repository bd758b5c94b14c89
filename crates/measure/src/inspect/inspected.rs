//! One thread that is inspected, from when it is first observed to its end.

use std::io;

use super::event::{Event, Kind};
use super::perf::{Attached, Traced};
use super::program::ThreadState;
use super::rules::{self, Ended, Use};
use super::symbols::Symbols;
use super::tally::Tally;
use super::thread::{Happening, Track};

/// A thread of the program.
pub struct Inspected {
    /// What `/proc` said last.
    pub state: ThreadState,
    /// What it said when the thread began to count.
    base: Option<ThreadState>,
    /// Its events; none where they may not be had.
    attached: Option<Attached>,
    /// It is inspected; of the others only context switches matter.
    pub full: bool,
    /// From when on its events count.
    pub counts_from_ns: u64,
    /// When it last changed its policy, and so may have prepared itself anew; 0 for never.
    pub changed_ns: u64,
    /// So much of its beginning does not count.
    after_ns: u64,
    /// Until when it was observed.
    pub last_ns: u64,
    /// It ended: what it did since its last wait was its end.
    pub ended: bool,
    track: Track,
    /// Since its last wait.
    round: Tally,
    /// In whole rounds.
    pub tally: Tally,
    /// When it was kept from its CPU, lately.
    preempted: Vec<(u64, u64)>,
    out_ns: Option<u64>,
}

/// Times without a CPU that are kept: enough for the longest wait between two looks.
const PREEMPTIONS: usize = 256;

impl Inspected {
    /// A thread that is observed from now on, and counts `after_ns` later.
    pub fn new(state: ThreadState, now_ns: u64, after_ns: u64) -> Self {
        Self {
            state,
            base: None,
            attached: None,
            full: false,
            counts_from_ns: now_ns + after_ns,
            changed_ns: 0,
            after_ns,
            last_ns: now_ns,
            ended: false,
            track: Track::default(),
            round: Tally::default(),
            tally: Tally::default(),
            preempted: Vec::new(),
            out_ns: None,
        }
    }

    /// Records the events that need no tracepoint.
    pub fn attach(&mut self, switches: bool) -> io::Result<()> {
        let tid = self.state.tid;
        self.attached = Some(if self.full { Attached::inspected(tid, switches)? } else { Attached::beside(tid)? });
        Ok(())
    }

    /// Is inspected from now on.
    pub fn inspect(&mut self, now_ns: u64) {
        self.full = true;
        self.attached = None;
        // What it was in when it was last.
        self.track = Track::default();
        if now_ns > self.counts_from_ns {
            self.restart(now_ns);
        }
    }

    /// Is not inspected any more; its context switches still matter.
    pub fn leave(&mut self) {
        (self.full, self.attached) = (false, None);
    }

    /// Whether its events are recorded.
    pub fn is_attached(&self) -> bool {
        self.attached.is_some()
    }

    /// What was recorded since.
    pub fn take(&mut self, buffer: &mut Vec<u8>, found: impl FnMut(Traced)) {
        if let Some(attached) = &mut self.attached {
            attached.take(buffer, found);
        }
    }

    /// What `/proc` says now. A change of policy begins the observation anew: until then it was not the thread it is.
    pub fn refresh(&mut self, state: ThreadState, now_ns: u64) {
        let policy = |state: &ThreadState| (state.policy, state.priority);
        if policy(&self.state) != policy(&state) {
            self.restart(now_ns);
            self.changed_ns = now_ns;
        }
        self.state = state;
        self.last_ns = now_ns;
        if self.base.is_none() && now_ns >= self.counts_from_ns {
            self.base = Some(self.state.clone());
        }
    }

    /// Its beginning is now, and what was counted before is not.
    pub fn restart(&mut self, now_ns: u64) {
        self.counts_from_ns = now_ns + self.after_ns;
        (self.base, self.round, self.tally) = (None, Tally::default(), Tally::default());
    }

    /// Whether any of its time counted.
    pub fn counted_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.counts_from_ns)
    }

    /// Goes on by one event.
    pub fn follow(&mut self, event: Event, symbols: &Symbols, holder_off: impl Fn(i32, u64, u64) -> u64) {
        match event.kind {
            Kind::Ended => self.ended = true,
            Kind::Exec => self.restart(event.at_ns),
            Kind::Out { preempted } => self.out_ns = preempted.then_some(event.at_ns),
            Kind::In => {
                if let Some(out_ns) = self.out_ns.take() {
                    if self.preempted.len() == PREEMPTIONS {
                        self.preempted.remove(0);
                    }
                    self.preempted.push((out_ns, event.at_ns));
                }
            }
            _ => {}
        }
        if !self.full {
            return;
        }
        let mut happenings = Vec::new();
        self.track.follow(event, |at_ns, happening| happenings.push((at_ns, happening)));
        for (at_ns, happening) in happenings {
            if at_ns >= self.counts_from_ns {
                self.count(happening, symbols, &holder_off);
            }
        }
    }

    fn count(&mut self, happening: Happening, symbols: &Symbols, holder_off: &impl Fn(i32, u64, u64) -> u64) {
        match &happening {
            Happening::Call { call, place, woken_by } => {
                if call.at_ns < self.counts_from_ns {
                    return;
                }
                let waits = call.is_wait();
                let tally = self.round.calls.entry(call.number).or_default();
                tally.count += 1;
                tally.waits += u64::from(waits);
                tally.took.add(call.took_ns);
                let location = place.and_then(|place| symbols.place(place));
                let ended = Ended { call, location, woken_by: woken_by.as_ref(), thread: &self.state };
                if let Some(breach) = rules::of_call(&ended) {
                    let found = self.round.add(breach, 1, *place);
                    if let Some(holder) = woken_by {
                        let off_ns = holder_off(holder.tid, call.at_ns, call.at_ns + call.took_ns);
                        found.holder_off_ns = found.holder_off_ns.max(off_ns);
                    }
                }
                if waits {
                    self.round.waits += 1;
                    self.tally.absorb(&mut self.round);
                }
            }
            Happening::Started { ns } => self.round.wake_up.add(*ns),
            Happening::Fault { place, .. } => {
                if let Some(breach) = rules::of_happening(&happening, &self.state) {
                    self.round.add(breach, 1, *place);
                }
            }
            other => {
                if let Some(breach) = rules::of_happening(other, &self.state) {
                    self.round.add(breach, 1, None);
                }
            }
        }
        if let Some((rule, ns)) = rules::of_later_cost(&happening) {
            self.round.add_cost(rule, ns);
        }
    }

    /// Forgets what was begun: its end was not seen.
    pub fn forget(&mut self) {
        (self.track, self.out_ns) = (Track::default(), None);
    }

    /// How long it was kept from its CPU within a time, in ns.
    pub fn off_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        let within = |(out, back): &(u64, u64)| back.min(&to_ns).saturating_sub(*out.max(&from_ns));
        self.preempted.iter().map(within).sum()
    }

    /// The last of it: a round that was not finished counts if the thread goes on, or never waited.
    pub fn finish(&mut self, calls_seen: bool, faults_seen: bool) {
        let loops = self.tally.waits > 0;
        if !(self.ended && calls_seen && loops) {
            self.tally.absorb(&mut self.round);
        }
        let Some(base) = &self.base else { return };
        let policy = self.state.is_real_time();
        if policy {
            let of_ns = self.last_ns.saturating_sub(self.counts_from_ns);
            let used = Use {
                ran_ns: self.state.ran_ns.saturating_sub(base.ran_ns),
                waited_ns: self.state.waited_ns.saturating_sub(base.waited_ns),
                sleeps: self.state.sleeps.zip(base.sleeps).map(|(now, then)| now.saturating_sub(then)),
                of_ns,
            };
            if let Some(breach) = rules::starvation(&self.state, used) {
                self.tally.add(breach, 0, None);
            }
        }
        if !self.full || !faults_seen {
            let grown = |now: u64, then: u64| now.saturating_sub(then);
            let faults = (grown(self.state.faults.0, base.faults.0), grown(self.state.faults.1, base.faults.1));
            for (breach, count) in rules::of_counters(faults, None) {
                self.tally.add(breach, count, None);
            }
        }
    }
}
