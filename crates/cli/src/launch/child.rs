//! What happens in the new process before the program takes it over.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use ontick_rt::thread::{Policy, in_force, set_policy};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};

use super::{Account, Launch};

/// SIGKILL comes so long after the signal that the program may handle.
const GRACE_US: u64 = 1_000_000;

/// What may be refused before the program takes the process over. Errors come out of there as one number, which holds the
/// step above that of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    ProcessGroup = 1,
    ControlGroup,
    Cpu,
    Policy,
    User,
    Parent,
}

impl Step {
    const ALL: [Self; 6] = [Self::ProcessGroup, Self::ControlGroup, Self::Cpu, Self::Policy, Self::User, Self::Parent];
    const SHIFT: u32 = 16;

    /// Allocates nothing.
    fn done<T>(self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let number = error.raw_os_error().unwrap_or(libc::EINVAL);
            io::Error::from_raw_os_error((self as i32) << Self::SHIFT | number)
        })
    }

    /// The step that an error comes from, and the system's own error; no step where it comes from starting the process and
    /// the program.
    pub fn of(error: io::Error) -> (Option<Self>, io::Error) {
        let Some(number) = error.raw_os_error() else { return (None, error) };
        let step = Self::ALL.into_iter().find(|step| *step as i32 == number >> Self::SHIFT);
        (step, io::Error::from_raw_os_error(number & ((1 << Self::SHIFT) - 1)))
    }

    /// What could not be done, and what helps.
    pub fn what(self, launch: &Launch) -> String {
        match self {
            Self::ProcessGroup => "join the process group of ontick".into(),
            Self::ControlGroup => "enter its control group".into(),
            Self::Cpu => format!("be pinned to CPU {}", launch.cpu.unwrap_or_default()),
            Self::Policy => format!("be given policy {}", launch.policy),
            Self::User => {
                let user = launch.user.as_ref().map(|user| user.name.to_string_lossy()).unwrap_or_default();
                format!("become user {user} (--keep-root leaves it root)")
            }
            Self::Parent => "be tied to the process that keeps it".into(),
        }
    }
}

/// Everything that the new process needs, made beforehand: between fork and exec nothing may be allocated.
struct Steps {
    cpus: Option<CpuSet>,
    policy: Policy,
    limits: Vec<(Resource, Rlimit)>,
    group: Option<RawFd>,
    user: Option<Account>,
    signals: libc::sigset_t,
    process_group: libc::pid_t,
    parent: libc::pid_t,
}

/// Lets a command take these steps when it starts.
pub(super) fn prepare(
    command: &mut Command,
    launch: &Launch,
    signals: libc::sigset_t,
    process_group: libc::pid_t,
) -> io::Result<()> {
    if let Some(user) = &launch.user {
        set_environment(command, user);
    }
    let steps = Steps {
        cpus: launch.cpu.map(only),
        policy: launch.policy,
        limits: limits(launch),
        group: launch.group.as_ref().map(AsRawFd::as_raw_fd),
        user: launch.user.clone(),
        signals,
        process_group,
        parent: std::process::id() as libc::pid_t,
    };
    // SAFETY: the steps make system calls only; what they use was made beforehand.
    unsafe { command.pre_exec(move || steps.take()) };
    Ok(())
}

/// Has a command run as this user, with what the environment says of that user.
pub fn run_as(command: &mut Command, user: &Account) {
    set_environment(command, user);
    let user = user.clone();
    // SAFETY: it makes system calls only; what they use was made beforehand.
    unsafe { command.pre_exec(move || become_user(&user)) };
}

fn set_environment(command: &mut Command, user: &Account) {
    for (name, value) in user.environment() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

fn only(cpu: u32) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    set
}

fn limits(launch: &Launch) -> Vec<(Resource, Rlimit)> {
    let mut limits = Vec::new();
    let mut limit = |resource, current, maximum| limits.push((resource, Rlimit { current, maximum }));
    if launch.may_lock {
        limit(Resource::Memlock, None, None);
    }
    if let Policy::Fifo(priority) | Policy::RoundRobin(priority) = launch.policy {
        // Its threads may then choose among the priorities up to its own.
        limit(Resource::Rtprio, Some(priority.into()), Some(priority.into()));
        if let Some(time) = launch.runaway_after {
            let soft = (time.as_micros() as u64).max(1);
            limit(Resource::Rttime, Some(soft), Some(soft.saturating_add(GRACE_US)));
        }
    }
    limits
}

impl Steps {
    fn take(&self) -> io::Result<()> {
        // Its keeper has one of its own, where the keys of a terminal do not reach.
        // SAFETY: plain numbers.
        Step::ProcessGroup.done(check(unsafe { libc::setpgid(0, self.process_group) }))?;
        // The group first: it decides which CPUs there are.
        if let Some(group) = self.group {
            // SAFETY: the descriptor is open in the parent and inherited; "0" stands for the writer.
            Step::ControlGroup.done(check(unsafe { libc::write(group, c"0".as_ptr().cast(), 1) } as libc::c_int))?;
        }
        if let Some(cpus) = &self.cpus {
            Step::Cpu.done(sched_setaffinity(None, cpus).map_err(io::Error::from))?;
        }
        for (resource, limit) in &self.limits {
            // Raising one is root's alone. Where it may not be raised, what was granted before stays.
            let _ = setrlimit(*resource, *limit);
        }
        // No program gets a real-time policy that was not asked for. One of SCHED_BATCH or SCHED_IDLE stays what it is.
        if self.policy.is_real_time() || Step::Policy.done(in_force(0))?.is_real_time() {
            Step::Policy.done(set_policy(0, self.policy))?;
        }
        if let Some(user) = &self.user {
            Step::User.done(become_user(user))?;
        }
        // Last, as a change of user clears it: when its keeper is killed, the program ends, too.
        // SAFETY: prctl reads plain numbers; getppid has no preconditions.
        unsafe {
            Step::Parent.done(check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM)))?;
            if libc::getppid() != self.parent {
                libc::raise(libc::SIGKILL);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.signals, std::ptr::null_mut());
        }
        Ok(())
    }
}

/// The process group of this process. 0 where its leader is outside this PID namespace, which rustix's type cannot hold;
/// setpgid(2) then gives the program one of its own.
pub(super) fn process_group() -> libc::pid_t {
    // SAFETY: getpgrp has no preconditions.
    unsafe { libc::getpgrp() }
}

/// Groups before the user: afterwards they could not be changed.
pub(super) fn become_user(user: &Account) -> io::Result<()> {
    // SAFETY: the groups are valid for reads; the new process has one thread, so that the C library has no
    // others to tell.
    unsafe {
        check(libc::setgroups(user.groups.len() as _, user.groups.as_ptr()))?;
        check(libc::setresgid(user.group, user.group, user.group))?;
        check(libc::setresuid(user.user, user.user, user.user))
    }
}

pub(super) fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
