//! Where a timed thread runs, and under which policy.

use ontick_record::run::Settings;
use ontick_rt::cpus;
use ontick_rt::cpus::claim::{Claim, Occupancy, claim, holders};
use ontick_rt::thread::{Policy, Setup, ThreadSetup, in_force};
use ontick_undo::privilege::settle_timed_thread;

use crate::Error;

/// CPU, policy and what is held for a timed thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Pinned to this CPU; `None`: wherever the scheduler puts it.
    pub cpu: Option<u32>,
    /// Scheduling policy.
    pub policy: Policy,
    /// Memory locked and touched while it runs.
    pub prepared: bool,
    /// All CPUs kept out of power states that take longer than this to leave, in microseconds; `None`: as the machine has it.
    pub wake_within_us: Option<i32>,
    /// The CPU kept from idling while it runs.
    pub awake: bool,
}

impl Placement {
    /// As any program runs: normal scheduling, no CPU of its own, nothing prepared.
    pub fn stock() -> Self {
        Self { cpu: None, policy: Policy::Other, prepared: false, wake_within_us: None, awake: false }
    }

    /// ontick's way: one CPU, FIFO 99, memory locked, no power states.
    pub fn dedicated(cpu: Option<u32>) -> Self {
        Self {
            cpu: Some(cpu.unwrap_or_else(cpus::preferred)),
            policy: Policy::Fifo(99),
            prepared: true,
            wake_within_us: Some(0),
            awake: false,
        }
    }

    /// Refuses a CPU that does not exist, or that another process spins on, before anything is started. One for a
    /// real-time thread is this process's from here on.
    pub fn check(&self) -> Result<(), Error> {
        self.claimed().map(|claim| claim.into_iter().for_each(Claim::keep))
    }

    /// As [`check`](Self::check), for somebody else's thread: the CPU stays free.
    pub fn check_for_others(&self) -> Result<(), Error> {
        self.claimed().map(drop)
    }

    fn claimed(&self) -> Result<Option<Claim>, Error> {
        let Some(cpu) = self.cpu else { return Ok(None) };
        let online = cpus::online();
        if online.contains(&cpu) {
            return match self.policy.is_real_time() {
                true => claim(cpu, Occupancy::Rests).map(Some).map_err(|held| Error::Impossible(held.to_string())),
                false => Ok(None),
            };
        }
        let list: Vec<String> = online.iter().map(u32::to_string).collect();
        Err(Error::Impossible(format!("CPU {cpu} is not online (this machine has CPU {})", list.join(", "))))
    }

    /// The same on another CPU, the one asked for (and the option that names it) or the first other one, for the thread at
    /// the other end of what is measured: `what` needs two.
    pub fn peer(&self, asked: Option<(u32, &'static str)>, what: &'static str) -> Result<Self, Error> {
        let others = || cpus::allowed().into_iter().filter(|cpu| Some(*cpu) != self.cpu);
        let other = || {
            let held = holders();
            others()
                .min_by_key(|cpu| held.iter().filter(|holder| holder.cpu == *cpu).map(|holder| holder.occupancy).max())
        };
        let cpu = match asked {
            Some((cpu, option)) if Some(cpu) == self.cpu && others().next().is_some() => {
                return Err(Error::BothEnds { what, cpu, option });
            }
            Some((cpu, _)) => Some(cpu).filter(|cpu| Some(*cpu) != self.cpu),
            None => other(),
        };
        let cpu = cpu.ok_or(Error::NeedsTwoCpus(what))?;
        let peer = Self { cpu: Some(cpu), ..*self };
        peer.check().map(|()| peer)
    }

    /// Sets the calling thread up, as far as the system allows.
    pub(crate) fn take(&self) -> ThreadSetup {
        self.setup().best_effort()
    }

    /// The same for a thread that then needs no right any more.
    pub(crate) fn take_and_settle(&self) -> ThreadSetup {
        let ready = self.take();
        settle_timed_thread();
        ready
    }

    /// What a thread asks for that runs here, and that the calling one starts.
    pub fn setup(&self) -> Setup {
        let mut setup = Setup::new();
        if self.prepared {
            setup = setup.lock_memory().timer_slack_ns(1);
        }
        if let Some(us) = self.wake_within_us {
            setup = setup.cpu_latency_us(us);
        }
        if let Some(cpu) = self.cpu {
            setup = setup.cpu(cpu);
        }
        if self.awake {
            setup = setup.keep_awake();
        }
        // A real-time policy that is inherited has no watchdog. A thread of SCHED_BATCH or SCHED_IDLE stays what it is.
        if self.policy.is_real_time() || in_force(0).is_ok_and(Policy::is_real_time) {
            setup = setup.policy(self.policy);
        }
        setup
    }

    /// Writes down what was asked and what was obtained.
    pub(crate) fn describe(&self, ready: &ThreadSetup, settings: &mut Settings) {
        settings.cpu = ready.cpu();
        let inherited = || in_force(0).unwrap_or_default();
        settings.policy = ready.policy().unwrap_or_else(inherited).to_string();
        settings.memory_locked = ready.memory_locked();
        settings.wake_within_ns = ready.cpu_latency_us().and_then(|us| u64::try_from(us).ok()).map(|us| us * 1_000);
        settings.kept_awake = ready.is_kept_awake();
        settings.refused = ready.refused().iter().map(ToString::to_string).collect();
    }
}
