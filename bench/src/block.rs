//! One block: one side at its job for a few seconds, and what the machine did meanwhile.

use std::time::Duration;

use ontick_measure::conditions::Watch;
use ontick_record::run::{Conditions, Series};
use ontick_record::{Histogram, compare};

use crate::child;
use crate::side::{Job, Side};

/// The latencies that are compared, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p99_9: u64,
    /// Largest.
    pub max: u64,
}

/// What one side did in one block.
#[derive(Debug, Clone)]
pub struct Block {
    /// Which side.
    pub side: Side,
    /// Its latencies.
    pub figures: Figures,
    /// Samples taken.
    pub samples: u64,
    /// Samples below 3 µs.
    pub in_time: u64,
    /// Periods that nothing was done in; the peers do not count them.
    pub missed: u64,
    /// Page faults in the timed section; the peers do not count them.
    pub faults: u64,
    /// Deadlines modulo the interval, where the side tells it.
    pub phase_ns: Option<u64>,
    /// CPU time of the whole program.
    pub cpu: Duration,
    /// How long the whole program ran.
    pub wall: Duration,
    /// What the machine did meanwhile.
    pub conditions: Conditions,
}

impl Block {
    /// Samples below 3 µs as a share of all periods, missed ones included, 0 to 1.
    pub fn share_in_time(&self) -> f64 {
        self.in_time as f64 / (self.samples + self.missed).max(1) as f64
    }

    /// CPU time of the whole program as a share of one CPU.
    pub fn cpu_share(&self) -> f64 {
        self.cpu.as_secs_f64() / self.wall.as_secs_f64().max(1e-9)
    }
}

/// Runs one side once.
pub fn measure(side: Side, job: &Job, phase_ns: u64) -> Result<Block, String> {
    let folder = tempfile::Builder::new().prefix("ontick-bench-").tempdir();
    let folder = folder.map_err(|e| format!("no folder for results: {e} (set TMPDIR)"))?;
    let watch = Watch::start(Some(job.cpu));
    let finished = child::run(&side.command(job, phase_ns, folder.path()))?;
    let conditions = watch.end();
    let run = side.result(&finished.stdout, folder.path())?;
    let series = &run.series[0];
    if side == Side::Ontick {
        same_privileges(job, series)?;
    }
    Ok(Block {
        side,
        figures: figures(side, &series.latency)?,
        samples: series.latency.count(),
        in_time: series.latency.below(compare::LIMIT_NS),
        missed: series.missed,
        faults: series.contamination.minor_faults + series.contamination.major_faults,
        phase_ns: series.settings.phase_ns,
        cpu: finished.cpu,
        wall: finished.wall,
        conditions,
    })
}

/// ontick goes on without the privileges that the peers insist on; that would not be the same job.
fn same_privileges(job: &Job, series: &Series) -> Result<(), String> {
    let wanted = (Some(job.cpu), format!("fifo:{}", job.priority));
    match (series.settings.cpu, series.settings.policy.clone()) == wanted {
        true => Ok(()),
        false => Err(format!("ontick was refused what the peers need: {}", series.settings.refused.join("; "))),
    }
}

fn figures(side: Side, latency: &Histogram) -> Result<Figures, String> {
    let of = |q: f64| match side {
        Side::Ontick => latency.quantile(q),
        _ => at_least(latency, q, side.rows_end_ns()),
    };
    let all = (of(0.5), of(0.99), of(0.999), of(1.0));
    let (Some(p50), Some(p99), Some(p99_9), Some(max)) = all else {
        return Err(format!("{} took no sample", side.name()));
    };
    Ok(Figures { p50, p99, p99_9, max })
}

/// The least that a quantile can have been. The peers count in whole microseconds and keep no row for their
/// largest samples; where that leaves a doubt, it speaks for them.
fn at_least(latency: &Histogram, q: f64, rows_end_ns: u64) -> Option<u64> {
    let edge = latency.quantile(q)?;
    let mut covering = latency.buckets().iter().filter(|bucket| bucket.low_ns <= edge && edge <= bucket.high_ns());
    if let Some(bucket) = covering.next_back() {
        return Some(bucket.low_ns);
    }
    // Of samples beyond the last row only the largest is known; any other was at least past the rows.
    Some(if q < 1.0 { rows_end_ns.min(edge) } else { edge / 1_000 * 1_000 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::Bucket;
    use proptest::prelude::*;

    fn peer(rows: &[(u64, u64)], overflow: u64, max_us: u64) -> Histogram {
        let rows = rows.iter().map(|(us, count)| Bucket { low_ns: us * 1_000, width_ns: 1_000, count: *count });
        let mut latency = Histogram::from_buckets(rows);
        (latency.overflow, latency.max_ns) = (overflow, Some(max_us * 1_000 + 999));
        latency
    }

    #[test]
    fn doubt_speaks_for_the_peer() {
        let latency = peer(&[(12, 98), (40, 1), (95, 1)], 0, 95);
        assert_eq!(
            [0.5, 0.99, 1.0].map(|q| at_least(&latency, q, 1_000_000)),
            [Some(12_000), Some(40_000), Some(95_000)]
        );
    }

    #[test]
    fn beyond_the_rows_a_quantile_is_at_least_their_end() {
        let latency = peer(&[(12, 90), (50, 1)], 9, 25_000);
        assert_eq!([0.99, 1.0].map(|q| at_least(&latency, q, 1_000_000)), [Some(1_000_000), Some(25_000_000)]);
        assert_eq!(at_least(&Histogram::default(), 0.5, 1_000_000), None);
    }

    proptest! {
        #[test]
        fn the_least_is_never_more_than_the_most(rows in prop::collection::btree_map(0u64..1_000, 1u64..50, 1..20)) {
            let rows: Vec<_> = rows.into_iter().collect();
            let latency = peer(&rows, 0, rows.last().unwrap().0);
            for q in [0.0, 0.5, 0.99, 0.999, 1.0] {
                let (least, most) = (at_least(&latency, q, 1_000_000).unwrap(), latency.quantile(q).unwrap());
                prop_assert!(least <= most && most - least < 1_000, "{} {}", least, most);
            }
        }
    }

    #[test]
    fn a_missed_cycle_was_not_in_time() {
        let block = Block {
            side: Side::Ontick,
            figures: Figures::default(),
            samples: 900,
            in_time: 900,
            missed: 100,
            faults: 0,
            phase_ns: None,
            cpu: Duration::from_secs(1),
            wall: Duration::from_secs(4),
            conditions: Conditions::default(),
        };
        assert_eq!((block.share_in_time(), block.cpu_share()), (0.9, 0.25));
    }
}
