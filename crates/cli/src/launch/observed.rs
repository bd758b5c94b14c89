//! A program that is started to be observed: as itself, with the rights that a program on time needs.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};

use super::Account;
use super::child::{become_user, check};

/// What it may set for its threads, as far as this process may allow it.
const HIGHEST_PRIORITY: u64 = 98;
/// A program that was asked to end has so long.
const GRACE: Duration = Duration::from_secs(2);

/// Ends when this is dropped.
pub struct Observed(Child);

impl Observed {
    /// Starts a command, as this user if not as the present one. When this process is killed it gets SIGTERM.
    pub fn start(mut command: Command, user: Option<Account>) -> io::Result<Self> {
        for (name, value) in user.iter().flat_map(Account::environment) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let parent = std::process::id() as libc::pid_t;
        let steps = move || {
            let priority = Some(HIGHEST_PRIORITY);
            // Raising them is root's alone. Where they may not be raised, what was granted before stays.
            let _ = setrlimit(Resource::Rtprio, Rlimit { current: priority, maximum: priority });
            let _ = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None });
            if let Some(user) = &user {
                become_user(user)?;
            }
            // SAFETY: prctl reads plain numbers; getppid has no preconditions.
            unsafe {
                check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM))?;
                if libc::getppid() != parent {
                    libc::raise(libc::SIGKILL);
                }
            }
            Ok(())
        };
        // SAFETY: the steps make system calls only; what they use was made beforehand.
        unsafe { command.pre_exec(steps) };
        command.spawn().map(Self)
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.0.id() as i32
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        if let (Ok(None), Some(pid)) = (self.0.try_wait(), Pid::from_raw(self.pid())) {
            let _ = kill_process(pid, Signal::TERM);
            let began = Instant::now();
            while matches!(self.0.try_wait(), Ok(None)) && began.elapsed() < GRACE {
                thread::sleep(Duration::from_millis(10));
            }
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}
