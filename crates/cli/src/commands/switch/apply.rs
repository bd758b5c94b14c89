//! `ontick switch apply`

use clap::Args;
use ontick_rt::clock::ClockId;
use ontick_switch::apply::{Act, Host, Journal, Live, Lock, Plan, SwitchDir, apply};
use ontick_switch::kernel;
use ontick_switch::user::station::served;
use ontick_tsn::model::{Plane, Port};
use ontick_tsn::{config, model::Switch};
use ontick_units::exact;

use super::daemon::RestFlags;
use super::guardian;
use super::measured::{CalibrationFlag, Measured};
use super::target_flags::{self, FileFlags, lock, needs_root, not_applied, refuse_short_windows, standing};
use super::{background, file};
use crate::failure::{Failure, Outcome};
use crate::{flags, terminal};

/// Set up a switch, in the kernel or as a process; the previous state is saved, and `ontick switch revert` restores it.
///
/// All of it or nothing: everything is checked first, and a step that fails undoes the steps before it. If the switch
/// is already set up, a new gate control list replaces the present one at its base time. A restart removes the switch;
/// `ontick switch unit` sets it up at every boot.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick switch apply cell4.toml\n  sudo ontick switch apply cell4.toml --confirm 60s   (over SSH)"
)]
pub struct Apply {
    #[command(flatten)]
    file: FileFlags,
    /// Remove the switch after this time unless `ontick switch confirm` is given
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    confirm: Option<u64>,
    #[command(flatten)]
    calibration: CalibrationFlag,
    #[command(flatten)]
    rest: RestFlags,
}

impl Apply {
    pub fn run(self) -> Result<Outcome, Failure> {
        needs_root("switch apply")?;
        let switch = self.file.read()?;
        let measured = self.calibration.read()?;
        let folder = self.file.state.folder(&switch.name)?;
        let lock = lock(&folder)?;
        if let Some(journal) = Journal::read(&folder)? {
            return self.apply_gates(&folder, &journal, &switch, measured.as_ref());
        }
        let (switch, plan) = target_flags::plan(switch, measured.as_ref())?;
        target_flags::refuse_loops(&switch)?;
        if switch.plane == Plane::User {
            file::notes(&plan);
            return self.apply_in_background(&folder, lock, &switch);
        }
        match self.confirm {
            None => {
                file::way_back(&plan);
                apply(&Live, &folder, &lock, &plan, &config::write(&switch)).map_err(not_applied)?
            }
            Some(after_ns) => self.apply_for(after_ns, &folder, &lock, &plan, &switch)?,
        }
        file::notes(&plan);
        self.reported(&switch.name, "is set up in the kernel. Keep its gates alive: sudo ontick switch run")
    }

    /// The process that does the work sets everything up itself, and takes it away when it is ended.
    fn apply_in_background(&self, folder: &SwitchDir, lock: Lock, switch: &Switch) -> Result<Outcome, Failure> {
        let guardian = self.confirm.map(|_| guardian::start(&[folder], &self.file.state)).transpose()?;
        drop(lock);
        let (files, folders) = (std::slice::from_ref(&self.file.file), std::slice::from_ref(folder));
        let reports = match background::start(files, folders, &self.file.state, &self.calibration, self.rest) {
            Ok(reports) => reports,
            Err(failure) => {
                if let Some(guardian) = guardian {
                    guardian.settle();
                }
                return Err(failure);
            }
        };
        if let (Some(after_ns), Some(guardian)) = (self.confirm, guardian) {
            let until_ns = ClockId::Monotonic.now_ns() + after_ns;
            folder.set_pending(until_ns)?;
            guardian.leave(&until_ns.to_string());
        }
        let place = reports.first().map(background::place).unwrap_or_default();
        self.reported(&switch.name, &format!("works {place}. Look at it: ontick switch status"))
    }

    /// With a guardian from before the first step on, as that may be what cuts the connection.
    fn apply_for(
        &self,
        after_ns: u64,
        folder: &SwitchDir,
        lock: &Lock,
        plan: &Plan,
        switch: &Switch,
    ) -> Result<(), Failure> {
        let guardian = guardian::start(&[folder], &self.file.state)?;
        if let Err(error) = apply(&Live, folder, lock, plan, &config::write(switch)) {
            guardian.settle();
            return Err(not_applied(error));
        }
        let until_ns = ClockId::Monotonic.now_ns() + after_ns;
        // Should this fail, the guardian takes the switch away as this process ends.
        folder.set_pending(until_ns)?;
        guardian.leave(&until_ns.to_string());
        Ok(())
    }

    fn reported(&self, name: &str, how: &str) -> Result<Outcome, Failure> {
        let mut text = format!("Switch {name} {how}\n");
        if let Some(after_ns) = self.confirm {
            text +=
                &format!("It is removed in {} unless confirmed: sudo ontick switch confirm {name}\n", exact(after_ns));
        }
        terminal::print(&text)?;
        Ok(Outcome::Met)
    }

    /// On an applied switch.
    fn apply_gates(
        &self,
        folder: &SwitchDir,
        journal: &Journal,
        switch: &Switch,
        measured: Option<&Measured>,
    ) -> Result<Outcome, Failure> {
        let name = &switch.name;
        if !journal.is_complete() {
            return Err(Failure::new(format!(
                "setting up switch {name} was interrupted: sudo ontick switch revert {name} restores what was before"
            )));
        }
        let before = standing(folder)?;
        let short = refuse_short_windows(&Switch { plane: before.plane, ..switch.clone() }, measured)?;
        short.iter().for_each(|note| file::note(note));
        if before.plane == Plane::User {
            return self.regate_user(folder, &before, switch);
        }
        let plan = folder.plan()?;
        let Some(regated) = kernel::regate(&Live, &plan, &before, switch, ontick_switch::clock::now_ns(switch.clock))?
        else {
            return Err(Failure::new(format!(
                "switch {name} is set up, and only the gates of ports that have some can be changed: sudo \
                 ontick switch revert {name}, then apply"
            )));
        };
        if self.confirm.is_some() {
            return Err(Failure::new("--confirm is for a switch that is not set up yet: new gates disconnect nobody"));
        }
        if regated.acts.is_empty() {
            terminal::print(&format!("Switch {name} is already as the file says.\n"))?;
            return Ok(Outcome::Met);
        }
        // Before the gates: whoever keeps the switch then sets the new ones.
        folder.keep_configuration(&config::write(switch), &regated.plan)?;
        if let Err(refused) = all(&regated.acts) {
            let back = all(&regated.back);
            folder.keep_configuration(&config::write(&before), &plan)?;
            back.map_err(|worse| Failure::new(format!("{refused}, and the gates before cannot be restored: {worse}")))?;
            return Err(Failure::new(format!("{refused}. The gates are as before")));
        }
        let ports = regated.acts.len();
        terminal::print(&format!(
            "Gates of switch {name} are changed on {ports} port{}.\n",
            if ports == 1 { "" } else { "s" }
        ))?;
        Ok(Outcome::Met)
    }
}

impl Apply {
    /// Other gates for a data plane that runs.
    fn regate_user(&self, folder: &SwitchDir, before: &Switch, after: &Switch) -> Result<Outcome, Failure> {
        let name = &before.name;
        if target_flags::is_wanted(before, after) {
            terminal::print(&format!("Switch {name} is already as the file says.\n"))?;
            return Ok(Outcome::Met);
        }
        let after = served(Switch { plane: Plane::User, ..after.clone() });
        let without = |switch: &Switch| {
            let ports = switch.ports.iter().map(|port| Port { gates: None, ..port.clone() }).collect();
            Switch { ports, ..switch.clone() }
        };
        if without(before) != without(&after) {
            return Err(Failure::new(format!(
                "switch {name} is set up, and only gates can be changed: sudo ontick switch revert {name}, \
                 then apply"
            )));
        }
        if !folder.is_watched() {
            return Err(Failure::new(format!(
                "switch {name} was set up, but the process that did its work is gone: sudo ontick switch revert {name}, \
                 then apply"
            )));
        }
        let text = config::write(&after);
        folder.keep_configuration(&text, &folder.plan()?)?;
        if !background::took(folder, &text) {
            folder.keep_configuration(&config::write(before), &folder.plan()?)?;
            return Err(Failure::new("the data plane did not take the gates; they are as before"));
        }
        terminal::print(&format!("Gates of switch {name} change at their base time.\n"))?;
        Ok(Outcome::Met)
    }
}

fn all(acts: &[Act]) -> Result<(), ontick_switch::apply::Refused> {
    acts.iter().try_for_each(|act| Live.act(act))
}
