//! A kernel that goes its own way: it rounds, changes other settings along, moves interrupts later, keeps to an order.

use std::io;
use std::sync::Arc;

use ontick_machine::apply::Outcome;
use ontick_machine::root::{Act, Hook, Verdict};
use ontick_machine::{Journal, Profile, apply, revert, status};
use ontick_undo::Undone;

use super::machine::{Machine, difference, state};
use super::refused::Refuse;
use super::{applied, back};

/// Frequencies that the hardware has not are rounded to those that it has.
struct Rounding;

impl Hook for Rounding {
    fn before(&self, _act: &Act) -> Verdict {
        Verdict::Go
    }

    fn after(&self, act: &Act, place: &std::path::Path) {
        if act.path().ends_with("/scaling_min_freq") && matches!(act, Act::Set { value, .. } if *value != "800000") {
            std::fs::write(place, "4500000\n").unwrap();
        }
    }
}

#[test]
fn what_the_kernel_rounds_is_reported_and_comes_back() {
    let machine = Machine::lay("x86-grub");
    let before = state(&machine);
    let applied = applied(&machine, &machine.plan(Profile::DedicatedCore), Rounding);
    let rounded = applied.changes.iter().find(|c| c.knob == "lowest-frequency").unwrap();
    assert_eq!((rounded.to.as_str(), &rounded.outcome), ("4600000", &Outcome::Different("4500000".into())));
    // Not taken for somebody else's.
    assert!(back(&machine.root, false).complete());
    assert!(before == state(&machine));
}

/// Starting and stopping khugepaged chooses a reserve of memory anew.
struct Khugepaged;

impl Hook for Khugepaged {
    fn before(&self, _act: &Act) -> Verdict {
        Verdict::Go
    }

    fn after(&self, act: &Act, place: &std::path::Path) {
        let Act::Set { path: "/sys/kernel/mm/transparent_hugepage/enabled", value } = act else { return };
        let base = place.ancestors().nth(5).unwrap();
        let reserve = if *value == "never" { "19857\n" } else { "67584\n" };
        std::fs::write(base.join("proc/sys/vm/min_free_kbytes"), reserve).unwrap();
    }
}

#[test]
fn what_the_kernel_changes_along_comes_back_too() {
    let machine = Machine::lay("vm");
    machine.write("/proc/sys/vm/min_free_kbytes", "9000\n");
    let before = state(&machine);
    let root = machine.root.clone().with_hook(Arc::new(Khugepaged));
    assert!(applied(&machine, &machine.plan(Profile::DedicatedCore), Khugepaged).complete());
    let along = |machine: &Machine| {
        let now = status(&root, &Journal::read(&root).unwrap());
        let found = now.changes.into_iter().find(|c| c.path.ends_with("min_free_kbytes"));
        (found.map(|c| (c.original, c.now, c.state)), machine.read("/proc/sys/vm/min_free_kbytes"))
    };
    let changed = Some(("9000".to_owned(), "19857".to_owned(), status::SettingState::AsSet));
    assert_eq!(along(&machine), (changed, "19857\n".into()));
    // A second look at the same setting keeps the first value.
    machine.write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    assert!(applied(&machine, &machine.plan(Profile::DedicatedCore), Khugepaged).complete());
    assert!(back(&root, false).complete());
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
    // What somebody else chose meanwhile is theirs.
    assert!(applied(&machine, &machine.plan(Profile::DedicatedCore), Khugepaged).complete());
    machine.write("/proc/sys/vm/min_free_kbytes", "30000\n");
    let left = back(&root, false);
    assert!(
        left.steps.iter().any(|s| matches!(&s.outcome, Undone::ChangedByOthers(now) if now == "30000")),
        "{left:?}"
    );
    assert_eq!(machine.read("/proc/sys/vm/min_free_kbytes"), "30000\n");
    assert!(back(&root, true).complete());
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
}

#[test]
fn an_interrupt_that_has_not_moved_yet_is_reported() {
    let machine = Machine::lay("vm");
    machine.write("/proc/irq/36/effective_affinity_list", "1\n");
    machine.write("/proc/irq/41/effective_affinity_list", "0\n");
    let applied = applied(&machine, &machine.plan(Profile::DedicatedCore), Refuse(0, |_| false));
    assert!(applied.complete());
    let note = |path: &str| applied.changes.iter().find(|c| c.path.contains(path)).unwrap().note.clone();
    assert_eq!((note("/36/").as_deref(), note("/41/")), (Some("on CPU 1 until it occurs next"), None));
    let standing = status(&machine.root, &Journal::read(&machine.root).unwrap());
    assert_eq!(standing.changes.iter().filter(|c| c.note.is_some()).count(), 1);
    let seen = |machine: &Machine| {
        let all = ontick_machine::check(
            &machine.facts(),
            &machine.target(Profile::DedicatedCore),
            &ontick_machine::Remedy::to_string,
        );
        all.into_iter().find(|f| f.id == "interrupts").unwrap()
    };
    assert!(seen(&machine).observed.contains("may be delivered once more: 36 virtio1-req.0"), "{:?}", seen(&machine));
    machine.write("/proc/irq/36/effective_affinity_list", "0\n");
    assert_eq!(seen(&machine).observed, "no device interrupt goes to CPU 1");
}

/// The kernel's rule: no group more than the whole, the whole no less than a group.
struct RealTimeLimits(std::path::PathBuf);

impl Hook for RealTimeLimits {
    fn before(&self, act: &Act) -> Verdict {
        let Act::Set { path, value } = act else { return Verdict::Go };
        let read = |file: &str| std::fs::read_to_string(self.0.join(file)).unwrap().trim().parse::<i64>().unwrap();
        let unlimited = |n: i64| if n < 0 { i64::MAX } else { n };
        let refused = if path.ends_with("sched_rt_runtime_us") {
            unlimited(value.parse().unwrap()) < unlimited(read("sys/fs/cgroup/cpu/cpu.rt_runtime_us"))
        } else if path.ends_with("cpu.rt_runtime_us") {
            unlimited(value.parse().unwrap()) > unlimited(read("proc/sys/kernel/sched_rt_runtime_us"))
        } else {
            false
        };
        if refused { Verdict::Refuse(io::Error::from_raw_os_error(22)) } else { Verdict::Go }
    }
}

#[test]
fn real_time_limits_are_raised_and_lowered_in_the_order_that_the_kernel_takes() {
    let machine = Machine::lay("vm");
    let before = state(&machine);
    let root = machine.root.clone().with_hook(Arc::new(RealTimeLimits(machine.place("/"))));
    let mut journal = Journal::open(&root).unwrap();
    assert!(apply(&root, &machine.plan(Profile::DedicatedCore), &mut journal).complete());
    assert_eq!(machine.read("/sys/fs/cgroup/cpu/cpu.rt_runtime_us"), "-1\n");
    let reverted = revert(&root, &mut journal, false);
    assert!(reverted.complete(), "{reverted:?}");
    journal.close();
    assert!(before == state(&machine));
}
