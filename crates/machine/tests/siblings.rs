//! SMT siblings of timed CPUs that are switched off.

mod machine;

use std::sync::Arc;

use machine::{Machine, difference, state};
use ontick_machine::root::{Act, Hook, Verdict};
use ontick_machine::{Journal, Profile, Target, TuningPlan, apply, knobs, revert};

/// An interrupt that may go only to a CPU that is switched off may go to any from then on, whatever becomes of that CPU.
struct BrokenAffinity;

impl Hook for BrokenAffinity {
    fn before(&self, _act: &Act) -> Verdict {
        Verdict::Go
    }

    fn after(&self, act: &Act, place: &std::path::Path) {
        let Act::Set { path: "/sys/devices/system/cpu/cpu1/online", value: "0" } = act else { return };
        let base = place.ancestors().nth(6).unwrap();
        for irq in std::fs::read_dir(base.join("proc/irq")).unwrap().flatten() {
            let list = irq.path().join("smp_affinity_list");
            if std::fs::read_to_string(&list).is_ok_and(|may| may == "1\n") {
                std::fs::write(list, "0,2-3\n").unwrap();
            }
        }
    }
}

#[test]
fn an_interrupt_of_a_sibling_that_goes_offline_stays_off_the_timed_cpu_and_comes_back() {
    let machine = Machine::lay("x86-grub");
    machine.write("/proc/irq/130/smp_affinity_list", "1\n");
    let before = state(&machine);
    let (facts, mut target) = (machine.facts(), machine.target(Profile::DedicatedCore));
    knobs::isolate(&mut target, &facts);
    assert_eq!((target.cpus.to_string(), target.others.to_string()), ("3".into(), "0,2".into()));
    let plan = TuningPlan::make(&machine.root, &facts, &target).unwrap();
    let root = machine.root.clone().with_hook(Arc::new(BrokenAffinity));
    let mut journal = Journal::open(&root).unwrap();
    assert!(apply(&root, &plan, &mut journal).complete());
    assert_eq!(machine.read("/sys/devices/system/cpu/cpu1/online"), "0\n");
    assert_eq!(machine.read("/proc/irq/130/smp_affinity_list"), "0,2\n");
    assert_eq!(machine.read("/proc/irq/131/smp_affinity_list"), "0,2\n");
    let reverted = revert(&root, &mut journal, false);
    assert!(reverted.complete() && reverted.steps[0].path.ends_with("cpu1/online"), "{reverted:?}");
    journal.close();
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
}

#[test]
fn a_sibling_that_is_the_only_other_cpu_is_not_switched_off() {
    let machine = Machine::lay("x86-grub");
    let mut facts = machine.facts();
    facts.cpus.set_online("1,3".parse().unwrap());
    let mut target = Target::new(&facts, Some("3".parse().unwrap()), Profile::DedicatedCore).unwrap();
    knobs::isolate(&mut target, &facts);
    let plan = TuningPlan::make(&machine.root, &facts, &target).unwrap();
    assert!(target.isolate && target.others.to_string() == "1");
    assert!(plan.changes().all(|item| item.knob != "smt-siblings"));
}
