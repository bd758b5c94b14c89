//! A modelled machine with candidates of known effect, in virtual time: for tests, and to see what a search can find.
//!
//! Its noise is that of a shared machine: a level that drifts, blocks with bursts of late cycles, and now and then a
//! hypervisor that takes the CPUs.

use ontick_record::search::Block;
use ontick_record::tail::simulation::Random;

use super::session::Session;
use super::{Attempt, Bench};

/// A machine whose settings do what is said of them.
#[derive(Debug, Clone)]
pub struct Model {
    /// What each candidate gains, in points of the share within the limit.
    effects: Vec<f64>,
    block_ns: u64,
    interval_ns: u64,
    random: Random,
    /// How far the level has drifted, as a logarithm.
    drift: f64,
}

/// Late cycles of the base, in percent.
const LATE: f64 = 5.0;
/// What a block needs beside its length, in ns.
const BESIDE_NS: u64 = 50_000_000;

impl Model {
    /// With candidates of these effects, in points of the share of cycles within the limit.
    pub fn new(effects: Vec<f64>, block_ns: u64, interval_ns: u64, seed: u64) -> Self {
        Self { effects, block_ns, interval_ns: interval_ns.max(1), random: Random(!seed), drift: 0.0 }
    }

    fn chance(&mut self, share: f64) -> bool {
        self.random.uniform() < share
    }

    /// Poisson's, by the times between events.
    fn count(&mut self, mean: f64) -> u64 {
        let mut sum = self.random.exponential();
        let mut count = 0;
        while sum < mean {
            sum += self.random.exponential();
            count += 1;
        }
        count
    }

    fn measure(&mut self, on: &[usize]) -> Block {
        let cycles = (self.block_ns / self.interval_ns).max(1);
        // Returns to its level over some hundred blocks.
        self.drift = 0.99 * self.drift + 0.06 * (self.random.uniform() - 0.5);
        let gain: f64 = on.iter().map(|n| self.effects[*n]).sum();
        let mut late = (LATE * self.drift.exp() - gain).clamp(0.0, 100.0);
        if self.chance(0.03) {
            late += 2.0 * self.random.exponential();
        }
        let steal = if self.chance(0.03) { 0.2 * self.random.exponential() } else { 0.0 };
        late += 50.0 * steal;
        let late = self.count(cycles as f64 * late / 100.0).min(cycles);
        let max_ns = 5_000 + (late as f64 * 2_000.0 * self.random.exponential()) as u64;
        Block {
            cycles,
            in_time: cycles - late,
            p99_9_ns: if late * 1_000 > cycles { max_ns } else { 2_000 },
            max_ns,
            missed: 0,
            steal,
            took_ns: self.block_ns + BESIDE_NS,
        }
    }
}

impl Bench for Model {
    type Error = std::convert::Infallible;

    fn block(&mut self, on: &[usize]) -> Result<Attempt, Self::Error> {
        Ok(Attempt::Measured(self.measure(on)))
    }
}

/// A modelled machine that restarts: what a boot decides lasts for all its blocks.
#[derive(Debug, Clone)]
pub struct Boots {
    effects: Vec<f64>,
    random: Random,
}

/// By so many points a boot differs from the next, at most, whatever is on.
const BOOT_SPREAD: f64 = 1.0;
const BOOT_BLOCK_NS: u64 = 500_000_000;
/// What a restart takes, in ns.
const RESTART_NS: u64 = 60_000_000_000;

impl Boots {
    /// With candidates of these effects, in points of the share of cycles within the limit.
    pub fn new(effects: Vec<f64>, seed: u64) -> Self {
        Self { effects, random: Random(!seed) }
    }

    /// A boot with these candidates on, and so many blocks in it.
    pub fn boot(&mut self, on: &[usize], blocks: u64) -> Session {
        let own = BOOT_SPREAD * (2.0 * self.random.uniform() - 1.0);
        let gain: f64 = on.iter().map(|n| self.effects[*n]).sum();
        // Its blocks differ little from one another.
        let mut model = Model::new(vec![gain + own], BOOT_BLOCK_NS, 1_000_000, self.random.uniform().to_bits());
        let blocks: Vec<Block> = (0..blocks).map(|_| model.measure(&[0])).collect();
        let took_ns = RESTART_NS + blocks.iter().map(|block| block.took_ns).sum::<u64>();
        Session { arm: on.to_vec(), blocks, took_ns }
    }
}
