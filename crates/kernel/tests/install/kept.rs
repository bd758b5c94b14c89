//! What `keep` makes the usual kernel, and what it leaves alone.

use ontick_machine::journal::Undo;
use ontick_machine::revert::revert_but;

use super::*;

/// A rollback of the kernel that runs: its modules stay.
fn back_but_for_modules(machine: &Machine) {
    let mut journal = Journal::open_kind(&machine.root, JournalKind::Kernel).unwrap();
    let stays = |undo: &Undo| undo.path().starts_with("/lib/modules/");
    assert!(revert_but(&machine.root, &mut journal, false, stays).complete());
}

#[test]
fn a_kernel_of_which_only_modules_are_left_is_not_kept() {
    for (name, arch) in [("x86-grub", Arch::Amd64), ("beaglebone", Arch::Arm)] {
        let machine = lay(name);
        install(&machine, &machine.root, &kernel(arch), &options(name)).unwrap();
        back_but_for_modules(&machine);
        let before = state(&machine);
        let refused = keep(&machine, &machine.root);
        assert!(matches!(refused, Err(KeepError::NotInstalled)), "{name}: {refused:?}");
        same(&machine, &before, name);

        let second = "6.13.1-rt2";
        install(&machine, &machine.root, &pack(&packed::files(arch, second)), &options(name)).unwrap();
        assert_eq!(keep(&machine, &machine.root).unwrap().kernel.release, second, "{name}");
        assert!(back(&machine, false).complete(), "{name}");
    }
}
