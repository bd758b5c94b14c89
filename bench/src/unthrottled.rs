//! Real-time throttling off, as `ontick switch run` has it, for as long as this lives.

use ontick_machine::{Facts, Journal, Profile, Root, Target, TuningPlan, apply, revert};
use ontick_units::CpuList;

/// Puts throttling back when it is dropped. What was changed is in the journal of `ontick tune`, should this be killed.
pub struct Unthrottled {
    root: Root,
    journal: Option<Journal>,
}

impl Unthrottled {
    pub fn begin(cpu: u32) -> Result<Self, String> {
        let reported = |e: &dyn std::fmt::Display| format!("real-time throttling cannot be lifted: {e}");
        let root = Root::live();
        let facts = Facts::gather(&root);
        let mut target =
            Target::new(&facts, Some(CpuList::one(cpu)), Profile::DedicatedCore).map_err(|e| reported(&e))?;
        target.only = ["rt-throttling", "rt-group-throttling"].map(String::from).to_vec();
        let plan = TuningPlan::make(&root, &facts, &target).map_err(|e| reported(&e))?;
        let mut journal = Journal::open(&root).map_err(|e| reported(&e))?;
        if journal.entries().next().is_some() {
            return Err(reported(&"settings that ontick changed before still stand (sudo ontick tune revert)"));
        }
        let applied = apply(&root, &plan, &mut journal);
        let held = Self { root, journal: Some(journal) };
        match applied.stopped {
            Some(why) => Err(reported(&why)),
            None => Ok(held),
        }
    }
}

impl Drop for Unthrottled {
    fn drop(&mut self) {
        if let Some(mut journal) = self.journal.take() {
            let complete = revert(&self.root, &mut journal, false).complete();
            journal.close();
            if !complete {
                eprintln!("bench: throttling could not be put back: sudo ontick tune status");
            }
        }
    }
}
