//! A search by restarts goes on from where its journal and the boot say that it is.

use std::time::{SystemTime, UNIX_EPOCH};

use ontick_machine::{Journal, Root};
use ontick_measure::search::{BootStep, NextBoot, SearchJournal, replay};

use super::asked::check_boots;
use super::{machine, result, session};
use crate::commands::tune::search::Search;
use crate::commands::tune::search::asked::Asked;
use crate::failure::{Failure, Outcome};
use crate::{stop, terminal};

/// Goes on, by the unit after a restart or by a person.
pub fn go_on(flags: &Search, root: &Root) -> Result<Outcome, Failure> {
    let path = machine::journal_path(root)?;
    let settings = Journal::open(root)?;
    let kept = match SearchJournal::read::<Asked>(&path, None) {
        Ok(kept) => kept,
        // Nothing can go on with it, and its unit would begin at each boot.
        Err(error) => return settled(root, settings, |_| Err(error.into())),
    };
    if let Some(boots) = flags.boots {
        check_boots(boots, kept.search.candidates.len())?;
        SearchJournal::resume::<Asked>(&path, None)?.add_boot(&BootStep::Most { boots })?;
    }
    with(flags, root, settings)
}

/// As above, with the right to change the machine. Whatever ends the search leaves the boot files as they were, and no unit
/// that would restart the machine again.
pub fn with(flags: &Search, root: &Root, settings: Journal) -> Result<Outcome, Failure> {
    settled(root, settings, |settings| steps(flags, root, settings))
}

fn settled(
    root: &Root,
    mut settings: Journal,
    search: impl FnOnce(&mut Journal) -> Result<Outcome, Failure>,
) -> Result<Outcome, Failure> {
    let ended = match search(&mut settings) {
        Err(failure) => {
            let put_back = machine::put_back(root, &mut settings, machine::is_ours);
            if let Err(also) = put_back {
                terminal::report(&also);
            }
            Err(failure)
        }
        done => done,
    };
    settings.close();
    ended
}

fn steps(flags: &Search, root: &Root, settings: &mut Journal) -> Result<Outcome, Failure> {
    let path = machine::journal_path(root)?;
    let stop = stop::on_signal()?;
    loop {
        let kept = SearchJournal::read::<Asked>(&path, None)?;
        let (asked, boots) = (&kept.search, kept.search.of_boots()?);
        let state = replay(asked.plan_of_boots(boots), &kept.boots);
        let mut journal = SearchJournal::resume::<Asked>(&path, None)?;
        let now = machine::boot_now(root);
        let next = state.next(&now);
        // First of all: whatever ends this boot from here on, it came up.
        if let NextBoot::Measure { number, .. } = &next {
            journal.add_boot(&BootStep::Up { number: *number, boot: now.boot.clone() })?;
        }
        machine::put_back(root, settings, machine::is_of_entry)?;
        match next {
            NextBoot::Restart { number, arm } => {
                machine::install_unit(root, settings)?;
                let mut argument = None;
                if !arm.is_empty() {
                    let trial = machine::trial(root, boots, &arm, number)?;
                    trial.arm(root, settings)?;
                    argument = trial.reboot_argument();
                }
                let at_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
                journal.add_boot(&BootStep::Asked { number, arm, from: now.boot, at_s })?;
                machine::restart(root, argument)?;
                let (measured, most) = (state.rounds.boots(), state.rounds.most());
                let by = argument.map_or_else(String::new, |argument| format!(" (reboot '{argument}')"));
                terminal::print(&format!("Boot {number} comes next{by}; {measured} of {most} are measured.\n"))?;
                return Ok(Outcome::Met);
            }
            NextBoot::Measure { number, arm } => {
                if !boots.is_arm(&arm, &machine::release(root), &machine::cmdline(root)) {
                    return Err(Failure::new(format!(
                        "this boot has another kernel or other arguments than the search asked for: {}",
                        machine::cmdline(root)
                    )));
                }
                let asked_at_s = state.asked_at_s();
                match session::measure(root, asked, boots, (number, &arm), asked_at_s, &stop)? {
                    Some(session) => journal.add_boot(&BootStep::Measured(session))?,
                    None => {
                        let give_up = machine::command(&flags.root, "--give-up");
                        terminal::print(&format!(
                            "Ended before this boot was measured. The search goes on at the next start of the machine; to end it: {give_up}\n"
                        ))?;
                        return Ok(Outcome::NotMet);
                    }
                }
            }
            NextBoot::Record(step) => journal.add_boot(&step)?,
            NextBoot::End => {
                machine::put_back(root, settings, machine::is_ours)?;
                if !kept.ended {
                    journal.end()?;
                }
                let outcome = result::deliver(flags, root, &kept)?;
                // What runs now is to be as it was, too.
                if now.number.is_some() {
                    machine::restart(root, None)?;
                }
                return Ok(outcome);
            }
            NextBoot::NotTaken => {
                return Err(Failure::new(
                    "the boot loader did not take the entry of the search: this machine is booted by other files than those that ontick found, or was restarted past its boot loader (kexec)",
                ));
            }
            NextBoot::BaseEnds => {
                return Err(Failure::new(
                    "the machine without any candidate was restarted twice while it was measured: there is nothing to compare with",
                ));
            }
        }
    }
}
