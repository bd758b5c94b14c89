//! The core on a thread of its own, and who looks after it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ontick_rt::clock::sleep_for;
use ontick_rt::cpus::claim::{Held, Occupancy, claim};
use ontick_rt::rtrb::{Consumer, Producer, RingBuffer};
use ontick_rt::thread::{Policy, Setup, current_tid, set_affinity_of, set_policy};
use ontick_rt::{cpus, watchdog};

use super::core::{Attachment, Channels, Command, Core, Discarded, Stall};
use super::counters::Counters;
use super::port::Port;
use super::rest::{REST_NS, Rests};
use super::time::{Distance, SwitchClock};
use crate::model::Switch;

/// A core that shows no sign of life for so long is not trusted with its CPU any more.
const SILENT: Duration = Duration::from_secs(2);
/// A core that runs ends within this time by itself.
const ENDS_BY_ITSELF: Duration = Duration::from_millis(500);
/// Nobody waits longer for a core to end.
const ENDING: Duration = Duration::from_secs(10);
/// Commands, and things given back, that may be on their way.
const COMMANDS: usize = 64;
/// Stalls that may wait to be asked for.
const STALLS: usize = 1 << 16;

/// Where and how the core runs.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Its CPU; absent: as the scheduler likes.
    pub cpu: Option<u32>,
    /// Its scheduling.
    pub policy: Policy,
    /// It does not rest for the sake of normal threads of its CPU. It still does where real-time throttling is on or the
    /// kernel is a PREEMPT_RT one.
    pub never_rest: bool,
}

/// Why the core was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It would take the only CPU.
    #[error("{0}")]
    OnlyCpu(#[from] watchdog::Unsafe),
    /// Another process has its CPU.
    #[error("{0}")]
    Held(#[from] Held),
    /// There was no thread to be had.
    #[error("no thread for the core could be started: {0}")]
    Thread(std::io::Error),
}

/// A data plane at work. Call [`tend`](Self::tend) several times a second.
pub struct Running<P> {
    counters: Arc<Counters>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    tid: i32,
    commands: Producer<Command<P>>,
    discarded: Consumer<Discarded<P>>,
    stalls: Consumer<Stall>,
    distance: Distance,
    refused: Vec<String>,
    rests: bool,
    alive: (u64, Instant),
    demoted: bool,
}

/// What whoever looks after the core should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Noticed {
    /// The clock was set forward or back, by so many ns.
    ClockSet(i64),
    /// The core hung and was given ordinary scheduling.
    Demoted,
    /// The core has ended by itself, which it never should.
    Ended,
}

impl<P: Port + Send + 'static> Running<P> {
    /// Starts the core; ports are in the order of the model.
    pub fn start(switch: &Switch, attachments: Vec<Attachment<P>>, place: Place) -> Result<Self, StartError> {
        if place.policy.is_real_time() {
            watchdog::may_occupy(cpus::online().len())?;
            place.cpu.map_or(Ok(()), |cpu| claim(cpu, Occupancy::Spins))?;
        }
        let counters = Arc::new(Counters::new(attachments.len()));
        let stop = Arc::new(AtomicBool::new(false));
        let (commands, to_obey) = RingBuffer::new(COMMANDS);
        let (to_free, discarded) = RingBuffer::new(COMMANDS);
        let (to_tell, stalls) = RingBuffer::new(STALLS);
        let distance = Distance::of(switch.clock);
        let (ready, begun) = channel();
        let thread = {
            let (counters, stop, distance, switch) = (counters.clone(), stop.clone(), distance.clone(), switch.clone());
            let channels = Channels { commands: to_obey, discarded: to_free, stalls: to_tell };
            move || {
                let setup = Setup::new().policy(place.policy).lock_memory().cpu_latency_us(0).timer_slack_ns(1);
                let held = place.cpu.into_iter().fold(setup, Setup::cpu).best_effort();
                let mut rests = Rests::needed(place, held.policy());
                let refused: Vec<String> = held.refused().iter().map(ToString::to_string).collect();
                let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0u8);
                let mut core = Core::new(&switch, attachments, SwitchClock::new(distance), &counters, channels, seed);
                let _ = ready.send((current_tid(), refused, rests.is_some()));
                core.run(&stop, |core| {
                    if let Some(rests) = &mut rests {
                        if rests.is_due(core.seen_ns(), || core.quiet_until_ns()) {
                            sleep_for(REST_NS);
                            rests.ended(core.rested(REST_NS));
                        }
                    }
                });
                // Closing its sockets waits for every CPU to have been in the kernel (RCU): not at a priority, nor on a CPU,
                // that would hold that up.
                step_down(0, &cpus::online());
                drop(core);
            }
        };
        let thread =
            std::thread::Builder::new().name("ontick-switch".into()).spawn(thread).map_err(StartError::Thread)?;
        let died = |_| StartError::Thread(std::io::Error::other("it ended at once"));
        let (tid, refused, rests) = begun.recv().map_err(died)?;
        Ok(Self {
            counters,
            stop,
            thread: Some(thread),
            tid,
            commands,
            discarded,
            stalls,
            distance,
            refused,
            rests,
            alive: (0, Instant::now()),
            demoted: false,
        })
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// What was asked of the system for the core, and refused.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Whether the core sleeps now and then, so that others have its CPU too.
    pub fn rests(&self) -> bool {
        self.rests
    }

    /// The core's thread, as the kernel numbers it.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// How far the switch's clock is from the monotonic one, in ns.
    pub fn distance_ns(&self) -> i64 {
        self.distance.ns()
    }

    /// Stalls since this was last asked, at most as many as fit.
    pub fn stalls(&mut self) -> impl Iterator<Item = Stall> {
        std::iter::from_fn(|| self.stalls.pop().ok())
    }

    /// Tells the core something; it is given back while too much is on its way already.
    pub fn tell(&mut self, command: Command<P>) -> Result<(), Command<P>> {
        self.commands.push(command).map_err(|refused| {
            let ontick_rt::rtrb::PushError::Full(command) = refused;
            command
        })
    }

    /// Frees what the core gave back, follows the clock, and sees that the core is alive.
    pub fn tend(&mut self) -> Vec<Noticed> {
        while self.discarded.pop().is_ok() {}
        let mut noticed: Vec<Noticed> = self.distance.follow().map(Noticed::ClockSet).into_iter().collect();
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            noticed.push(Noticed::Ended);
            return noticed;
        }
        let turns = self.counters.turns.get();
        if turns != self.alive.0 {
            self.alive = (turns, Instant::now());
        } else if !self.demoted && self.alive.1.elapsed() > SILENT {
            self.demoted = set_policy(self.tid, Policy::Other).is_ok();
            if self.demoted {
                noticed.push(Noticed::Demoted);
            }
        }
        noticed
    }

    /// Ends the core, and closes its ports.
    pub fn stop(mut self) -> Arc<Counters> {
        self.end();
        self.counters.clone()
    }
}

impl<P> Running<P> {
    /// Ends the core. One that is kept from its CPU is moved to another; one that still does not end is left behind.
    fn end(&mut self) {
        self.stop.store(true, Relaxed);
        let Some(thread) = self.thread.take() else { return };
        let began = Instant::now();
        let mut moved = false;
        while !thread.is_finished() && began.elapsed() < ENDING {
            if !moved && began.elapsed() > ENDS_BY_ITSELF {
                step_down(self.tid, &cpus::online());
                moved = true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if thread.is_finished() {
            // A panic in the core was told by the thread itself; nothing is left to be done about it.
            let _ = thread.join();
        }
    }
}

/// Lets a thread run wherever there is room, at no priority.
fn step_down(tid: i32, online: &[u32]) {
    // Neither needs privileges; within a cpuset the kernel leaves out what the thread may not have.
    let _ = set_policy(tid, Policy::Other);
    let _ = set_affinity_of(tid, online);
}

impl<P> Drop for Running<P> {
    fn drop(&mut self) {
        self.end();
    }
}
