//! The timed side: answers, and publishes what the observer saw of it.

use std::sync::Arc;

use ontick_record::run::Settings;

use super::Job;
use super::follow::{Follower, Lost};
use super::scope::{Scope, Seen, Shared};
use crate::probe::{Probe, Sample};
use crate::{Error, Place};

/// Without a stimulus for so long it rests, and the run can be ended, in ns.
pub(super) const PATIENCE_NS: u64 = 50_000_000;
/// The rest after that, in ns.
pub(super) const NAP_NS: u64 = PATIENCE_NS / 10;
/// Leave to rest that was not given is asked for again after this, in ns.
const AGAIN_NS: u64 = 10_000;
/// A rest is declared to end this much later than the thread means to wake: the kernel needs that, in ns.
const WAKE_NS: u64 = 200_000;

/// Answers one stimulus after the other.
pub struct Responder {
    job: Job,
    follower: Follower,
    scope: Scope,
    seen: rtrb::Consumer<Seen>,
    observer_cpu: Option<u32>,
    /// A rest that is due, in ns: one who polls would never leave the CPU.
    owes_ns: u64,
    lost: Option<Lost>,
}

impl Responder {
    pub fn start(job: &Job, observer_place: Place, shared: Arc<Shared>) -> Result<Self, Error> {
        let follower = Follower::open(job.by, &job.pair)?;
        let (scope, seen) = Scope::start(&job.ends, job.pair.inverse, job.interval_ns, observer_place, shared)?;
        let (job, observer_cpu) = (job.clone(), observer_place.cpu);
        Ok(Self { job, follower, scope, seen, observer_cpu, owes_ns: 0, lost: None })
    }

    fn turn(&mut self) -> Result<Option<Sample>, Lost> {
        if let Ok(seen) = self.seen.pop() {
            return Ok(Some(seen.sample()));
        }
        let now_ns = self.follower.clock.now_ns();
        let patience_ns = if self.owes_ns > 0 { AGAIN_NS } else { PATIENCE_NS };
        let followed = self.follower.follow(now_ns + patience_ns)?;
        match (followed, self.owes_ns) {
            (true, _) => {
                self.owes_ns = if self.follower.spins() { self.job.interval_ns / 10 } else { 0 };
                Ok(None)
            }
            (false, 1..) => {
                self.rest();
                Ok(None)
            }
            (false, 0) => {
                self.owes_ns = if self.follower.spins() { NAP_NS } else { 0 };
                Ok(Some(Sample::nap(self.follower.clock.now_ns())))
            }
        }
    }

    /// Rests, unless a stimulus is on its way: then later.
    fn rest(&mut self) {
        let until_ns = self.follower.clock.now_ns() + self.owes_ns;
        if self.scope.shared.leave.to_rest(until_ns + WAKE_NS) {
            self.follower.sleep(std::mem::take(&mut self.owes_ns));
        }
    }
}

impl Probe for Responder {
    fn next(&mut self) -> Sample {
        loop {
            match self.turn() {
                Ok(Some(sample)) => return sample,
                Ok(None) => {}
                Err(lost) => {
                    self.lost = Some(lost);
                    return Sample::nap(self.follower.clock.now_ns());
                }
            }
        }
    }

    fn failure(&mut self) -> Option<Error> {
        let pair = self.follower.pair();
        let lost = self.lost.map(|lost| lost.error(pair));
        lost.or_else(|| self.scope.shared.failure(&self.job.ends, &pair.input, &pair.output))
    }

    fn describe(&mut self, settings: &mut Settings) {
        self.follower.describe(settings);
        settings.interval_ns = self.job.interval_ns;
        settings.peer_cpu = self.observer_cpu;
        settings.line = Some(self.job.ends.stimulus.to_string());
        settings.seen_line = Some(self.job.ends.scope.to_string());
    }
}
