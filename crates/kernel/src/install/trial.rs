//! The running kernel, booted once more with other arguments, in the next boot and only that. The boot after it is the usual
//! one, however that one ended.
//!
//! GRUB and systemd-boot get an entry of its own and a note that it is to be taken once, which they remove when they take it;
//! a Raspberry Pi's firmware gets files of its own, and is asked for them by the restart.

use ontick_machine::Root;
use ontick_machine::boot::{self, Argument, BootFiles, BootPlan, Tryboot, grubenv};
use ontick_machine::journal::{Journal, Undo};
use ontick_machine::root::FileError;

use super::InstallError;
use super::apply::choose;
use super::loader::{self, Firmware, NEXT, Once};

/// Name of the entry.
const NAME: &str = "ontick-search";

/// What is to be written for one boot.
#[derive(Debug, Clone)]
pub struct Trial {
    plan: BootPlan,
    choice: Choice,
}

/// How it is made the next boot's.
#[derive(Debug, Clone)]
enum Choice {
    Grub(Once),
    SystemdBoot(Firmware),
    AtRestart(&'static str),
}

impl Trial {
    /// Plans a boot with these arguments besides those of the usual one, whose command line is `usual`; changes nothing.
    pub fn plan(root: &Root, usual: &str, arguments: &[Argument]) -> Result<Self, InstallError> {
        let place = boot::find(root)?;
        let edits = loader::again(root, &place, usual, NAME, arguments)?.edits;
        let choice = match place {
            BootFiles::RaspberryPi { .. } => Choice::AtRestart(Tryboot::REBOOT),
            BootFiles::SystemdBoot { .. } => Choice::SystemdBoot(loader::firmware_once(root, NAME)?),
            _ => Choice::Grub(loader::grub_once(root, NAME)?),
        };
        Ok(Self { plan: BootPlan::of_edits(place, edits, false), choice })
    }

    /// Lets the next boot be that one. Every step is in the journal before it is made.
    pub fn arm(&self, root: &Root, journal: &mut Journal) -> Result<(), InstallError> {
        if let Some(problem) = boot::apply(root, &self.plan, journal).stopped {
            return Err(InstallError::BootFiles(problem));
        }
        // Last: without it the entry is nobody's choice.
        match &self.choice {
            Choice::Grub(once) => choose(root, once, journal),
            Choice::SystemdBoot(once) => choose_in_firmware(root, once, journal),
            Choice::AtRestart(_) => Ok(()),
        }
    }

    /// What the restart has to ask the firmware for.
    pub fn reboot_argument(&self) -> Option<&'static str> {
        match self.choice {
            Choice::AtRestart(argument) => Some(argument),
            _ => None,
        }
    }
}

fn choose_in_firmware(root: &Root, once: &Firmware, journal: &mut Journal) -> Result<(), InstallError> {
    let undo = Undo::Firmware {
        path: once.path.clone(),
        original: once.before.clone().map(Into::into),
        wanted: once.wanted.clone().into(),
    };
    let seq = journal.intend("boot", undo)?;
    let written = root.set_variable(&once.path, Some(&once.wanted));
    written.map_err(FileError::of(&once.path, "cannot be written"))?;
    Ok(journal.done(seq, None)?)
}

/// Whether the boot loader still waits to take the entry; none where it keeps no note of that.
pub fn is_pending(root: &Root) -> Option<bool> {
    match boot::find(root) {
        Ok(BootFiles::RaspberryPi { .. }) => None,
        Ok(BootFiles::SystemdBoot { .. }) => Some(loader::waits(root, NAME)),
        _ => {
            let block = loader::environment(root).ok().and_then(|path| root.text(&path).ok());
            Some(block.is_some_and(|text| grubenv::get(&text, NEXT) == Some(NAME)))
        }
    }
}

/// Whether a change was made for one boot.
pub fn is_of_trial(undo: &Undo) -> bool {
    match undo {
        Undo::File { path, .. } => {
            let name = path.rsplit('/').next().unwrap_or(path);
            ["custom.cfg", "loader.conf", "tryboot.txt"].contains(&name) || name.starts_with(NAME) && is_boot_file(path)
        }
        Undo::Variable { wanted, .. } => wanted == NAME,
        Undo::Firmware { .. } => true,
        _ => false,
    }
}

/// Not the unit of the search, whose name is the same.
fn is_boot_file(path: &str) -> bool {
    !path.starts_with("/etc/")
}
