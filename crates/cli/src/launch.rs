//! Any program, on time: a command is started on its CPU, under its policy, with its limits, and stood in
//! for until it ends: signals pass on to it, and its status comes back. When the supervisor is killed, the program gets
//! SIGTERM, and SIGKILL a second later with all that it started.
//!
//! CPU and policy are inherited by everything that the program starts. Locked memory is not: exec(2) undoes
//! mlockall(2), and no process can lock another's memory. What can be done from outside is to let the program
//! lock its own without privileges.

mod account;
mod child;
mod keeper;
mod observed;
mod signals;
mod witness;

use std::fs::File;
use std::io;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use ontick_rt::cpus;
use ontick_rt::thread::{KeptAwake, LatencyRequest, Policy, Refusal, Setup, set_affinity};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities};

pub use account::{Account, calling_user, sudo_user};
use child::Step;
pub use child::run_as;
use keeper::Keeper;
pub use observed::Observed;
use signals::{Signal, Signals};
use witness::Witness;

/// How a program is to be run. Nothing is asked that was not named.
#[derive(Debug, Default)]
pub struct Launch {
    /// On this CPU only.
    pub cpu: Option<u32>,
    /// Under this policy.
    pub policy: Policy,
    /// Let it lock as much memory as it wants (`RLIMIT_MEMLOCK`).
    pub may_lock: bool,
    /// End it when it runs for so long at real-time priority without once sleeping (`RLIMIT_RTTIME`). A signal
    /// that it may handle (SIGXCPU) comes first, and SIGKILL one second later.
    pub runaway_after: Option<Duration>,
    /// Keep all CPUs out of deep power states meanwhile.
    pub no_deep_idle: bool,
    /// Keep its CPU from idling meanwhile. One that only `group` has cannot be kept so from outside it.
    pub keep_awake: bool,
    /// The `cgroup.procs` of the control group in which it is to run.
    pub group: Option<File>,
    /// Give up root for this user before the program starts.
    pub user: Option<Account>,
}

/// Why a program did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// Something that was asked for was not granted.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The program itself could not be started.
    #[error("{program}: {why}")]
    Program {
        /// Which.
        program: String,
        /// Why not.
        why: String,
        /// What a shell would end with: 127 if there is no such program, 126 if it cannot be run (sh(1p)).
        status: u8,
    },
    /// Something that was to be done before the program begins.
    #[error("{program} was not started: it cannot {what}: {error}")]
    Step {
        /// Which program.
        program: String,
        /// What could not be done.
        what: String,
        /// Why not.
        error: io::Error,
    },
    /// The system failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Launch {
    /// Runs a command to its end. Call it while the process has one thread, so that every signal comes here.
    pub fn run(self, command: Command) -> Result<ExitStatus, LaunchError> {
        // Found out beforehand, where the reason can still be reported: on a thread that ends at once.
        // A CPU that only the group has cannot be had from outside it.
        let (cpu, policy) = (self.cpu.filter(|_| self.group.is_none()), self.policy);
        std::thread::scope(|scope| scope.spawn(move || trial(cpu, policy)).join()).unwrap_or(Ok(()))?;
        if self.may_lock {
            lockable(self.user.is_none())?;
        }
        let _awake = if self.no_deep_idle { Some(LatencyRequest::hold(0)?) } else { None };

        let signals = Signals::hold()?;
        let program = command.get_program().to_string_lossy().into_owned();
        let group = child::process_group();
        let prepare = |command: &mut Command| child::prepare(command, &self, signals.before(), group);
        let keeper = Keeper::start(command, prepare, || self.step_aside());
        let keeper = keeper.map_err(|error| self.not_started(program, error))?;
        self.step_aside();
        let _awake = self.cpu.filter(|_| self.keep_awake).map(KeptAwake::hold).transpose()?;
        supervise(keeper, &signals).map_err(LaunchError::from)
    }

    fn not_started(&self, program: String, error: io::Error) -> LaunchError {
        let (step, error) = Step::of(error);
        if let Some(step) = step {
            return LaunchError::Step { program, what: step.what(self), error };
        }
        let (why, status) = match error.kind() {
            io::ErrorKind::NotFound => ("there is no such program".into(), 127),
            io::ErrorKind::PermissionDenied => ("it may not be run (is it executable?)".into(), 126),
            _ => (error.to_string(), 126),
        };
        LaunchError::Program { program, why, status }
    }

    /// Whoever waits for the program must not take its CPU.
    fn step_aside(&self) {
        let elsewhere: Vec<u32> = cpus::online().into_iter().filter(|cpu| Some(*cpu) != self.cpu).collect();
        if self.cpu.is_some() && !elsewhere.is_empty() {
            // Not allowed everywhere, and not essential.
            let _ = set_affinity(&elsewhere);
        }
    }
}

fn trial(cpu: Option<u32>, policy: Policy) -> Result<(), Refusal> {
    let mut setup = Setup::new();
    if let Some(cpu) = cpu {
        setup = setup.cpu(cpu);
    }
    if policy.is_real_time() {
        setup = setup.policy(policy);
    }
    setup.strict().map(drop)
}

/// Tried on this process, whose limit goes back at once: what the system grants is not written anywhere.
fn lockable(stays_root: bool) -> Result<(), Refusal> {
    let before = getrlimit(Resource::Memlock);
    let raised = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None });
    if raised.is_ok() {
        return setrlimit(Resource::Memlock, before).map_err(|e| Refusal::new("memory lock", e.to_string(), "none"));
    }
    let capable = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    match before.maximum {
        Some(bytes) if !(capable && stays_root) => Err(Refusal::new(
            "memory lock",
            format!("no more than {bytes} bytes may be locked, and the limit may not be raised (RLIMIT_MEMLOCK)"),
            "run as root with --keep-root, or add \"@realtime - memlock unlimited\" to /etc/security/limits.conf",
        )),
        _ => Ok(()),
    }
}

/// Waits for the program, and passes on what is sent to its supervisor.
fn supervise(mut keeper: Keeper, signals: &Signals) -> io::Result<ExitStatus> {
    loop {
        // Anew for each signal; without one every signal is passed on.
        let witness = Witness::start().ok();
        let mut signal = None;
        while signal.as_ref().is_none_or(Signal::is_of_a_child) {
            if let Some(status) = keeper.try_wait()? {
                return Ok(status);
            }
            signal = Some(signals.wait()?);
        }
        signal.inspect(|signal| signal.pass_on(&keeper, witness.as_ref()));
    }
}
