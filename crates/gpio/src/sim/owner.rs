//! Who has a simulated line as an output.

use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

/// A process: its number, and when it was started, so that a later one of the same number is not mistaken
/// for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner(u64);

impl Owner {
    /// This process.
    pub fn this() -> Self {
        Self::of(std::process::id())
    }

    pub(super) fn of(pid: u32) -> Self {
        Self(u64::from(pid) << 32 | u64::from(started(pid).unwrap_or(0)))
    }

    /// The owner that a chip names, if there is one and it lives.
    pub fn load(word: &AtomicU64) -> Option<Self> {
        let owner = Self(word.load(Ordering::Acquire));
        (owner.0 != 0 && owner.is_alive()).then_some(owner)
    }

    /// Writes this owner down, unless a living one is there: that is returned.
    pub fn claim(self, word: &AtomicU64) -> Result<(), Self> {
        loop {
            let there = word.load(Ordering::Acquire);
            if there != 0 && Self(there).is_alive() {
                return Err(Self(there));
            }
            if word.compare_exchange(there, self.0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Ok(());
            }
        }
    }

    fn pid(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn is_alive(self) -> bool {
        started(self.pid()).is_some_and(|started| started == self.0 as u32)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = text(self.pid(), "comm").unwrap_or_default();
        match name.trim() {
            "" => write!(f, "process {}", self.pid()),
            name => write!(f, "{name} (process {})", self.pid()),
        }
    }
}

/// When a process that has not ended was started, in the kernel's ticks since boot, cut to 32 bits (field 22 of
/// proc_pid_stat(5)). One that was killed stays there until its parent has waited for it.
fn started(pid: u32) -> Option<u32> {
    started_by(&text(pid, "stat")?)
}

/// What `/proc` says of a process. Its name may hold any octets, and is cut after 15 of them. (This file is also built
/// without `ontick-rt`, for `interleavings`.)
fn text(pid: u32, name: &str) -> Option<String> {
    fs::read(format!("/proc/{pid}/{name}")).ok().map(|octets| String::from_utf8_lossy(&octets).into_owned())
}

fn started_by(stat: &str) -> Option<u32> {
    // The name in the second field may hold anything, also blanks and brackets.
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let (state, threads, ticks) = (*fields.first()?, *fields.get(17)?, fields.get(19)?);
    // Of a process whose first thread alone has ended the others work on.
    let has_ended = state == "X" || state == "Z" && threads.parse::<u32>().is_ok_and(|threads| threads <= 1);
    ticks.parse::<u64>().ok().filter(|_| !has_ended).map(|ticks| ticks as u32)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    use super::*;

    #[test]
    fn the_dead_own_nothing() {
        let word = AtomicU64::new(0);
        let own = Owner::this();
        assert_eq!(own.claim(&word), Ok(()));
        assert_eq!(Owner::load(&word), Some(own));
        assert_eq!(own.claim(&word), Err(own));
        assert!(own.to_string().contains(&format!("(process {})", std::process::id())));

        // The same number, started at another time: somebody else, and gone.
        word.store(own.0 ^ 1, Ordering::Relaxed);
        assert_eq!(Owner::load(&word), None);
        assert_eq!(own.claim(&word), Ok(()));
    }

    #[test]
    fn the_killed_own_nothing_although_nobody_has_waited_for_them_yet() {
        let word = AtomicU64::new(0);
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let (pid, owner) = (Pid::from_child(&child), Owner::of(child.id()));
        assert_eq!((owner.claim(&word), Owner::load(&word)), (Ok(()), Some(owner)));
        child.kill().unwrap();
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        let (loaded, claimed) = (Owner::load(&word), Owner::this().claim(&word));
        child.wait().unwrap();
        assert_eq!((loaded, claimed), (None, Ok(())));
    }

    /// The kernel cuts names after 15 octets.
    #[test]
    fn an_owner_whose_name_is_cut_in_the_middle_of_a_character_lives() {
        let (named, has_name) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        // To `/proc`, a thread is as good as a process.
        let thread = std::thread::spawn(move || {
            rustix::thread::set_name(c"pr\xc3").unwrap();
            named.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let _ = ended.recv();
        });
        let tid = has_name.recv().unwrap();
        let (word, owner) = (AtomicU64::new(0), Owner::of(tid));
        let claimed = (owner.claim(&word), Owner::this().claim(&word));
        let shown = owner.to_string();
        drop(end);
        thread.join().unwrap();
        assert_eq!(claimed, (Ok(()), Err(owner)));
        assert_eq!(shown, format!("pr\u{fffd} (process {tid})"));
    }

    /// The others may well drive a line.
    #[test]
    fn a_process_whose_first_thread_has_ended_lives() {
        let text = |state: &str, threads: u32| {
            format!("7 (a) b) {state} 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 {threads} 0 4711 0 0")
        };
        assert_eq!(["S", "Z", "X"].map(|state| started_by(&text(state, 1))), [Some(4711), None, None]);
        assert_eq!(started_by(&text("Z", 2)), Some(4711));
    }
}
