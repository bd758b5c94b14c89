//! Blocks, ratios, costs and goals as tables.

use ontick_record::compare::Spread;
use ontick_units::show;

use crate::block::Block;
use crate::costs::Cost;
use crate::footprint::Growth;
use crate::goals::Goal;
use crate::page::Table;
use crate::side::{PEERS, Side};
use crate::tracing;
use crate::versus::{self, Ratios, Versus};

/// Both sides of everything measured under one load: medians over their blocks.
pub fn sides(versus: &Versus) -> Table {
    let mut table = Table::new(&["median of blocks", "blocks", "p50", "p99", "p99.9", "max", "< 3us", "CPU time"]);
    for side in std::iter::once(Side::Ontick).chain(PEERS) {
        let blocks = versus.blocks(side);
        let of = |figure: fn(&Block) -> u64| {
            versus::median(&blocks, |b| figure(b) as f64).map_or("—".into(), |ns| show(ns.round() as u64))
        };
        let share = |of: fn(&Block) -> f64| versus::median(&blocks, of);
        table.row([
            side.name().into(),
            blocks.len().to_string(),
            of(|b| b.figures.p50),
            of(|b| b.figures.p99),
            of(|b| b.figures.p99_9),
            of(|b| b.figures.max),
            share(Block::share_in_time).map_or("—".into(), percent_down),
            share(Block::cpu_share).map_or("—".into(), |share| format!("{:.1} %", share * 100.0)),
        ]);
    }
    table
}

/// Ratios of the pairs with each peer, raw and without steal.
pub fn ratios(versus: &Versus, steal_limit_ns: u64) -> Table {
    let mut table = Table::new(&["ontick / peer: median (least–most)", "pairs", "p50", "p99", "p99.9", "max"]);
    for peer in PEERS {
        let pairs = versus.with(peer);
        let quiet = versus::without_steal(&pairs, steal_limit_ns);
        for (kind, ratios) in [("raw", versus::ratios(&pairs)), ("steal-excluded", versus::ratios(&quiet))] {
            table.row(ratio_row(format!("{}, {kind}", peer.name()), ratios));
        }
    }
    table
}

fn ratio_row(label: String, ratios: Ratios) -> Vec<String> {
    let cell = |spread: Option<Spread>| match spread {
        Some(s) => format!("{} ({}–{})", times(s.median), times(s.min), times(s.max)),
        None => "—".into(),
    };
    let figures = [ratios.p50, ratios.p99, ratios.p99_9, ratios.max].map(cell);
    [label, ratios.pairs.to_string()].into_iter().chain(figures).collect()
}

/// The head of [`block`]'s rows.
pub const BLOCK: [&str; 10] =
    ["block", "samples", "missed", "p50", "p99", "p99.9", "max", "steal", "load average, idle", "interrupts"];

/// One block in a row.
pub fn block(label: String, block: &Block, cpus: usize) -> Vec<String> {
    let conditions = &block.conditions;
    let idle = conditions.idle_ns as f64 / (block.wall.as_nanos() as f64 * cpus as f64).max(1.0);
    let load = conditions.load_average.map_or("—".into(), |[one, ..]| format!("{one:.2}"));
    let figures = block.figures;
    let mut row = vec![label, block.samples.to_string()];
    row.push(if block.side == Side::Ontick { block.missed.to_string() } else { "—".into() });
    row.extend([figures.p50, figures.p99, figures.p99_9, figures.max].map(show));
    row.push(format!("{}ms", conditions.steal_ns / 1_000_000));
    row.push(format!("{load}, {:.0} %", (idle * 100.0).min(100.0)));
    row.push(interrupts(block));
    row
}

/// All interrupts on the measured CPU, and the three that came most.
fn interrupts(block: &Block) -> String {
    let counts = &block.conditions.interrupts;
    let mut most: Vec<_> = counts.iter().collect();
    most.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let named: Vec<String> = most.iter().take(3).map(|(name, count)| format!("{name} {count}")).collect();
    format!("{} ({})", counts.values().sum::<u64>(), named.join(", "))
}

/// Costs of single operations.
pub fn costs<'a>(costs: impl IntoIterator<Item = &'a Cost>) -> Table {
    let mut table = Table::new(&["operation", "least ns", "median ns"]);
    for cost in costs {
        table.row([cost.of.clone(), format!("{:.1}", cost.least_ns), format!("{:.1}", cost.median_ns)]);
    }
    table
}

/// What tracing adds, under each load.
pub fn tracing(costs: &[tracing::Cost]) -> Table {
    let mut table = Table::new(&["load", "adds to p50, ns", "adds to p99, ns", "events a second", "ns per event"]);
    let spread = |s: &Spread| format!("{:+.0} ({:+.0}–{:+.0})", s.median, s.min, s.max);
    for cost in costs {
        let (p50, p99) = (spread(&cost.p50_ns), spread(&cost.p99_ns));
        table.row([cost.load.clone(), p50, p99, format!("{:.0}", cost.events), format!("{:.0}", cost.event_ns)]);
    }
    table
}

/// The most memory that runs held.
pub fn memory(growths: &[&Growth]) -> Table {
    let mut table = Table::new(&["ontick latency timer for …", "peak memory"]);
    for memory in growths.iter().flat_map(|growth| [&growth.short, &growth.long]) {
        let bound = if memory.at_most { "at most " } else { "" };
        table.row([memory.what.clone(), format!("{bound}{} KiB", memory.peak_kib)]);
    }
    table
}

/// What must be reached, and what was.
pub fn goals(goals: &[Goal]) -> Table {
    let mut table = Table::of_words(&["must reach", "wanted", "seen", ""]);
    for goal in goals {
        let verdict = match goal.reached {
            Some(true) => "reached",
            Some(false) => "NOT REACHED",
            None => "not measured",
        };
        table.row([goal.what.clone(), goal.wanted.clone(), goal.seen.clone(), verdict.into()]);
    }
    table
}

/// A share from 0 to 1 in percent, rounded down so that nearly all is never shown as all.
pub fn percent_down(share: f64) -> String {
    // 0.9999 * 100 000 is 99 989.99…: what a float lacks to the next thousandth is not lacking.
    format!("{:.3} %", (share * 100_000.0 + 1e-6).floor() / 1_000.0)
}

/// The same of a share that should be small: rounded up.
pub fn percent_up(share: f64) -> String {
    format!("{:.3} %", (share * 100_000.0 - 1e-6).ceil().max(0.0) / 1_000.0)
}

/// A ratio in three figures, two where it is below a hundredth.
pub fn times(ratio: f64) -> String {
    let figures = if ratio < 0.01 { 1 } else { 2 };
    let decimals = (figures - ratio.max(1e-9).log10().floor() as i32).max(0) as usize;
    format!("×{ratio:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_keep_three_figures() {
        let shown = [0.000_111, 0.00612, 0.25, 1.0, 12.34, 1234.0].map(times);
        assert_eq!(shown, ["×0.00011", "×0.0061", "×0.250", "×1.00", "×12.3", "×1234"]);
    }

    #[test]
    fn nearly_all_is_not_all() {
        assert_eq!([0.999_999, 0.9999, 1.0].map(percent_down), ["99.999 %", "99.990 %", "100.000 %"]);
    }

    #[test]
    fn a_load_that_left_no_quiet_pair_shows_none() {
        let pairs = vec![versus::tests::pair(1, 10, (20_000_000, 0))];
        let versus = Versus { load: "cpu".into(), command: String::new(), pairs };
        let text = format!("{:?}", ratios(&versus, 10_000_000));
        assert!(text.contains("×0.100 (×0.100–×0.100)") && text.contains("\"0\", \"—\""), "{text}");
    }
}
