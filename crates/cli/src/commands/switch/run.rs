//! `ontick switch run`

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use clap::Args;
use ontick_switch::apply::{Folder, Journal, Live, Lock, apply, revert};
use ontick_switch::kernel::{self, Ended, Options};
use ontick_switch::model::Plane;
use ontick_switch::{Switch, config};

use super::aimed::{self, FileFlags, lock, needs_root, standing};
use super::guardian::Guardian;
use super::synchronised::Synchronised;
use super::{background, file, revert as reverting, serving};
use crate::failure::{Failure, Outcome};
use crate::stop;

/// Set a switch up and keep it true until Ctrl-C or SIGTERM, then take it away.
///
/// Gates are set anew after each link event, without which the kernel's would stand still. What another tool changes is
/// told and put back, ports that go and come back are set up again, steps of the clock are told. A switch that stood
/// already (`ontick switch apply`) is kept, and still stands at the end.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick switch run cell4.toml\n  sudo ontick switch run cell4.toml --metrics /run/cell4.prom"
)]
pub struct Run {
    #[command(flatten)]
    file: FileFlags,
    /// Write counters to this file each second, as OpenMetrics text
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    #[command(flatten)]
    rest: serving::RestFlags,
    /// Started by `ontick switch apply`
    #[arg(long, hide = true)]
    background: bool,
}

impl Run {
    pub fn run(self) -> Result<Outcome, Failure> {
        needs_root("run")?;
        let wanted = self.file.read()?;
        let folder = &self.file.state.folder(&wanted.name)?;
        let stop = stop::on_signal()?;
        let (switch, guardian) = self.set_up(folder, wanted)?;
        let Some(watch) = folder.watch()? else {
            return Err(Failure::new(format!("another ontick switch run keeps switch {} already", switch.name)));
        };
        if self.background {
            background::settle(folder)?;
        }
        let _synchronised = Synchronised::watch();
        let kept = match switch.plane {
            Plane::User => serving::serve(folder, &switch, self.metrics.as_deref(), self.rest, &watch, &stop),
            _ => self.keep(folder, &switch, &watch, &stop),
        };
        // Whatever ended it: what was set up here goes.
        let outcome = match guardian {
            Some(guardian) => take_away(folder, &watch, guardian)?,
            None => Outcome::Met,
        };
        kept?;
        Ok(outcome)
    }

    fn keep(&self, folder: &Folder, switch: &Switch, watch: &Lock, stop: &AtomicBool) -> Result<Outcome, Failure> {
        let options = Options { metrics: self.metrics.clone() };
        file::note(&format!("switch {} stands in the kernel, and is kept (Ctrl-C ends it)", switch.name));
        match kernel::keep(&Live, folder, watch, switch, &options, stop, &mut |sentence| file::note(sentence))?.0 {
            Ended::Stopped => {}
            Ended::Reverted => file::note(&format!("switch {} was taken away by somebody else", switch.name)),
        }
        Ok(Outcome::Met)
    }

    /// Sets it up if it does not stand; the guardian takes away what was set up here should this process be killed.
    fn set_up(&self, folder: &Folder, wanted: Switch) -> Result<(Switch, Option<Guardian>), Failure> {
        let lock = lock(folder)?;
        let name = wanted.name.clone();
        match Journal::read(folder)? {
            None => {
                let (switch, plan) = aimed::plan(wanted)?;
                aimed::refuse_loops(&switch)?;
                let guardian = Guardian::start(folder, &self.file.state)?;
                if let Err(error) = apply(&Live, folder, &lock, &plan, &config::write(&switch)) {
                    guardian.settle();
                    return Err(Failure::new(error));
                }
                plan.notes.iter().for_each(|note| file::note(note));
                Ok((switch, Some(guardian)))
            }
            Some(journal) if !journal.is_complete() => Err(Failure::new(format!(
                "an application of switch {name} was cut off: sudo ontick switch revert {name} restores what was before"
            ))),
            Some(_) => match standing(folder)? {
                standing if aimed::is_wanted(&standing, &wanted) => Ok((standing, None)),
                _ => Err(Failure::new(format!(
                    "switch {name} stands, and not as the file says: sudo ontick switch apply changes its gates, sudo ontick \
                 switch revert {name} takes it away"
                ))),
            },
        }
    }
}

/// What was set up here; not another switch of the same name, which took its place.
fn take_away(folder: &Folder, watch: &Lock, guardian: Guardian) -> Result<Outcome, Failure> {
    let reverted = {
        let lock = lock(folder)?;
        if folder.holds(watch) { revert(&Live, folder, &lock)? } else { None }
    };
    guardian.settle();
    let Some(reverted) = reverted else { return Ok(Outcome::Met) };
    reverting::text(folder.name(), &reverted).lines().for_each(file::note);
    Ok(if reverted.complete() { Outcome::Met } else { Outcome::NotMet })
}
