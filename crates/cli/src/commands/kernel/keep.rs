//! `ontick kernel keep`

use clap::Args;
use ontick_kernel::install::{Keeping, keep, keeping};
use ontick_machine::boot::Written;
use ontick_machine::journal::JournalKind;
use ontick_machine::{Facts, Journal};
use ontick_report::text::{Mark, diff, list};
use serde::Serialize;

use super::errors::not_kept;
use crate::commands::tune::render::{entry, notes};
use crate::failure::{Failure, Outcome};
use crate::flags::RootFlag;
use crate::terminal;

/// Make the installed kernel the default at boot.
///
/// It must be running, which shows that it boots. `ontick kernel rollback` still undoes the installation.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick kernel keep\n  sudo ontick kernel keep --dry-run       what would be changed\n  ontick kernel keep --untried --root /media/card"
)]
pub struct Keep {
    /// Also if it is not running, so that it may fail to boot
    #[arg(long)]
    untried: bool,
    /// Show what would be changed; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: RootFlag,
}

/// What `--json` prints.
#[derive(Serialize)]
struct KeepOutput<'a> {
    plan: &'a Keeping,
    written: &'a [Written],
}

impl Keep {
    pub fn run(self) -> Result<Outcome, Failure> {
        let root = match self.dry_run {
            true => self.root.open()?,
            false => self.root.open_to_change("kernel keep")?,
        };
        let facts = Facts::gather(&root);
        let (plan, written) = match self.dry_run {
            true => (keeping(&root, &facts, self.untried).map_err(|e| not_kept(e, &self.root))?, Vec::new()),
            false => {
                let mut journal = Journal::open_kind(&root, JournalKind::Kernel)?;
                let result = keeping(&root, &facts, self.untried)
                    .and_then(|plan| keep(&root, &plan, &mut journal).map(|written| (plan, written)));
                journal.close();
                result.map_err(|e| not_kept(e, &self.root))?
            }
        };
        if self.json {
            terminal::print(&(serde_json::to_string_pretty(&KeepOutput { plan: &plan, written: &written })? + "\n"))?;
            return Ok(Outcome::Met);
        }
        let style = terminal::style();
        let shown = |file: &Written| {
            let backup = file.backup.iter().map(|b| ("backup", b.clone())).collect();
            entry(Mark::Good, "written", "boot file", file.path.clone(), backup)
        };
        let mut text = list(&written.iter().map(shown).collect::<Vec<_>>(), &style) + &notes(&plan.notes, &style);
        let release = &plan.kernel.release;
        if self.dry_run {
            plan.edits.iter().for_each(|edit| text += &format!("\n{}", diff(&edit.diff, &style)));
            text += "\nNothing is changed yet.\n";
        } else if plan.edits.is_empty() {
            text += &format!("{release} is the default at boot already.\n");
        } else {
            let back = self.root.command("sudo ontick kernel rollback");
            text += &format!("\nThe machine boots {release} from now on. The way back: {back}\n");
        }
        terminal::print(&text)?;
        Ok(Outcome::Met)
    }
}
