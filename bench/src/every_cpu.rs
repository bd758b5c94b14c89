//! The timed loop on every CPU at once beside the same loop on each CPU alone.

use ontick_measure::Load;
use ontick_record::compare::{LIMIT_NS, Spread, paired};
use ontick_record::{Run, Series, store};
use ontick_rt::cpus;
use ontick_units::show;

use crate::child::{self, Words};
use crate::goals::Goal;
use crate::page::Table;
use crate::show::percent_down;
use crate::side::Job;
use crate::versus::load_name;

/// How much smaller the share within 3 µs may be at once than alone: 0.3 points, and what a subtraction rounds.
const LOSS: f64 = 0.003 + 1e-9;

/// Under one load: for each CPU its blocks alone and at once with the others, pair by pair.
pub struct Figures {
    load: String,
    cpus: Vec<(u32, Vec<(Series, Series)>)>,
}

/// Measures rounds under a load: each CPU alone and then all, or the other way round.
pub fn measure(job: &Job, load: &Load, rounds: u32) -> Result<Figures, String> {
    let online = cpus::online();
    let running = load.start().map_err(|e| e.to_string())?;
    let mut pairs: Vec<Vec<(Series, Series)>> = vec![Vec::new(); online.len()];
    for round in 0..rounds {
        let each_alone = || online.iter().map(|cpu| block(job, &[*cpu])).collect::<Result<Vec<_>, _>>();
        let (alone, at_once) = match round % 2 {
            0 => {
                let alone = each_alone()?;
                (alone, block(job, &online)?)
            }
            _ => {
                let at_once = block(job, &online)?;
                (each_alone()?, at_once)
            }
        };
        for (n, (alone, at_once)) in alone.into_iter().zip(at_once.series).enumerate() {
            let alone = alone.series.into_iter().next().ok_or("a run on one CPU has no series")?;
            pairs[n].push((alone, at_once));
        }
        if let Some(status) = running.ended() {
            return Err(format!("the load {} ended before the blocks did ({status})", load_name(load)));
        }
    }
    Ok(Figures { load: load_name(load), cpus: online.into_iter().zip(pairs).collect() })
}

fn block(job: &Job, on: &[u32]) -> Result<Run, String> {
    let list: Vec<String> = on.iter().map(u32::to_string).collect();
    let seconds = format!("{}s", job.duration_ns / 1_000_000_000);
    let interval = format!("{}us", job.interval_ns / 1_000);
    let policy = format!("fifo:{}", job.priority);
    let ontick = job.ontick.display().to_string();
    let list = list.join(",");
    let words = [
        &ontick,
        "latency",
        "timer",
        "--cpu",
        &list,
        "--interval",
        &interval,
        "--duration",
        &seconds,
        "--policy",
        &policy,
        "--json",
    ];
    let words: Words = words.map(String::from).to_vec();
    store::parse(&child::run(&words)?.stdout).map_err(|e| format!("ontick latency timer --json: {e}"))
}

impl Figures {
    /// How many points of the share within 3 µs a CPU loses at once with the others, in the median of its pairs.
    fn loss(pairs: &[(Series, Series)]) -> Option<Spread> {
        let share = |series: &Series| series.share_in_time(LIMIT_NS);
        paired(pairs.iter().map(|(alone, at_once)| share(alone) - share(at_once)))
    }
}

/// Each CPU alone and at once with the others.
pub fn table(all: &[Figures]) -> Table {
    let mut table =
        Table::new(&["median of blocks", "blocks", "p99 alone", "p99 at once", "< 3us alone", "< 3us at once"]);
    for figures in all {
        for (cpu, pairs) in &figures.cpus {
            let median =
                |of: &dyn Fn(&(Series, Series)) -> f64| paired(pairs.iter().map(of)).map(|spread| spread.median);
            let p99 = |series: &Series| series.latency.quantile(0.99).unwrap_or(0) as f64;
            let latency = |ns: Option<f64>| ns.map_or("—".into(), |ns| show(ns.round() as u64));
            let share = |share: Option<f64>| share.map_or("—".into(), percent_down);
            table.row([
                format!("{}: CPU {cpu}", figures.load),
                pairs.len().to_string(),
                latency(median(&|(alone, _)| p99(alone))),
                latency(median(&|(_, at_once)| p99(at_once))),
                share(median(&|(alone, _)| alone.share_in_time(LIMIT_NS))),
                share(median(&|(_, at_once)| at_once.share_in_time(LIMIT_NS))),
            ]);
        }
    }
    table
}

/// No CPU is much worse with the others than alone, with nothing beside.
pub fn goals(all: &[Figures]) -> Vec<Goal> {
    let idle = all.iter().filter(|figures| figures.load == "idle").flat_map(|figures| &figures.cpus);
    let goal = |(cpu, pairs): &(u32, Vec<(Series, Series)>)| {
        let seen = Figures::loss(pairs).map(|loss| {
            let points = |share: f64| format!("{:+.2}", -100.0 * share);
            let said = format!("{} points ({} to {})", points(loss.median), points(loss.max), points(loss.min));
            (said, loss.median <= LOSS)
        });
        Goal::new(format!("cycles within 3us, CPU {cpu}, at once / alone, idle"), "at most 0.3 points fewer", seen)
    };
    idle.map(goal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beside_rust::tests::series;

    #[test]
    fn a_cpu_may_lose_three_tenths_of_a_point() {
        let goals = |late, load: &str| {
            let pairs = vec![(series(0, 1_000, 10), series(late, 1_000, 10))];
            goals(&[Figures { load: load.into(), cpus: vec![(1, pairs)] }])
        };
        assert_eq!((goals(3, "idle")[0].reached, goals(4, "idle")[0].reached), (Some(true), Some(false)));
        assert_eq!(goals(4, "idle")[0].seen, "-0.40 points (-0.40 to -0.40)");
        assert!(goals(500, "all").is_empty());
    }
}
