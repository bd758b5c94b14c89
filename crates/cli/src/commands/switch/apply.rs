//! `ontick switch apply`

use clap::Args;
use ontick_rt::clock::ClockId;
use ontick_switch::apply::{Journal, Live, Lock, Plan, SwitchDir, apply};
use ontick_tsn::model::Plane;
use ontick_tsn::{config, model::Switch};
use ontick_units::exact;

use super::daemon::RestFlags;
use super::guardian;
use super::measured::CalibrationFlag;
use super::target_flags::{self, FileFlags, lock, not_applied};
use super::{background, file, gates};
use crate::failure::{Failure, Outcome};
use crate::{flags, privileges, terminal};

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
        privileges::SWITCH_APPLY.require("switch apply")?;
        let switch = self.file.read()?;
        let measured = self.calibration.read()?;
        let folder = self.file.state.folder(&switch.name)?;
        let lock = lock(&folder)?;
        if let Some(journal) = Journal::read(&folder)? {
            if self.confirm.is_some() {
                return Err(Failure::new(
                    "--confirm is for a switch that is not set up yet: new gates disconnect nobody",
                ));
            }
            let done = gates::apply(&folder, &journal, &switch, measured.as_ref())?;
            // Nothing of an earlier commit comes back over what somebody sets here.
            folder.settle_unconfirmed();
            terminal::print(&(done + "\n"))?;
            return Ok(Outcome::Met);
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
}
