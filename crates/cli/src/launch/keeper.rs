//! Who keeps the program: its parent, so that all that it starts can be ended when its supervisor is killed.
//!
//! A child of this process keeps the program as its own child. It is the reaper of whatever the program leaves behind
//! (`PR_SET_CHILD_SUBREAPER`): a process that detached itself, or changed its user, becomes its child and is found. It has
//! a process group of its own, so that keys of a terminal and signals to the group are not for it.
#![allow(unsafe_code)]

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// What the program leaves behind is killed so long after the program was asked to end.
const GRACE: Duration = Duration::from_secs(1);
/// Whether all have ended is looked at so often.
const TURN: Duration = Duration::from_millis(10);

/// What is left is given up when so often none of it could be killed.
const TRIES: u32 = 100;
/// The supervisor knows how the program ended: what the program left behind is nobody's business.
const ACKNOWLEDGED: i32 = 1;

/// The process that keeps the program, and what it says of it.
pub(super) struct Keeper {
    process: libc::pid_t,
    program: libc::pid_t,
    /// The program, whoever has its number by now; none on old kernels.
    handle: Option<OwnedFd>,
    report: UnixStream,
}

impl Keeper {
    /// Starts a command below a keeper, in the process group of this process. `prepare` and `settle` run in the keeper,
    /// before and after the program starts. This process must have one thread.
    pub fn start(
        mut command: Command,
        prepare: impl FnOnce(&mut Command) -> io::Result<()>,
        settle: impl FnOnce(),
    ) -> io::Result<Self> {
        let (mut report, reporter) = UnixStream::pair()?;
        // SAFETY: this process has one thread, so that the new one may do whatever this one may.
        let process = unsafe {
            let parent = libc::getpid();
            match libc::fork() {
                -1 => return Err(io::Error::last_os_error()),
                0 => {
                    drop(report);
                    let keep = move || keep(parent, reporter, &mut command, prepare, settle);
                    // Never into the code of the parent.
                    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(keep));
                    libc::_exit(1)
                }
                process => process,
            }
        };
        drop(reporter);
        let (error, program) = (word(&mut report), word(&mut report));
        match (error, program) {
            (Ok(0), Ok(program)) => {
                report.set_nonblocking(true)?;
                Ok(Self { process, program, handle: handle(program), report })
            }
            (error, _) => {
                reap(process, 0);
                Err(match error {
                    Ok(error) if error > 0 => io::Error::from_raw_os_error(error),
                    _ => io::Error::other("ontick could not start a process that keeps it"),
                })
            }
        }
    }

    /// The program's number.
    pub fn program(&self) -> libc::pid_t {
        self.program
    }

    /// How the program ended, if it did.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match word(&mut self.report) {
            Ok(status) => {
                send(&mut self.report, ACKNOWLEDGED)?;
                reap(self.process, 0);
                Ok(Some(ExitStatus::from_raw(status)))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !reap(self.process, libc::WNOHANG) => Ok(None),
            Err(_) => Err(io::Error::other("the process of ontick that kept the program was killed")),
        }
    }

    /// Sends the program a signal, if it is still there.
    pub fn signal(&self, number: libc::c_int) {
        // SAFETY: plain numbers and no pointer but a null one.
        unsafe {
            match &self.handle {
                Some(handle) => {
                    let none = std::ptr::null::<libc::siginfo_t>();
                    libc::syscall(libc::SYS_pidfd_send_signal, handle.as_raw_fd(), number, none, 0);
                }
                None => {
                    libc::kill(self.program, number);
                }
            }
        }
    }
}

/// What the new process does.
fn keep(
    parent: libc::pid_t,
    mut reporter: UnixStream,
    command: &mut Command,
    prepare: impl FnOnce(&mut Command) -> io::Result<()>,
    settle: impl FnOnce(),
) {
    // SAFETY: system calls with plain numbers and sets that are filled before they are used.
    let signals = unsafe {
        libc::prctl(libc::PR_SET_NAME, c"ontick-keeper".as_ptr());
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
        // Its death is heard as that of a child.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGCHLD);
        libc::setpgid(0, 0);
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, libc::SIGCHLD);
        signals
    };
    let spawned = prepare(command).and_then(|()| command.spawn());
    let program = match &spawned {
        Ok(child) => child.id() as libc::pid_t,
        Err(error) => {
            let _ = send(&mut reporter, error.raw_os_error().filter(|error| *error > 0).unwrap_or(-1));
            return;
        }
    };
    settle();
    close_others(reporter.as_raw_fd());
    let reported = send(&mut reporter, 0).and_then(|()| send(&mut reporter, program));
    let is_orphan = || {
        // SAFETY: getppid has no preconditions.
        unsafe { libc::getppid() != parent }
    };
    while reported.is_ok() && !is_orphan() {
        match reaped() {
            Reaped::One(process, status) if process == program => {
                // Whoever kills the whole process group kills both, and the program may be the first to end.
                if is_acknowledged(&mut reporter, parent, status) {
                    return;
                }
                break;
            }
            Reaped::One(..) => {}
            Reaped::NoneYet => wait(&signals, None),
            Reaped::NoChildren => return,
        }
    }
    end_all(program, &signals);
}

/// Tells how the program ended; whether the supervisor has heard it, and is not killed.
fn is_acknowledged(reporter: &mut UnixStream, parent: libc::pid_t, status: i32) -> bool {
    let reported = send(reporter, status).map(|()| {
        // SAFETY: plain numbers. Should the supervisor have died, and its number be another's, that one passes it over.
        unsafe { libc::kill(parent, libc::SIGCHLD) }
    });
    reported.and_then(|_| word(reporter)).is_ok_and(|word| word == ACKNOWLEDGED)
}

/// Asks the program to end, and kills what is left of it and of all that it started.
fn end_all(program: libc::pid_t, signals: &libc::sigset_t) {
    if descendants().contains(&program) {
        // SAFETY: the program is our child and not waited for yet, so its number is still its own.
        unsafe { libc::kill(program, libc::SIGTERM) };
    }
    let (began, mut in_vain) = (Instant::now(), 0);
    loop {
        match reaped() {
            Reaped::One(..) => continue,
            Reaped::NoChildren => return,
            Reaped::NoneYet => {}
        }
        if began.elapsed() >= GRACE {
            in_vain = if kill_all(&descendants()) { 0 } else { in_vain + 1 };
            // What cannot be killed (another user's, where this is not root) is nobody's to wait for.
            if in_vain > TRIES {
                return;
            }
        }
        wait(signals, Some(TURN));
    }
}

/// Whether any of them could be killed.
fn kill_all(processes: &[libc::pid_t]) -> bool {
    // SAFETY: kill reads plain numbers. Each is a descendant of this process, which alone can wait for it or for the
    // one that it becomes a child of.
    processes.iter().filter(|process| unsafe { libc::kill(**process, libc::SIGKILL) } == 0).count() > 0
}

/// All processes below this one that have not ended.
fn descendants() -> Vec<libc::pid_t> {
    let processes: Vec<(libc::pid_t, libc::pid_t)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let process = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read(entry.path().join("stat")).ok()?;
            // The name may hold anything, brackets and spaces too.
            let after_name = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
            let mut fields = std::str::from_utf8(after_name).ok()?.split_whitespace();
            let state = fields.next()?;
            let parent = fields.next()?.parse().ok()?;
            (state != "Z").then_some((process, parent))
        })
        .collect();
    let mut found = vec![std::process::id() as libc::pid_t];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(processes.iter().filter(|(_, of)| *of == parent).map(|(process, _)| *process));
        at += 1;
    }
    found.split_off(1)
}

enum Reaped {
    One(libc::pid_t, libc::c_int),
    NoneYet,
    NoChildren,
}

/// Whatever child has ended.
fn reaped() -> Reaped {
    let mut status = 0;
    // SAFETY: the status is valid for writes.
    match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
        0 => Reaped::NoneYet,
        process if process > 0 => Reaped::One(process, status),
        _ => Reaped::NoChildren,
    }
}

/// Whether this child has ended; waits for it unless the flags say otherwise.
fn reap(process: libc::pid_t, flags: libc::c_int) -> bool {
    loop {
        // SAFETY: no status is asked for.
        match unsafe { libc::waitpid(process, std::ptr::null_mut(), flags) } {
            0 => return false,
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return true,
        }
    }
}

/// Waits for a signal, at most so long.
fn wait(signals: &libc::sigset_t, longest: Option<Duration>) {
    let none = std::ptr::null_mut();
    // SAFETY: the set is initialised, and no information is asked for.
    unsafe {
        match longest {
            None => libc::sigwaitinfo(signals, none),
            Some(time) => {
                let time = libc::timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos() as _ };
                libc::sigtimedwait(signals, none, &time)
            }
        }
    };
}

/// What the supervisor has open is not for its keeper: settings may stand for as long as a file is open.
fn close_others(but: RawFd) {
    let close = |first: libc::c_uint, last: libc::c_uint| {
        // SAFETY: no object of the keeper uses any of these descriptors after this.
        first > last || unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0
    };
    let but = but as libc::c_uint;
    if !(close(3, but - 1) && close(but + 1, libc::c_uint::MAX)) {
        // Before Linux 5.9.
        for descriptor in (3..1024).filter(|descriptor| *descriptor != but as RawFd) {
            // SAFETY: as above.
            unsafe { libc::close(descriptor) };
        }
    }
}

fn handle(process: libc::pid_t) -> Option<OwnedFd> {
    // SAFETY: a plain number; the descriptor, if any, is new and owned by nobody else.
    unsafe {
        let handle = libc::syscall(libc::SYS_pidfd_open, process, 0);
        (handle >= 0).then(|| OwnedFd::from_raw_fd(handle as RawFd))
    }
}

fn send(to: &mut UnixStream, word: i32) -> io::Result<()> {
    to.write_all(&word.to_ne_bytes())
}

fn word(from: &mut UnixStream) -> io::Result<i32> {
    let mut word = [0; 4];
    from.read_exact(&mut word)?;
    Ok(i32::from_ne_bytes(word))
}
