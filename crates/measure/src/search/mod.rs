//! Which settings help: a race of candidates against the base, in quartets of interleaved blocks.
//!
//! What decides is pure and knows no machine: [`Race`] says which quartet comes next and what all of them come to. A
//! [`Bench`] measures blocks: this machine, or a [model] of one.

mod boots;
mod journal;
pub mod model;
mod quartet;
mod race;
mod rounds;
mod session;
mod stages;
#[cfg(test)]
mod tests;
mod track;

pub use boots::{BootNow, BootStep, Lost, NextBoot, replay};
pub use journal::{Kept, SearchJournal, SearchJournalError, Unusable};
use ontick_record::Series;
pub use ontick_record::search::{Block, Judge};
pub use quartet::{Comparison, Done, Quartet};
pub use race::{Candidate, Plan, Race, fewest_comparisons};
pub use rounds::{BOOT, Rounds, fewest_boots};
pub use session::Session;

/// Measures blocks.
pub trait Bench {
    /// Why a block could not be measured.
    type Error;

    /// One block with these candidates on, and no other.
    fn block(&mut self, on: &[usize]) -> Result<Attempt, Self::Error>;
}

/// What became of a block that was to be measured.
#[derive(Debug, Clone, PartialEq)]
pub enum Attempt {
    /// It was measured.
    Measured(Block),
    /// What was on was undone, so that it says nothing: the process was stopped, or could not run.
    Undone(Option<Unusable>),
    /// The search is to end before it is measured.
    Ended,
}

/// What of a series counts, which was measured for so long on one of this many CPUs.
pub fn block_of(series: &Series, limit_ns: u64, length_ns: u64, cpus: usize) -> Block {
    let all_ns = length_ns.max(1) as f64 * cpus.max(1) as f64;
    Block {
        cycles: series.cycles(),
        in_time: series.in_time(limit_ns),
        p99_9_ns: series.latency.quantile(0.999).unwrap_or(0),
        max_ns: series.latency.max_ns.unwrap_or(0),
        missed: series.missed,
        steal: series.conditions.steal_ns as f64 / all_ns,
        took_ns: length_ns,
    }
}

/// Measures quartets until the race is over or the bench ends it. Each is handed to `keep` before it counts. One of which a
/// block was undone is measured again, or left out with what made the machine unusable.
pub fn run<B: Bench>(
    race: &mut Race,
    bench: &mut B,
    mut keep: impl FnMut(&Done, &Race) -> Result<(), B::Error>,
) -> Result<(), B::Error> {
    'quartets: while let Some(quartet) = race.next() {
        let mut blocks = [Block::default(); 4];
        for (block, trial) in blocks.iter_mut().zip(quartet.order()) {
            match bench.block(quartet.comparison.on(trial))? {
                Attempt::Measured(measured) => *block = measured,
                Attempt::Undone(unusable) => {
                    unusable.into_iter().for_each(|unusable| race.exclude(unusable.on.clone(), unusable.why()));
                    continue 'quartets;
                }
                Attempt::Ended => return Ok(()),
            }
        }
        let done = Done { quartet, blocks };
        keep(&done, race)?;
        race.add(done);
    }
    Ok(())
}
