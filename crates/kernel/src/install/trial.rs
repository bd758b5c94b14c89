//! The running kernel, booted once more with other arguments: an entry of its own in GRUB's menu, which is taken for the
//! next boot and only that. The boot after it is the usual one, however that one ended.

use ontick_machine::Root;
use ontick_machine::boot::{self, Argument, BootFiles, BootPlan, grubenv};
use ontick_machine::journal::Journal;

use super::apply::choose;
use super::loader::{self, NEXT, Once};
use super::{InstallError, LoaderError, OnceError};

/// Name of the entry.
pub const NAME: &str = "ontick-search";

/// What is to be written for one boot.
#[derive(Debug, Clone)]
pub struct Trial {
    plan: BootPlan,
    once: Once,
}

impl Trial {
    /// Plans a boot with these arguments besides those of the usual one, whose command line is `usual`; changes nothing.
    pub fn plan(root: &Root, usual: &str, arguments: &[Argument]) -> Result<Self, InstallError> {
        let place = boot::find(root)?;
        if !matches!(place, BootFiles::Grub { .. }) {
            return Err(LoaderError::from(OnceError::NotGrub).into());
        }
        let once = loader::grub_once(root, NAME)?;
        let edits = loader::again(root, usual, NAME, arguments)?.edits;
        Ok(Self { plan: BootPlan::of_edits(place, edits, false), once })
    }

    /// Lets the next boot be that one. Every step is in the journal before it is made.
    pub fn arm(&self, root: &Root, journal: &mut Journal) -> Result<(), InstallError> {
        match boot::apply(root, &self.plan, journal).stopped {
            Some(problem) => Err(InstallError::BootFiles(problem)),
            // Last: without it the entry is nobody's choice.
            None => choose(root, &self.once, journal),
        }
    }
}

/// Whether GRUB still waits to take the entry.
pub fn is_pending(root: &Root) -> bool {
    let block = loader::environment(root).ok().and_then(|path| root.text(&path).ok());
    block.is_some_and(|text| grubenv::get(&text, NEXT) == Some(NAME))
}
