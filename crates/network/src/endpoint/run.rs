//! A talker on a thread of its own, which keeps time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ontick_record::{Bucket, Histogram};
use ontick_rt::cpus::claim::{Claim, ClaimError, Occupancy, claim};
use ontick_rt::recorder;
use ontick_rt::thread::{Setup, block_signals};
use ontick_rt::watchdog::Watchdog;
use ontick_switch::user::CorePlacement;
use ontick_switch::user::ending::step_down;
use ontick_switch::user::port::Sent;
use ontick_switch::user::rest::Rests;
use ontick_undo::privilege::settle_timed_thread;

use super::following::Following;
use super::outlet::Outlet;
use super::payload::PayloadReader;
use super::planned::Outgoing;
use super::talker::{Talker, Turn};
use super::time::{StationTime, Time};

/// A talker that keeps its CPU for itself this long has run away.
const RUNAWAY_AFTER: Duration = Duration::from_secs(10);

/// Why a talker does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Another process has its CPU.
    #[error(transparent)]
    Held(#[from] ClaimError),
    /// There is no thread for it.
    #[error("no thread for the talker could be started: {0}")]
    Thread(#[from] io::Error),
}

/// What a talker did.
#[derive(Debug, Clone, Default)]
pub struct Talked {
    /// Of each stream: messages that left, that the kernel did not take, and that were left out.
    pub counts: Vec<(u64, u64, u64)>,
    /// How late messages were handed over.
    pub lateness: Histogram,
    /// Frames that were taken and did not leave at their launch time.
    pub missed: u64,
    /// What was asked of the system for the thread, and refused.
    pub refused: Vec<String>,
    /// How often the clock was set meanwhile.
    pub clock_steps: u64,
}

/// A talker at work.
#[derive(Debug)]
pub struct TalkerThread {
    thread: JoinHandle<io::Result<()>>,
    stop: Arc<AtomicBool>,
    ready: Receiver<Ready>,
    progress: Progress,
    _cpu: Option<Claim>,
}

/// What is known once the thread is set up.
#[derive(Debug, Clone, Default)]
struct Ready {
    refused: Vec<String>,
    /// Messages are sent that are due from here on, and none that is due from there on, in ns of TAI.
    span_ns: (u64, u64),
}

/// What is known of the thread from outside.
struct Progress {
    counts: Arc<[Counts]>,
    missed: Arc<AtomicU64>,
    lateness: recorder::Reader,
    ready: Ready,
    following: Following,
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl Progress {
    fn talked(&self) -> Talked {
        let snapshot = self.lateness.snapshot();
        let extremes = snapshot.min_ns.zip(snapshot.max_ns);
        let buckets = snapshot.buckets().map(Bucket::from);
        Talked {
            counts: self.counts.iter().map(Counts::get).collect(),
            lateness: Histogram::recorded(buckets, extremes, snapshot.sum_ns, snapshot.sum_of_squares),
            missed: self.missed.load(Relaxed),
            refused: self.ready.refused.clone(),
            clock_steps: self.following.steps().0,
        }
    }
}

/// What is sent, and when it begins and ends, in ns of TAI.
#[derive(Debug)]
pub struct Job {
    /// Streams, whose ports are places among the outlets.
    pub streams: Vec<Outgoing>,
    /// For each stream, where a program puts what it carries; for none, where they carry nothing.
    pub payloads: Vec<PayloadReader>,
    /// By what they leave.
    pub outlets: Vec<Outlet>,
    /// When the first periods begin.
    pub base_ns: u64,
    /// Messages are sent that are due from here on,
    pub from_ns: u64,
    /// and none that is due from there on. Where it takes longer than until the first to set the thread up, both are as much
    /// later: [`TalkerThread::span_ns`].
    pub until_ns: u64,
    /// The fingerprint of the plan.
    pub plan: u32,
}

/// Of one stream, for whoever looks while it is sent.
#[derive(Debug, Default)]
struct Counts([AtomicU64; 3]);

impl Counts {
    #[inline]
    fn set(&self, (sent, refused, skipped): (u64, u64, u64)) {
        self.0.iter().zip([sent, refused, skipped]).for_each(|(cell, number)| cell.store(number, Relaxed));
    }

    fn get(&self) -> (u64, u64, u64) {
        let [sent, refused, skipped] = &self.0;
        (sent.load(Relaxed), refused.load(Relaxed), skipped.load(Relaxed))
    }
}

/// What the thread shows of itself.
struct Shown {
    counts: Arc<[Counts]>,
    missed: Arc<AtomicU64>,
    lateness: recorder::Writer,
    ready: SyncSender<Ready>,
}

impl TalkerThread {
    /// Starts it.
    pub fn start(job: Job, place: CorePlacement) -> Result<Self, RunError> {
        let real_time = place.policy.is_real_time();
        let held = place.cpu.filter(|_| real_time).map(|cpu| claim(cpu, Occupancy::Rests)).transpose()?;
        Self::start_on(job, place, held)
    }

    /// Starts it on a CPU that is claimed already.
    pub fn start_on(job: Job, place: CorePlacement, held: Option<Claim>) -> Result<Self, RunError> {
        let (time, following) = StationTime::tai()?;
        let stop = Arc::new(AtomicBool::new(false));
        let counts: Arc<[Counts]> = job.streams.iter().map(|_| Counts::default()).collect();
        let missed = Arc::new(AtomicU64::new(0));
        // Nothing asks for single ones.
        let (writer, lateness) = recorder::channel(u64::MAX);
        let (sender, ready) = sync_channel(1);
        let work = {
            let shown = Shown { counts: counts.clone(), missed: missed.clone(), lateness: writer, ready: sender };
            let stop = stop.clone();
            move || talk(job, place, time, shown, &stop)
        };
        let thread = std::thread::Builder::new().name("ontick-talker".into()).spawn(work)?;
        let progress = Progress { counts, missed, lateness, ready: Ready::default(), following };
        Ok(Self { thread, stop, ready, progress, _cpu: held })
    }

    /// Whether it has sent everything.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until the thread is set up; what the system refused of that.
    pub fn refused(&mut self) -> &[String] {
        &self.ready().refused
    }

    /// Waits until the thread is set up; from when until when messages are due that it sends, in ns of TAI.
    pub fn span_ns(&mut self) -> (u64, u64) {
        self.ready().span_ns
    }

    fn ready(&mut self) -> &Ready {
        if let Ok(ready) = self.ready.recv() {
            self.progress.ready = ready;
        }
        &self.progress.ready
    }

    /// What it did so far; of what was refused, what was asked for before.
    pub fn talked(&self) -> Talked {
        self.progress.talked()
    }

    /// Has it send nothing more, if it has not ended yet, and tells what it did.
    pub fn stop(self) -> io::Result<Talked> {
        self.stop.store(true, Relaxed);
        self.end()
    }

    /// Waits until it has sent everything, and tells what it did.
    pub fn end(mut self) -> io::Result<Talked> {
        self.ready();
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(self.progress.talked())
    }
}

fn talk(job: Job, place: CorePlacement, mut time: StationTime, shown: Shown, stop: &AtomicBool) -> io::Result<()> {
    block_signals();
    let setup = Setup::new().policy(place.policy).lock_memory().cpu_latency_us(0).timer_slack_ns(1);
    let held = place.cpu.into_iter().fold(setup, Setup::cpu).best_effort();
    let Shown { counts, missed, mut lateness, ready } = shown;
    let Job { streams, payloads, outlets, base_ns, from_ns, until_ns, plan } = job;
    // What was due before this was set up is none that is left out.
    let late_ns = time.now_ns().saturating_sub(from_ns);
    let (from_ns, until_ns) = (from_ns + late_ns, until_ns.saturating_add(late_ns));
    // There is room for one.
    let refused = held.refused().iter().map(ToString::to_string).collect();
    let _ = ready.try_send(Ready { refused, span_ns: (from_ns, until_ns) });
    drop(ready);
    let _watchdog = match place.policy.is_real_time() {
        true => Some(Watchdog::watch_this_thread(RUNAWAY_AFTER)?),
        false => None,
    };
    let rests = Rests::needed(place, held.policy());
    settle_timed_thread();
    let talker = Talker::new(streams, outlets, time, base_ns, plan).resting(rests).starting(from_ns);
    let mut talker = talker.taking(payloads);
    while !stop.load(Relaxed) {
        match talker.turn_until(until_ns) {
            None => break,
            Some(Turn::Departed(departure)) => {
                if departure.sent == Sent::Done {
                    lateness.record(departure.begun_ns, departure.late_ns());
                }
                counts[departure.stream].set(talker.counts_of(departure.stream));
            }
            Some(Turn::Rested(_)) => {}
        }
        missed.store(talker.missed(), Relaxed);
    }
    counts.iter().zip(talker.counts()).for_each(|(cells, counts)| cells.set(counts));
    missed.store(talker.count_missed(), Relaxed);
    // Closing sockets waits for every CPU to have been in the kernel (RCU): not at a priority that would hold that up.
    step_down(0);
    drop(talker);
    Ok(())
}
