//! One timed thread from set-up to result: runs a [`Probe`] and records what it sees, while the calling
//! thread looks on.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use ontick_record::Uncertainty;
use ontick_record::run::{Conditions, Contamination, Series, Settings};
use ontick_rt::clock::ClockId;
use ontick_rt::recorder::{self, Writer};
use ontick_rt::thread::{ThreadSetup, block_signals};
use ontick_rt::usage::Usage;
use ontick_rt::watchdog::Watchdog;
use ontick_undo::privilege::settle_timed_thread;

use crate::avoid_cpu::AvoidCpu;
use crate::clock_readings::ClockReadings;
use crate::conditions::Watch;
use crate::explain::Explainer;
use crate::limits::{Length, Limits};
use crate::observe::{self, Collector, Observer};
use crate::probe::Probe;
use crate::{Error, Placement};

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
    let (recording, start) = (AtomicBool::new(false), Start::of(members.len()));
    let tids: Vec<AtomicI32> = members.iter().map(|_| AtomicI32::new(0)).collect();
    let cpus: Vec<u32> = members.iter().filter_map(|member| member.placement.cpu).collect();
    let first = observer.part();
    let (mut collectors, mut writers) = (Vec::new(), Vec::new());
    for (n, (member, tid)) in members.iter().zip(&tids).enumerate() {
        let (writer, reader) = recorder::channel(limits.outlier_ns);
        let mut collector = Collector::new(reader, member.name, limits);
        observer.begin(first.and(n));
        if observer.findings().is_some() {
            let (explainer, note) = Explainer::start(member.placement);
            note.into_iter().for_each(|note| observer.note(note));
            collector.explain(explainer, tid);
        }
        if let Some(cpu) = member.placement.cpu {
            collector.expect_on(cpu, tid);
            collector.watch_for_rivals(cpu, member.placement.policy);
        }
        collectors.push(collector);
        writers.push(writer);
    }
    let names: Vec<&str> = members.iter().map(|member| member.name).collect();
    let timed = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for ((member, writer), tid) in members.into_iter().zip(&mut writers).zip(&tids) {
            let Member { placement, prepare, .. } = member;
            let (recording, start, cpus) = (&recording, &start, &cpus[..]);
            let thread = std::thread::Builder::new().name("ontick-timed".into()).spawn_scoped(scope, move || {
                timed(placement, limits, prepare, writer, stop, recording, start, tid, cpus)
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
        if let Some(error) = timed.failure {
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
        series.maxima.end_at(timed.recorded_ns);
        series.conditions = Conditions { rivals, ..timed.watch.end() };
        all.push(series);
    }
    observer.begin(first);
    Ok(all)
}

/// How often a thread that is ready looks whether the others are, in ns.
const READY_LOOK_NS: u64 = 100_000;

/// Threads that begin together: each waits until all are ready.
struct Start {
    members: usize,
    missing: AtomicUsize,
    given_up: AtomicBool,
}

impl Start {
    fn of(members: usize) -> Self {
        Self { members, missing: AtomicUsize::new(members), given_up: AtomicBool::new(false) }
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

struct Timed {
    watch: Watch,
    settings: Settings,
    contamination: Contamination,
    uncertainty: Option<Uncertainty>,
    /// From the first sample to the last, or to when the run was due to end.
    recorded_ns: u64,
    failure: Option<Error>,
}

/// What happens on a timed thread; nothing where another one cannot begin.
#[expect(clippy::too_many_arguments, reason = "what the threads of a run share")]
fn timed<P: Probe>(
    placement: Placement,
    limits: Limits,
    prepare: impl FnOnce(&ThreadSetup) -> Result<P, Error>,
    writer: &mut Writer,
    stop: &AtomicBool,
    recording: &AtomicBool,
    start: &Start,
    tid: &AtomicI32,
    timed_cpus: &[u32],
) -> Result<Option<Timed>, Error> {
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
    let mut probe = prepare(&ready).inspect_err(|_| start.give_up())?;
    settle_timed_thread();
    let readings = probe.clock().map(ClockReadings::of);
    if probe.may_practise() {
        warm_up(&mut probe, limits.length, stop);
    }

    if !start.ready(stop) {
        return Ok(None);
    }
    if start.members > 1 && probe.may_practise() {
        catch_up(&mut probe, stop);
    }
    let watch = Watch::start(placement.cpu);
    recording.store(true, Relaxed);
    let before = Usage::now();
    let (recorded_ns, failure) = observe(&mut probe, limits, writer, stop);
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
            "policy {}: the watchdog demoted the thread after {} s without a rest (use a method that sleeps)",
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
    Ok(Some(Timed { watch, settings, contamination, uncertainty, recorded_ns, failure }))
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

/// What was due while a thread waited for the others to be ready is not late and was not missed.
fn catch_up<P: Probe>(probe: &mut P, stop: &AtomicBool) {
    let begun_ns = probe.next().now_ns;
    while !stop.load(Relaxed) {
        let sample = probe.next();
        if sample.napped || sample.now_ns.saturating_sub(sample.latency_ns.unwrap_or(0)) >= begun_ns {
            return;
        }
    }
}

/// The timed section: no allocation, no lock, no system call but the probe's own.
/// Returns how long it recorded, and why it ended if that was before its time.
fn observe<P: Probe>(probe: &mut P, limits: Limits, writer: &mut Writer, stop: &AtomicBool) -> (u64, Option<Error>) {
    let stop_over_ns = limits.stop_over_ns.unwrap_or(u64::MAX);
    let (mut left, mut end_ns) = match limits.length {
        Length::Count(count) => (count, u64::MAX),
        Length::Duration(_) => (u64::MAX, 0),
    };
    let (mut last_due_ns, mut failure) = (0, None);
    let (mut first_ns, mut last_ns) = (None, 0);
    while left > 0 && !stop.load(Relaxed) {
        let sample = probe.next();
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
            }
        }
        // What was due within the run belongs to it, also where it came after: a stall that outlasts the run
        // would else leave no trace.
        let due_ns = sample.now_ns - sample.latency_ns.unwrap_or(0).min(sample.now_ns);
        if due_ns >= end_ns {
            writer.missed(sample.missed_before(end_ns, due_ns, last_due_ns));
            last_ns = last_ns.max(end_ns);
            break;
        }
        writer.missed(sample.missed);
        let Some(latency_ns) = sample.latency_ns else { continue };
        last_due_ns = due_ns;
        writer.record(sample.now_ns, latency_ns);
        probe.recorded();
        first_ns.get_or_insert(sample.now_ns);
        last_ns = sample.now_ns;
        if sample.early {
            writer.early();
        }
        if latency_ns > stop_over_ns {
            break;
        }
        left -= 1;
    }
    (first_ns.map_or(0, |first_ns| last_ns.saturating_sub(first_ns)), failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Sample;
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;

    struct Counting;

    thread_local! {
        static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    }

    // SAFETY: every call is handed on to the system's allocator as it is.
    #[allow(unsafe_code)]
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            ALLOCATIONS.with(|count| count.set(count.get() + 1));
            // SAFETY: as the caller promises.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            // SAFETY: as the caller promises.
            unsafe { System.dealloc(pointer, layout) }
        }
    }

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    /// Reports as latency how many allocations there were on its thread since the sample before.
    struct Allocations(u64);

    impl Probe for Allocations {
        fn next(&mut self) -> Sample {
            let now = ALLOCATIONS.with(Cell::get);
            let since = now - std::mem::replace(&mut self.0, now);
            Sample {
                now_ns: ClockId::Monotonic.now_ns(),
                latency_ns: Some(since),
                missed: 0,
                early: false,
                napped: false,
            }
        }

        fn describe(&mut self, _: &mut Settings) {}
    }

    #[test]
    fn between_samples_nothing_is_allocated() {
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let limits = Limits { outlier_ns: 0, ..Limits::new(Length::Count(10_000)) };
        let prepare = |_: &ThreadSetup| Ok(Allocations(0));
        let series =
            run("allocations", Placement::stock(), limits, prepare, &mut Observer::new(&stop, &mut look)).unwrap();
        // The first also counts what was prepared just before it.
        assert_eq!((series.latency.count(), series.latency.below(1)), (10_000, 9_999));
    }

    /// Every call finds a far deadline, and each takes 300 ms.
    struct Napping(u64);

    impl Probe for Napping {
        fn next(&mut self) -> Sample {
            self.0 += 300_000_000;
            match self.0 % 3_000_000_000 {
                0 => Sample { now_ns: self.0, latency_ns: Some(7), missed: 0, early: false, napped: false },
                _ => Sample::nap(self.0),
            }
        }

        fn describe(&mut self, _: &mut Settings) {}
    }

    #[test]
    fn a_run_begins_with_its_first_observation_however_far_that_is() {
        for (length, wants) in [(Length::Count(2), 2), (Length::Duration(1_000_000_000), 1)] {
            let (mut writer, reader) = recorder::channel(u64::MAX);
            observe(&mut Napping(0), Limits::new(length), &mut writer, &AtomicBool::new(false));
            assert_eq!(reader.snapshot().count(), wants);
        }
    }

    /// A job of 10 ms that is stalled once: 100 ms into the run, beyond its end.
    struct Stalled {
        due_ns: u64,
        ticks: u64,
    }

    impl Probe for Stalled {
        fn next(&mut self) -> Sample {
            self.ticks += 1;
            let (step, late) = match self.ticks {
                ..=10 => (1, 0),
                11 => (1, 80),
                _ => (8, 0),
            };
            self.due_ns += step * 10_000_000;
            let now_ns = self.due_ns + late * 1_000_000;
            Sample { now_ns, latency_ns: Some(late * 1_000_000), missed: step - 1, early: false, napped: false }
        }

        fn describe(&mut self, _: &mut Settings) {}
    }

    #[test]
    fn a_stall_that_outlasts_the_run_is_in_it() {
        // The first is due at 0, the eleventh at 100 ms and comes at 180 ms; those from 110 to 170 ms are missed.
        let (mut writer, reader) = recorder::channel(u64::MAX);
        let limits = Limits::new(Length::Duration(135_000_000));
        let mut probe = Stalled { due_ns: 1_000_000_000, ticks: 0 };
        observe(&mut probe, limits, &mut writer, &AtomicBool::new(false));
        let seen = reader.snapshot();
        assert_eq!((seen.count(), seen.max_ns, seen.missed), (11, Some(80_000_000), 3));
    }

    /// A job of 10 ms whose thread waited for 65 ms with its first deadline behind it.
    struct Kept {
        now_ns: u64,
        due_ns: u64,
        skips: bool,
    }

    impl Probe for Kept {
        fn next(&mut self) -> Sample {
            let behind = self.now_ns.saturating_sub(self.due_ns) / 10_000_000;
            let missed = if self.skips { behind } else { 0 };
            self.due_ns += missed * 10_000_000;
            self.now_ns = self.now_ns.max(self.due_ns) + 1_000;
            let latency_ns = Some(self.now_ns - self.due_ns);
            self.due_ns += 10_000_000;
            Sample { now_ns: self.now_ns, latency_ns, missed, early: false, napped: false }
        }

        fn describe(&mut self, _: &mut Settings) {}
    }

    #[test]
    fn waiting_for_the_others_is_nobodys_latency() {
        for skips in [false, true] {
            let (mut writer, reader) = recorder::channel(u64::MAX);
            let (mut probe, stop) =
                (Kept { now_ns: 1_065_000_000, due_ns: 1_000_000_000, skips }, AtomicBool::new(false));
            catch_up(&mut probe, &stop);
            observe(&mut probe, Limits::new(Length::Count(5)), &mut writer, &stop);
            let seen = reader.snapshot();
            assert_eq!((seen.count(), seen.max_ns, seen.missed), (5, Some(1_000), 0), "skips: {skips}");
        }
    }

    /// As when its CPU is unplugged: while it is timed, the thread is given another one.
    #[test]
    fn a_run_whose_cpu_is_lost_says_so_and_is_marked() {
        let allowed = ontick_rt::cpus::allowed();
        let [first, .., last] = allowed[..] else { return ontick_skip::skipped!("one CPU") };
        let (stop, tid) = (AtomicBool::new(false), AtomicI32::new(0));
        // Moved at the first look; ended when that was noticed, or after a long time.
        let began = std::time::Instant::now();
        let mut looks = 0;
        let mut look = |_: &crate::Live| {
            looks += 1;
            let _ = ontick_rt::thread::set_affinity_of(tid.load(Relaxed), &[last]);
            if looks > 5 || began.elapsed() > Duration::from_secs(60) {
                stop.store(true, Relaxed);
            }
        };
        let mut observer = Observer::new(&stop, &mut look);
        let placement = Placement { cpu: Some(first), ..Placement::stock() };
        let prepare = |_: &ThreadSetup| {
            tid.store(ontick_rt::thread::current_tid(), Relaxed);
            Ok(Allocations(0))
        };
        let series = run("moved", placement, Limits::new(Length::Duration(u64::MAX)), prepare, &mut observer).unwrap();
        assert_eq!((series.settings.cpu, series.settings.strayed_to), (Some(first), vec![last]));
        let notes = observer.take_notes();
        let wanted = format!("moved: CPU {first} was taken from it");
        assert!(
            notes.iter().any(|note| note.starts_with(&wanted) && note.contains(&format!("on CPU {last}"))),
            "{notes:?}"
        );
    }

    #[test]
    fn a_probe_that_cannot_be_made_is_an_error_and_ends_the_run() {
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let prepare = |_: &ThreadSetup| Err::<Allocations, _>(Error::NeedsTwoCpus("this"));
        let limits = Limits::new(Length::Duration(u64::MAX));
        let result = run("none", Placement::stock(), limits, prepare, &mut Observer::new(&stop, &mut look));
        assert!(result.unwrap_err().to_string().contains("needs two CPUs"));
    }
}
