//! One short block of measuring: how late a thread wakes up on a CPU.

use std::time::{SystemTime, UNIX_EPOCH};

use ontick_measure::conditions::CpuTimes;
use ontick_record::Histogram;
use ontick_record::histogram::Bucket;
use ontick_record::run::Outlier;
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::cpus::claim::holders;
use ontick_rt::thread::{Policy, Setup, block_signals, current_tid};
use ontick_rt::timed_section::{SectionCpu, SectionError, TimedSection};
use ontick_rt::wait::Sleep;
use ontick_rt::{Cycle, recorder};

use crate::series::SeriesId;

/// Cycles before those that count: they bring code and data into the caches, as those of a loop that runs all the time.
const WARM_UP: u32 = 10;

/// What is measured in a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Job {
    /// Period, in ns.
    pub interval_ns: u64,
    /// Periods that are measured.
    pub cycles: u32,
    /// Policy of the thread, as far as the system allows it.
    pub policy: Policy,
    /// Latencies from here on are outliers, in ns.
    pub outlier_ns: u64,
}

/// A block, and what is not kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What is kept.
    pub block: Block,
    /// What the system refused beside the CPU.
    pub refused: Vec<String>,
    /// The thread that was timed.
    pub tid: i32,
    /// Its outliers, in the order of time; of thousands, the first.
    pub outliers: Vec<Outlier>,
}

/// What a block brought, of whichever series.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// When it began, in seconds since 1970.
    pub at: u32,
    /// What it is of.
    pub series: SeriesId,
    /// How late the thread woke up, or how long round trips took.
    pub latency: Histogram,
    /// Periods that passed without a wake-up, or without an answer.
    pub missed: u64,
    /// What the hypervisor took from all CPUs meanwhile, in ns.
    pub steal_ns: u64,
}

/// Why requests cannot be sent, or are not answered.
pub type RequestError = Box<dyn std::error::Error + Send + Sync>;

/// Why there is no block.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// Somebody else's real-time work is on the CPU.
    #[error("CPU {cpu} is used by {by}")]
    Busy {
        /// The CPU.
        cpu: u32,
        /// Who uses it.
        by: String,
    },
    /// The thread could not be set up there.
    #[error(transparent)]
    Section(#[from] SectionError),
    /// Requests cannot be sent, or nobody answers.
    #[error(transparent)]
    Requests(RequestError),
    /// It takes longer than anybody waits, as a name that is looked up may.
    #[error("its requests are not ready yet")]
    NotReady,
    /// The thread is not allowed on that CPU.
    #[error("CPU {cpu}: {why}")]
    Refused {
        /// The CPU.
        cpu: u32,
        /// What was refused, with reason and remedy.
        why: String,
    },
}

/// Measures a block on a thread of its own.
pub fn measure(cpu: u32, job: &Job) -> Result<Measured, BlockError> {
    check_free(cpu)?;
    let on_its_own = || timed(cpu, job);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("ontick-block".into()).spawn_scoped(scope, on_its_own);
        let thread = thread.map_err(SectionError::System)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Refuses a CPU that somebody else's real-time work is on.
pub(crate) fn check_free(cpu: u32) -> Result<(), BlockError> {
    let own = std::process::id();
    match holders().into_iter().find(|holder| holder.cpu == cpu && holder.pid != own) {
        Some(holder) => Err(BlockError::Busy { cpu, by: holder.to_string() }),
        None => Ok(()),
    }
}

/// Does work on a CPU, with a policy as far as the system allows it; what was refused beside the CPU comes with it.
pub(crate) fn on_cpu<T>(cpu: u32, policy: Policy, work: impl FnOnce() -> T) -> Result<(T, Vec<String>), BlockError> {
    block_signals();
    let setup = Setup::new().policy(policy).timer_slack_ns(1);
    let section = TimedSection::begin(SectionCpu::One(cpu), setup)?;
    let refused: Vec<String> = section.refused().collect();
    if section.cpu() != Some(cpu) {
        return Err(BlockError::Refused { cpu, why: refused.join("; ") });
    }
    let result = work();
    // The thread ends soon; that it cannot be put back harms nobody.
    let _ = section.end();
    Ok((result, refused))
}

fn timed(cpu: u32, job: &Job) -> Result<Measured, BlockError> {
    let (measured, refused) = on_cpu(cpu, job.policy, || wake_ups(cpu, job))?;
    Ok(Measured { refused, ..measured })
}

fn wake_ups(cpu: u32, job: &Job) -> Measured {
    // The recorder hands over what is above.
    let (mut writer, mut reader) = recorder::channel(job.outlier_ns.saturating_sub(1));
    let mut cycle = Cycle::new(Clock::new(ClockId::Monotonic), Sleep, job.interval_ns);
    for _ in 0..WARM_UP {
        cycle.next();
    }
    let steal_ns = CpuTimes::now().steal_ns;
    let at = seconds_now();
    // What reading took is no latency.
    cycle.next();
    for _ in 0..job.cycles {
        let tick = cycle.next();
        writer.record(tick.now_ns, tick.latency_ns());
        writer.missed(tick.missed);
    }
    let found = reader.snapshot();
    let buckets = found.buckets().map(|(low_ns, width_ns, count)| Bucket { low_ns, width_ns, count });
    let latency = Histogram::recorded(buckets, found.min_ns.zip(found.max_ns), found.sum_ns, found.sum_of_squares);
    let block = Block {
        at,
        series: SeriesId::Cpu(cpu as u16),
        latency,
        missed: found.missed,
        steal_ns: CpuTimes::now().steal_ns.saturating_sub(steal_ns),
    };
    let mut outliers = Vec::new();
    while let Some(late) = reader.next_outlier() {
        outliers.push(Outlier { at_ns: late.at_ns, latency_ns: late.latency_ns, cause: None });
    }
    Measured { block, refused: Vec::new(), tid: current_tid(), outliers }
}

/// Seconds since 1970; 0 before that, and the last that fit after 2106.
pub fn seconds_now() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    u32::try_from(since).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_a_sample_for_each_period() {
        let job = Job { interval_ns: 200_000, cycles: 50, policy: Policy::Other, outlier_ns: 1 };
        let cpu = ontick_rt::cpus::preferred();
        match measure(cpu, &job) {
            Ok(Measured { block, outliers, .. }) => {
                assert_eq!((block.series, block.latency.count(), outliers.len()), (SeriesId::Cpu(cpu as u16), 50, 50));
                assert_eq!(outliers.iter().map(|late| late.latency_ns).max(), block.latency.max_ns);
                assert!(block.at > 1_700_000_000 && block.latency.max_ns > Some(0));
            }
            // Another test's, or somebody's beside.
            Err(BlockError::Busy { .. }) => ontick_skip::skipped!("the CPU is in use"),
            Err(error) => panic!("{error}"),
        }
        let missing = measure(1023, &job).unwrap_err();
        assert!(missing.to_string().starts_with("CPU 1023 is not online"), "{missing}");
    }
}
