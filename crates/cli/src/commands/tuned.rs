//! The machine's settings while `prove --tune` measures.

use ontick_machine::apply::{Change, Outcome};
use ontick_machine::plan::{Item, State};
use ontick_machine::{Facts, Profile, Root, Target, TuningPlan, apply};
use ontick_units::CpuList;

use crate::failure::Failure;
use crate::flags::{self, needs_root};
use crate::temporary_settings::{self, TemporarySettings};

/// Settings as `ontick tune plan` proposes them, until it is dropped.
pub struct Tuned {
    held: TemporarySettings,
    /// What was refused.
    pub notes: Vec<String>,
}

impl Tuned {
    /// Changes the settings of the profile for these CPUs, or only the named ones. Other programs' tasks are
    /// not moved.
    pub fn apply(cpus: Option<CpuList>, knobs: &[String]) -> Result<Self, Failure> {
        let root = Root::live();
        needs_root(&root, "prove --tune")?;
        temporary_settings::put_back_abandoned()?;
        let facts = Facts::gather(&root);
        let mut target = target(&facts, cpus)?;
        target.only = knobs.iter().filter(|knob| !knob.is_empty()).cloned().collect();
        let plan = TuningPlan::make(&root, &facts, &target).map_err(Failure::new)?;
        let mut held = TemporarySettings::begin()?;
        let applied = apply(&root, &plan, held.journal());
        match applied.stopped {
            Some(why) => Err(Failure::new(why)),
            None => {
                let left = plan.left().filter(|_| !target.only.is_empty()).map(left);
                Ok(Self { held, notes: applied.changes.iter().filter_map(refused).chain(left).collect() })
            }
        }
    }

    /// This process is about to give up rights that putting back may take.
    pub fn leave_to_guardian(&mut self) {
        self.held.leave_to_guardian();
    }

    /// Puts everything back.
    pub fn restore(self) -> Result<(), Failure> {
        self.held.restore()
    }
}

/// Cores for timed programs: where none is named, the one that the measuring commands take.
pub fn target(facts: &Facts, cpus: Option<CpuList>) -> Result<Target, Failure> {
    flags::target(&Root::live(), facts, cpus, Profile::DedicatedCore)
}

fn left(item: &Item) -> String {
    let why = match &item.state {
        State::Left(why) | State::Absent(why) | State::Unreadable(why) | State::Refused(why) => why,
        _ => "it would affect other programs (ontick tune apply --isolate)",
    };
    format!("{} is left as it is: {why}", item.knob)
}

fn refused(change: &Change) -> Option<String> {
    let Change { path, to, .. } = change;
    match &change.outcome {
        Outcome::Done => None,
        Outcome::Different(now) => Some(format!("{path} was set to {to}, but reads {now}")),
        Outcome::Refused(why) => Some(format!("{path} could not be set to {to}: {why}")),
    }
}
