//! `ontick switch run`

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use clap::Args;
use ontick_switch::apply::{Journal, Live, Lock, SwitchDir, apply, revert};
use ontick_switch::kernel::{self, Options, ReconcileEnd};
use ontick_tsn::config;
use ontick_tsn::model::{Plane, Port, Switch};
use ontick_undo::guardian::Guardian;
use ontick_undo::system_calls::Needed;

use super::daemon::Served;
use super::guardian;
use super::measured::{CalibrationFlag, Measured};
use super::synchronised::Synchronised;
use super::target_flags::{self, FileFlags, PlaneFlag, StateFlag, lock, not_applied, standing};
use super::{background, daemon, file, revert as reverting};
use crate::failure::{Failure, Outcome};
use crate::{privileges, stop};

/// Set up a switch and keep it correct until Ctrl-C or SIGTERM, then remove it.
///
/// Gates are set again after each link event, which would stop the kernel's gates. Changes by another program are
/// reported and undone, ports that disappear and return are set up again, steps of the clock are reported. A switch
/// that `ontick switch apply` has set up before is taken over, and stays at the end.
///
/// With several files, one core serves all these switches by turns (user data plane); they end together.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick switch run cell4.toml\n  sudo ontick switch run cell4.toml --metrics /run/cell4.prom\n  sudo ontick switch run --plane user nodes/s1.toml nodes/s2.toml"
)]
pub struct Run {
    /// The file that describes the switch, or several
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The data plane, overriding the file
    #[arg(long, value_enum)]
    plane: Option<PlaneFlag>,
    #[command(flatten)]
    state: StateFlag,
    /// Write counters to this file each second, as OpenMetrics text
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    #[command(flatten)]
    calibration: CalibrationFlag,
    #[command(flatten)]
    rest: daemon::RestFlags,
    /// Started by `ontick switch apply`
    #[arg(long, hide = true)]
    background: bool,
}

/// A switch that is set up here, or stood before.
struct Standing {
    served: Served,
    /// Where it was set up here. Dropped without a word, it takes the switch away.
    guardian: Option<Guardian>,
}

impl Run {
    pub fn run(self) -> Result<Outcome, Failure> {
        privileges::SWITCH_RUN.require("switch run")?;
        let wanted = self.wanted()?;
        let measured = self.calibration.read()?;
        let stop = stop::on_signal()?;
        let mut standing = Vec::new();
        for wanted in wanted {
            match self.stand(wanted, measured.as_ref()) {
                Ok(one) => standing.push(one),
                Err(failure) => {
                    take_all_away(&mut standing)?;
                    return Err(failure);
                }
            }
        }
        if let Some(first) = standing.first().filter(|_| self.background) {
            background::settle(&first.served.folder)?;
        }
        // The guardian has been started. The core, which reads the frames of whoever sends some, is a thread of what is left.
        privileges::SWITCH_RUN.settle()?;
        // Ports that return are set up by programs (ip, tc), and with XDP.
        privileges::refuse_calls(Needed { programs: true, bpf: true });
        let _synchronised = Synchronised::watch(&self.state);
        let served: Vec<&Served> = standing.iter().map(|one| &one.served).collect();
        let kept = match served.as_slice() {
            [one] if one.switch.plane != Plane::User => self.keep(&one.folder, &one.switch, &one.watch, &stop),
            all => daemon::serve(all, self.metrics.as_deref(), self.rest, &stop),
        };
        // Whatever ended it: what was set up here goes.
        let outcome = take_all_away(&mut standing)?;
        kept?;
        Ok(outcome)
    }

    /// What the files say.
    fn wanted(&self) -> Result<Vec<Switch>, Failure> {
        let read =
            |file: &PathBuf| FileFlags { file: file.clone(), plane: self.plane, state: self.state.clone() }.read();
        let wanted = self.files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        if wanted.len() == 1 {
            return Ok(wanted);
        }
        if let Some(other) = wanted.iter().find(|switch| switch.plane != Plane::User) {
            return Err(Failure::new(format!(
                "switch {} is not of the user data plane, and several switches share one core only there: write \
                 --plane user, or run each by itself",
                other.name
            )));
        }
        for (place, switch) in wanted.iter().enumerate() {
            if let Some(twin) = wanted[..place].iter().position(|other| other.name == switch.name) {
                let [one, two] = [&self.files[twin], &self.files[place]].map(|file| file.display());
                return Err(Failure::new(format!("{one} and {two} both describe switch {}", switch.name)));
            }
            let has = |port: &Port| switch.ports.iter().any(|own| own.name == port.name);
            let common =
                wanted[..place].iter().find_map(|other| Some((other, other.ports.iter().find(|port| has(port))?)));
            if let Some((other, port)) = common {
                return Err(Failure::new(format!(
                    "switches {} and {} both have port {}, and a port belongs to one switch",
                    other.name, switch.name, port.name
                )));
            }
        }
        if self.metrics.is_some() {
            return Err(Failure::new("--metrics is for one switch: run each by itself, or leave it out"));
        }
        Ok(wanted)
    }

    fn stand(&self, wanted: Switch, measured: Option<&Measured>) -> Result<Standing, Failure> {
        let folder = self.state.folder(&wanted.name)?;
        let (switch, guardian) = self.set_up(&folder, wanted, measured)?;
        let Some(watch) = folder.watch()? else {
            return Err(Failure::new(format!("another ontick switch run keeps switch {} already", switch.name)));
        };
        Ok(Standing { served: Served { folder, switch, watch }, guardian })
    }

    fn keep(&self, folder: &SwitchDir, switch: &Switch, watch: &Lock, stop: &AtomicBool) -> Result<Outcome, Failure> {
        let options = Options { metrics: self.metrics.clone() };
        file::note(&format!("switch {} is set up in the kernel and kept correct (Ctrl-C ends it)", switch.name));
        match kernel::reconcile::run(&Live, folder, watch, switch, &options, stop, &mut |sentence| {
            file::note(sentence)
        })?
        .0
        {
            ReconcileEnd::Stopped => {}
            ReconcileEnd::Reverted => file::note(&format!("switch {} was removed by another program", switch.name)),
        }
        Ok(Outcome::Met)
    }

    /// Sets it up if it does not stand; the guardian takes away what was set up here should this process be killed.
    fn set_up(
        &self,
        folder: &SwitchDir,
        wanted: Switch,
        measured: Option<&Measured>,
    ) -> Result<(Switch, Option<Guardian>), Failure> {
        let lock = lock(folder)?;
        let name = wanted.name.clone();
        match Journal::read(folder)? {
            None => {
                let (switch, plan) = target_flags::plan(wanted, measured)?;
                target_flags::refuse_loops(&switch)?;
                let guardian = guardian::start(&[folder], &self.state)?;
                if let Err(error) = apply(&Live, folder, &lock, &plan, &config::write(&switch)) {
                    guardian.settle();
                    return Err(not_applied(error));
                }
                file::notes(&plan);
                Ok((switch, Some(guardian)))
            }
            Some(journal) if !journal.is_complete() => Err(Failure::new(format!(
                "setting up switch {name} was interrupted: sudo ontick switch revert {name} restores what was before"
            ))),
            Some(_) => match standing(folder)? {
                standing if target_flags::is_wanted(&standing, &wanted) => {
                    // What is applied is taken away for no new figure unless that was given.
                    if measured.is_some() {
                        target_flags::refuse_short_windows(&standing, measured)?
                            .iter()
                            .for_each(|note| file::note(note));
                    }
                    Ok((standing, None))
                }
                _ => Err(Failure::new(format!(
                    "switch {name} is set up, and differs from the file: sudo ontick switch apply changes its gates, sudo ontick \
                 switch revert {name} takes it away"
                ))),
            },
        }
    }
}

/// What was set up here, the last one first: an end of a cable that is another's may have changed with its other end.
fn take_all_away(standing: &mut [Standing]) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::Met;
    for one in standing.iter_mut().rev() {
        if let Some(guardian) = one.guardian.take() {
            let taken = take_away(&one.served.folder, &one.served.watch, guardian)?;
            if taken != Outcome::Met {
                outcome = taken;
            }
        }
    }
    Ok(outcome)
}

/// What was set up here; not another switch of the same name, which took its place.
fn take_away(folder: &SwitchDir, watch: &Lock, guardian: Guardian) -> Result<Outcome, Failure> {
    let reverted = {
        let lock = lock(folder)?;
        if folder.holds(watch) { revert(&Live, folder, &lock)? } else { None }
    };
    guardian.settle();
    let Some(reverted) = reverted else { return Ok(Outcome::Met) };
    reverting::text(folder.name(), &reverted).lines().for_each(file::note);
    Ok(if reverted.complete() { Outcome::Met } else { Outcome::NotMet })
}
