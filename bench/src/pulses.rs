//! Pulses of 10 µs on a simulated line by the hybrid wait, and by sleeping as `usleep` does, in turn.

use ontick_record::compare::{Spread, paired};
use ontick_record::run::Series;
use ontick_record::store;
use ontick_units::show;

use crate::child::{self, Words};
use crate::page::Table;
use crate::side::Job;

/// The mechanisms that are compared.
pub const SIDES: [&str; 2] = ["hybrid", "sleep"];
const WIDTH: &str = "10us";

/// One mechanism in one block; times are errors of the width, but for the width itself, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// An index of [`SIDES`].
    pub side: usize,
    /// Pulses that were measured.
    pub pulses: u64,
    /// The average width.
    pub average: f64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Largest.
    pub max: u64,
}

/// The command of one side. The line is one of a chip of the bench's own.
pub fn command(job: &Job, side: usize) -> Words {
    let (by, cpu, priority, seconds) = (SIDES[side], job.cpu, job.priority, job.duration_ns / 1_000_000_000);
    let line = format!(
        "pulse --output {}/17 --width {WIDTH} --method {by} --duration {seconds}s --cpu {cpu} --policy fifo:{priority} --json",
        chip()
    );
    job.command(&line)
}

fn chip() -> String {
    format!("sim:bench-{}", std::process::id())
}

/// Measures `pairs` pairs of blocks, A B, B A, …
pub fn measure(job: &Job, pairs: u32) -> Result<Vec<Block>, String> {
    let sides = (0..pairs).flat_map(|pair| if pair % 2 == 0 { [0, 1] } else { [1, 0] });
    let blocks = sides.map(|side| one(job, side)).collect();
    child::run(&job.command(&format!("gpio remove {}", chip())))?;
    blocks
}

fn one(job: &Job, side: usize) -> Result<Block, String> {
    let finished = child::run(&command(job, side))?;
    let run = store::parse(&finished.stdout).map_err(|e| format!("ontick's result: {e}"))?;
    run.series.first().and_then(|series| block(side, series)).ok_or("ontick pulse measured no pulse".into())
}

fn block(side: usize, series: &Series) -> Option<Block> {
    let latency = &series.latency;
    let (p50, p99) = (latency.quantile(0.5)?, latency.quantile(0.99)?);
    let average = series.pulse.as_ref()?.width.mean_ns?;
    Some(Block { side, pulses: latency.count(), average, p50, p99, max: latency.max_ns? })
}

/// A figure over the blocks of one side; `None` without any.
pub fn spread(blocks: &[Block], side: usize, of: fn(&Block) -> f64) -> Option<Spread> {
    paired(blocks.iter().filter(|block| block.side == side).map(of))
}

/// Both sides: medians over their blocks.
pub fn table(blocks: &[Block]) -> Table {
    let mut table = Table::new(&["median of blocks", "pulses", "average width", "error p50", "error p99", "error max"]);
    for (side, name) in SIDES.iter().enumerate() {
        let of = |figure| spread(blocks, side, figure).map_or("—".into(), |s: Spread| show(s.median.round() as u64));
        table.row([
            (*name).into(),
            blocks.iter().filter(|block| block.side == side).map(|block| block.pulses).sum::<u64>().to_string(),
            of(|block| block.average),
            of(|block| block.p50 as f64),
            of(|block| block.p99 as f64),
            of(|block| block.max as f64),
        ]);
    }
    table
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn block_of(side: usize, p50: u64, p99: u64) -> Block {
        Block { side, pulses: 100, average: 10_000.0, p50, p99, max: p99 }
    }

    #[test]
    fn a_figure_is_the_median_over_the_blocks_of_its_side() {
        let blocks = [block_of(0, 40, 100), block_of(1, 20_000, 30_000), block_of(0, 60, 300), block_of(0, 50, 200)];
        assert_eq!(spread(&blocks, 0, |block| block.p99 as f64).unwrap().median, 200.0);
        assert_eq!(spread(&blocks, 1, |block| block.p50 as f64).unwrap().pairs, 1);
        assert_eq!(spread(&[], 0, |block| block.max as f64), None);
    }
}
