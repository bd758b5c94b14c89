//! A talker on a thread of its own, which keeps time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use ontick_record::Histogram;
use ontick_rt::cpus::claim::{Claim, ClaimError, Occupancy, claim};
use ontick_rt::thread::{Setup, block_signals};
use ontick_rt::watchdog::Watchdog;
use ontick_switch::user::CorePlacement;
use ontick_switch::user::ending::step_down;
use ontick_switch::user::rest::Rests;

use super::following::Following;
use super::outlet::Outlet;
use super::planned::Outgoing;
use super::talker::{Talker, Turn};
use super::time::StationTime;
use crate::distribution::Distribution;

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
#[derive(Debug, Clone)]
pub struct Talked {
    /// Of each stream: messages that left, that the kernel did not take, and that were left out.
    pub counts: Vec<(u64, u64, u64)>,
    /// How late messages were handed over.
    pub lateness: Histogram,
    /// What was asked of the system for the thread, and refused.
    pub refused: Vec<String>,
    /// How often the clock was set meanwhile.
    pub clock_steps: u64,
}

/// A talker at work.
#[derive(Debug)]
pub struct TalkerThread {
    thread: JoinHandle<io::Result<Talked>>,
    stop: Arc<AtomicBool>,
    following: Following,
    _cpu: Option<Claim>,
}

/// What is sent, and when it begins and ends, in ns of TAI.
#[derive(Debug)]
pub struct Job {
    /// Streams, whose ports are places among the outlets.
    pub streams: Vec<Outgoing>,
    /// By what they leave.
    pub outlets: Vec<Outlet>,
    /// When the first periods begin.
    pub base_ns: u64,
    /// Messages are sent that are due from here on,
    pub from_ns: u64,
    /// and none that is due from there on.
    pub until_ns: u64,
    /// The fingerprint of the plan.
    pub plan: u32,
}

impl TalkerThread {
    /// Starts it.
    pub fn start(job: Job, place: CorePlacement) -> Result<Self, RunError> {
        let real_time = place.policy.is_real_time();
        let held = place.cpu.filter(|_| real_time).map(|cpu| claim(cpu, Occupancy::Rests)).transpose()?;
        let (time, following) = StationTime::tai()?;
        let stop = Arc::new(AtomicBool::new(false));
        let work = {
            let stop = stop.clone();
            move || talk(job, place, time, &stop)
        };
        let thread = std::thread::Builder::new().name("ontick-talker".into()).spawn(work)?;
        Ok(Self { thread, stop, following, _cpu: held })
    }

    /// Whether it has sent everything.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Has it send nothing more, if it has not ended yet, and tells what it did.
    pub fn stop(self) -> io::Result<Talked> {
        self.stop.store(true, Relaxed);
        self.end()
    }

    /// Waits until it has sent everything, and tells what it did.
    pub fn end(self) -> io::Result<Talked> {
        let talked = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Talked { clock_steps: self.following.steps().0, ..talked })
    }
}

fn talk(job: Job, place: CorePlacement, time: StationTime, stop: &AtomicBool) -> io::Result<Talked> {
    block_signals();
    let setup = Setup::new().policy(place.policy).lock_memory().cpu_latency_us(0).timer_slack_ns(1);
    let held = place.cpu.into_iter().fold(setup, Setup::cpu).best_effort();
    let refused = held.refused().iter().map(ToString::to_string).collect();
    let _watchdog = match place.policy.is_real_time() {
        true => Some(Watchdog::watch_this_thread(RUNAWAY_AFTER)?),
        false => None,
    };
    let rests = Rests::needed(place, held.policy());
    let Job { streams, outlets, base_ns, from_ns, until_ns, plan } = job;
    let mut talker = Talker::new(streams, outlets, time, base_ns, plan).resting(rests).starting(from_ns);
    let mut lateness = Distribution::with_room();
    while !stop.load(Relaxed) {
        match talker.turn_until(until_ns) {
            None => break,
            Some(Turn::Departed(departure)) => lateness.add(departure.late_ns()),
            Some(Turn::Rested(_)) => {}
        }
    }
    let counts = talker.counts().collect();
    // Closing sockets waits for every CPU to have been in the kernel (RCU): not at a priority that would hold that up.
    step_down(0);
    drop(talker);
    Ok(Talked { counts, lateness: lateness.histogram(), refused, clock_steps: 0 })
}
