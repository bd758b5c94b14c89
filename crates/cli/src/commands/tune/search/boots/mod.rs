//! `ontick tune search --boot`: kernel arguments, by restarts.

mod asked;
mod begin;
mod go_on;
mod machine;
mod modelled;
mod result;
mod session;

use ontick_machine::{Journal, Root};
use ontick_measure::search::SearchJournal;

use super::Search;
use super::asked::Asked;
use crate::failure::{Failure, Outcome};
use crate::flags::needs_root;
use crate::terminal;

/// Begins such a search, goes on with one, shows it or gives it up.
pub fn search(flags: &Search) -> Result<Outcome, Failure> {
    let root = flags.root.open()?;
    match () {
        () if flags.give_up => give_up(&root),
        () if flags.status => result::show(flags, &root),
        () if flags.goes_on => {
            needs_root(&root, "tune search --boot --continue")?;
            go_on::go_on(flags, &root)
        }
        () if root.is_live() && flags.candidates.iter().any(|word| word.starts_with("sim:")) => modelled::search(flags),
        () => begin::begin(flags, &root),
    }
}

/// Puts back the boot files, removes the unit and the journal.
fn give_up(root: &Root) -> Result<Outcome, Failure> {
    needs_root(root, "tune search --boot --give-up")?;
    let path = machine::journal_path(root)?;
    let mut settings = Journal::open(root)?;
    let kept = SearchJournal::read::<Asked>(&path, None);
    machine::put_back(root, &mut settings, machine::is_ours)?;
    if path.exists() {
        std::fs::remove_file(&path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
    }
    settings.close();
    let measured = kept?.boots.iter().filter(|step| asked::is_measured(step)).count();
    let boots = if measured == 1 { "1 boot".into() } else { format!("{measured} boots") };
    terminal::print(&format!(
        "The search is given up, with its {boots}. The boot files are as they were before it, and nothing begins at boot any more.\n"
    ))?;
    Ok(Outcome::Met)
}
