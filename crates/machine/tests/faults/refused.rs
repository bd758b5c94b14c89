//! Writes that are refused: of one setting, of all, of the journal, of boot files.

use std::io;
use std::sync::Arc;

use ontick_machine::apply::Outcome;
use ontick_machine::journal::PATH;
use ontick_machine::root::{Act, Hook, Verdict};
use ontick_machine::{Journal, Profile, apply, boot};

use super::machine::{Machine, difference, state};
use super::{applied, back};

/// Refuses chosen writes.
pub struct Refuse(pub i32, pub fn(&Act) -> bool);

impl Hook for Refuse {
    fn before(&self, act: &Act) -> Verdict {
        if (self.1)(act) { Verdict::Refuse(io::Error::from_raw_os_error(self.0)) } else { Verdict::Go }
    }
}

#[test]
fn a_setting_that_is_refused_has_changed_nothing_along() {
    let machine = Machine::lay("vm");
    machine.write("/proc/sys/vm/min_free_kbytes", "9000\n");
    let before = state(&machine);
    let plan = machine.plan(Profile::DedicatedCore);
    applied(&machine, &plan, Refuse(1, |act| matches!(act, Act::Set { path, .. } if path.contains("hugepage"))));
    assert!(Journal::read(&machine.root).unwrap().entry("/proc/sys/vm/min_free_kbytes").is_none());
    assert!(back(&machine.root, false).complete());
    assert!(before == state(&machine));
}

#[test]
fn a_refused_write_is_reported_and_the_others_are_done() {
    for (code, word) in [(1, "EPERM"), (22, "EINVAL"), (5, "EIO")] {
        let machine = Machine::lay("vm");
        let before = state(&machine);
        let plan = machine.plan(Profile::DedicatedCore);
        let refuse = Refuse(code, |act| matches!(act, Act::Set { path, .. } if path.contains("/irq/36/")));
        let applied = applied(&machine, &plan, refuse);
        assert!(applied.stopped.is_none() && !applied.complete());
        for change in &applied.changes {
            match change.path.contains("/irq/36/") {
                true => assert!(
                    matches!(&change.outcome, Outcome::Refused(why) if why.contains(word) && why.contains("driver") == (code != 22)),
                    "{change:?}"
                ),
                false => assert_eq!(change.outcome, Outcome::Done, "{}", change.path),
            }
        }
        assert_eq!(machine.read("/proc/irq/41/smp_affinity_list"), "0\n");
        assert_eq!(machine.read("/proc/irq/36/smp_affinity_list"), "0-1\n");
        assert!(back(&machine.root, false).complete());
        assert!(before == state(&machine));
    }
}

#[test]
fn a_read_only_machine_stays_as_it_is() {
    let machine = Machine::lay("x86-grub");
    let before = state(&machine);
    let plan = machine.plan(Profile::DedicatedCore);
    let applied = applied(&machine, &plan, Refuse(30, |act| matches!(act, Act::Set { .. })));
    assert!(applied.changes.iter().all(|c| matches!(&c.outcome, Outcome::Refused(why) if why.contains("read-only"))));
    assert_eq!(applied.changes.len(), plan.changes().count());
    assert!(back(&machine.root, false).complete());
    assert!(before == state(&machine));
}

#[test]
fn without_a_journal_nothing_is_changed() {
    let machine = Machine::lay("x86-grub");
    let before = state(&machine);
    let plan = machine.plan(Profile::DedicatedCore);
    let root = machine.root.clone().with_hook(Arc::new(Refuse(28, |act| matches!(act, Act::Append { .. }))));
    let mut journal = Journal::open(&root).unwrap();
    let applied = apply(&root, &plan, &mut journal);
    assert!(applied.stopped.as_ref().is_some_and(|why| why.contains("ENOSPC") && why.contains(PATH)), "{applied:?}");
    assert!(applied.changes.is_empty());
    journal.close();
    assert!(before == state(&machine));
    let root = machine.root.clone().with_hook(Arc::new(Refuse(13, |act| matches!(act, Act::MakeFolder { .. }))));
    assert!(Journal::open(&root).err().unwrap().to_string().contains("sudo"));
}

#[test]
fn a_full_boot_partition_leaves_the_old_files() {
    // At the backup, at the new file, at its renaming, and at the second file of two.
    let refusals: [fn(&Act) -> bool; 4] = [
        |act| matches!(act, Act::Create { path, .. } if path.contains(".ontick-2")),
        |act| matches!(act, Act::Create { path, .. } if path.ends_with("/.cmdline.txt.ontick-new")),
        |act| matches!(act, Act::Rename { path, .. } if path.ends_with("/cmdline.txt")),
        |act| matches!(act, Act::Create { path, .. } if path.ends_with("/.config.txt.ontick-new")),
    ];
    for refused in refusals {
        let machine = Machine::lay("pi5");
        let before = state(&machine);
        let (facts, target) = (machine.facts(), machine.target(Profile::DedicatedCore));
        let plan = boot::plan(&machine.root, &facts, &target, false).unwrap();
        let root = machine.root.clone().with_hook(Arc::new(Refuse(28, refused)));
        let mut journal = Journal::open(&root).unwrap();
        let done = boot::apply(&root, &plan, &mut journal);
        assert!(done.stopped.is_some_and(|why| why.contains("ENOSPC")) && done.written.is_empty());
        assert_eq!(journal.entries().count(), 0);
        drop(journal);
        assert!(back(&machine.root, false).complete());
        assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
    }
}
