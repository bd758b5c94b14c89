use super::*;
use crate::explain::tracefs::Tracefs;
use crate::probe::Sample;
use crate::sample_log::{SampleFile, SampleLog, Written};
use crate::tap::Tap;
use crate::timer::{self, Job, Method};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ontick_record::{Run, store};
use ontick_rt::phase::Phase;
use ontick_rt::thread::{Policy, Setup, in_force};

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

const MS: u64 = 1_000_000;

/// A recorder beside which nobody gets every sample.
fn channel(threshold_ns: u64) -> (Kept, recorder::Reader) {
    let (writer, reader) = recorder::channel(threshold_ns);
    (Kept::new(writer, Vec::new()), reader)
}

/// Is late, and misses a period, by 1 ms for each allocation that there was on its thread since the sample before.
struct Allocations(u64);

impl Probe for Allocations {
    fn next(&mut self) -> Sample {
        let now = ALLOCATIONS.with(Cell::get);
        let since = now - std::mem::replace(&mut self.0, now);
        let now_ns = ClockId::Monotonic.now_ns();
        Sample { now_ns, latency_ns: Some(since * MS), missed: since, early_ns: 0, napped: false }
    }

    fn describe(&mut self, _: &mut Settings) {}
}

/// Reading what the machine does allocates and takes its time: that is nobody's latency, either.
#[test]
fn between_samples_nothing_is_allocated_and_before_the_first_nothing_is_late() {
    for count in [1, 10_000] {
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let limits = Limits { outlier_ns: 0, ..Limits::new(Length::Count(count)) };
        let prepare = |_: &ThreadSetup| Ok(Allocations(0));
        let series =
            run("allocations", Placement::stock(), limits, prepare, &mut Observer::new(&stop, &mut look)).unwrap();
        assert_eq!((series.latency.count(), series.latency.below(1), series.missed), (count, count, 0));
    }
}

/// Those who get every sample take no memory, and meet those that the histogram has.
#[test]
fn between_samples_that_are_written_one_by_one_nothing_is_allocated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.csv");
    let log = SampleLog::begin(&SampleFile::at(path.clone()).unwrap()).unwrap();
    let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
    let mut observer = Observer::new(&stop, &mut look);
    observer.keep_samples(&log);
    let prepare = |_: &ThreadSetup| Ok(Allocations(0));
    let series = run("one by one", Placement::stock(), Limits::new(Length::Count(10_000)), prepare, &mut observer);
    let series = series.unwrap();
    assert_eq!((series.latency.count(), series.latency.below(1), series.missed), (10_000, 10_000, 0));
    assert_eq!(log.end().unwrap(), Written { rows: 10_000, lost: 0 });
    let text = std::fs::read_to_string(path).unwrap();
    let numbers = text.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse::<u64>().unwrap());
    assert!(numbers.eq(0..10_000), "{text:.500}");
}

#[test]
fn cycles_that_were_missed_have_numbers_too_and_early_ones_were_due_later() {
    let stop = AtomicBool::new(false);
    let (writer, _reader) = recorder::channel(u64::MAX);
    let (tap, mut taken) = Tap::with_room(8, Arc::default());
    let mut samples: Vec<Sample> = given(&[(100, 10, 0), (200, 0, 0), (500, 3, 2), (600, 1, 0)]).0.collect();
    (samples[1].now_ns, samples[1].early_ns) = (196, 4);
    let (mut probe, limits) = (Given(samples.into_iter()), Limits::new(Length::Count(4)));
    observe(&mut probe, None, limits, &mut Kept::new(writer, vec![tap]), &Ending::of(&stop, None));
    let taken: Vec<_> = std::iter::from_fn(|| taken.pop().ok()).map(|o| (o.cycle, o.due_ns, o.latency_ns)).collect();
    assert_eq!(taken, [(0, 100, 10), (1, 200, 0), (4, 500, 3), (5, 600, 1)]);
}

/// Says what it runs under by how late it is: 1 ns for normal scheduling, 2 ns for any other.
struct Scheduled;

impl Probe for Scheduled {
    fn next(&mut self) -> Sample {
        let real_time = in_force(0).unwrap().is_real_time();
        let latency_ns = Some(1 + u64::from(real_time));
        Sample { now_ns: ClockId::Monotonic.now_ns(), latency_ns, missed: 0, early_ns: 0, napped: false }
    }

    fn describe(&mut self, _: &mut Settings) {}
}

#[test]
fn normal_scheduling_is_had_and_reported_also_where_the_caller_is_real_time() {
    std::thread::spawn(|| {
        if let Err(refusal) = Setup::new().policy(Policy::Fifo(1)).strict() {
            return ontick_skip::skipped!("{refusal}");
        }
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let (limits, mut observer) = (Limits::new(Length::Count(10)), Observer::new(&stop, &mut look));
        let series = run("scheduled", Placement::stock(), limits, |_| Ok(Scheduled), &mut observer).unwrap();
        assert_eq!((series.settings.policy.as_str(), series.latency.max_ns), ("other", Some(1)));
        assert_eq!(in_force(0).unwrap(), Policy::Fifo(1), "the caller's own is its own");

        // What is not granted leaves the one that was inherited.
        let beyond = Placement { policy: Policy::Fifo(99), ..Placement::stock() };
        let mut settings = Settings::default();
        beyond.describe(&Setup::new().best_effort(), &mut settings);
        assert_eq!(settings.policy, "fifo:1");
    })
    .join()
    .unwrap();
}

/// Every call finds a far deadline, and each takes 300 ms.
struct Napping(u64);

impl Probe for Napping {
    fn next(&mut self) -> Sample {
        self.0 += 300_000_000;
        match self.0 % 3_000_000_000 {
            0 => Sample { now_ns: self.0, latency_ns: Some(7), missed: 0, early_ns: 0, napped: false },
            _ => Sample::nap(self.0),
        }
    }

    fn describe(&mut self, _: &mut Settings) {}
}

#[test]
fn a_run_begins_with_its_first_observation_however_far_that_is() {
    for (length, wants) in [(Length::Count(2), 2), (Length::Duration(1_000_000_000), 1)] {
        let (mut writer, reader) = channel(u64::MAX);
        observe(&mut Napping(0), None, Limits::new(length), &mut writer, &Ending::of(&AtomicBool::new(false), None));
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
        Sample { now_ns, latency_ns: Some(late * 1_000_000), missed: step - 1, early_ns: 0, napped: false }
    }

    fn describe(&mut self, _: &mut Settings) {}
}

#[test]
fn a_stall_that_outlasts_the_run_is_in_it() {
    // The first is due at 0, the eleventh at 100 ms and comes at 180 ms; those from 110 to 170 ms are missed.
    let (mut writer, reader) = channel(u64::MAX);
    let limits = Limits::new(Length::Duration(135_000_000));
    let mut probe = Stalled { due_ns: 1_000_000_000, ticks: 0 };
    observe(&mut probe, None, limits, &mut writer, &Ending::of(&AtomicBool::new(false), None));
    let seen = reader.snapshot();
    assert_eq!((seen.count(), seen.max_ns, seen.missed), (11, Some(80_000_000), 3));
}

/// A job of 10 ms whose thread waited for 65 ms with its first deadline behind it.
struct HeldUp {
    now_ns: u64,
    due_ns: u64,
    skips: bool,
}

impl Probe for HeldUp {
    fn next(&mut self) -> Sample {
        let behind = self.now_ns.saturating_sub(self.due_ns) / 10_000_000;
        let missed = if self.skips { behind } else { 0 };
        self.due_ns += missed * 10_000_000;
        self.now_ns = self.now_ns.max(self.due_ns) + 1_000;
        let latency_ns = Some(self.now_ns - self.due_ns);
        self.due_ns += 10_000_000;
        Sample { now_ns: self.now_ns, latency_ns, missed, early_ns: 0, napped: false }
    }

    fn describe(&mut self, _: &mut Settings) {}
}

#[test]
fn waiting_for_the_others_is_nobodys_latency() {
    for skips in [false, true] {
        let (mut writer, reader) = channel(u64::MAX);
        let begun_ns = 1_065_000_000;
        let (mut probe, stop) = (HeldUp { now_ns: begun_ns, due_ns: 1_000_000_000, skips }, AtomicBool::new(false));
        let first = catch_up(&mut probe, begun_ns, &stop);
        assert_eq!(first.map(|first| first.now_ns), Some(1_070_001_000), "the first that is due; skips: {skips}");
        observe(&mut probe, first, Limits::new(Length::Count(5)), &mut writer, &Ending::of(&stop, None));
        let seen = reader.snapshot();
        assert_eq!((seen.count(), seen.max_ns, seen.missed), (5, Some(1_000), 0), "skips: {skips}");
    }
}

/// Gives these samples.
struct Given(std::vec::IntoIter<Sample>);

impl Probe for Given {
    fn next(&mut self) -> Sample {
        self.0.next().unwrap()
    }

    fn describe(&mut self, _: &mut Settings) {}
}

/// When it was due, how late it was, and how many periods were missed before it.
fn given(samples: &[(u64, u64, u64)]) -> Given {
    let sample = |(due_ns, late_ns, missed): &(u64, u64, u64)| Sample {
        now_ns: due_ns + late_ns,
        latency_ns: Some(*late_ns),
        missed: *missed,
        early_ns: 0,
        napped: false,
    };
    Given(samples.iter().map(sample).collect::<Vec<_>>().into_iter())
}

#[test]
fn what_is_missed_or_late_from_when_a_run_began_belongs_to_it() {
    let stop = AtomicBool::new(false);
    let caught = |samples: &[(u64, u64, u64)]| {
        let first = catch_up(&mut given(samples), 100, &stop).unwrap();
        (first.due_ns(), first.latency_ns, first.missed)
    };
    assert_eq!(caught(&[(100, 30, 0)]), (100, Some(30), 0));
    assert_eq!(caught(&[(110, 0, 7)]), (110, Some(0), 0));
    // Those of 90, 100 and 110 were missed.
    assert_eq!(caught(&[(80, 40, 0), (120, 2, 3)]), (120, Some(2), 2));
}

#[test]
fn a_rest_on_the_way_to_the_first_sample_ends_catching_up() {
    let nap = Sample::nap(99);
    let caught = catch_up(&mut Given(vec![nap].into_iter()), 100, &AtomicBool::new(false));
    assert_eq!(caught, Some(nap));
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

/// A loop whose first deadline is far, or a search for gaps that finds none: as it would be recovered if it were killed.
#[test]
fn a_journal_of_a_run_without_samples_tells_how_long_that_went_on() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("run.json.journal");
    let (stop, mut kept) = (AtomicBool::new(false), None);
    let mut look = |live: &crate::Live| {
        if live.elapsed.as_millis() >= 2_500 && kept.is_none() {
            kept = Some(store::read(&journal).unwrap());
            stop.store(true, Relaxed);
        }
    };
    let mut observer = Observer::new(&stop, &mut look);
    let run = Run { series: vec![Series::from("far".to_string())], ..Run::new("ontick", "timer") };
    observer.keep_journal(folder.path().join("run.json"), &run).unwrap();
    let job = Job { phase: Phase::Fixed(0), ..Job::new(60_000 * MS, Method::ClockNanosleep) };
    let limits = Limits::new(Length::Count(1));
    let series = timer::measure("far", job, Placement::stock(), limits, &mut observer).unwrap();
    drop(observer);
    let kept = kept.unwrap();
    assert_eq!((series.latency.count(), kept.series[0].latency.count()), (0, 0));
    assert!(kept.duration_ns >= 1_400 * MS, "{}", kept.duration_ns);
    assert!(kept.series[0].maxima.max_ns.is_empty(), "no second had a sample");
    let Settings { method, interval_ns, policy, spin_duty, .. } = &kept.series[0].settings;
    assert_eq!((method.as_str(), *interval_ns, policy.as_str()), ("clock_nanosleep", 60_000 * MS, "other"));
    assert_eq!(*spin_duty, None, "that is known at the end");
}

/// Is so late every time, in ns, and sleeps a little before.
struct Late(u64);

impl Probe for Late {
    fn next(&mut self) -> Sample {
        std::thread::sleep(Duration::from_micros(100));
        let (now_ns, latency_ns) = (ClockId::Monotonic.now_ns(), Some(self.0));
        Sample { now_ns, latency_ns, missed: 0, early_ns: 0, napped: false }
    }

    fn describe(&mut self, _: &mut Settings) {}
}

#[test]
fn a_latency_over_the_limit_ends_all_threads_of_a_run() {
    let (stop, began) = (AtomicBool::new(false), std::time::Instant::now());
    // Nothing else ends it, but for a program that does not.
    let mut look = |_: &crate::Live| stop.store(began.elapsed() > Duration::from_secs(30), Relaxed);
    let limits = Limits { stop_over_ns: Some(10), ..Limits::new(Length::Duration(u64::MAX)) };
    let member = |late_ns| Member {
        name: "late",
        placement: Placement::stock(),
        prepare: move |_: &ThreadSetup| Ok(Late(late_ns)),
    };
    let members = [10, 11, 9].map(member).into();
    let mut observer = Observer::new(&stop, &mut look);
    let all = run_together(members, limits, &mut observer).unwrap();
    assert_eq!((all.len(), all[1].latency.count()), (3, 1));
    let why = "late: ended at the first latency above 10ns (11ns), after 1 sample, and with it what ran beside it";
    assert_eq!(observer.take_notes(), [why]);
    assert!(!stop.load(Relaxed), "the others went on");
}

#[test]
fn a_series_that_ended_at_the_limit_says_so_and_one_that_did_not_says_nothing() {
    let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
    let mut observer = Observer::new(&stop, &mut look);
    let mut notes = |stop_over_ns| {
        let limits = Limits { stop_over_ns, ..Limits::new(Length::Count(3)) };
        run("late", Placement::stock(), limits, |_: &ThreadSetup| Ok(Late(11)), &mut observer).unwrap();
        observer.take_notes()
    };
    assert_eq!(notes(Some(10)), ["late: ended at the first latency above 10ns (11ns), after 1 sample"]);
    assert!(notes(Some(11)).is_empty() && notes(None).is_empty());
}

/// The late thread itself does it, in the middle of what is traced.
#[test]
fn stopping_a_trace_allocates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["tracing_on", "trace_marker", "current_tracer", "set_event"];
    files.iter().for_each(|file| std::fs::write(folder.path().join(file), "1").unwrap());
    let trace = TraceBreak::open(&Tracefs::of_files(folder.path().into()), 10).unwrap();
    let stop = AtomicBool::new(false);
    let ending = Ending::of(&stop, Some(Arc::new(trace)));
    let mut probe = given(&[(100, 10, 0), (200, 11, 0), (300, 12, 0)]);
    let limits = Limits { stop_over_ns: Some(10), ..Limits::new(Length::Count(3)) };
    let (mut writer, reader) = channel(u64::MAX);
    let before = ALLOCATIONS.with(Cell::get);
    let ended = observe(&mut probe, None, limits, &mut writer, &ending);
    assert_eq!(ended.over_ns, None, "what became of the trace says so");
    assert_eq!(ALLOCATIONS.with(Cell::get), before);
    let line = std::fs::read_to_string(folder.path().join("trace_marker")).unwrap();
    assert!(line.starts_with("ontick: 11 ns on CPU "), "{line}");
    assert_eq!((reader.snapshot().count(), ending.has_come()), (2, true));
}
