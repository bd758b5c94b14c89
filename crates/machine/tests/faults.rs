//! Whatever happens at whatever step, `revert` restores every value.

#[path = "faults/isolation.rs"]
mod isolation;
#[path = "faults/kernel.rs"]
mod kernel;
mod machine;
#[path = "faults/others.rs"]
mod others;
#[path = "faults/own_way.rs"]
mod own_way;
#[path = "faults/refused.rs"]
mod refused;

use std::sync::Arc;

use kernel::Kernel;
use machine::stop::{Kill, Manner, at_each_step};
use machine::{MACHINES, Machine, difference, state};
use ontick_machine::boot;
use ontick_machine::journal::PATH;
use ontick_machine::root::{Act, Hook, Verdict};
use ontick_machine::{Applied, Facts, Journal, Profile, Root, TuningPlan, apply, isolate, revert};

/// Everything that `tune apply --isolate --boot` does.
fn tune(root: &Root, plan: &TuningPlan, facts: &Facts) {
    let Ok(mut journal) = Journal::open(root) else { return };
    if apply(root, plan, &mut journal).stopped.is_some() {
        return;
    }
    if let Ok(mut boot_plan) = boot::plan(root, facts, &plan.target, false) {
        boot::unit::add_to(&mut boot_plan, root, "/usr/bin/ontick", &["tune", "apply"]).unwrap();
        if boot::apply(root, &boot_plan, &mut journal).stopped.is_none() {
            let _ = boot::unit::enable(root, boot::unit::PATH, &mut journal);
        }
    }
    let mut target = plan.target.clone();
    target.isolate = true;
    let _ = isolate::isolate(root, facts, &target, &mut journal);
}

fn back(root: &Root, force: bool) -> ontick_machine::Reverted {
    let mut journal = Journal::open(root).unwrap();
    let reverted = revert(root, &mut journal, force);
    journal.close();
    reverted
}

/// Applies a plan to a machine that goes its own way.
fn applied(machine: &Machine, plan: &TuningPlan, hook: impl Hook + 'static) -> Applied {
    let root = machine.root.clone().with_hook(Arc::new(hook));
    let mut journal = Journal::open(&root).unwrap();
    apply(&root, plan, &mut journal)
}

#[test]
fn stopped_at_any_step_everything_comes_back() {
    for name in MACHINES {
        let machine = Machine::lay(name);
        let before = state(&machine);
        let (plan, facts) = (machine.plan(Profile::DedicatedCore), machine.facts());
        let steps = at_each_step(&Manner::ALL, |kill| {
            let kernel = Arc::new(Kernel::default());
            tune(&machine.root.clone().with_hook(Arc::new(Both(kernel.clone(), kill.clone()))), &plan, &facts);
            let reverted = back(&machine.root.clone().with_hook(kernel), false);
            assert!(reverted.complete(), "{name}, {kill}: {reverted:?}");
            assert!(before == state(&machine), "{name}, {kill}: {}", difference(&before, &state(&machine)));
        });
        assert!(steps > 10, "{name}: only {steps} steps were tried");
    }
}

/// A journal of version 0.1.0, with all that it had changed: what later versions must go on reading.
#[test]
fn a_journal_that_an_earlier_version_left_is_reverted() {
    let (tuned, before) = (Machine::lay("x86-grub-tuned"), state(&Machine::lay("x86-grub")));
    assert!(tuned.read(PATH).lines().count() > 50 && state(&tuned) != before);
    let reverted = back(&tuned.root, false);
    assert!(reverted.complete() && reverted.damage.is_empty() && reverted.steps.len() > 25, "{reverted:?}");
    let now = state(&tuned);
    assert!(before == now, "{}", difference(&before, &now));
}

#[test]
fn a_revert_that_is_stopped_can_be_repeated() {
    for name in ["pi5", "x86-grub", "pi3b-stretch", "vm"] {
        let machine = Machine::lay(name);
        let before = state(&machine);
        let (plan, facts) = (machine.plan(Profile::DedicatedCore), machine.facts());
        at_each_step(&Manner::ALL, |kill| {
            let kernel = Arc::new(Kernel::default());
            let root = machine.root.clone().with_hook(kernel.clone());
            tune(&root, &plan, &facts);
            back(&machine.root.clone().with_hook(Arc::new(Both(kernel, kill.clone()))), false);
            let reverted = back(&root, false);
            assert!(reverted.complete(), "{name}, {kill}: {reverted:?}");
            assert!(before == state(&machine), "{name}, {kill}: {}", difference(&before, &state(&machine)));
        });
    }
}

struct Both(Arc<Kernel>, Arc<Kill>);

impl Hook for Both {
    fn before(&self, act: &Act) -> Verdict {
        match self.1.before(act) {
            Verdict::Go => self.0.before(act),
            other => other,
        }
    }

    fn after(&self, act: &Act, place: &std::path::Path) {
        self.0.after(act, place);
    }
}
