//! The machine that is restarted: its boots, its boot files and the unit that goes on with the search.

use std::path::PathBuf;

use ontick_kernel::install::trial::{self, Trial};
use ontick_kernel::install::{InstallError, LoaderError, OnceError};
use ontick_machine::boot::{self, BootPlan, Edit, unit};
use ontick_machine::journal::Undo;
use ontick_machine::revert::revert_but;
use ontick_machine::{Journal, Root};
use ontick_measure::search::BootNow;
use ontick_undo::program;

use crate::commands::tune::program;
use crate::commands::tune::search::asked_boots::{AskedBoots, argument};
use crate::failure::Failure;
use crate::flags::RootFlag;

/// Where the search is written down. Only root can write there, as the unit reads it as root.
const JOURNAL: &str = "/var/lib/ontick/search-boot.jsonl";
/// On the command line of a boot that is tried: its number.
const MARK: &str = "ontick.search";
/// A kernel that panics in such a boot restarts after so many seconds.
const PANIC: &str = "panic=60";

pub fn journal_path(root: &Root) -> Result<PathBuf, Failure> {
    root.outside(JOURNAL).map_err(|e| Failure::new(format!("{JOURNAL}: {e}")))
}

pub fn release(root: &Root) -> String {
    root.value("/proc/sys/kernel/osrelease").unwrap_or_default()
}

pub fn cmdline(root: &Root) -> String {
    root.value("/proc/cmdline").unwrap_or_default()
}

/// The boot that this is.
pub fn boot_now(root: &Root) -> BootNow {
    let number = ontick_machine::facts::Arguments::parse(&cmdline(root)).get(MARK).and_then(|n| n.parse().ok());
    let boot = root.value("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    BootNow { boot, number, pending: trial::is_pending(root) }
}

/// Plans the next boot with the arguments of an arm.
pub fn trial(root: &Root, asked: &AskedBoots, arm: &[usize], number: u64) -> Result<Trial, Failure> {
    let mut arguments = vec![argument(&format!("{MARK}={number}"))];
    arguments.extend(asked.of_arm(arm));
    if ontick_machine::facts::Arguments::parse(&asked.usual).get("panic").is_none() {
        arguments.push(argument(PANIC));
    }
    Trial::plan(root, &asked.usual, &arguments).map_err(no_trial)
}

fn no_trial(error: InstallError) -> Failure {
    match error {
        InstallError::Loader(LoaderError::Once(OnceError::NoTrial(_))) => Failure::new(format!(
            "{error}: write them for good (ontick tune apply --boot), and measure before and after"
        )),
        other => Failure::new(other),
    }
}

/// Writes the unit that goes on with the search at each boot, if it is not there.
pub fn install_unit(root: &Root, settings: &mut Journal) -> Result<(), Failure> {
    let text = unit::search_text(&program(root)?, &["tune", "search", "--boot", "--continue"]).map_err(Failure::new)?;
    let Some(edit) = Edit::new(unit::SEARCH_PATH, root.text(unit::SEARCH_PATH).ok(), text) else {
        return Ok(unit::enable(root, unit::SEARCH_PATH, settings)?);
    };
    let plan = BootPlan::of_edits(boot::find(root).map_err(Failure::new)?, vec![edit], false);
    match boot::apply(root, &plan, settings).stopped {
        Some(problem) => Err(Failure::new(problem)),
        None => Ok(unit::enable(root, unit::SEARCH_PATH, settings)?),
    }
}

/// What a search changes: the unit, and the entry.
pub fn is_ours(undo: &Undo) -> bool {
    let of_unit = match undo {
        Undo::File { path, .. } => path == unit::SEARCH_PATH,
        Undo::Link { target, .. } => target == unit::SEARCH_PATH,
        Undo::Folder { path } => path.starts_with("/etc/systemd"),
        _ => false,
    };
    of_unit || is_of_entry(undo)
}

/// What it changes for one boot.
pub fn is_of_entry(undo: &Undo) -> bool {
    trial::is_of_trial(undo)
}

/// Puts back what was changed of this kind.
pub fn put_back(root: &Root, settings: &mut Journal, which: fn(&Undo) -> bool) -> Result<(), Failure> {
    let reverted = revert_but(root, settings, false, |undo| !which(undo));
    boot::run(root, &reverted.commands);
    if reverted.complete() {
        return Ok(());
    }
    let open = reverted.steps.iter().filter(|step| !step.outcome.settled()).map(|step| step.path.as_str());
    let why = reverted.stopped.clone().unwrap_or_else(|| open.collect::<Vec<_>>().join(", "));
    Err(Failure::new(format!("not all boot files could be put back ({why}): see ontick tune status")))
}

/// Restarts the machine, with what the firmware is asked for, and comes back once that is on its way. One in a folder is
/// restarted by whoever models it.
pub fn restart(root: &Root, argument: Option<&str>) -> Result<(), Failure> {
    if !root.is_live() {
        return Ok(());
    }
    let failed = |why: String| Failure::new(format!("the machine could not be restarted (systemctl reboot): {why}"));
    let asks = argument.map(|argument| format!("--reboot-argument={argument}"));
    match program::command("systemctl").and_then(|mut systemctl| systemctl.arg("reboot").args(asks).output()) {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        Err(e) => Err(failed(e.to_string())),
    }
}

/// A command that is to be typed.
pub fn command(flag: &RootFlag, words: &str) -> String {
    flag.command(&format!("sudo ontick tune search --boot {words}"))
}
