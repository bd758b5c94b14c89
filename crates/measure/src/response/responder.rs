//! The timed side: answers, and publishes what the observer saw of it.

use std::sync::Arc;

use ontick_record::run::Settings;

use super::Job;
use super::answerer::Answerer;
use super::follow::Lost;
use super::scope::{Observation, Scope, Shared};
use crate::probe::{Probe, Sample};
use crate::{Error, Placement};

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
    answerer: Answerer,
    scope: Scope,
    seen: rtrb::Consumer<Observation>,
    observer_cpu: Option<u32>,
    /// A rest that is due, in ns: one who polls would never leave the CPU.
    owes_ns: u64,
    lost: Option<Lost>,
}

impl Responder {
    pub fn start(
        job: &Job,
        placement: Placement,
        observer_placement: Placement,
        shared: Arc<Shared>,
    ) -> Result<Self, Error> {
        let answerer = Answerer::open(job.method, &job.pair, placement, job.irq_policy)?;
        let (scope, seen) = Scope::start(&job.ends, job.pair.inverse, job.interval_ns, observer_placement, shared)?;
        let (job, observer_cpu) = (job.clone(), observer_placement.cpu);
        Ok(Self { job, answerer, scope, seen, observer_cpu, owes_ns: 0, lost: None })
    }

    fn turn(&mut self) -> Result<Option<Sample>, Lost> {
        if let Ok(seen) = self.seen.pop() {
            return Ok(Some(seen.sample()));
        }
        let now_ns = self.answerer.clock().now_ns();
        let patience_ns = if self.owes_ns > 0 { AGAIN_NS } else { PATIENCE_NS };
        let followed = self.answerer.follow(now_ns + patience_ns)?;
        match (followed, self.owes_ns) {
            (1.., _) => {
                self.owes_ns = if self.answerer.spins() { self.job.interval_ns / 10 } else { 0 };
                Ok(None)
            }
            (0, 1..) => {
                self.rest();
                Ok(None)
            }
            (0, 0) => {
                self.owes_ns = if self.answerer.spins() { NAP_NS } else { 0 };
                Ok(Some(Sample::nap(self.answerer.clock().now_ns())))
            }
        }
    }

    /// Rests, unless a stimulus is on its way: then later.
    fn rest(&mut self) {
        let until_ns = self.answerer.clock().now_ns() + self.owes_ns;
        if self.scope.shared.leave.to_rest(until_ns + WAKE_NS) {
            self.answerer.sleep(std::mem::take(&mut self.owes_ns));
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
                    return Sample::nap(self.answerer.clock().now_ns());
                }
            }
        }
    }

    fn failure(&mut self) -> Option<Error> {
        let pair = self.answerer.pair();
        let lost = self.lost.map(|lost| lost.error(pair));
        lost.or_else(|| self.scope.shared.failure(&self.job.ends, &pair.input, &pair.output))
    }

    fn describe(&mut self, settings: &mut Settings) {
        self.answerer.describe(settings);
        self.scope.shared.set_note(self.answerer.note());
        settings.interval_ns = self.job.interval_ns;
        settings.peer_cpu = self.observer_cpu;
        settings.line = Some(self.job.ends.stimulus.to_string());
        settings.watched_line = Some(self.job.ends.scope.to_string());
    }
}
