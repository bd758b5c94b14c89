//! How a thread was scheduled before it was set up, to be put back.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::{CpuSet, current_timer_slack, sched_getaffinity, sched_setaffinity, set_current_timer_slack};

use super::policy::RESET_ON_FORK;
use crate::sys::{self, SchedAttr};

/// Policy, priority, nice value, CPUs and timer slack of a thread.
///
/// ```
/// use ontick_rt::thread::{Scheduling, Setup};
/// let before = Scheduling::of_this_thread()?;
/// let ready = Setup::new().cpu(ontick_rt::cpus::preferred()).best_effort();
/// // … timed work …
/// drop(ready);
/// before.restore()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Scheduling {
    attributes: SchedAttr,
    cpus: CpuSet,
    timer_slack_ns: Option<NonZeroU64>,
}

impl Scheduling {
    /// That of the calling thread.
    pub fn of_this_thread() -> io::Result<Self> {
        Ok(Self {
            attributes: sys::sched_getattr(0)?,
            cpus: sched_getaffinity(None)?,
            timer_slack_ns: NonZeroU64::new(current_timer_slack()?),
        })
    }

    /// Gives it back to the calling thread. All of it is tried; the first refusal is returned. It allocates nothing, so
    /// that it may be called after a fork.
    pub fn restore(&self) -> io::Result<()> {
        let policy = self.restore_policy();
        let cpus = sched_setaffinity(None, &self.cpus).map_err(io::Error::from);
        let slack = set_current_timer_slack(self.timer_slack_ns).map_err(io::Error::from);
        policy.and(cpus).and(slack)
    }

    /// The mark that children get normal scheduling may be set by anyone, and taken away by few: where it must stay, the
    /// rest comes back all the same.
    fn restore_policy(&self) -> io::Result<()> {
        let marked = SchedAttr { flags: self.attributes.flags | RESET_ON_FORK, ..self.attributes };
        match sys::sched_setattr(0, &mut { self.attributes }) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                sys::sched_setattr(0, &mut { marked }).map_err(|_| error)
            }
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus;
    use crate::thread::{Policy, Setup, in_force, set_affinity, set_policy};

    #[test]
    fn a_thread_gets_back_what_it_had() {
        std::thread::spawn(|| {
            let (policy, allowed) = (in_force(0).unwrap(), cpus::allowed());
            rustix::process::nice(3).unwrap();
            let nice = sys::sched_getattr(0).unwrap().nice;
            let before = Scheduling::of_this_thread().unwrap();
            let ready = Setup::new().cpu(cpus::preferred()).policy(Policy::Fifo(1)).timer_slack_ns(7).best_effort();
            assert_eq!(cpus::allowed(), [cpus::preferred()]);
            drop(ready);
            before.restore().unwrap();
            assert_eq!((in_force(0).unwrap(), cpus::allowed()), (policy, allowed));
            assert_eq!(sys::sched_getattr(0).unwrap().nice, nice);
            assert_ne!(current_timer_slack().unwrap(), 7);
        })
        .join()
        .unwrap();
    }

    /// Its rights are gone by then: only the calling thread becomes another user.
    #[test]
    fn a_marked_thread_is_demoted_and_put_back_without_privileges() {
        if !rustix::process::geteuid().is_root() {
            return ontick_skip::skipped!("only root can become a user without its rights");
        }
        std::thread::spawn(|| {
            // As under `nice`: no better value is granted later.
            rustix::process::nice(3).unwrap();
            let before = Scheduling::of_this_thread().unwrap();
            let ready = Setup::new().policy(Policy::Fifo(40)).keep_policy_from_children().best_effort();
            if let Some(refusal) = ready.refused().first() {
                return ontick_skip::skipped!("{refusal}");
            }
            rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65534)).unwrap();
            let started = || std::thread::spawn(|| in_force(0).unwrap()).join().unwrap();
            assert_eq!((in_force(0).unwrap(), started()), (Policy::Fifo(40), Policy::Other));
            set_policy(0, Policy::Fifo(30)).unwrap();
            assert_eq!((in_force(0).unwrap(), started()), (Policy::Fifo(30), Policy::Other));
            set_policy(0, Policy::Other).unwrap();
            assert_eq!(sys::sched_getattr(0).unwrap().nice, before.attributes.nice);
            before.restore().unwrap();
            assert_eq!(in_force(0).unwrap(), Policy::Other);
        })
        .join()
        .unwrap();
    }

    /// A CPU set that is gone by then keeps nothing else from coming back.
    #[test]
    fn a_refusal_does_not_keep_the_rest_from_coming_back() {
        std::thread::spawn(|| {
            let before = Scheduling { cpus: CpuSet::new(), ..Scheduling::of_this_thread().unwrap() };
            set_affinity(&[cpus::preferred()]).unwrap();
            let _ = set_policy(0, Policy::Fifo(1));
            assert!(before.restore().is_err());
            assert_eq!(in_force(0).unwrap(), Policy::Other);
        })
        .join()
        .unwrap();
    }
}
