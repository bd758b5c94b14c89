//! `ontick kernel rollback`

use clap::Args;
use ontick_kernel::install::{RolledBack, rollback};
use ontick_machine::journal::JournalKind;
use ontick_machine::{Facts, Journal};
use ontick_report::Style;
use ontick_report::text::list;

use crate::commands::tune::render::{notes, undone};
use crate::failure::{Failure, Outcome};
use crate::flags::RootFlag;
use crate::terminal;

/// Remove an installed kernel: restore the boot files, delete its own files.
///
/// Works also after an interrupted installation. What another program wrote into a boot file meanwhile stays; if that
/// cannot be separated from what ontick wrote, the file is left as it is and reported (exit status 1).
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick kernel rollback\n  sudo ontick kernel rollback --root /media/card   a card in a reader"
)]
pub struct Rollback {
    /// Restore files as they were, also those that were edited since
    #[arg(long)]
    force: bool,
    /// Remove also the modules of the running kernel: it can load none until the machine restarts
    #[arg(long)]
    modules_too: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: RootFlag,
}

impl Rollback {
    pub fn run(self) -> Result<Outcome, Failure> {
        let root = self.root.open_to_change("kernel rollback")?;
        let facts = Facts::gather(&root);
        let mut journal = Journal::open_kind(&root, JournalKind::Kernel)?;
        let done = rollback(&root, &facts, &mut journal, self.force, self.modules_too);
        journal.close();
        if self.json {
            terminal::print(&(serde_json::to_string_pretty(&done)? + "\n"))?;
        } else {
            terminal::print(&render(&done, &self.root, &terminal::style()))?;
        }
        match &done.reverted.stopped {
            Some(why) => Err(Failure::new(why)),
            None if done.complete() => Ok(Outcome::Met),
            None => Ok(Outcome::NotMet),
        }
    }
}

fn render(done: &RolledBack, root: &RootFlag, style: &Style) -> String {
    let steps = &done.reverted.steps;
    let mut text = list(&steps.iter().map(undone).collect::<Vec<_>>(), style);
    let mut said = done.notes.clone();
    said.extend(done.tuned.then(|| {
        let revert = root.command("sudo ontick tune revert");
        format!("settings of ontick tune are in the kernel's folder: put them back first ({revert})")
    }));
    said.extend(done.reverted.damage.iter().map(|line| format!("the journal: {line}")));
    said.extend(done.reverted.damaged.map(|place| format!("what is left of the journal is kept in {place}")));
    if let Some(modules) = &done.modules_stay {
        said.push(format!(
            "{modules} stays as long as this kernel runs: restart, then run this once more to remove it (or now, with --modules-too)"
        ));
    }
    text += &notes(&said, style);
    match (&done.kernel, steps.is_empty()) {
        (_, true) if done.modules_stay.is_none() => text += "ontick has installed no kernel here.\n",
        (Some(kernel), false) if done.complete() => {
            text += &format!("\n{} is removed: the machine boots what it booted before.\n", kernel.release);
        }
        (None, false) if done.complete() => text += "\nThe incomplete installation is removed.\n",
        _ => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use ontick_machine::revert::{Reverted, Step};
    use ontick_undo::Undone;

    use super::*;

    #[test]
    fn an_edited_file_is_named_with_what_was_done_to_it() {
        let outcome = Undone::ChangedByOthers("the file was edited where ontick had changed it".into());
        let path = "/boot/grub/custom.cfg".to_owned();
        let step = Step { knob: "boot".into(), path, original: String::new(), is_value: false, outcome };
        let reverted = Reverted { steps: vec![step], ..Reverted::default() };
        let done = RolledBack { kernel: None, reverted, modules_stay: None, tuned: false, notes: Vec::new() };
        let text = render(&done, &RootFlag::default(), &Style::default());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("custom.cfg: the file was edited where ontick had changed it (--force"), "{text}");
        assert!(!words.contains("has set"), "{text}");
    }
}
