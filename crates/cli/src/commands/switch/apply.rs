//! `ontick switch apply`

use clap::Args;
use ontick_record::units::exact;
use ontick_rt::clock::ClockId;
use ontick_switch::apply::{Act, Folder, Host, Journal, Live, Lock, Plan, apply};
use ontick_switch::{Switch, config, kernel};

use super::aimed::{FileFlags, kernel_plan, lock, needs_root, standing};
use super::file;
use super::guardian::Guardian;
use crate::failure::{Failure, Outcome};
use crate::{flags, terminal};

/// Set a switch up in the kernel; what was there before is kept safe, and `ontick switch revert` brings it back.
///
/// All of it or nothing: everything is looked at first, and a step that is refused takes those before it back. On a
/// switch that stands, another gate control list takes the place of the present one at its base time. The switch is gone
/// with the next restart; `ontick switch unit` makes it stand.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick switch apply cell4.toml\n  sudo ontick switch apply cell4.toml --confirm 60s   (over SSH)"
)]
pub struct Apply {
    #[command(flatten)]
    file: FileFlags,
    /// Take it away again after this time unless `ontick switch confirm` is given
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    confirm: Option<u64>,
}

impl Apply {
    pub fn run(self) -> Result<Outcome, Failure> {
        needs_root("apply")?;
        let switch = self.file.read()?;
        let folder = self.file.state.folder(&switch.name)?;
        let lock = lock(&folder)?;
        if let Some(journal) = Journal::read(&folder)? {
            return self.apply_gates(&folder, &journal, &switch);
        }
        let plan = kernel_plan(&switch)?;
        match self.confirm {
            None => apply(&Live, &folder, &lock, &plan, &config::write(&switch))?,
            Some(after_ns) => self.apply_for(after_ns, &folder, &lock, &plan, &switch)?,
        }
        plan.notes.iter().for_each(|note| file::note(note));
        self.told(&switch.name)
    }

    /// With a guardian from before the first step on, as that may be what cuts the connection.
    fn apply_for(
        &self,
        after_ns: u64,
        folder: &Folder,
        lock: &Lock,
        plan: &Plan,
        switch: &Switch,
    ) -> Result<(), Failure> {
        let guardian = Guardian::start(folder, &self.file.state)?;
        if let Err(error) = apply(&Live, folder, lock, plan, &config::write(switch)) {
            guardian.settle();
            return Err(Failure::new(error));
        }
        let until_ns = ClockId::Monotonic.now_ns() + after_ns;
        // Should this fail, the guardian takes the switch away as this process ends.
        folder.set_pending(until_ns)?;
        guardian.leave_until(until_ns);
        Ok(())
    }

    fn told(&self, name: &str) -> Result<Outcome, Failure> {
        let mut text = format!("Switch {name} stands in the kernel. Keep its gates alive: sudo ontick switch run\n");
        if let Some(after_ns) = self.confirm {
            text +=
                &format!("It goes again in {} unless you say: sudo ontick switch confirm {name}\n", exact(after_ns));
        }
        terminal::print(&text)?;
        Ok(Outcome::Met)
    }

    /// On a switch that stands.
    fn apply_gates(&self, folder: &Folder, journal: &Journal, switch: &Switch) -> Result<Outcome, Failure> {
        let name = &switch.name;
        if !journal.is_complete() {
            return Err(Failure::new(format!(
                "an application of switch {name} was cut off: sudo ontick switch revert {name} restores what was before"
            )));
        }
        let before = standing(folder)?;
        let plan = folder.plan()?;
        let Some(regated) = kernel::regate(&Live, &plan, &before, switch, switch.clock.now_ns())? else {
            return Err(Failure::new(format!(
                "switch {name} stands, and only the gates of ports that have some can be changed while it does: sudo \
                 ontick switch revert {name}, then apply"
            )));
        };
        if self.confirm.is_some() {
            return Err(Failure::new("--confirm is for a switch that does not stand yet: other gates cut nobody off"));
        }
        if regated.acts.is_empty() {
            terminal::print(&format!("Switch {name} stands as the file says.\n"))?;
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

fn all(acts: &[Act]) -> Result<(), ontick_switch::apply::Refused> {
    acts.iter().try_for_each(|act| Live.act(act))
}
