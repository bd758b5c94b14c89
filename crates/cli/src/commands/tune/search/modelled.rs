//! A modelled machine as a bench, in virtual time; what hangs, hangs in real time.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ontick_measure::search::model::Model;
use ontick_measure::search::{Attempt, Bench};
use ontick_undo::guardian::Guardian;

use super::asked::Asked;
use super::candidates::Candidate;
use super::watchdog::{GuardianFlags, Watchdog};
use crate::failure::Failure;
use crate::temporary_settings::start_guardian;

pub struct Modelled<'a> {
    model: Model,
    /// Numbers of the candidates that hang.
    hang: Vec<usize>,
    /// Where any does.
    watched: Option<(Guardian, Watchdog)>,
    stop: &'a AtomicBool,
}

impl<'a> Modelled<'a> {
    /// Of a search with so many quartets behind it, whose journal is at this path.
    pub fn new(
        asked: &Asked,
        candidates: &[Candidate],
        quartets: u64,
        journal: &Path,
        stop: &'a AtomicBool,
    ) -> Result<Self, Failure> {
        let effect = |of: &Candidate| if let Candidate::Simulated(_, points) = of { *points } else { 0.0 };
        let effects = candidates.iter().map(effect).collect();
        let model = Model::new(effects, asked.block_ns, asked.interval_ns, asked.seed ^ quartets);
        let hangs = |n: &usize| matches!(candidates[*n], Candidate::Hang(_));
        let hang: Vec<usize> = (0..candidates.len()).filter(hangs).collect();
        let mut watched = None;
        if !hang.is_empty() {
            let guardian = start_guardian(&GuardianFlags::of(asked.undo_after_ns, journal, true))?;
            watched = Some((guardian, Watchdog::new(asked.undo_after_ns)));
        }
        Ok(Self { model, hang, watched, stop })
    }
}

impl Bench for Modelled<'_> {
    type Error = Failure;

    fn block(&mut self, on: &[usize]) -> Result<Attempt, Failure> {
        match &mut self.watched {
            Some((guardian, watchdog)) if on.iter().any(|n| self.hang.contains(n)) => {
                watchdog.announce(guardian, on);
                while !guardian.wait_for_it()? {
                    if self.stop.load(Relaxed) {
                        return Ok(Attempt::Ended);
                    }
                }
                let undone = watchdog.announce(guardian, &[]);
                undone.ok_or_else(|| Failure::new("the guardian was killed, and nobody else undoes what hangs"))
            }
            _ => Ok(self.model.block(on).unwrap_or_else(|never| match never {})),
        }
    }
}
