//! What others do meanwhile: they change the same values, restart the machine, take a device away.

use ontick_machine::{Journal, Profile, apply, boot, status};
use ontick_undo::Undone;

use super::back;
use super::machine::{Machine, difference, state};

#[test]
fn what_others_changed_is_reported_and_left() {
    let machine = Machine::lay("x86-grub");
    let before = state(&machine);
    let mut journal = Journal::open(&machine.root).unwrap();
    let plan = machine.plan(Profile::DedicatedCore);
    assert!(apply(&machine.root, &plan, &mut journal).complete());
    let boot_plan = boot::plan(&machine.root, &machine.facts(), &plan.target, false).unwrap();
    assert!(boot::apply(&machine.root, &boot_plan, &mut journal).stopped.is_none());
    drop(journal);
    machine.write("/proc/sys/vm/swappiness", "42\n");
    machine.write("/etc/default/grub.d/zz-ontick.cfg", "# mine now\n");
    let journal = Journal::read(&machine.root).unwrap();
    let now = status(&machine.root, &journal);
    let changed: Vec<_> = now
        .changes
        .iter()
        .filter(|c| c.state == status::SettingState::ChangedByOthers)
        .map(|c| c.path.as_str())
        .collect();
    assert_eq!(changed, ["/proc/sys/vm/swappiness", "/etc/default/grub.d/zz-ontick.cfg"]);
    let reverted = back(&machine.root, false);
    let left: Vec<_> = reverted.steps.iter().filter(|s| !s.outcome.settled()).collect();
    assert!(left.iter().any(|s| s.outcome == Undone::ChangedByOthers("42".into())), "{left:?}");
    assert_eq!(machine.read("/proc/sys/vm/swappiness"), "42\n");
    assert_eq!(machine.read("/etc/default/grub.d/zz-ontick.cfg"), "# mine now\n");
    // Once more nothing happens; forced, all of it comes back.
    assert!(!back(&machine.root, false).complete());
    assert!(back(&machine.root, true).complete());
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
}

#[test]
fn a_second_apply_takes_anothers_value_as_the_original() {
    let machine = Machine::lay("x86-grub");
    let go = || {
        let mut journal = Journal::open(&machine.root).unwrap();
        let applied = apply(&machine.root, &machine.plan(Profile::DedicatedCore), &mut journal);
        assert!(applied.complete());
        applied.changes.into_iter().find(|c| c.knob == "swappiness").unwrap()
    };
    assert_eq!(go().note, None);
    machine.write("/proc/sys/vm/swappiness", "42\n");
    let again = go();
    assert!(again.note.is_some_and(|note| note.contains("another program had set 42")));
    assert_eq!(machine.read("/proc/sys/vm/swappiness"), "1\n");
    assert!(back(&machine.root, false).complete());
    assert_eq!(machine.read("/proc/sys/vm/swappiness"), "42\n");
}

#[test]
fn a_restart_undoes_values_and_leaves_files_to_revert() {
    let machine = Machine::lay("pi5");
    let before = state(&machine);
    let mut journal = Journal::open(&machine.root).unwrap();
    let plan = machine.plan(Profile::DedicatedCore);
    let boot_plan = boot::plan(&machine.root, &machine.facts(), &plan.target, false).unwrap();
    assert!(boot::apply(&machine.root, &boot_plan, &mut journal).stopped.is_none());
    let tuned_files = state(&machine);
    assert!(apply(&machine.root, &plan, &mut journal).complete());
    drop(journal);
    // The kernel starts with its own values again, and somebody has set one of them already.
    for (path, content) in tuned_files.iter().filter(|(p, _)| p.starts_with("proc") || p.starts_with("sys")) {
        let place = machine.place("/").join(path);
        if place.is_file() {
            std::fs::write(place, content).unwrap();
        }
    }
    machine.write("/proc/sys/kernel/random/boot_id", "another\n");
    machine.write("/proc/sys/vm/swappiness", "10\n");
    let journal = Journal::read(&machine.root).unwrap();
    assert_eq!(status(&machine.root, &journal).undone_by_restart, plan.changes().count());
    let reverted = back(&machine.root, false);
    assert!(reverted.complete() && reverted.steps.iter().all(|s| s.knob == "boot"), "{reverted:?}");
    assert_eq!(machine.read("/proc/sys/vm/swappiness"), "10\n");
    machine.write("/proc/sys/vm/swappiness", "60\n");
    std::fs::copy(
        Machine::lay("pi5").place("/proc/sys/kernel/random/boot_id"),
        machine.place("/proc/sys/kernel/random/boot_id"),
    )
    .unwrap();
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
}

#[test]
fn a_device_that_is_gone_is_no_fault() {
    let machine = Machine::lay("x86-grub");
    let mut journal = Journal::open(&machine.root).unwrap();
    assert!(apply(&machine.root, &machine.plan(Profile::DedicatedCore), &mut journal).complete());
    drop(journal);
    std::fs::remove_dir_all(machine.place("/sys/class/net/eno1")).unwrap();
    let reverted = back(&machine.root, false);
    assert!(reverted.complete() && reverted.steps.iter().any(|s| s.outcome == Undone::Gone && s.path.contains("eno1")));
}
