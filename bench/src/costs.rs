//! What single operations of the timed loop cost.

use std::hint::black_box;
use std::time::Instant;

use ontick_record::compare::paired;
use ontick_rt::clock::{Clock, ClockId, Source};
use ontick_rt::thread::Setup;
use ontick_rt::wait::Wait;
use ontick_rt::{Cycle, Overrun, Phase, recorder};

/// Operations between two readings of the time, so that these do not count.
const BATCH: u32 = 1_000;
/// Batches; the median of many is not moved by interrupts.
pub const BATCHES: u32 = 2_000;
const PERIOD_NS: u64 = 1_000_000;

/// The cost of one operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The operation.
    pub of: String,
    /// In the quickest batch, in ns.
    pub least_ns: f64,
    /// In the median batch, in ns.
    pub median_ns: f64,
}

/// All costs; that of a full sample is the last.
pub fn measure(cpu: u32) -> Result<Vec<Cost>, String> {
    let measured = std::thread::scope(|scope| scope.spawn(|| on_this_thread(cpu)).join());
    measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn on_this_thread(cpu: u32) -> Result<Vec<Cost>, String> {
    let _pinned = Setup::new().cpu(cpu).strict().map_err(|refusal| refusal.to_string())?;
    let mut costs = vec![
        cost("raw system call (getppid)", || {
            black_box(rustix::process::getppid());
        }),
        cost("clock_gettime by the vDSO", || {
            black_box(ClockId::Monotonic.now_ns());
        }),
    ];
    for source in sources() {
        let mut clock = Clock::with_source(ClockId::Monotonic, source);
        costs.push(cost(&format!("clock read, source {}", source.name()), || {
            black_box(clock.now_ns());
        }));
    }
    costs.push(record());
    for (name, overrun) in [("catch up", Overrun::CatchUp), ("skip, with its clock read", Overrun::Skip)] {
        let clock = Clock::new(ClockId::Monotonic);
        let mut cycle = Cycle::with_phase(clock, AtOnce, PERIOD_NS, Phase::Chance, overrun);
        costs.push(cost(&format!("Cycle::next without the wait ({name})"), || {
            black_box(cycle.next());
        }));
    }
    costs.push(sample());
    Ok(costs)
}

/// The best source of this machine and the one that every machine has.
fn sources() -> Vec<Source> {
    let mut sources = vec![Source::best(), Source::ClockGettime];
    sources.dedup();
    sources
}

/// Ends at once at the deadline, so that only the bookkeeping around a wait is left.
struct AtOnce;

impl Wait for AtOnce {
    fn until(&mut self, _: &mut Clock, deadline_ns: u64) -> u64 {
        deadline_ns
    }
}

fn record() -> Cost {
    let (mut writer, _reader) = recorder::channel(u64::MAX);
    let (mut now_ns, mut latencies) = (0, Latencies::default());
    cost("record", || {
        now_ns += PERIOD_NS;
        writer.record(black_box(now_ns), black_box(latencies.next()));
    })
}

fn sample() -> Cost {
    let (mut writer, _reader) = recorder::channel(u64::MAX);
    let (mut clock, mut latencies) = (Clock::new(ClockId::Monotonic), Latencies::default());
    cost("full sample: clock read and record", || {
        let now_ns = clock.now_ns();
        writer.record(now_ns, black_box(latencies.next()));
    })
}

/// Latencies as a hybrid wait meets them: nearly all of 50 to 180 ns, so that the same few buckets are warm.
#[derive(Default)]
struct Latencies(u64);

impl Latencies {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(37);
        50 + self.0 % 128
    }
}

fn cost(of: &str, mut operation: impl FnMut()) -> Cost {
    batch_ns(&mut operation);
    Cost::of(of.into(), (0..BATCHES).map(|_| batch_ns(&mut operation)))
}

/// What one operation of a batch takes, in ns.
pub fn batch_ns(operation: &mut impl FnMut()) -> f64 {
    let began = Instant::now();
    for _ in 0..BATCH {
        operation();
    }
    began.elapsed().as_nanos() as f64 / f64::from(BATCH)
}

impl Cost {
    /// Of so many batches.
    pub fn of(of: String, batches_ns: impl IntoIterator<Item = f64>) -> Self {
        let spread = paired(batches_ns).expect("there are batches");
        Self { of, least_ns: spread.min, median_ns: spread.median }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_costs_something_and_the_sample_comes_last() {
        let costs = measure(ontick_rt::cpus::preferred()).unwrap();
        assert!(costs.iter().all(|cost| 0.0 < cost.least_ns && cost.least_ns <= cost.median_ns), "{costs:?}");
        assert!(costs.last().unwrap().of.starts_with("full sample"));
        assert!(measure(1023).unwrap_err().contains("CPU 1023"));
    }
}
