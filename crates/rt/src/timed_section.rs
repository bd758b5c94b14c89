//! A part of a thread's life in which it runs on time, and after which it is as it was before.

use std::io;

use crate::cpus;
use crate::cpus::claim::{Claim, ClaimError, Occupancy, claim, dedicate};
use crate::thread::{Policy, Refusal, Scheduling, Setup, ThreadSetup, current_tid};

/// The CPU of a timed section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionCpu {
    /// The quietest that no other process holds.
    Auto,
    /// Wherever the thread may run already.
    Keep,
    /// This one.
    One(u32),
}

/// Why a timed section was not begun. The thread is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SectionError {
    /// There is no such CPU.
    #[error("CPU {cpu} is not online (this machine has CPU {})", list(online))]
    NotOnline {
        /// The one that was asked for.
        cpu: u32,
        /// Those that there are.
        online: Vec<u32>,
    },
    /// Another process has that CPU.
    #[error(transparent)]
    InUse(#[from] ClaimError),
    /// The system refused something that was asked for strictly.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The thread's scheduling cannot be read or put back.
    #[error("the thread's policy or CPUs: {0}")]
    System(#[from] io::Error),
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// A thread that was set up, and what it had before. Ends when it is dropped, if that is on the same thread.
///
/// ```
/// use ontick_rt::thread::Setup;
/// use ontick_rt::timed_section::{SectionCpu, TimedSection};
/// let section = TimedSection::begin(SectionCpu::Auto, Setup::new().timer_slack_ns(1))?;
/// section.refused().for_each(|refused| eprintln!("{refused}"));
/// // … timed work …
/// section.end()?;
/// # Ok::<(), ontick_rt::timed_section::SectionError>(())
/// ```
#[derive(Debug)]
pub struct TimedSection {
    tid: i32,
    before: Scheduling,
    ready: Option<ThreadSetup>,
    unclaimed: Option<ClaimError>,
    _cpu: Option<Claim>,
}

impl TimedSection {
    /// Sets the calling thread up as far as the system allows; [`refused`](Self::refused) has the rest. The CPU in `setup`
    /// is replaced by `cpu`.
    pub fn begin(cpu: SectionCpu, setup: Setup) -> Result<Self, SectionError> {
        match choose(cpu)? {
            Ok(chosen) => Self::begin_on(chosen, None, setup),
            Err(held) => Self::begin_on(None, Some(held), setup),
        }
    }

    /// Sets the calling thread up, or leaves it as it was and tells the first thing that was refused.
    pub fn begin_strict(cpu: SectionCpu, setup: Setup) -> Result<Self, SectionError> {
        let section = Self::begin_on(choose(cpu)??, None, setup)?;
        match section.ready.as_ref().and_then(|ready| ready.refused().first().cloned()) {
            None => Ok(section),
            Some(refusal) => section.end().map_err(SectionError::from).and(Err(refusal.into())),
        }
    }

    fn begin_on(chosen: Option<Chosen>, unclaimed: Option<ClaimError>, setup: Setup) -> Result<Self, SectionError> {
        let (cpu, claim) = chosen.unzip();
        let before = Scheduling::of_this_thread()?;
        let ready = cpu.map_or(setup, |cpu| setup.cpu(cpu)).best_effort();
        Ok(Self { tid: current_tid(), before, ready: Some(ready), unclaimed, _cpu: claim })
    }

    /// What was asked for and not obtained, with reason and remedy.
    pub fn refused(&self) -> impl Iterator<Item = String> {
        let refused = self.ready.iter().flat_map(|ready| ready.refused()).map(ToString::to_string);
        self.unclaimed.iter().map(ToString::to_string).chain(refused)
    }

    /// The CPU that the thread is pinned to.
    pub fn cpu(&self) -> Option<u32> {
        self.ready.as_ref().and_then(ThreadSetup::cpu)
    }

    /// The policy that was obtained.
    pub fn policy(&self) -> Option<Policy> {
        self.ready.as_ref().and_then(ThreadSetup::policy)
    }

    /// Whether memory is locked.
    pub fn memory_locked(&self) -> bool {
        self.ready.as_ref().is_some_and(ThreadSetup::memory_locked)
    }

    /// What the thread had before.
    pub fn before(&self) -> Scheduling {
        self.before
    }

    /// Whether the calling thread is the one that was set up: no other can end it.
    pub fn is_of_this_thread(&self) -> bool {
        self.tid == current_tid()
    }

    /// Gives the thread back what it had before. Memory is unlocked and the power-state request ends with the last section.
    pub fn end(mut self) -> io::Result<()> {
        self.give_back()
    }

    fn give_back(&mut self) -> io::Result<()> {
        match self.ready.take() {
            Some(_) if self.is_of_this_thread() => self.before.restore(),
            _ => Ok(()),
        }
    }
}

impl Drop for TimedSection {
    fn drop(&mut self) {
        // Nobody is there to be told.
        let _ = self.give_back();
    }
}

/// A CPU to pin to, and its claim.
type Chosen = (u32, Claim);

/// None where the thread keeps the CPUs that it has.
fn choose(cpu: SectionCpu) -> Result<Result<Option<Chosen>, ClaimError>, SectionError> {
    match cpu {
        SectionCpu::Keep => Ok(Ok(None)),
        SectionCpu::Auto => Ok(dedicate(Occupancy::Rests).map(|(choice, claim)| Some((choice.cpu, claim)))),
        SectionCpu::One(cpu) => match cpus::online() {
            online if online.contains(&cpu) => Ok(claim(cpu, Occupancy::Rests).map(|claim| Some((cpu, claim)))),
            online => Err(SectionError::NotOnline { cpu, online }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::in_force;

    fn on_its_own_thread(work: impl FnOnce() + Send + 'static) {
        std::thread::spawn(work).join().unwrap();
    }

    #[test]
    fn a_section_that_ends_leaves_the_thread_as_it_was() {
        on_its_own_thread(|| {
            let (policy, allowed) = (in_force(0).unwrap(), cpus::allowed());
            let wanted = cpus::preferred();
            let section = TimedSection::begin(SectionCpu::One(wanted), Setup::new().policy(Policy::Fifo(1))).unwrap();
            if section.cpu().is_some() {
                assert_eq!(cpus::allowed(), [wanted]);
            }
            section.end().unwrap();
            assert_eq!((in_force(0).unwrap(), cpus::allowed()), (policy, allowed));
        });
    }

    #[test]
    fn a_section_that_is_dropped_ends_too_but_not_that_of_another_thread() {
        on_its_own_thread(|| {
            let allowed = cpus::allowed();
            drop(TimedSection::begin(SectionCpu::Auto, Setup::new()).unwrap());
            assert_eq!(cpus::allowed(), allowed);
            let other = std::thread::spawn(|| TimedSection::begin(SectionCpu::Auto, Setup::new()).unwrap());
            let other = other.join().unwrap();
            assert!(!other.is_of_this_thread());
            let one = [cpus::preferred()];
            crate::thread::set_affinity(&one).unwrap();
            drop(other);
            assert_eq!(cpus::allowed(), one, "this thread is not the one that was set up");
        });
    }

    #[test]
    fn a_strict_section_that_is_refused_changes_nothing() {
        on_its_own_thread(|| {
            let (policy, allowed) = (in_force(0).unwrap(), cpus::allowed());
            let missing = TimedSection::begin_strict(SectionCpu::One(1023), Setup::new()).unwrap_err();
            assert!(missing.to_string().contains("CPU 1023 is not online"), "{missing}");
            // Longer than its period: no kernel takes it.
            let absurd = Policy::Deadline { runtime_ns: 2_000_000, deadline_ns: 1_000_000, period_ns: 1_000_000 };
            let refused = TimedSection::begin_strict(SectionCpu::Auto, Setup::new().policy(absurd)).unwrap_err();
            assert!(matches!(refused, SectionError::Refused(_)), "{refused}");
            assert_eq!((in_force(0).unwrap(), cpus::allowed()), (policy, allowed));
        });
    }
}
