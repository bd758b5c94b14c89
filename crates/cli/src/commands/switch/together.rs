//! Several switches set up as one: all of them or none.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use ontick_rt::clock::ClockId;
use ontick_switch::apply::{ApplyError, Journal, Live, Lock, Plan, SwitchDir, apply, revert};
use ontick_switch::user::serve::Report;
use ontick_tsn::config;
use ontick_tsn::model::{Plane, Switch};
use ontick_undo::guardian::Guardian;
use rustix::fs::{MemfdFlags, memfd_create};

use super::daemon::RestFlags;
use super::measured::CalibrationFlag;
use super::target_flags::{self, StateFlag, lock, not_applied};
use super::{background, file, guardian};
use crate::failure::Failure;

/// How they are set up.
pub struct Together<'a> {
    pub state: &'a StateFlag,
    pub calibration: &'a CalibrationFlag,
    pub rest: RestFlags,
    /// They go after this time unless they are confirmed, in ns.
    pub confirm_ns: Option<u64>,
}

/// What is at work.
#[derive(Default)]
pub struct Applied {
    /// The names of those in the kernel.
    pub kernel: Vec<String>,
    /// The names of those that one process serves.
    pub user: Vec<String>,
    /// What that process reports.
    pub report: Option<Report>,
}

/// A switch with its data plane decided, and what is to be done for it.
pub struct Decided {
    folder: SwitchDir,
    wanted: Switch,
    pub switch: Switch,
    pub plan: Plan,
}

impl Together<'_> {
    /// What is to be done for each; nothing is changed. Those of the kernel come first.
    pub fn plan(&self, switches: Vec<Switch>) -> Result<Vec<Decided>, Failure> {
        let measured = self.calibration.read()?;
        let decide = |wanted: Switch| {
            let folder = self.state.folder(&wanted.name)?;
            let (switch, plan) = target_flags::plan(wanted.clone(), measured.as_ref()).map_err(|f| of(&wanted, &f))?;
            Ok(Decided { folder, wanted, switch, plan })
        };
        let mut decided = switches.into_iter().map(decide).collect::<Result<Vec<Decided>, Failure>>()?;
        decided.sort_by_key(|one| one.switch.plane == Plane::User);
        Ok(decided)
    }

    /// Sets all of them up. What fails, or kills this process, has those before it taken away, the last one first.
    pub fn apply(&self, switches: Vec<Switch>) -> Result<Applied, Failure> {
        let Some(first) = switches.first() else { return Ok(Applied::default()) };
        // One lock is for all switches.
        let held = lock(&self.state.folder(&first.name)?)?;
        switches.iter().try_for_each(|switch| self.refuse_applied(&switch.name))?;
        let decided = self.plan(switches)?;
        decided.iter().try_for_each(|one| target_flags::refuse_loops(&one.switch).map_err(|f| of(&one.switch, &f)))?;
        self.notes(&decided);
        let backwards: Vec<&SwitchDir> = decided.iter().rev().map(|one| &one.folder).collect();
        let guardian = guardian::start(&backwards, self.state)?;
        match self.set_up(&decided, held) {
            Ok(applied) => {
                self.leave(guardian, &backwards)?;
                Ok(applied)
            }
            Err(fault) => {
                let left = take_away(&backwards)?;
                guardian.settle();
                Err(with_rest(&fault, &left))
            }
        }
    }

    fn refuse_applied(&self, name: &str) -> Result<(), Failure> {
        match Journal::read(&self.state.folder(name)?)? {
            None => Ok(()),
            Some(journal) if journal.is_complete() => Err(not_applied(ApplyError::Exists(name.into()))),
            Some(_) => Err(Failure::new(format!(
                "setting up switch {name} was interrupted: sudo ontick switch revert {name} restores what was before"
            ))),
        }
    }

    /// Each sentence once, for however many switches it is.
    fn notes(&self, decided: &[Decided]) {
        let mut said = Vec::new();
        for note in decided.iter().flat_map(|one| &one.plan.notes) {
            if !said.contains(&note) {
                file::note(note);
                said.push(note);
            }
        }
        if self.confirm_ns.is_none() {
            decided.iter().for_each(|one| file::way_back(&one.plan));
        }
    }

    /// One after the other, each with the journal of its own.
    fn set_up(&self, decided: &[Decided], held: Lock) -> Result<Applied, Failure> {
        let (user, kernel): (Vec<&Decided>, Vec<&Decided>) =
            decided.iter().partition(|one| one.switch.plane == Plane::User);
        for one in &kernel {
            apply(&Live, &one.folder, &held, &one.plan, &config::write(&one.switch))
                .map_err(|error| of(&one.switch, &not_applied(error)))?;
        }
        // The process that serves the others takes it.
        drop(held);
        let names = |of: &[&Decided]| of.iter().map(|one| one.switch.name.clone()).collect();
        Ok(Applied { kernel: names(&kernel), user: names(&user), report: self.start(&user)? })
    }

    /// One process sets all of them up or none, and serves them.
    fn start(&self, user: &[&Decided]) -> Result<Option<Report>, Failure> {
        if user.is_empty() {
            return Ok(None);
        }
        let texts = user.iter().map(|one| Text::new(&config::write(&one.wanted))).collect::<Result<Vec<_>, _>>()?;
        let files: Vec<PathBuf> = texts.iter().map(Text::path).collect();
        let folders: Vec<SwitchDir> = user.iter().map(|one| one.folder.clone()).collect();
        Ok(background::start(&files, &folders, self.state, self.calibration, self.rest)?.into_iter().next())
    }

    fn leave(&self, guardian: Guardian, folders: &[&SwitchDir]) -> Result<(), Failure> {
        let Some(after_ns) = self.confirm_ns else {
            guardian.settle();
            return Ok(());
        };
        let until_ns = ClockId::Monotonic.now_ns() + after_ns;
        // Should this fail, the guardian takes all away as this process ends.
        folders.iter().try_for_each(|folder| folder.set_pending(until_ns))?;
        guardian.leave(&until_ns.to_string());
        Ok(())
    }
}

/// What of these was set up; the names of those of which something is left.
fn take_away(folders: &[&SwitchDir]) -> Result<Vec<String>, Failure> {
    let Some(first) = folders.first() else { return Ok(Vec::new()) };
    let held = lock(first)?;
    let mut left = Vec::new();
    for folder in folders {
        if revert(&Live, folder, &held)?.is_some_and(|reverted| !reverted.complete()) {
            left.push(folder.name().to_owned());
        }
    }
    Ok(left)
}

/// Which of several switches it was.
fn of(switch: &Switch, failure: &Failure) -> Failure {
    Failure::new(format!("switch {}: {failure}", switch.name))
}

fn with_rest(fault: &Failure, left: &[String]) -> Failure {
    const AS_BEFORE: &str = ". Everything is as before";
    let fault = fault.to_string();
    let fault = fault.trim_end_matches(AS_BEFORE);
    match left {
        [] => Failure::new(format!("{fault}{AS_BEFORE}")),
        left => Failure::new(format!(
            "{fault}, but not all could be undone: sudo ontick switch revert {} tries again",
            left.join(", then ")
        )),
    }
}

/// A configuration that another ontick reads while this process lives; nothing of it is on a disk.
struct Text(File);

impl Text {
    fn new(text: &str) -> Result<Self, Failure> {
        let mut file = File::from(memfd_create("ontick-switch", MemfdFlags::CLOEXEC)?);
        file.write_all(text.as_bytes())?;
        Ok(Self(file))
    }

    fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_said_once_and_with_the_way_to_be_rid_of_it() {
        let fault = Failure::new("switch b: port p: refused. Everything is as before");
        assert_eq!(with_rest(&fault, &[]).to_string(), "switch b: port p: refused. Everything is as before");
        let said = with_rest(&fault, &["a".into()]).to_string();
        assert!(
            said.starts_with("switch b: port p: refused, but not all") && said.contains("switch revert a "),
            "{said}"
        );
    }

    #[test]
    fn another_process_reads_a_configuration_from_its_beginning() {
        let text = Text::new("[switch]\n").unwrap();
        assert_eq!(std::fs::read_to_string(text.path()).unwrap(), "[switch]\n");
    }
}
