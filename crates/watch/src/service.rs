//! The service: blocks in turn, the machine looked at now and then, all of it within a share of a CPU.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ontick_machine::Root;
use ontick_measure::Placement;
use ontick_measure::explain::blocks::BlockExplainer;
use ontick_measure::explain::cause::Cause;
use ontick_record::run::Outlier;
use ontick_units::CpuList;
use rustix::time::{ClockId, clock_gettime};

use crate::block::{self, Block, BlockError, Job, Measured, seconds_now};
use crate::causes::Late;
use crate::changes::Seen;
use crate::events::Kind;
use crate::hours::Hours;
use crate::pace::{Backoff, Pace};
use crate::roundtrip::{MeasuredTrips, RoundTrip, Way};
use crate::series::SeriesId;
use crate::state::{State, StateError, UNTRACED};

/// How often the flag that ends the service is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// The clock counts as set when it moved so much, in seconds, beside the one that is not.
const CLOCK_SET_S: u32 = 2;

/// What the service does.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The CPUs that are watched, in turn.
    pub cpus: Vec<u32>,
    /// What is measured in each block.
    pub job: Job,
    /// How often, and at what cost.
    pub pace: Pace,
    /// When it may measure; always where there is nothing.
    pub hours: Option<Hours>,
    /// Whether the kernel is traced while a CPU is measured, to find what made samples late.
    pub explain: bool,
    /// How often the machine is looked at.
    pub look_every: Duration,
    /// Where everything is kept.
    pub folder: PathBuf,
}

/// Who is told that there is something new.
pub type Listener = Box<dyn Fn() + Send>;

/// A service that keeps its state for itself and for those who ask for it.
pub struct Service {
    options: Options,
    state: Arc<Mutex<State>>,
    round_trips: Vec<(SeriesId, RoundTrip)>,
    /// Why round trips are not measured now.
    unanswered: BTreeMap<SeriesId, String>,
    backoffs: BTreeMap<u32, Backoff>,
    refused: Vec<String>,
    explainer: Option<BlockExplainer>,
    unexplained: Option<String>,
}

/// Outliers of one block that are explained, the largest; to explain thousands would take seconds.
const EXPLAINED: usize = 200;

impl Service {
    /// Opens the state, and the kernel's tracing where it is wanted. Each round measures these round trips, too.
    pub fn open(options: Options, round_trips: Vec<RoundTrip>) -> Result<Self, StateError> {
        let ways: Vec<Way> = round_trips.iter().map(|of| of.way().clone()).collect();
        let mut state = State::open(&options.folder, &options.cpus, &options.job, &ways, seconds_now())?;
        let ids: Vec<SeriesId> = state.round_trips().iter().map(|(id, _)| *id).collect();
        let round_trips = ids.into_iter().zip(round_trips).collect();
        let explainer = options.explain.then(|| {
            let placement =
                Placement { cpu: options.cpus.first().copied(), policy: options.job.policy, ..Placement::stock() };
            BlockExplainer::start(&options.cpus, placement)
        });
        let (explainer, unexplained) = match explainer {
            Some(Ok(explainer)) => (Some(explainer), None),
            Some(Err(error)) => (None, Some(format!("outliers are not explained: {error}"))),
            None => (None, None),
        };
        if let Some(why) = &unexplained {
            state.note(seconds_now(), Kind::Service, true, None, why.clone());
        }
        let state = Arc::new(Mutex::new(state));
        Ok(Self {
            options,
            state,
            round_trips,
            unanswered: BTreeMap::new(),
            backoffs: BTreeMap::new(),
            refused: Vec::new(),
            explainer,
            unexplained,
        })
    }

    /// Why outliers are not explained though that was wanted.
    pub fn unexplained(&self) -> Option<&str> {
        self.unexplained.as_deref()
    }

    /// The state, for those who show it.
    pub fn state(&self) -> Arc<Mutex<State>> {
        self.state.clone()
    }

    /// What the system refused the measuring thread, with reason and remedy.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Measures until `stop` is set; `news` is called after each round.
    pub fn run(&mut self, stop: &AtomicBool, news: &Listener) {
        let began = Instant::now();
        let mut clock = ClockWatch::start(up(), seconds_now());
        let (mut looked, mut round_cost) = (None::<Instant>, cost());
        self.note(Kind::Service, "the service began".into());
        while !stop.load(Relaxed) {
            let round = Instant::now();
            if let Some(moved) = clock.moved(up(), seconds_now()) {
                self.note(Kind::Clock, format!("the clock was set {moved}"));
            }
            if looked.is_none_or(|at| at.elapsed() >= self.options.look_every) {
                let cpus: CpuList = self.options.cpus.iter().copied().collect();
                // CPUs that are offline now are reported where they are measured.
                if let Ok(seen) = Seen::now(&Root::live(), &cpus) {
                    lock(&self.state).look(seconds_now(), seen);
                }
                looked = Some(round);
            }
            if self.options.hours.is_none_or(|hours| hours.contain_now()) {
                self.round(began.elapsed().as_secs(), stop);
                self.round_trips(stop);
            }
            let used = cost().saturating_sub(round_cost);
            round_cost += used;
            let rest = self.options.pace.rest(round.elapsed(), used);
            let whole = (round.elapsed() + rest).as_secs_f64();
            lock(&self.state).set_duty(used.as_secs_f64() / whole.max(1e-3));
            news();
            sleep_unless(stop, rest);
        }
        self.note(Kind::Service, "the service ended".into());
    }

    /// One block on each CPU that is free.
    fn round(&mut self, now_s: u64, stop: &AtomicBool) {
        for cpu in self.options.cpus.clone() {
            let backoff = self.backoffs.entry(cpu).or_default();
            if stop.load(Relaxed) || !backoff.is_over(now_s) {
                continue;
            }
            // Where tracing fails in the midst, causes are unknown for once.
            let traces = self.explainer.as_mut().is_some_and(|explainer| explainer.begin(cpu).is_ok());
            let measured = block::measure(cpu, &self.options.job);
            let causes = self.causes(cpu, measured.as_ref().ok().filter(|_| traces));
            match measured {
                Ok(measured) => {
                    self.refused.clone_from(&measured.refused);
                    self.take(cpu, &measured, causes);
                }
                Err(error) => self.leave(cpu, now_s, &error),
            }
        }
    }

    /// One block of each way, from the last of the CPUs: it has the fewest interrupts as a rule.
    fn round_trips(&mut self, stop: &AtomicBool) {
        let Some(cpu) = self.options.cpus.last().copied() else { return };
        for (id, round_trip) in &mut self.round_trips {
            if stop.load(Relaxed) {
                return;
            }
            match round_trip.measure(cpu, self.options.job.policy) {
                Ok(measured) => {
                    let was_unanswered = self.unanswered.remove(id).is_some();
                    take_trips(&mut lock(&self.state), *id, measured, was_unanswered);
                }
                // What it waits for was said before, or is over soon.
                Err(BlockError::NotReady) if self.unanswered.contains_key(id) => {}
                Err(error) => {
                    let why = error.to_string();
                    // It is tried again in each round: a responder that comes back is measured at once.
                    if self.unanswered.get(id) != Some(&why) {
                        lock(&self.state).pause(seconds_now(), *id, Some(why.clone()));
                        self.unanswered.insert(*id, why);
                    }
                }
            }
        }
    }

    /// Ends what was traced of a block; the causes of its largest outliers, which were in this order.
    fn causes(&mut self, cpu: u32, measured: Option<&Measured>) -> Vec<(Outlier, Cause)> {
        let Some(explainer) = &mut self.explainer else { return Vec::new() };
        let (tid, mut outliers) = measured.map_or((0, Vec::new()), |found| (found.tid, found.outliers.clone()));
        outliers.sort_by_key(|outlier| std::cmp::Reverse(outlier.latency_ns));
        outliers.truncate(EXPLAINED);
        let causes = explainer.end(cpu, tid, &outliers).unwrap_or_default();
        outliers.into_iter().zip(causes).collect()
    }

    fn take(&mut self, cpu: u32, measured: &Measured, causes: Vec<(Outlier, Cause)>) {
        let block = &measured.block;
        let late = |outlier: &Outlier| {
            let found = causes.iter().find(|(of, _)| of == outlier).map(|(_, cause)| cause);
            // The account of time that was stolen is coarse: it explains what is as long.
            let stolen = block.steal_ns > 0 && block.steal_ns >= outlier.latency_ns / 2;
            let (cause, detail) = match found {
                Some(cause) => (cause.name(), cause.detail()),
                None if stolen => (Cause::Steal.name(), ""),
                None => (Cause::Unknown(UNTRACED).name(), UNTRACED),
            };
            Late { latency_ns: outlier.latency_ns, cause: cause.into(), detail: detail.into() }
        };
        let late: Vec<Late> = measured.outliers.iter().map(late).collect();
        let mut state = lock(&self.state);
        if self.backoffs.entry(cpu).or_default().admit() {
            state.pause(block.at, block.series, None);
        }
        state.add(block, &late);
    }

    fn leave(&mut self, cpu: u32, now_s: u64, error: &BlockError) {
        if self.backoffs.entry(cpu).or_default().refuse(now_s) {
            lock(&self.state).pause(seconds_now(), SeriesId::Cpu(cpu as u16), Some(error.to_string()));
        }
    }

    fn note(&self, kind: Kind, text: String) {
        lock(&self.state).note(seconds_now(), kind, false, None, text);
    }
}

fn take_trips(state: &mut State, series: SeriesId, measured: MeasuredTrips, was_unanswered: bool) {
    let MeasuredTrips { at, trips, steal_ns } = measured;
    if was_unanswered {
        state.pause(at, series, None);
    }
    let block = Block { at, series, latency: trips.round_trips, missed: trips.missed, steal_ns };
    state.add_round_trips(&block, &trips.counts);
}

/// A thread that panicked while it held the state left it as it was between two blocks.
pub fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processor time of this process, all threads, so far.
fn cost() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// How long the machine has been up, also while it was suspended: a machine that slept is not one whose clock was set.
fn up() -> Duration {
    read(ClockId::Boottime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn sleep_unless(stop: &AtomicBool, rest: Duration) {
    let until = Instant::now() + rest;
    while !stop.load(Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        // A signal ends a sleep early for the thread that gets it; others look soon enough.
        std::thread::sleep(left.min(LOOK));
    }
}

/// Finds out that somebody set the clock.
struct ClockWatch {
    up: Duration,
    wall: u32,
}

impl ClockWatch {
    fn start(up: Duration, wall: u32) -> Self {
        Self { up, wall }
    }

    /// By how much, since the last look, where the machine has been up so long and the clock shows that.
    fn moved(&mut self, up: Duration, wall: u32) -> Option<String> {
        let expected = self.wall.saturating_add(up.saturating_sub(self.up).as_secs() as u32);
        let (ahead, behind) = (wall.saturating_sub(expected), expected.saturating_sub(wall));
        if ahead.max(behind) < CLOCK_SET_S {
            return None;
        }
        *self = Self::start(up, wall);
        Some(if ahead > 0 { format!("ahead by {ahead} s") } else { format!("back by {behind} s") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_rt::thread::Policy;

    fn options(folder: &std::path::Path) -> Options {
        Options {
            cpus: vec![ontick_rt::cpus::preferred()],
            job: Job { interval_ns: 100_000, cycles: 20, policy: Policy::Other, outlier_ns: u64::MAX },
            pace: Pace { every: Duration::from_millis(20), duty: 1.0 },
            hours: None,
            explain: false,
            look_every: Duration::from_secs(3_600),
            folder: folder.into(),
        }
    }

    #[test]
    fn it_measures_until_it_is_ended_and_two_do_not_share_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut service = Service::open(options(folder.path()), Vec::new()).unwrap();
        let refused = Service::open(options(folder.path()), Vec::new()).err().unwrap();
        assert!(refused.to_string().contains("used by another service"), "{refused}");
        let (stop, state) = (Arc::new(AtomicBool::new(false)), service.state());
        let (ended, rounds) = (stop.clone(), std::sync::atomic::AtomicU32::new(0));
        let news: Listener = Box::new(move || {
            ended.store(rounds.fetch_add(1, Relaxed) >= 2, Relaxed);
        });
        service.run(&stop, &news);
        let state = lock(&state);
        let now = state.now(seconds_now());
        let measured = now.cpus[0].total.samples;
        // Another test's loop may have the CPU.
        assert!(measured == 60 || now.cpus[0].now.paused.is_some(), "{now:?}");
        assert!(now.bad + now.warnings > 0 || state.seen().is_some());
        let texts: Vec<String> = state.events(0, u32::MAX, 9).into_iter().map(|event| event.text).collect();
        assert!(texts.first().is_some_and(|text| text == "the service ended"), "{texts:?}");
    }

    #[test]
    fn a_clock_that_is_set_is_found_out_and_a_machine_that_slept_is_none() {
        let s = Duration::from_secs;
        let mut watch = ClockWatch::start(s(50), 1_000);
        assert_eq!(watch.moved(s(60), 1_010), None);
        // Parts of a second are not told apart.
        assert_eq!(watch.moved(s(70), 1_021), None);
        assert_eq!(watch.moved(s(80), 1_130).as_deref(), Some("ahead by 100 s"));
        assert_eq!(watch.moved(s(81), 1_131), None);
        assert_eq!(watch.moved(s(90), 1_040).as_deref(), Some("back by 100 s"));
        // Asleep for a night: the one clock went on as the other did.
        assert_eq!(watch.moved(s(28_890), 29_840), None);
    }
}
