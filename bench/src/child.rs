//! Another program, run to its end: what it printed, and what time and memory it took.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal};
use rustix::time::Timespec;

/// A program and its arguments, as they are shown and run.
pub type Words = Vec<String>;

/// What a program did.
#[derive(Debug)]
pub struct Finished {
    /// What it printed.
    pub stdout: String,
    /// From before its start to after its end.
    pub wall: Duration,
    /// CPU time of all its threads, in user and in system mode.
    pub cpu: Duration,
    /// The most memory that it ever held, in KiB.
    pub peak_kib: u64,
}

/// Runs a program to its end. Any end but success is an error, with what the program said about it.
pub fn run(words: &[String]) -> Result<Finished, String> {
    start(words)?.finish()
}

/// The same, where status 1 says that something was measured and not met.
pub fn run_whether_met(words: &[String]) -> Result<Finished, String> {
    start(words)?.finish_as(&[0, 1])
}

/// The same with a limit; nothing where it was reached, and the program and all that it had started were ended.
pub fn run_within(words: &[String], limit: Duration) -> Result<Option<Finished>, String> {
    let mut running = start_with(words, |command| {
        command.process_group(0);
    })?;
    let ended = running.ends_within(limit).map_err(|e| format!("{}: {e}", words[0]))?;
    if !ended {
        running.end_group();
        return Ok(None);
    }
    running.finish().map(Some)
}

/// A program that runs. Dropping it ends the program.
#[derive(Debug)]
pub struct Running {
    words: Words,
    child: Child,
    began: Instant,
    // Files rather than pipes: nobody has to read while the program is measured.
    stdout: File,
    stderr: File,
    reaped: bool,
}

/// Starts a program.
pub fn start(words: &[String]) -> Result<Running, String> {
    start_with(words, |_| ())
}

fn start_with(words: &[String], adjust: impl FnOnce(&mut Command)) -> Result<Running, String> {
    let (program, arguments) = words.split_first().ok_or("there is no program to run")?;
    let fail = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("there is no program \"{program}\" (packaging/needs bench installs the peers)")
        }
        _ => format!("{program}: {error}"),
    };
    let (stdout, stderr) = (tempfile::tempfile().map_err(fail)?, tempfile::tempfile().map_err(fail)?);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.stdout(stdout.try_clone().map_err(fail)?).stderr(stderr.try_clone().map_err(fail)?);
    end_with_this_process(&mut command);
    adjust(&mut command);
    let began = Instant::now();
    let child = command.spawn().map_err(fail)?;
    Ok(Running { words: words.to_vec(), child, began, stdout, stderr, reaped: false })
}

impl Running {
    /// What it has said so far, on standard error.
    pub fn said(&self) -> Result<String, String> {
        so_far(&self.stderr).map_err(|e| format!("{}: {e}", self.words[0]))
    }

    /// What it has printed so far.
    pub fn printed(&self) -> Result<String, String> {
        so_far(&self.stdout).map_err(|e| format!("{}: {e}", self.words[0]))
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended before its time.
    pub fn has_ended(&mut self) -> Result<bool, String> {
        let status = self.child.try_wait().map_err(|e| format!("{}: {e}", self.words[0]))?;
        self.reaped |= status.is_some();
        Ok(status.is_some())
    }

    /// Whether it ends in time. It is not reaped, so that what it used can be known.
    fn ends_within(&self, limit: Duration) -> io::Result<bool> {
        let pid = Pid::from_child(&self.child);
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        let until = self.began + limit;
        loop {
            let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
            match poll(&mut [PollFd::new(&handle, PollFlags::IN)], left.as_ref()) {
                Ok(ready) => return Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => (),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Ends it and all that it started, where it has a group of its own.
    fn end_group(&mut self) {
        let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }

    /// Waits for its end.
    pub fn finish(self) -> Result<Finished, String> {
        self.finish_as(&[0])
    }

    fn finish_as(mut self, good: &[i32]) -> Result<Finished, String> {
        let program = self.words[0].clone();
        let fail = |error: io::Error| format!("{program}: {error}");
        let (status, usage) = wait(self.child.id()).map_err(fail)?;
        self.reaped = true;
        let wall = self.began.elapsed();
        let said = text(&mut self.stdout).map_err(fail)?;
        if !status.code().is_some_and(|code| good.contains(&code)) {
            let complaint = format!("{}\n{said}", text(&mut self.stderr).map_err(fail)?);
            let last = complaint.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it said nothing");
            return Err(format!("{program} ended with {status}: {last} (try it by hand: {})", self.words.join(" ")));
        }
        let time = |t: libc::timeval| Duration::new(t.tv_sec.max(0) as u64, t.tv_usec.max(0) as u32 * 1_000);
        let cpu = time(usage.ru_utime) + time(usage.ru_stime);
        Ok(Finished { stdout: said, wall, cpu, peak_kib: usage.ru_maxrss.max(0) as u64 })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The most memory that this process ever held, in KiB: less cannot be told of a child, because its count
/// begins with what it was forked from.
pub fn own_peak_kib() -> u64 {
    let mut usage = nothing();
    // SAFETY: usage is valid for writes.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    usage.ru_maxrss.max(0) as u64
}

/// Not by the file's position, which is the program's too.
fn so_far(file: &File) -> io::Result<String> {
    let (mut bytes, mut at) = (vec![0; 4096], 0);
    loop {
        match file.read_at(&mut bytes[at..], at as u64)? {
            0 => return Ok(String::from_utf8_lossy(&bytes[..at]).into_owned()),
            read => at += read,
        }
        bytes.resize(at + 4096, 0);
    }
}

fn text(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A measurement of an hour must not go on when the bench was killed.
pub fn end_with_this_process(command: &mut Command) {
    // SAFETY: between fork and exec only prctl is called, which is async-signal-safe.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
}

fn wait(pid: u32) -> io::Result<(ExitStatus, libc::rusage)> {
    let (mut status, mut usage) = (0, nothing());
    // SAFETY: both are valid for writes, and the process is a child that nobody else waits for.
    while unsafe { libc::wait4(pid as libc::pid_t, &mut status, 0, &mut usage) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok((ExitStatus::from_raw(status), usage))
}

fn nothing() -> libc::rusage {
    // SAFETY: a rusage holds integers alone, for which zero is a value.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    fn sh(script: &str) -> Result<Finished, String> {
        run(&["sh", "-c", script].map(String::from))
    }

    #[test]
    fn what_a_program_prints_and_uses_is_reported() {
        let finished = sh("i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; echo done").unwrap();
        assert_eq!(finished.stdout, "done\n");
        assert!(
            finished.peak_kib > 0 && finished.cpu > Duration::ZERO && finished.wall > Duration::ZERO,
            "{finished:?}"
        );
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        run(&["mkfifo".into(), pipe.display().to_string()]).unwrap();
        let reader = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&pipe).unwrap();
        let within =
            |script: &str, limit| run_within(&["sh", "-c", script].map(String::from), Duration::from_secs(limit));
        // The pipe has a writer for as long as the program's child lives.
        assert!(within(&format!("exec 3>{}; sleep 1000 & wait", pipe.display()), 2).unwrap().is_none());
        let patience = Timespec::try_from(Duration::from_secs(100)).unwrap();
        assert_eq!(poll(&mut [PollFd::new(&reader, PollFlags::empty())], Some(&patience)), Ok(1));
        assert_eq!(within("echo done", 1_000).unwrap().unwrap().stdout, "done\n");
    }

    #[test]
    fn a_program_that_fails_or_is_missing_is_explained() {
        assert!(sh("echo no privileges >&2; exit 3").unwrap_err().contains("no privileges"));
        assert!(run(&["/no/such/program".into()]).unwrap_err().contains("there is no program"));
    }
}
