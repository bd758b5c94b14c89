//! Signs of life: a guardian that acts also while the process that it guards is there, where that gets no turn any more.
//!
//! The guarded process writes lines. An empty one is a sign of life. One that begins with `>` announces what begins, and is
//! answered with a byte once all before it is done; where something begins, signs of life must follow. What the guardian
//! did is a byte before that answer.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, getppid};

use super::program::{Guardian, Word, begin};

/// So often a sign of life is given.
const SIGN: Duration = Duration::from_millis(200);
/// The time without any is counted in so many parts. Time in which the guardian does not run either, as the machine sleeps
/// or is paused, is one of them at most.
const PARTS: u32 = 10;

const ANSWER: u8 = b'+';
const SILENT: u8 = b'!';
const STOPPED: u8 = b'-';
/// What an announcement begins with.
const ANNOUNCES: u8 = b'>';

/// Why a guardian acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// The process gave no sign of life.
    NoTurn,
    /// It was stopped, by a terminal (Ctrl-Z) or a debugger.
    Stopped,
}

impl Guardian {
    /// Gives a sign of life, where the last is older than 200 ms. A guardian that was killed needs none.
    pub fn sign_of_life(&mut self) {
        if self.last_sign.elapsed() >= SIGN {
            self.say("\n");
            self.last_sign = Instant::now();
        }
    }

    /// Announces what begins, in one line; nothing where that is empty: then no signs of life are needed. Returns whether
    /// the guardian acted since the last announcement, once it is done with that.
    pub fn announce(&mut self, what: &str) -> io::Result<Option<Silence>> {
        self.say(&format!("{}{what}\n", char::from(ANNOUNCES)));
        let (mut byte, mut acted) = ([0], None);
        loop {
            self.replies.read_exact(&mut byte)?;
            match byte[0] {
                ANSWER => return Ok(acted),
                STOPPED => acted = Some(Silence::Stopped),
                _ => acted = Some(Silence::NoTurn),
            }
        }
    }

    /// Waits, without a sign of life, until the guardian has acted or is gone; `false` where a signal came.
    pub fn wait_for_it(&mut self) -> io::Result<bool> {
        let mut replies = [PollFd::new(&self.replies, PollFlags::IN)];
        match poll(&mut replies, None) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            polled => polled.map(|_| true).map_err(Into::into),
        }
    }
}

/// What a program does that guards by signs of life: until the guarded process ends, which must be its parent. Where
/// something was announced and no sign came for `longest`, it acts, once until the next sign, and is given what was announced.
pub fn watch(longest: Duration, mut act: impl FnMut(&str, Silence)) -> Word {
    let guarded = getppid();
    begin();
    let part = Timespec::try_from(longest / PARTS).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
    let (mut announced, mut line) = (String::new(), Vec::new());
    let mut left = 0;
    loop {
        match poll(&mut [PollFd::new(&io::stdin(), PollFlags::IN)], (left > 0).then_some(&part)) {
            Ok(0) => {
                left -= 1;
                if left == 0 {
                    let silence = if is_stopped(guarded) { Silence::Stopped } else { Silence::NoTurn };
                    act(&announced, silence);
                    reply(if silence == Silence::Stopped { STOPPED } else { SILENT });
                }
                continue;
            }
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            // Without a way to hear of it, what is guarded counts as gone.
            Err(_) => return Word::Killed,
        }
        let mut bytes = [0; 256];
        let count = match rustix::io::read(io::stdin(), &mut bytes) {
            Ok(0) => return Word::ended(&line),
            Ok(count) => count,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return Word::Killed,
        };
        for byte in &bytes[..count] {
            if *byte != b'\n' {
                line.push(*byte);
                continue;
            }
            if let Some(what) = line.strip_prefix(&[ANNOUNCES]) {
                announced = String::from_utf8_lossy(what).into_owned();
                reply(ANSWER);
            }
            line.clear();
        }
        left = if announced.is_empty() { 0 } else { PARTS };
    }
}

/// A guarded process that is gone reads no reply; that it is gone is heard of next.
fn reply(byte: u8) {
    let _ = io::stdout().write_all(&[byte]).and_then(|()| io::stdout().flush());
}

/// Whether a process is stopped by a signal or a debugger (proc_pid_stat(5)).
fn is_stopped(process: Option<Pid>) -> bool {
    let stat = process.and_then(|pid| std::fs::read(format!("/proc/{pid}/stat")).ok()).unwrap_or_default();
    // The name before it may hold anything, also half a character, as the kernel cuts it after 15 octets.
    let state = stat.iter().rposition(|octet| *octet == b')').and_then(|end| stat.get(end + 2));
    matches!(state, Some(b'T' | b't'))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    /// A guardian in shell that says what this is, then waits for the end.
    fn that_says(bytes: &str) -> Guardian {
        let mut command = Command::new("sh");
        command.args(["-c", "printf \".$0\"; cat > /dev/null", bytes]);
        Guardian::start(&mut command).unwrap()
    }

    #[test]
    fn what_a_guardian_did_comes_before_its_answer() {
        for (bytes, acted) in [("+", None), ("!+", Some(Silence::NoTurn)), ("-+", Some(Silence::Stopped))] {
            let mut guardian = that_says(bytes);
            assert_eq!(guardian.announce("0 3").unwrap(), acted, "{bytes}");
            guardian.settle();
        }
        let mut gone = Guardian::start(Command::new("printf").arg(".")).unwrap();
        assert!(gone.announce("").is_err());
        // No sign is written in vain where nobody reads it.
        gone.sign_of_life();
    }

    #[test]
    fn a_process_is_stopped_while_it_is() {
        // The kernel cuts its name in the middle of the last character.
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("a-program-nameä");
        let sleep = ["/bin/sleep", "/usr/bin/sleep"].into_iter().find(|path| std::path::Path::new(path).exists());
        std::os::unix::fs::symlink(sleep.unwrap(), &program).unwrap();
        let mut child = Command::new(&program).arg0("sleep").arg("100").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert_eq!(std::fs::read(format!("/proc/{pid}/comm")).unwrap(), b"a-program-name\xc3\n");
        let until = |stopped| {
            while is_stopped(Some(pid)) != stopped {
                std::thread::yield_now();
            }
        };
        until(false);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        until(true);
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
        until(false);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_stopped(None));
    }
}
