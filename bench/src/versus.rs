//! ontick against its peers under one load, in interleaved pairs of blocks.

use ontick_measure::Load;
use ontick_record::compare::{Spread, paired};

use crate::block::{self, Block, Figures};
use crate::side::{Job, PEERS, Side};

/// One of ontick's blocks and the peer's block beside it.
#[derive(Debug, Clone)]
pub struct Pair {
    /// ontick's.
    pub ontick: Block,
    /// The peer's.
    pub peer: Block,
}

/// All pairs under one load.
#[derive(Debug, Clone)]
pub struct Versus {
    /// As the tables call the load.
    pub load: String,
    /// Its name with its command line.
    pub command: String,
    /// In the order in which they were measured.
    pub pairs: Vec<Pair>,
}

/// As the tables call a load.
pub fn load_name(load: &Load) -> String {
    match load {
        Load::None => "idle".into(),
        load => load.to_string(),
    }
}

/// A load with its command line.
fn described(load: &Load) -> String {
    match load {
        Load::None => load_name(load),
        load => load.describe(),
    }
}

/// Measures `pairs` pairs with each peer while the load runs; `look` sees each block.
pub fn measure(load: &Load, pairs: u32, job: &Job, mut look: impl FnMut(&Block)) -> Result<Versus, String> {
    let mut versus = Versus { load: load_name(load), command: described(load), pairs: Vec::new() };
    let running = load.start().map_err(|e| e.to_string())?;
    let mut phase_ns = 0;
    for (peer, ontick_first) in order(pairs) {
        let sides = if ontick_first { [Side::Ontick, peer] } else { [peer, Side::Ontick] };
        let mut one = |side| -> Result<Block, String> {
            let block = block::measure(side, job, phase_ns)?;
            // The very first block is ontick's, so every later one knows a phase.
            phase_ns = block.phase_ns.unwrap_or(phase_ns);
            look(&block);
            Ok(block)
        };
        let [first, second] = [one(sides[0])?, one(sides[1])?];
        let (ontick, peer) = if ontick_first { (first, second) } else { (second, first) };
        versus.pairs.push(Pair { ontick, peer });
        if let Some(status) = running.ended() {
            return Err(format!("the load {} ended before the blocks did ({status})", versus.load));
        }
    }
    Ok(versus)
}

/// Which peer, and whether ontick goes first: against each peer A B, B A, A B, …
fn order(pairs: u32) -> impl Iterator<Item = (Side, bool)> {
    let pairs_of = |pair: u32| PEERS.into_iter().enumerate().map(move |(i, peer)| (peer, (pair as usize + i) % 2 == 0));
    (0..pairs).flat_map(pairs_of)
}

/// Ratios of ontick's figures to a peer's over many pairs: `None` where no pair has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratios {
    /// How many pairs there are.
    pub pairs: usize,
    /// Of the medians.
    pub p50: Option<Spread>,
    /// Of the 99th percentiles.
    pub p99: Option<Spread>,
    /// Of the 99.9th percentiles.
    pub p99_9: Option<Spread>,
    /// Of the largest latencies.
    pub max: Option<Spread>,
}

impl Versus {
    /// The pairs with one peer.
    pub fn with(&self, peer: Side) -> Vec<&Pair> {
        self.pairs.iter().filter(|pair| pair.peer.side == peer).collect()
    }

    /// All blocks of one side.
    pub fn blocks(&self, side: Side) -> Vec<&Block> {
        self.pairs.iter().flat_map(|pair| [&pair.ontick, &pair.peer]).filter(|block| block.side == side).collect()
    }
}

/// The pairs of which neither block saw more steal than `limit_ns`.
pub fn without_steal<'a>(pairs: &[&'a Pair], limit_ns: u64) -> Vec<&'a Pair> {
    let quiet = |block: &Block| block.conditions.steal_ns <= limit_ns;
    pairs.iter().copied().filter(|pair| quiet(&pair.ontick) && quiet(&pair.peer)).collect()
}

/// ontick's figures divided by the peer's, pair by pair.
pub fn ratios(pairs: &[&Pair]) -> Ratios {
    let of = |figure: fn(&Figures) -> u64| {
        paired(pairs.iter().map(|pair| figure(&pair.ontick.figures) as f64 / figure(&pair.peer.figures) as f64))
    };
    Ratios { pairs: pairs.len(), p50: of(|f| f.p50), p99: of(|f| f.p99), p99_9: of(|f| f.p99_9), max: of(|f| f.max) }
}

/// The median over blocks of a figure; `None` without blocks.
pub fn median(blocks: &[&Block], of: impl Fn(&Block) -> f64) -> Option<f64> {
    paired(blocks.iter().map(|block| of(block))).map(|spread| spread.median)
}

/// Samples below 3 µs as a share of all periods of all blocks; `None` without blocks.
pub fn share_in_time(blocks: &[&Block]) -> Option<f64> {
    let sum = |of: fn(&Block) -> u64| blocks.iter().map(|block| of(block)).sum::<u64>();
    let periods = sum(|block| block.samples + block.missed);
    (periods > 0).then(|| sum(|block| block.in_time) as f64 / periods as f64)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ontick_record::run::Conditions;
    use std::time::Duration;

    pub fn block(side: Side, ns: u64, steal_ns: u64) -> Block {
        Block {
            side,
            figures: Figures { p50: ns, p99: ns * 2, p99_9: ns * 3, max: ns * 4 },
            samples: 1_000,
            in_time: 990,
            missed: 0,
            faults: 0,
            phase_ns: None,
            cpu: Duration::from_millis(100),
            wall: Duration::from_secs(1),
            conditions: Conditions { steal_ns, ..Conditions::default() },
        }
    }

    pub fn pair(ontick_ns: u64, peer_ns: u64, steal_ns: (u64, u64)) -> Pair {
        Pair { ontick: block(Side::Ontick, ontick_ns, steal_ns.0), peer: block(Side::Cyclictest, peer_ns, steal_ns.1) }
    }

    #[test]
    fn sides_take_turns_against_every_peer() {
        for peer in PEERS {
            let first: Vec<bool> = order(6).filter(|(with, _)| *with == peer).map(|(_, first)| first).collect();
            assert_eq!(first.len(), 6);
            assert!(first.windows(2).all(|w| w[0] != w[1]), "{peer:?}: {first:?}");
        }
        assert!(order(1).next().unwrap().1, "the first block must find the phase");
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let pairs = [pair(1, 10, (0, 0)), pair(2, 10, (0, 0)), pair(9, 10, (0, 0))];
        let ratios = ratios(&pairs.iter().collect::<Vec<_>>());
        let p99 = ratios.p99.unwrap();
        assert_eq!((ratios.pairs, p99.min, p99.median, p99.max), (3, 0.1, 0.2, 0.9));
        assert_eq!(super::ratios(&[]).max, None);
    }

    #[test]
    fn steal_in_either_block_leaves_the_pair_out() {
        let limit = 10_000_000;
        let pairs = [
            pair(1, 10, (limit, limit)),
            pair(2, 10, (limit + 1, 0)),
            pair(3, 10, (0, limit + 1)),
            pair(4, 10, (0, 0)),
        ];
        let left = without_steal(&pairs.iter().collect::<Vec<_>>(), limit);
        assert_eq!(left.iter().map(|pair| pair.ontick.figures.p50).collect::<Vec<_>>(), [1, 4]);
    }

    #[test]
    fn medians_and_shares_of_blocks() {
        let mut blocks = [block(Side::Ontick, 5, 0), block(Side::Ontick, 7, 0), block(Side::Ontick, 100, 0)];
        blocks[2].missed = 1_000;
        let blocks: Vec<&Block> = blocks.iter().collect();
        assert_eq!(median(&blocks, |b| b.figures.p50 as f64), Some(7.0));
        assert_eq!(share_in_time(&blocks), Some(2_970.0 / 4_000.0));
        assert_eq!((median(&[], |_| 1.0), share_in_time(&[])), (None, None));
    }
}
