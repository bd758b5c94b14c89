//! A second ontick that takes a switch away again: when the command that it guards is killed, or when nobody confirms in
//! time. It is in a session of its own, so that neither Ctrl-C nor the end of an SSH connection ends it.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ontick_rt::clock::ClockId;
use ontick_switch::apply::{Folder, Journal, Live, revert};

use super::aimed::{StateFlag, lock};
use crate::failure::{Failure, Outcome};

/// What the command says when there is nothing left to do.
const SETTLED: &str = ".";
/// A confirmation is looked for so often.
const TURN: Duration = Duration::from_millis(100);

/// The guardian, as the command has it.
pub struct Guardian {
    child: Child,
}

impl Guardian {
    /// Starts it; from here on, the end of this process takes the switch away.
    pub fn start(folder: &Folder, state: &StateFlag) -> Result<Self, Failure> {
        let failed = |e: io::Error| Failure::new(format!("ontick cannot start itself as guardian: {e}"));
        let mut child = Command::new("/proc/self/exe")
            .args(["switch", "revert", folder.name(), "--guard"])
            .args(state.words())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        // It says a word once it is on its own.
        let mut word = [0];
        child.stdout.take().expect("it is piped").read_exact(&mut word).map_err(failed)?;
        Ok(Self { child })
    }

    /// Nothing is left to guard.
    pub fn settle(mut self) {
        self.say(SETTLED);
        let _ = self.child.wait();
    }

    /// Leaves it alone with the switch, which goes at this time unless it is confirmed.
    pub fn leave_until(mut self, until_ns: u64) {
        self.say(&until_ns.to_string());
    }

    fn say(&mut self, word: &str) {
        if let Some(mut pipe) = self.child.stdin.take() {
            let _ = pipe.write_all(word.as_bytes());
        }
    }
}

/// What the guardian does.
pub fn guard(folder: &Folder) -> Result<Outcome, Failure> {
    let _ = rustix::process::setsid();
    let _ = io::stdout().write_all(b".").and_then(|()| io::stdout().flush());
    let mut said = String::new();
    let _ = io::stdin().read_to_string(&mut said);
    if said == SETTLED {
        return Ok(Outcome::Met);
    }
    if let Ok(until_ns) = said.parse::<u64>() {
        while ClockId::Monotonic.now_ns() < until_ns {
            if folder.pending() != Some(until_ns) {
                return Ok(Outcome::Met);
            }
            std::thread::sleep(TURN);
        }
    }
    let lock = lock(folder)?;
    // It may have been confirmed, or reverted and set up anew, while the lock was waited for.
    let confirmed = said.parse::<u64>().is_ok_and(|until_ns| folder.pending() != Some(until_ns));
    if confirmed || Journal::read(folder)?.is_none() {
        return Ok(Outcome::Met);
    }
    let reverted = revert(&Live, folder, &lock)?;
    Ok(if reverted.is_none_or(|reverted| reverted.complete()) { Outcome::Met } else { Outcome::NotMet })
}
