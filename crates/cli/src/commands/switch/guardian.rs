//! A second ontick that takes switches away again: when the command that it guards is killed, or when nobody confirms in
//! time. It is in a session of its own, so that neither Ctrl-C nor the end of an SSH connection ends it.

use std::process::Stdio;
use std::time::Duration;

use ontick_rt::clock::ClockId;
use ontick_switch::apply::{Journal, Live, SwitchDir, revert};
use ontick_undo::guardian::{self, Guardian, Word};

use super::release;
use super::target_flags::{StateFlag, lock};
use crate::failure::{Failure, Outcome};
use crate::itself;

/// A confirmation is looked for so often.
const TURN: Duration = Duration::from_millis(100);

/// Starts it; from here on, the end of this process takes the switches away, one after the other. Left with a time, it
/// takes them away then, except those that are confirmed.
pub fn start(folders: &[&SwitchDir], state: &StateFlag) -> Result<Guardian, Failure> {
    let names: Vec<&str> = folders.iter().map(|folder| folder.name()).collect();
    start_as(&[&["switch", "revert", "--guard"], names.as_slice()].concat(), state)
}

/// Starts ontick as guardian with another task.
pub fn start_as(words: &[&str], state: &StateFlag) -> Result<Guardian, Failure> {
    let mut command = itself::command();
    command.args(words).args(state.words()).stderr(Stdio::null());
    Guardian::start(&mut command).map_err(|e| Failure::new(format!("ontick cannot start itself as guardian: {e}")))
}

/// What the guardian does.
pub fn guard(folders: &[SwitchDir]) -> Result<Outcome, Failure> {
    let until_ns = match guardian::wait() {
        Word::Settled => return Ok(Outcome::Met),
        Word::Left(time) => time.parse::<u64>().ok(),
        Word::Killed => None,
    };
    if let Some(until_ns) = until_ns {
        while ClockId::Monotonic.now_ns() < until_ns {
            if folders.iter().all(|folder| folder.pending() != Some(until_ns)) {
                return Ok(Outcome::Met);
            }
            std::thread::sleep(TURN);
        }
    }
    let Some(first) = folders.first() else { return Ok(Outcome::Met) };
    // One lock is for all switches.
    let lock = lock(first)?;
    let mut outcome = Outcome::Met;
    // They may have been confirmed, or reverted and set up anew, while the lock was waited for.
    let confirmed = |folder: &SwitchDir| until_ns.is_some_and(|until_ns| folder.pending() != Some(until_ns));
    let folders: Vec<&SwitchDir> = folders.iter().filter(|folder| !confirmed(folder)).collect();
    release::ports(&folders);
    for folder in folders {
        if Journal::read(folder)?.is_none() {
            continue;
        }
        if revert(&Live, folder, &lock)?.is_some_and(|reverted| !reverted.complete()) {
            outcome = Outcome::NotMet;
        }
    }
    Ok(outcome)
}
