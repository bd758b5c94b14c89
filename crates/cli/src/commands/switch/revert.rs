//! `ontick switch revert`

use std::time::Duration;

use clap::Args;
use ontick_switch::apply::{Live, Reverted, SwitchDir, Watcher, revert};
use ontick_undo::Undone;

use super::target_flags::{NameFlags, lock};
use super::{file, guardian, release};
use crate::failure::{Failure, Outcome};
use crate::{privileges, temporary_settings, terminal};

/// Who kept the switch notices ten times a second that it is gone.
const PATIENCE: Duration = Duration::from_secs(3);

/// Remove a switch and restore everything as it was before, whether it was set up in full or in part.
///
/// What another program changed meanwhile is reported and left. Exit status 1 if something could not be undone; that is
/// kept for another attempt.
#[derive(Args)]
#[command(after_help = "Example:\n  sudo ontick switch revert cell4")]
pub struct Revert {
    #[command(flatten)]
    name: NameFlags,
    /// Waits on standard input for the command that it guards to end, which sets up these switches
    #[arg(long, hide = true, value_name = "NAME", num_args = 1.., conflicts_with = "name")]
    guard: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Revert {
    pub fn run(self) -> Result<Outcome, Failure> {
        privileges::SWITCH_CHANGE.require("switch revert")?;
        if !self.guard.is_empty() {
            let folders = self.guard.iter().map(|name| self.name.state.folder(name)).collect::<Result<Vec<_>, _>>()?;
            return guardian::guard(&folders);
        }
        let switch = self.switch(self.name.folder()?)?;
        // Killed together with its guardians, `switch run` leaves settings of the machine, too.
        Ok(if revert_settings()? { switch } else { Outcome::NotMet })
    }

    fn switch(&self, folder: Option<SwitchDir>) -> Result<Outcome, Failure> {
        let Some(folder) = folder else { return self.report("", None) };
        let lock = lock(&folder)?;
        let watcher = folder.watcher();
        if watcher.is_some() {
            file::note(&format!("ontick switch run keeps switch {}, and ends with it", folder.name()));
        }
        release::ports(&[&folder]);
        let reverted = revert(&Live, &folder, &lock)?;
        drop(lock);
        await_end(watcher);
        self.report(folder.name(), reverted)
    }

    /// What was done; nothing where there was no such switch.
    fn report(&self, name: &str, reverted: Option<Reverted>) -> Result<Outcome, Failure> {
        let shown = reverted.as_ref().map_or_else(|| self.name.none(), |reverted| text(name, reverted));
        let reverted = reverted.unwrap_or_default();
        match self.json {
            true => terminal::print(&(serde_json::to_string_pretty(&reverted)? + "\n"))?,
            false => terminal::print(&shown)?,
        }
        Ok(if reverted.complete() { Outcome::Met } else { Outcome::NotMet })
    }
}

/// Waits for those who kept switches that are gone: their sockets and programs are at the ports until they end, which they do
/// as soon as they notice.
pub fn await_end(watchers: impl IntoIterator<Item = Watcher>) {
    let late = watchers.into_iter().filter(|watcher| !watcher.wait(PATIENCE)).count();
    if late > 0 {
        file::note("the process that kept it still runs; its sockets stay at the ports until it ends");
    }
}

/// Puts back the settings of the machine that a killed command left; whether none is left.
pub fn revert_settings() -> Result<bool, Failure> {
    let Some(reverted) = temporary_settings::revert_abandoned()? else { return Ok(true) };
    let mut paths: Vec<&str> = reverted.steps.iter().map(|step| step.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let paths = paths.join(", ");
    match reverted.complete() {
        true => file::note(&format!("settings of a command that was killed are as before: {paths}")),
        false => file::note(&format!(
            "settings of a command that was killed could not all be put back ({paths}): see ontick tune status"
        )),
    }
    Ok(reverted.complete())
}

/// What was done, with everything named that did not go as usual.
pub fn text(name: &str, reverted: &Reverted) -> String {
    if reverted.undone.is_empty() && reverted.damage.is_empty() {
        return "Nothing of it is left.\n".into();
    }
    let mut text = String::new();
    for reported in &reverted.undone {
        let why = match &reported.outcome {
            Undone::Restored | Undone::TakenOut | Undone::AlreadyAsBefore => continue,
            Undone::Gone => "the interface is gone",
            Undone::ChangedByOthers(why) | Undone::Superseded(why) | Undone::Refused(why) => why,
        };
        text += &format!("{}: {why}\n", reported.what);
    }
    reverted.damage.iter().for_each(|damage| text += &format!("{damage}\n"));
    if let Some(place) = &reverted.damaged {
        text += &format!("What can be read is undone. The journal is kept as {place}: look there for what is left.\n");
        return text;
    }
    text + &match reverted.complete() {
        true => format!("Switch {name} is gone; everything else is as before.\n"),
        false => format!("Not all of it could be undone; try again: sudo ontick switch revert {name}\n"),
    }
}
