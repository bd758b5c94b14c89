//! The core on a thread of its own, and who looks after it.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ontick_rt::clock::sleep_for;
use ontick_rt::cpus::Whereabouts;
use ontick_rt::cpus::claim::{Claim, ClaimError, Occupancy, claim};
use ontick_rt::rtrb::{Consumer, Producer, RingBuffer};
use ontick_rt::thread::{Policy, Setup, current_tid, set_policy};
use ontick_rt::{cpus, watchdog};
use ontick_undo::privilege::keep_only;
use rustix::thread::CapabilitySet;

use super::address_table::random_seed;
use super::core::{Channels, Command, Core, Discarded, PortConfig, Stall};
use super::counters::Counters;
use super::ending::{Ending, Patience, step_down, wait_for_end};
use super::placement::CorePlacement;
use super::port::Port;
use super::rest::{REST_NS, Rests};
use super::time::{Distance, SwitchClock};
use ontick_tsn::model::Switch;

/// A core that shows no sign of life for so long is not trusted with its CPU any more.
const SILENT: Duration = Duration::from_secs(2);
/// All that the core's thread keeps once it is set up: what it allocates at its end is locked, too.
const CORE_KEEPS: CapabilitySet = CapabilitySet::IPC_LOCK;
/// Commands, and things given back, that may be on their way: other gates and idle slopes of every port, and some more.
const COMMANDS: usize = 1024;
/// Stalls that may wait to be asked for.
const STALLS: usize = 1 << 16;

/// Why the core was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// It would take the only CPU.
    #[error("{0}")]
    OnlyCpu(#[from] watchdog::WouldStarve),
    /// Another process has its CPU.
    #[error("{0}")]
    Held(#[from] ClaimError),
    /// There was no thread to be had.
    #[error("no thread for the core could be started: {0}")]
    Thread(std::io::Error),
}

/// A data plane at work. Call [`service`](Self::service) several times a second.
pub struct Running<P> {
    counters: Arc<Counters>,
    stop: Arc<AtomicBool>,
    /// Of all switches that this core serves; taken by the first that ends.
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
    tid: i32,
    commands: Producer<Command<P>>,
    discarded: Consumer<Discarded<P>>,
    stalls: Consumer<Stall>,
    distance: Distance,
    refused: Vec<String>,
    rests: bool,
    alive: (u64, Instant),
    demoted: bool,
    whereabouts: Option<Whereabouts>,
    /// The CPU is the core's until the last of its switches is stopped.
    _cpu: Option<Arc<Claim>>,
}

/// What whoever looks after the core should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoreEvent {
    /// The clock was set forward or back, by so many ns.
    ClockSet(i64),
    /// The core hung and was given ordinary scheduling.
    Demoted,
    /// The core has lost its CPU: why, and on which one it is now.
    Moved(String, u32),
    /// The core has ended by itself, which it never should.
    Ended,
}

/// What is left of a data plane.
#[derive(Debug)]
pub struct Stopped {
    /// What was counted.
    pub counters: Arc<Counters>,
    /// How its core ended.
    pub ending: Ending,
}

/// What whoever looks after a switch has of it.
struct Outer<P> {
    counters: Arc<Counters>,
    commands: Producer<Command<P>>,
    discarded: Consumer<Discarded<P>>,
    stalls: Consumer<Stall>,
    distance: Distance,
}

/// And what its core has.
struct Inner<P> {
    switch: Switch,
    attachments: Vec<PortConfig<P>>,
    channels: Channels<P>,
    counters: Arc<Counters>,
    distance: Distance,
}

fn ends<P>(switch: &Switch, attachments: Vec<PortConfig<P>>) -> (Outer<P>, Inner<P>) {
    let counters = Arc::new(Counters::of(switch));
    let (commands, to_obey) = RingBuffer::new(COMMANDS);
    let (to_free, discarded) = RingBuffer::new(COMMANDS);
    let (to_tell, stalls) = RingBuffer::new(STALLS);
    let distance = Distance::of(crate::clock::id(switch.clock));
    let channels = Channels { commands: to_obey, discarded: to_free, stalls: to_tell };
    let outer = Outer { counters: counters.clone(), commands, discarded, stalls, distance: distance.clone() };
    (outer, Inner { switch: switch.clone(), attachments, channels, counters, distance })
}

impl<P: Port> Inner<P> {
    fn core(self, counters: &Counters) -> Core<'_, P, SwitchClock> {
        let clock = SwitchClock::new(self.distance);
        Core::new(&self.switch, self.attachments, clock, counters, self.channels, random_seed())
    }
}

/// How long no gate of any of them moves, in ns.
fn quiet_ns<P: Port>(cores: &mut [Core<'_, P, SwitchClock>]) -> u64 {
    let quiet = cores.iter_mut().map(|core| core.quiet_until_ns().saturating_sub(core.seen_ns()));
    quiet.min().unwrap_or(u64::MAX)
}

impl<P: Port + Send + 'static> Running<P> {
    /// Starts the core; ports are in the order of the model.
    pub fn start(switch: &Switch, attachments: Vec<PortConfig<P>>, place: CorePlacement) -> Result<Self, StartError> {
        let mut one = Self::start_together(vec![(switch, attachments)], place)?;
        Ok(one.swap_remove(0))
    }

    /// Starts one core that does the work of several switches by turns. It ends for all of them when the first is stopped.
    pub fn start_together(
        planes: Vec<(&Switch, Vec<PortConfig<P>>)>,
        place: CorePlacement,
    ) -> Result<Vec<Self>, StartError> {
        let mut held = None;
        if place.policy.is_real_time() {
            watchdog::may_occupy(cpus::online().len())?;
            held = place.cpu.map(|cpu| claim(cpu, Occupancy::Spins)).transpose()?.map(Arc::new);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, begun) = channel();
        let (outer, inner): (Vec<Outer<P>>, Vec<Inner<P>>) =
            planes.into_iter().map(|(switch, attachments)| ends(switch, attachments)).unzip();
        let work = {
            let stop = stop.clone();
            move || {
                let setup = Setup::new().policy(place.policy).lock_memory().cpu_latency_us(0).timer_slack_ns(1);
                let held = place.cpu.into_iter().fold(setup, Setup::cpu).best_effort();
                let mut rests = Rests::needed(place, held.policy());
                let refused: Vec<String> = held.refused().iter().map(ToString::to_string).collect();
                let counters: Vec<Arc<Counters>> = inner.iter().map(|inner| inner.counters.clone()).collect();
                let mut cores: Vec<_> = inner.into_iter().zip(&counters).map(|(inner, of)| inner.core(of)).collect();
                // What reads the frames of whoever sends some needs no right over the network. Who cannot give any up has none.
                let _ = keep_only(CORE_KEEPS);
                let _ = ready.send((current_tid(), refused, rests.is_some(), held.cpu()));
                Core::run(&mut cores, &stop, |cores| {
                    let Some(rests) = &mut rests else { return };
                    // Of the first one's clock: others may follow another.
                    let now_ns = cores[0].seen_ns();
                    if rests.is_due(now_ns, || now_ns.saturating_add(quiet_ns(cores))) {
                        sleep_for(REST_NS);
                        rests.ended(cores[0].slept(REST_NS));
                        cores[1..].iter_mut().for_each(|core| _ = core.slept(REST_NS));
                    }
                });
                // Closing its sockets waits for every CPU to have been in the kernel (RCU): not at a priority, nor on a CPU,
                // that would hold that up.
                step_down(0);
                drop(cores);
            }
        };
        let thread =
            std::thread::Builder::new().name("ontick-switch".into()).spawn(work).map_err(StartError::Thread)?;
        let died = |_| StartError::Thread(std::io::Error::other("it ended at once"));
        let (tid, refused, rests, pinned) = begun.recv().map_err(died)?;
        let whereabouts = pinned.map(Whereabouts::of_one_pinned_to);
        let thread = Arc::new(Mutex::new(Some(thread)));
        let running = outer.into_iter().map(|Outer { counters, commands, discarded, stalls, distance }| Self {
            counters,
            stop: stop.clone(),
            thread: thread.clone(),
            tid,
            commands,
            discarded,
            stalls,
            distance,
            refused: refused.clone(),
            rests,
            alive: (0, Instant::now()),
            demoted: false,
            whereabouts: whereabouts.clone(),
            _cpu: held.clone(),
        });
        Ok(running.collect())
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

    /// Other CPUs than its own on which the core was found.
    pub fn strayed_to(&self) -> &[u32] {
        self.whereabouts.as_ref().map_or(&[], Whereabouts::strayed_to)
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
    pub fn send(&mut self, command: Command<P>) -> Result<(), Command<P>> {
        self.commands.push(command).map_err(|refused| {
            let ontick_rt::rtrb::PushError::Full(command) = refused;
            command
        })
    }

    /// How many commands it can be told now.
    pub fn room(&self) -> usize {
        self.commands.slots()
    }

    /// Whether the core has taken all that it was told.
    pub fn has_taken_all(&self) -> bool {
        self.commands.slots() == COMMANDS
    }

    /// Frees what the core gave back, follows the clock, and sees that the core is alive.
    pub fn service(&mut self) -> Vec<CoreEvent> {
        while self.discarded.pop().is_ok() {}
        let mut noticed: Vec<CoreEvent> = self.distance.follow().map(CoreEvent::ClockSet).into_iter().collect();
        if self.thread.lock().is_ok_and(|thread| thread.as_ref().is_none_or(JoinHandle::is_finished)) {
            noticed.push(CoreEvent::Ended);
            return noticed;
        }
        if let Some(whereabouts) = &mut self.whereabouts {
            let tid = self.tid;
            noticed.extend(whereabouts.update(tid).map(|cpu| CoreEvent::Moved(whereabouts.why(), cpu)));
        }
        let turns = self.counters.turns.get();
        if turns != self.alive.0 {
            self.alive = (turns, Instant::now());
        } else if !self.demoted && self.alive.1.elapsed() > SILENT {
            self.demoted = set_policy(self.tid, Policy::Other).is_ok();
            if self.demoted {
                noticed.push(CoreEvent::Demoted);
            }
        }
        noticed
    }

    /// Ends the core, and closes its ports.
    pub fn stop(mut self) -> Stopped {
        let ending = self.end();
        Stopped { counters: self.counters.clone(), ending }
    }
}

impl<P> Running<P> {
    fn end(&mut self) -> Ending {
        self.stop.store(true, Relaxed);
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        // Of several switches, the first has ended the core for all.
        thread.map_or(Ending::ByItself, |thread| wait_for_end(thread, self.tid, Patience::USUAL))
    }
}

impl<P> Drop for Running<P> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Sender;

    use super::*;
    use crate::user::port::{Received, Sent};

    /// A port that reports the CPUs that its thread may run on when it is closed.
    struct Closing(Sender<Vec<u32>>);

    impl Port for Closing {
        fn receive(&mut self, _slot: &mut [u8]) -> Received {
            Received::Nothing
        }

        fn send(&mut self, _frame: &[u8]) -> Sent {
            Sent::Done
        }

        fn overflowed(&mut self) -> u64 {
            0
        }
    }

    impl Drop for Closing {
        fn drop(&mut self) {
            let _ = self.0.send(cpus::allowed());
        }
    }

    /// Closing waits for RCU, and so for every CPU: one that another core does not leave, too.
    #[test]
    fn a_core_has_left_its_cpu_before_it_closes_its_ports() {
        let [first, _, ..] = cpus::allowed()[..] else { return ontick_skip::skipped!("this needs two CPUs") };
        let (closing, closed) = channel();
        let attach = |closing| PortConfig { port: Some(Closing(closing)), rate: 1_000_000_000, schedule: None };
        let switch = ontick_tsn::config::read(TWO_PORTS).unwrap().switch;
        let place = CorePlacement { cpu: Some(first), policy: Policy::Other, never_rest: false };
        let running = Running::start(&switch, vec![attach(closing.clone()), attach(closing)], place).unwrap();
        // Only asked to end: nobody else moves it.
        running.stop.store(true, Relaxed);
        assert!(closed.recv_timeout(Duration::from_secs(60)).unwrap().len() > 1);
        assert_eq!(running.stop().ending, Ending::ByItself);
    }

    const TWO_PORTS: &str = "[switch]\nname = \"cell\"\nplane = \"user\"\n[[class]]\nname = \"all\"\nqueue = 0\n\
                             [[port]]\nname = \"a\"\nrate = \"1Gbit\"\n[[port]]\nname = \"b\"\nrate = \"1Gbit\"\n";
}
