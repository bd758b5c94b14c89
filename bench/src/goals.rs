//! What must be reached, held against what was seen.

use crate::access::Access;
use crate::block::Block;
use crate::costs::Cost;
use crate::edges;
use crate::footprint::{Growth, MISCOUNT_KIB};
use crate::link;
use crate::pulses;
use crate::show::{percent_down, times};
use crate::side::Side;
use crate::tracing;
use crate::versus::{self, Versus};
use ontick_units::show;

/// Samples below 3 µs, of all periods, for each load.
const SHARES: [(&str, f64); 3] = [("idle", 0.999), ("cpu", 0.995), ("all", 0.98)];
/// Median of the p99 ratios to cyclictest, and under which loads.
const RATIO: f64 = 0.05;
const RATIO_LOADS: [&str; 2] = ["idle", "cpu"];
/// What the hybrid wait may take of its CPU at 1 kHz, idle.
const CPU_SHARE: f64 = 0.2;
const SAMPLE_NS: f64 = 35.0;
/// A register access through the library beside a bare one.
const ACCESS_NS: f64 = 2.0;
/// Error of hybrid pulses of 10 µs, idle.
const PULSE_P50_NS: u64 = 200;
const PULSE_P99_NS: u64 = 3_000;
/// An edge seen by polling on another CPU, and under which loads.
const EDGE_P50_NS: u64 = 250;
const EDGE_SHARE: f64 = 0.97;
const EDGE_LOADS: [&str; 2] = ["idle", "cpu"];
/// Bits of a file per second between two processes, and under which loads.
const LINK_FAST: f64 = 1_000_000.0;
const LINK_LOADS: [&str; 2] = ["idle", "cpu"];
const LINK_SOURCE: f64 = 6_600.0;
/// What tracing may add to the hybrid loop's median.
const TRACING_NS: f64 = 1_000.0;

/// One thing that must be reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// What is meant.
    pub what: String,
    /// What it should be.
    pub wanted: String,
    /// What it was.
    pub seen: String,
    /// Whether it was reached; `None` where nothing measured it.
    pub reached: Option<bool>,
}

impl Goal {
    pub fn new(what: impl Into<String>, wanted: impl Into<String>, seen: Option<(String, bool)>) -> Self {
        let (seen, reached) = seen.map_or(("—".into(), None), |(seen, reached)| (seen, Some(reached)));
        Self { what: what.into(), wanted: wanted.into(), seen, reached }
    }
}

/// Everything that the goals are held against.
pub struct Figures<'a> {
    /// One for each load.
    pub versus: &'a [Versus],
    /// Of single operations; the full sample is the last.
    pub costs: &'a [Cost],
    /// A write and a read of registers.
    pub accesses: &'a [Access],
    /// Over time.
    pub over_time: &'a Growth,
    /// Over samples.
    pub over_samples: &'a Growth,
    /// One for each load.
    pub tracing: &'a [tracing::Cost],
    /// Trains of pulses, by both mechanisms.
    pub pulses: &'a [pulses::Block],
    /// Edges seen by polling, one for each load.
    pub edges: &'a [edges::Figures],
    /// Files over simulated wires.
    pub links: &'a [link::Moved],
}

/// All of them, in order.
pub fn judge(seen: &Figures) -> Vec<Goal> {
    let under = |load: &str| seen.versus.iter().find(|versus| versus.load == load);
    let mut goals: Vec<Goal> = SHARES.iter().map(|(load, least)| share(load, *least, under(load))).collect();
    goals.extend(RATIO_LOADS.iter().map(|load| ratio(load, under(load))));
    goals.push(cpu_time(under("idle")));
    goals.push(sample(seen.costs));
    goals.push(access(seen.accesses));
    goals.push(memory(seen.over_time));
    goals.push(memory(seen.over_samples));
    goals.push(faults(seen.versus));
    goals.push(traced(seen.tracing));
    goals.push(pulse(seen.pulses, "median", |block| block.p50 as f64, PULSE_P50_NS));
    goals.push(pulse(seen.pulses, "p99", |block| block.p99 as f64, PULSE_P99_NS));
    goals.extend(EDGE_LOADS.iter().map(|load| edge(load, seen.edges)));
    goals.extend(LINK_LOADS.iter().map(|load| moved(link::FAST, load, LINK_FAST, seen.links)));
    goals.push(moved(link::SOURCE, "idle", 0.0, seen.links));
    goals.push(moved(link::SOURCE_DENSE, "idle", LINK_SOURCE, seen.links));
    goals.push(moved(link::MISSING, "idle", 0.0, seen.links));
    goals
}

fn share(load: &str, least: f64, versus: Option<&Versus>) -> Goal {
    let share = versus.and_then(|versus| versus::share_in_time(&versus.blocks(Side::Ontick)));
    let seen = share.map(|share| (percent_down(share), share >= least));
    Goal::new(format!("cycles within 3us, {load}, all blocks together"), format!("≥ {} %", least * 100.0), seen)
}

fn ratio(load: &str, versus: Option<&Versus>) -> Goal {
    let with = |peer| versus.and_then(|versus| versus::ratios(&versus.with(peer)).p99);
    let phased = with(Side::CyclictestPhased).map_or("—".into(), |spread| times(spread.median));
    let seen = with(Side::Cyclictest)
        .map(|spread| (format!("{} (at the same phase {phased})", times(spread.median)), spread.median <= RATIO));
    Goal::new(format!("median p99 ratio to cyclictest, {load}, raw"), format!("≤ ×{RATIO}"), seen)
}

/// Of the whole program, its search for the phase included.
fn cpu_time(versus: Option<&Versus>) -> Goal {
    let share = versus.and_then(|versus| versus::median(&versus.blocks(Side::Ontick), Block::cpu_share));
    let seen = share.map(|share| (format!("{:.1} %", share * 100.0), share <= CPU_SHARE));
    Goal::new("CPU time of the hybrid wait, idle, median of blocks", format!("≤ {} %", CPU_SHARE * 100.0), seen)
}

fn sample(costs: &[Cost]) -> Goal {
    let seen =
        costs.last().map(|cost| (format!("{:.1} ns in the median batch", cost.median_ns), cost.median_ns <= SAMPLE_NS));
    Goal::new("one recorded sample with its clock read", format!("≤ {SAMPLE_NS} ns"), seen)
}

fn access(accesses: &[Access]) -> Goal {
    let most = accesses.iter().max_by(|a, b| a.more_ns.total_cmp(&b.more_ns));
    let seen = most.map(|access| {
        let more = format!("{:+.1} ns in the median turn ({})", access.more_ns, access.line.of);
        (more, access.more_ns <= ACCESS_NS)
    });
    Goal::new("one register access through the library beside a bare one", format!("≤ {ACCESS_NS} ns more"), seen)
}

fn memory(growth: &Growth) -> Goal {
    let Growth { short, long } = growth;
    let seen = (format!("{} and {} KiB", short.peak_kib, long.peak_kib), growth.none());
    Goal::new(
        format!("memory of a long run ({}) = of a short one ({})", long.what, short.what),
        format!("same to {MISCOUNT_KIB} KiB"),
        Some(seen),
    )
}

fn faults(versus: &[Versus]) -> Goal {
    let blocks: Vec<_> = versus.iter().flat_map(|versus| versus.blocks(Side::Ontick)).collect();
    let faults: u64 = blocks.iter().map(|block| block.faults).sum();
    let seen = (!blocks.is_empty()).then(|| (format!("{faults} in {} blocks", blocks.len()), faults == 0));
    Goal::new("page faults in the timed section", "0", seen)
}

fn traced(costs: &[tracing::Cost]) -> Goal {
    let most = costs.iter().max_by(|a, b| a.p50_ns.median.total_cmp(&b.p50_ns.median));
    let seen = most.map(|cost| {
        let added_ns = cost.p50_ns.median;
        (format!("{added_ns:+.0} ns ({}, where it adds most)", cost.load), added_ns <= TRACING_NS)
    });
    Goal::new("--explain adds to the hybrid loop's median", "≤ 1 us", seen)
}

fn pulse(blocks: &[pulses::Block], name: &str, figure: fn(&pulses::Block) -> f64, most_ns: u64) -> Goal {
    let [hybrid, sleep] = [0, 1].map(|side| pulses::spread(blocks, side, figure));
    let seen = hybrid.map(|error| {
        let other = sleep.map_or("—".into(), |error| show(error.median.round() as u64));
        (format!("{} (by sleep {other})", show(error.median.round() as u64)), error.median <= most_ns as f64)
    });
    let what = format!("{name} error of hybrid pulses of 10us on a simulated line, idle, median of blocks");
    Goal::new(what, format!("≤ {}", show(most_ns)), seen)
}

fn edge(load: &str, all: &[edges::Figures]) -> Goal {
    let seen = all.iter().find(|seen| seen.load == load).map(|seen| {
        let reached = seen.p50_ns <= EDGE_P50_NS && seen.in_time >= EDGE_SHARE;
        (format!("{}, {} within 3us", show(seen.p50_ns), percent_down(seen.in_time)), reached)
    });
    let what = format!("median of edges polled on another CPU, simulated lines, {load}");
    Goal::new(what, format!("≤ {}, {} % within 3us", show(EDGE_P50_NS), EDGE_SHARE * 100.0), seen)
}

/// A rate, where one is wanted, and in any case every byte.
fn moved(name: &str, load: &str, least: f64, all: &[link::Moved]) -> Goal {
    let seen = all.iter().find(|moved| moved.name == name && moved.load == load).map(|moved| {
        let (came, rate) = (if moved.identical() { "identical" } else { "not identical" }, link::rate(moved.rate()));
        (format!("{came}, {rate}, {} bytes wrong", moved.wrong), moved.identical() && moved.rate() >= least)
    });
    let wanted = if least > 0.0 { format!("identical, ≥ {}", link::rate(least)) } else { "identical".into() };
    Goal::new(format!("file between two processes, simulated lines, {name}, {load}"), wanted, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::Memory;
    use crate::pulses::tests::block_of;
    use crate::tracing::tests::cost_of;
    use crate::versus::tests::pair;

    fn memory_of(peak_kib: u64) -> Memory {
        Memory { what: "1s".into(), peak_kib, at_most: false }
    }

    fn access_of(more_ns: f64) -> Access {
        let cost = |median_ns| Cost { of: "register".into(), least_ns: 1.0, median_ns };
        Access { raw: cost(1.0), line: cost(1.0 + more_ns), more_ns }
    }

    fn verdicts(
        versus: &[Versus],
        (sample_ns, more_ns, traced): (f64, f64, &[tracing::Cost]),
        long_kib: u64,
    ) -> Vec<Option<bool>> {
        let costs = [Cost { of: "full sample".into(), least_ns: 1.0, median_ns: sample_ns }];
        let growth = Growth { short: memory_of(8_000), long: memory_of(long_kib) };
        let accesses = [access_of(0.1), access_of(more_ns)];
        let seen = Figures {
            versus,
            costs: &costs,
            accesses: &accesses,
            over_time: &growth,
            over_samples: &growth,
            tracing: traced,
            pulses: &[],
            edges: &[],
            links: &[],
        };
        judge(&seen).into_iter().map(|goal| goal.reached).collect()
    }

    fn versus(load: &str, ontick_ns: u64) -> Versus {
        Versus { load: load.into(), command: String::new(), pairs: vec![pair(ontick_ns, 1_000, (0, 0))] }
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let verdicts = verdicts(&[], (35.0, 2.0, &[]), 8_000);
        let (nothing, reached) = (None, Some(true));
        assert_eq!(verdicts, [&[nothing; 6][..], &[reached; 4], &[nothing; 11]].concat());
    }

    #[test]
    fn pulses_are_held_against_their_goals() {
        let figure: fn(&pulses::Block) -> f64 = |block| block.p50 as f64;
        let blocks = [(0, 200), (1, 20_000), (0, 201), (0, 100)].map(|(side, p50)| block_of(side, p50, 9_000));
        let goal = pulse(&blocks, "median", figure, PULSE_P50_NS);
        assert_eq!((goal.reached, goal.seen.as_str()), (Some(true), "200ns (by sleep 20.0us)"));
        assert_eq!(pulse(&blocks[2..3], "median", figure, PULSE_P50_NS).reached, Some(false));
    }

    #[test]
    fn edges_are_held_against_both_their_figures() {
        let reached = |p50_ns, in_time| edge("cpu", &[edges::tests::seen_of("cpu", p50_ns, in_time)]).reached;
        assert_eq!(
            [reached(250, 0.97), reached(251, 1.0), reached(200, 0.969)],
            [Some(true), Some(false), Some(false)]
        );
        assert_eq!(edge("idle", &[edges::tests::seen_of("cpu", 1, 1.0)]).reached, None);
    }

    #[test]
    fn a_file_must_be_whole_and_in_time() {
        use link::tests::moved_of;
        let reached =
            |rate, wrong| moved(link::FAST, "cpu", 400_000.0, &[moved_of(link::FAST, "cpu", rate, wrong)]).reached;
        assert_eq!([reached(400, 0), reached(399, 0), reached(900, 1)], [Some(true), Some(false), Some(false)]);
        assert_eq!(moved(link::FAST, "idle", 1.0, &[moved_of(link::FAST, "cpu", 400, 0)]).reached, None);
        assert_eq!(moved(link::MISSING, "idle", 0.0, &[moved_of(link::MISSING, "idle", 1, 0)]).reached, Some(true));
    }

    #[test]
    fn each_goal_can_be_missed() {
        // 990 of 1000 in time: too few idle and under cpu, enough under all.
        let mut measured = [versus("idle", 50), versus("cpu", 51), versus("all", 1)];
        measured[2].pairs[0].ontick.faults = 1;
        let idle = &mut measured[0].pairs[0].ontick;
        idle.cpu = idle.wall;
        let (reached, missed) = (Some(true), Some(false));
        assert_eq!(
            verdicts(&measured, (35.1, 2.1, &[cost_of(60, 50), cost_of(1_051, 50)]), 9_000),
            [&[missed, missed, reached, reached][..], &[missed; 8], &[None; 9]].concat()
        );
    }
}
