//! The thread of a core.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use ontick_rt::clock::sleep_for;
use ontick_rt::cpus::claim::Claim;
use ontick_rt::thread::{Policy, Setup, current_tid};
use ontick_undo::privilege::keep_only;
use rustix::thread::CapabilitySet;

use super::StartError;
use super::work::Work;
use crate::user::core::Core;
use crate::user::counters::Counters;
use crate::user::ending::{Ending, Patience, step_down, wait_for_end};
use crate::user::placement::CorePlacement;
use crate::user::port::Port;
use crate::user::rest::{REST_NS, Rests};
use crate::user::time::SwitchClock;

/// All that a core's thread keeps once it is set up: what it allocates at its end is locked, too.
const CORE_KEEPS: CapabilitySet = CapabilitySet::IPC_LOCK;

/// A thread at work.
pub struct CoreThread {
    stop: Arc<AtomicBool>,
    /// Taken by the first that waits for its end.
    handle: Mutex<Option<JoinHandle<()>>>,
    /// As the kernel numbers it.
    pub tid: i32,
    /// The policy that it obtained.
    pub policy: Policy,
    /// What was asked of the system for it, and refused.
    pub refused: Vec<String>,
    /// Whether it sleeps now and then.
    pub rests: bool,
    /// The CPU that it is to stay on.
    pub pinned: Option<u32>,
    /// The CPU is its own until it has ended.
    _cpu: Option<Claim>,
}

impl CoreThread {
    /// Starts it: the work of one core, for each switch.
    pub fn start<P: Port + Send + 'static>(
        work: Vec<Work<P>>,
        place: CorePlacement,
        held: Option<Claim>,
    ) -> Result<Self, StartError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, begun) = channel();
        let asked = stop.clone();
        let run = move || {
            let setup = Setup::new().policy(place.policy).lock_memory().cpu_latency_us(0).timer_slack_ns(1);
            let held = place.cpu.into_iter().fold(setup, Setup::cpu).best_effort();
            let mut rests = Rests::needed(place, held.policy());
            let refused: Vec<String> = held.refused().iter().map(ToString::to_string).collect();
            let counters: Vec<Arc<Counters>> = work.iter().map(|work| work.counters.clone()).collect();
            let mut cores: Vec<_> = work.into_iter().zip(&counters).map(|(work, of)| work.core(of)).collect();
            // What reads the frames of whoever sends some needs no right over the network. Who cannot give any up has none.
            let _ = keep_only(CORE_KEEPS);
            let policy = held.policy().unwrap_or(Policy::Other);
            let _ = ready.send((current_tid(), policy, refused, rests.is_some(), held.cpu()));
            Core::run(&mut cores, &asked, |cores| {
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
        };
        let handle = Builder::new().name("ontick-switch".into()).spawn(run).map_err(StartError::Thread)?;
        let died = |_| StartError::Thread(io::Error::other("it ended at once"));
        let (tid, policy, refused, rests, pinned) = begun.recv().map_err(died)?;
        Ok(Self { stop, handle: Mutex::new(Some(handle)), tid, policy, refused, rests, pinned, _cpu: held })
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.handle.lock().is_ok_and(|handle| handle.as_ref().is_none_or(JoinHandle::is_finished))
    }

    pub fn ask_to_end(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Ends it.
    pub fn end(&self) -> Ending {
        self.ask_to_end();
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner).take();
        handle.map_or(Ending::ByItself, |handle| wait_for_end(handle, self.tid, Patience::USUAL))
    }
}

impl Drop for CoreThread {
    fn drop(&mut self) {
        self.end();
    }
}

/// How long no gate of any of them moves, in ns.
fn quiet_ns<P: Port>(cores: &mut [Core<'_, P, SwitchClock>]) -> u64 {
    let quiet = cores.iter_mut().map(|core| core.quiet_until_ns().saturating_sub(core.seen_ns()));
    quiet.min().unwrap_or(u64::MAX)
}
