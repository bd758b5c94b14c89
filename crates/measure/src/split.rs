//! Each latency in its parts, by the kernel's events: until the interrupt of the thread's timer, until the kernel wakes the
//! thread, until that runs again.

mod wakes;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ontick_record::run::{Series, Split, Tracing};
use ontick_rt::clock::ClockId;
use ontick_rt::cpus;
use ontick_rt::recorder::{self, Reader, Writer};
use ontick_units::CpuList;
use rtrb::Consumer;

use crate::explain::events::{Event, Kind};
use crate::explain::format::Format;
use crate::explain::tracefs::INSTANCES;
use crate::explain::tracer::{Asked, Tracer};
use crate::recorded::histogram;
use crate::tap::{Observed, Tap};
use crate::{Error, Placement};
use wakes::Wakes;

/// Samples that may wait for the next look: those of more than a fifth of a second at 100 kHz.
const ROOM: usize = 1 << 15;
/// Rings of each CPU, in kB: a cycle has three events.
const RINGS_KB: [u32; 2] = [4 << 10, 1 << 10];
/// Rings of all timed threads together, at most: they are 1 GB of the kernel's memory, and each is an open file.
const RINGS: usize = 256;
/// What happened so long ago is in all rings, in ns.
const SETTLED_NS: u64 = 2_000_000;

/// A timer is armed by a timed thread and fires, which wakes the thread. All timed threads have one name.
const OF_WAKE_UPS: Asked = Asked {
    events: &[
        ("timer/hrtimer_start", armed),
        ("timer/hrtimer_expire_entry", fires),
        ("sched/sched_wakeup", |format, record| Some(Kind::Wakeup(format.number(record, "pid") as i32))),
    ],
    needed: &["timer/hrtimer_start", "timer/hrtimer_expire_entry", "sched/sched_wakeup"],
    trigger: None,
    filters: &[("timer/hrtimer_start", "COMM == \"ontick-timed\""), ("sched/sched_wakeup", "comm == \"ontick-timed\"")],
};

/// Flags of a record that say that an interrupt, or what it put off, had the CPU.
const IN_INTERRUPT: i64 = 0x08 | 0x10;

/// What interrupts a thread arms timers of its own, as the tick.
fn armed(format: &Format, record: &[u8]) -> Option<Kind> {
    let by_thread = format.number(record, "common_flags") & IN_INTERRUPT == 0;
    let timer = format.number(record, "hrtimer") as u64;
    by_thread.then_some(Kind::TimerStart { timer, soft_ns: 0, hard_ns: 0 })
}

fn fires(format: &Format, record: &[u8]) -> Option<Kind> {
    Some(Kind::TimerFires { timer: format.number(record, "hrtimer") as u64, function: 0 })
}

/// Splits the latencies of one timed thread while it runs.
pub(crate) struct Splitter {
    tracer: Box<Tracer>,
    samples: Consumer<Observed>,
    /// Events that are not settled yet.
    events: Vec<Event>,
    wakes: Wakes,
    parts: Parts,
}

impl Splitter {
    /// Begins; the timed thread hands its samples to the tap.
    pub fn start(placement: Placement) -> io::Result<(Self, Tap)> {
        let tracer = Tracer::start_asked(OF_WAKE_UPS, RINGS_KB, &traced(placement.cpu))?;
        let (tap, samples) = Tap::with_room(ROOM, Arc::new(AtomicU64::new(0)));
        let (events, wakes, parts) = (Vec::new(), Wakes::default(), Parts::default());
        Ok((Self { tracer: Box::new(tracer), samples, events, wakes, parts }, tap))
    }

    /// Splits what came since the last look; all of it if the thread has ended.
    pub fn look(&mut self, tid: i32, ended: bool) {
        let settled_ns = if ended { u64::MAX } else { ClockId::Monotonic.now_ns().saturating_sub(SETTLED_NS) };
        self.tracer.take(|event| self.events.push(event));
        self.events.sort_by_key(|event| event.at_ns);
        let settled = self.events.partition_point(|event| event.at_ns <= settled_ns);
        self.events.drain(..settled).for_each(|event| self.wakes.meet(&event, tid));
        while let Ok(observed) = self.samples.peek() {
            if observed.due_ns.saturating_add(observed.latency_ns) > settled_ns {
                break;
            }
            let observed = *observed;
            let _ = self.samples.pop();
            self.wakes.parts(observed).iter().for_each(|parts| self.parts.add(observed, *parts));
        }
    }

    /// Ends, with what there was of a series that has all its latencies.
    pub fn end(self, series: &mut Series) {
        let totals = self.tracer.totals();
        let event_cost_ns = self.tracer.event_cost_ns();
        series.split = Some(self.parts.split(series.latency.count()));
        series.tracing =
            Some(Tracing { events: totals.events, lost: totals.lost, event_cost_ns, ..Tracing::default() });
    }
}

/// The CPUs on which the timer of a thread on this one may fire: where the kernel keeps timers off it, any.
fn traced(cpu: Option<u32>) -> Vec<u32> {
    match cpu {
        Some(cpu) if !kept_off().contains(cpu) => vec![cpu],
        _ => cpus::online(),
    }
}

/// The CPUs that the kernel keeps timers off.
fn kept_off() -> CpuList {
    let listed = std::fs::read_to_string("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    listed.trim().parse().unwrap_or_default()
}

/// Whether latencies of threads on these CPUs can be split at once; to be asked before anything begins.
pub fn check(cpus: &[u32]) -> Result<(), Error> {
    check_of(cpus, &kept_off(), cpus::online().len())
}

/// The same, of a machine with so many CPUs.
fn check_of(cpus: &[u32], kept_off: &CpuList, online: usize) -> Result<(), Error> {
    let rings = |cpus: &[u32]| cpus.iter().map(|cpu| if kept_off.contains(*cpu) { online } else { 1 }).sum::<usize>();
    let fit = |n: usize| n <= INSTANCES && rings(&cpus[..n]) <= RINGS;
    // A single one is traced as it must be.
    if cpus.len() <= 1 || fit(cpus.len()) {
        return Ok(());
    }
    let most = (1..cpus.len()).rev().find(|n| fit(*n)).unwrap_or(1);
    let first = if most == 1 { "the first".into() } else { format!("the first {most}") };
    Err(Error::Impossible(format!(
        "to split the latencies of {} CPUs at once takes as many tracing instances and {} buffers of 4 MB (of a CPU in nohz_full, \
         one for each CPU of the machine), and {INSTANCES} instances with {RINGS} buffers are the most: name fewer CPUs, as \
         {first} of them",
        cpus.len(),
        rings(cpus)
    )))
}

/// Histograms of the parts.
struct Parts([(Writer, Reader); 3]);

impl Default for Parts {
    fn default() -> Self {
        Self(std::array::from_fn(|_| recorder::channel(u64::MAX)))
    }
}

impl Parts {
    fn add(&mut self, observed: Observed, parts: [u64; 3]) {
        let at_ns = observed.due_ns.saturating_add(observed.latency_ns);
        self.0.iter_mut().zip(parts).for_each(|((writer, _), ns)| writer.record(at_ns, ns));
    }

    /// Of so many samples.
    fn split(&self, samples: u64) -> Split {
        let [interrupt, wakeup, run] = [0, 1, 2].map(|part: usize| histogram(&self.0[part].1.snapshot()));
        Split { unsplit: samples.saturating_sub(run.count()), interrupt, wakeup, run }
    }
}

#[cfg(test)]
mod tests;
