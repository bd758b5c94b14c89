//! One timed thread from set-up to result: runs a [`Probe`] and records what it sees, while the calling
//! thread looks on.

mod kept;

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ontick_record::Uncertainty;
use ontick_record::run::{Conditions, Contamination, Series, Settings};
use ontick_rt::clock::ClockId;
use ontick_rt::recorder;
use ontick_rt::thread::{ThreadSetup, block_signals};
use ontick_rt::usage::Usage;
use ontick_rt::watchdog::Watchdog;
use ontick_undo::privilege::settle_timed_thread;
use ontick_units::{counted, exact, show};

use crate::avoid_cpu::AvoidCpu;
use crate::clock_readings::ClockReadings;
use crate::conditions::Watch;
use crate::limits::{Length, Limits};
use crate::observe::{self, Collector, Observer};
use crate::probe::{Probe, Sample};
use crate::{Error, Placement, TraceBreak};
use kept::Kept;

/// A loop that keeps its CPU for itself this long has run away; see [`ontick_rt::watchdog`].
const RUNAWAY_AFTER: Duration = Duration::from_secs(10);
/// Observations before recording begins: they fault code in and teach the hybrid wait its margin.
pub(crate) const WARM_UP: u32 = 200;
/// No warm-up longer than this, in ns.
const WARM_UP_NS: u64 = 250_000_000;

/// Runs a probe on a thread of its own at `placement`. `prepare` makes the probe on that thread, after the
/// thread has been set up.
pub fn run<P: Probe>(
    name: &str,
    placement: Placement,
    limits: Limits,
    prepare: impl FnOnce(&ThreadSetup) -> Result<P, Error> + Send,
    observer: &mut Observer,
) -> Result<Series, Error> {
    let all = run_together(vec![Member { name, placement, prepare }], limits, observer)?;
    Ok(all.into_iter().next().expect("one series for each member"))
}

/// A timed thread of several.
pub struct Member<'n, F> {
    /// Its series' name.
    pub name: &'n str,
    /// Where it runs.
    pub placement: Placement,
    /// Makes the probe on its thread, after that has been set up.
    pub prepare: F,
}

/// Runs probes on threads of their own that begin together, each with a recorder of its own; one series for each, of those
/// that follow the observer's. The run ends when all have ended.
pub fn run_together<P: Probe, F: FnOnce(&ThreadSetup) -> Result<P, Error> + Send>(
    members: Vec<Member<F>>,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Vec<Series>, Error> {
    members.iter().try_for_each(|member| member.placement.check())?;
    let stop = observer.stop;
    let (recording, start, ending) =
        (AtomicBool::new(false), Start::of(members.len()), Ending::of(stop, observer.trace_break()));
    let tids: Vec<AtomicI32> = members.iter().map(|_| AtomicI32::new(0)).collect();
    let told: Vec<OnceLock<Settings>> = members.iter().map(|_| OnceLock::new()).collect();
    let cpus: Vec<u32> = members.iter().filter_map(|member| member.placement.cpu).collect();
    let first = observer.part();
    let (mut collectors, mut all_kept) = (Vec::new(), Vec::new());
    for (n, ((member, tid), told)) in members.iter().zip(&tids).zip(&told).enumerate() {
        let (writer, reader) = recorder::channel(limits.outlier_ns);
        let mut collector = Collector::new(reader, member.name, limits);
        collector.journal_settings(told);
        observer.begin(first.and(n));
        if let Some(explainer) = observer.explainer(member.placement) {
            collector.explain(explainer, tid);
        }
        if let Some(cpu) = member.placement.cpu {
            collector.expect_on(cpu, tid);
            collector.watch_for_rivals(cpu, member.placement.policy);
        }
        let mut taps = observer.taps(member.name, member.placement, members.len());
        if let Some((splitter, tap)) = observer.splitter(member.placement)? {
            collector.split(splitter, tid);
            taps.push(tap);
        }
        collectors.push(collector);
        all_kept.push(Kept::new(writer, taps));
    }
    let (names, together): (Vec<&str>, _) = (members.iter().map(|member| member.name).collect(), members.len());
    let timed = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (((member, kept), tid), told) in members.into_iter().zip(&mut all_kept).zip(&tids).zip(&told) {
            let Member { placement, prepare, .. } = member;
            let (recording, start, ending, cpus) = (&recording, &start, &ending, &cpus[..]);
            let thread = std::thread::Builder::new().name("ontick-timed".into()).spawn_scoped(scope, move || {
                timed(placement, limits, prepare, kept, ending, recording, start, tid, told, cpus)
            });
            match thread {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    // Those that were started end by themselves.
                    start.give_up();
                    return Err(Error::system("starting the timed thread")(error));
                }
            }
        }
        // Drawing and recording must not disturb what they show.
        let _avoided = AvoidCpu::from_all(&cpus);
        observe::watch(&mut collectors, first, observer, &|| threads.iter().all(|t| t.is_finished()), &recording);
        let join = |thread: std::thread::ScopedJoinHandle<_>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let ended: Vec<Result<Option<Timed>, Error>> = threads.into_iter().map(join).collect();
        ended.into_iter().collect::<Result<Vec<_>, _>>()
    })?;
    // Had one not begun, its reason would have been returned.
    let timed = timed.into_iter().flatten();

    let mut all = Vec::new();
    for (n, ((timed, mut collector), name)) in timed.zip(collectors).zip(names).enumerate() {
        observer.begin(first.and(n));
        // One that could not be pinned may be anywhere.
        let strayed = collector.take_strayed().into_iter().filter(|_| timed.settings.cpu.is_some());
        let strayed_to = strayed.map(|(cpu, said)| (cpu, observer.note(said)).0).collect();
        let rivals = collector.take_rivals();
        let mut series = collector.finish(observer);
        let ended = timed.ended;
        if let (Some(over_ns), Some(limit_ns)) = (ended.over_ns, limits.stop_over_ns) {
            observer.note(ended_over(&series, limit_ns, over_ns, together));
        }
        if let Some(error) = ended.failure {
            // What was measured until then is worth keeping.
            if series.latency.count() == 0 {
                return Err(error);
            }
            observer.note(format!("{name}: ended before its time: {error}"));
            stop.store(true, Relaxed);
        }
        series.settings = Settings { outlier_threshold_ns: limits.outlier_ns, strayed_to, ..timed.settings };
        series.contamination = timed.contamination;
        series.uncertainty = timed.uncertainty;
        series.state_uncertainty();
        series.maxima.end_at(ended.recorded_ns);
        series.conditions = Conditions { rivals, ..timed.watch.end() };
        all.push(series);
    }
    observer.begin(first);
    Ok(all)
}

/// What to say of a series at whose latency over the limit a run of so many threads ended.
fn ended_over(series: &Series, limit_ns: u64, over_ns: u64, threads: usize) -> String {
    let (limit, over, samples) = (exact(limit_ns), show(over_ns), counted(series.latency.count(), "sample"));
    let beside = if threads > 1 { ", and with it what ran beside it" } else { "" };
    format!("{}: ended at the first latency above {limit} ({over}), after {samples}{beside}", series.name)
}

/// How often a thread that is ready looks whether the others are, in ns.
const READY_LOOK_NS: u64 = 100_000;

/// Threads that begin together: each waits until all are ready.
struct Start {
    missing: AtomicUsize,
    given_up: AtomicBool,
}

impl Start {
    fn of(members: usize) -> Self {
        Self { missing: AtomicUsize::new(members), given_up: AtomicBool::new(false) }
    }

    /// One of them will never be ready: nobody waits for it.
    fn give_up(&self) {
        self.given_up.store(true, Relaxed);
    }

    /// The calling thread is ready. Returns when all are, or the run is to be ended; false where one never will be.
    fn ready(&self, stop: &AtomicBool) -> bool {
        self.missing.fetch_sub(1, Relaxed);
        while self.missing.load(Relaxed) > 0 && !self.given_up.load(Relaxed) && !stop.load(Relaxed) {
            std::thread::sleep(Duration::from_nanos(READY_LOOK_NS));
        }
        !self.given_up.load(Relaxed)
    }
}

/// What ends the threads of a run before their time.
struct Ending<'a> {
    /// The caller's.
    stop: &'a AtomicBool,
    /// One of them saw a latency over the limit.
    over: AtomicBool,
    /// Stopped at that latency.
    trace: Option<Arc<TraceBreak>>,
}

impl<'a> Ending<'a> {
    fn of(stop: &'a AtomicBool, trace: Option<Arc<TraceBreak>>) -> Self {
        Self { stop, over: AtomicBool::new(false), trace }
    }

    /// This latency, of the calling thread, is over the limit. Whether it ended the run, and nothing else says so.
    #[cold]
    fn come(&self, latency_ns: u64) -> bool {
        let told = self.trace.as_ref().is_some_and(|trace| trace.stop(latency_ns));
        let first = !self.over.swap(true, Relaxed);
        first && !told
    }

    #[inline]
    fn has_come(&self) -> bool {
        self.stop.load(Relaxed) || self.over.load(Relaxed)
    }
}

struct Timed {
    watch: Watch,
    settings: Settings,
    contamination: Contamination,
    uncertainty: Option<Uncertainty>,
    ended: Ended,
}

/// How the timed section of a thread ended.
struct Ended {
    /// From the first sample to the last, or to when the run was due to end.
    recorded_ns: u64,
    /// Why that was before its time.
    failure: Option<Error>,
    /// Its latency over the limit, which ended the run.
    over_ns: Option<u64>,
}

/// What happens on a timed thread; nothing where another one cannot begin.
#[expect(clippy::too_many_arguments, reason = "what the threads of a run share")]
fn timed<P: Probe>(
    placement: Placement,
    limits: Limits,
    prepare: impl FnOnce(&ThreadSetup) -> Result<P, Error>,
    kept: &mut Kept,
    ending: &Ending,
    recording: &AtomicBool,
    start: &Start,
    tid: &AtomicI32,
    told: &OnceLock<Settings>,
    timed_cpus: &[u32],
) -> Result<Option<Timed>, Error> {
    let stop = ending.stop;
    block_signals();
    tid.store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
    let ready = placement.take();
    let watchdog = match placement.policy.is_real_time() {
        true => Some(
            Watchdog::watch_this_thread_beside(RUNAWAY_AFTER, timed_cpus)
                .inspect_err(|_| start.give_up())
                .map_err(Error::system("starting the watchdog"))?,
        ),
        false => None,
    };
    if let Some(trace) = &ending.trace {
        trace.practise();
    }
    let mut probe = prepare(&ready).inspect_err(|_| start.give_up())?;
    settle_timed_thread();
    let readings = probe.clock().map(ClockReadings::of);
    if probe.may_practise() {
        warm_up(&mut probe, limits.length, stop);
    }

    if probe.is_described_first() {
        // Nobody tells it twice.
        let _ = told.set(first_settings(placement, &ready, &mut probe, limits));
    }
    let watch = Watch::start(placement.cpu);
    if !start.ready(stop) {
        return Ok(None);
    }
    let before = Usage::now();
    recording.store(true, Relaxed);
    probe.begin();
    let first = match probe.may_practise() {
        true => catch_up(&mut probe, ClockId::Monotonic.now_ns(), stop),
        false => None,
    };
    let ended = observe(&mut probe, first, limits, kept, ending);
    let usage = Usage::now().since(before);

    let mut settings = Settings::default();
    placement.describe(&ready, &mut settings);
    probe.describe(&mut settings);
    let uncertainty = readings.map(|readings| {
        let correction_ns = probe.clock().map_or(0, |clock| clock.largest_correction_ns());
        Uncertainty::of(readings.components(probe.timing(), correction_ns))
    });
    if let Some(lowered) = watchdog.as_ref().and_then(Watchdog::lowered) {
        settings.policy = lowered.to_string();
        settings.refused.push(format!(
            "policy {}: lowered to {lowered}, because the watchdog may run on no other CPU and must come before the loop \
             (allow this program {})",
            placement.policy,
            if timed_cpus.len() > 1 { "a CPU that is not timed" } else { "a second CPU" }
        ));
    }
    if watchdog.is_some_and(|w| w.demoted()) {
        settings.refused.push(format!(
            "policy {}: the watchdog demoted the thread after {} s without a rest (leave it one: a smaller duty, or a method that sleeps)",
            placement.policy,
            RUNAWAY_AFTER.as_secs()
        ));
    }
    let contamination = Contamination {
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
    };
    Ok(Some(Timed { watch, settings, contamination, uncertainty, ended }))
}

/// How a thread will measure, without what only the end tells.
fn first_settings<P: Probe>(placement: Placement, ready: &ThreadSetup, probe: &mut P, limits: Limits) -> Settings {
    let mut settings = Settings { outlier_threshold_ns: limits.outlier_ns, ..Settings::default() };
    placement.describe(ready, &mut settings);
    probe.describe(&mut settings);
    settings.margin_ns = settings.margin_ns.filter(|_| settings.margin_fixed);
    (settings.spin_duty, settings.watched_ns) = (None, None);
    settings
}

/// The longest warm-up of a run: a short run is not preceded by a longer one.
pub(crate) fn warm_up_ns(length: Length) -> u64 {
    match length {
        Length::Duration(ns) => (ns / 10).min(WARM_UP_NS),
        Length::Count(_) => WARM_UP_NS,
    }
}

fn warm_up<P: Probe>(probe: &mut P, length: Length, stop: &AtomicBool) {
    let end = ClockId::Monotonic.now_ns() + warm_up_ns(length);
    for _ in 0..WARM_UP {
        probe.next();
        if ClockId::Monotonic.now_ns() >= end || stop.load(Relaxed) {
            return;
        }
    }
}

/// What was due before the run began, while the thread looked at the machine or waited for the others, is not late and was
/// not missed. The first sample of the run, or a rest on the way to it.
fn catch_up<P: Probe>(probe: &mut P, begun_ns: u64, stop: &AtomicBool) -> Option<Sample> {
    let mut last_due_ns = None;
    while !stop.load(Relaxed) {
        let sample = probe.next();
        let due_ns = sample.due_ns();
        if sample.napped || due_ns >= begun_ns {
            // Without one before it, all that it skipped was due by then.
            let missed =
                last_due_ns.map_or(0, |last_ns| sample.missed - sample.missed_before(begun_ns, due_ns, last_ns));
            return Some(Sample { missed, ..sample });
        }
        last_due_ns = Some(due_ns);
    }
    None
}

/// The timed section: no allocation, no lock, no system call but the probe's own.
/// Begins with the `first` sample, where there is one already.
fn observe<P: Probe>(
    probe: &mut P,
    mut first: Option<Sample>,
    limits: Limits,
    kept: &mut Kept,
    ending: &Ending,
) -> Ended {
    let stop_over_ns = limits.stop_over_ns.unwrap_or(u64::MAX);
    let (mut left, mut end_ns) = match limits.length {
        Length::Count(count) => (count, u64::MAX),
        Length::Duration(_) => (u64::MAX, 0),
    };
    let (mut last_due_ns, mut failure, mut over_ns) = (0, None, None);
    let (mut first_ns, mut last_ns) = (None, 0);
    while left > 0 && !ending.has_come() {
        let sample = first.take().unwrap_or_else(|| probe.next());
        if sample.napped {
            failure = probe.failure();
            if failure.is_some() {
                break;
            }
            // The run begins with its first observation.
            match end_ns {
                1.. if sample.now_ns >= end_ns => {
                    last_ns = last_ns.max(end_ns);
                    break;
                }
                _ => continue,
            }
        }
        if end_ns == 0 {
            if let Length::Duration(ns) = limits.length {
                end_ns = sample.now_ns.saturating_add(ns);
                probe.will_end_at(end_ns);
            }
        }
        // What was due within the run belongs to it, also where it came after: a stall that outlasts the run
        // would else leave no trace.
        let due_ns = sample.due_ns();
        if due_ns >= end_ns {
            kept.missed(sample.missed_before(end_ns, due_ns, last_due_ns));
            last_ns = last_ns.max(end_ns);
            break;
        }
        kept.missed(sample.missed);
        let Some(latency_ns) = sample.latency_ns else { continue };
        let is_over = latency_ns > stop_over_ns;
        if is_over {
            // Before anything else: what is traced goes on meanwhile.
            over_ns = ending.come(latency_ns).then_some(latency_ns);
        }
        last_due_ns = due_ns;
        kept.record(sample.now_ns, due_ns, latency_ns);
        probe.recorded();
        first_ns.get_or_insert(sample.now_ns);
        last_ns = sample.now_ns;
        if sample.early_ns > 0 {
            kept.early();
        }
        if is_over {
            break;
        }
        left -= 1;
    }
    if left > 0 {
        kept.missed(probe.left_out_before(if end_ns == 0 { u64::MAX } else { end_ns }));
    }
    Ended { recorded_ns: first_ns.map_or(0, |first_ns| last_ns.saturating_sub(first_ns)), failure, over_ns }
}

#[cfg(test)]
mod tests;
