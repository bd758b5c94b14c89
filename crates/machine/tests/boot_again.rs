//! Boot files that ontick has written before are planned and written again, by then also edited by others.

mod machine;

use machine::{Machine, difference, state};
use ontick_machine::{Journal, Profile, Reverted, Target, boot, revert};
use ontick_undo::Undone;

fn back(machine: &Machine, force: bool) -> Reverted {
    let mut journal = Journal::open(&machine.root).unwrap();
    let reverted = revert(&machine.root, &mut journal, force);
    journal.close();
    reverted
}

/// Writes the boot files of a profile, and returns the plan's notes; what a restart would make of them is not needed.
fn write_boot_files(machine: &Machine, profile: Profile) -> Vec<String> {
    let mut journal = Journal::open(&machine.root).unwrap();
    let mut facts = machine.facts();
    if facts.cpus.online.is_empty() {
        facts.cpus.set_online("0-3".parse().unwrap());
    }
    let target = Target::new(&facts, None, profile).unwrap();
    let plan = boot::plan(&machine.root, &facts, &target, false).unwrap();
    let applied = boot::apply(&machine.root, &plan, &mut journal);
    assert!(applied.stopped.is_none(), "{applied:?}");
    plan.notes
}

#[test]
fn a_second_profile_leaves_nothing_of_the_first_in_the_boot_files() {
    for name in ["pi3b-stretch", "pi4", "pi5", "arm-extlinux", "beaglebone", "x86-grub", "x86-systemd-boot"] {
        let (one, both) = (Machine::lay(name), Machine::lay(name));
        let before = state(&both);
        write_boot_files(&one, Profile::LowLatency);
        for profile in [Profile::DedicatedCore, Profile::DedicatedCore, Profile::LowLatency] {
            write_boot_files(&both, profile);
        }
        let boot_files = |machine: &Machine| {
            let mut all = machine.snapshot();
            all.retain(|path, _| !path.starts_with("var") && !path.to_string_lossy().contains(".ontick-2"));
            // A file that was written once may hold again what it held, and stays to be put back.
            all.retain(|path, content| before.get(path) != Some(content) && content != b"<folder>");
            all
        };
        assert!(boot_files(&one) == boot_files(&both), "{name}: {:?}, {:?}", boot_files(&one), boot_files(&both));
        assert!(back(&both, false).complete());
        assert!(before == state(&both), "{}", difference(&before, &state(&both)));
    }
}

/// A machine whose kernels are unified images: their arguments are in a file that is not there at first.
fn unified() -> Machine {
    let machine = Machine::lay("x86-systemd-boot");
    std::fs::remove_file(machine.place("/boot/loader/entries/arch.conf")).unwrap();
    machine
}

#[test]
fn a_second_profile_leaves_nothing_of_the_first_in_a_file_that_ontick_made() {
    let path = "/etc/kernel/cmdline";
    let (one, both) = (unified(), unified());
    let before = state(&both);
    write_boot_files(&one, Profile::LowLatency);
    write_boot_files(&both, Profile::DedicatedCore);
    assert!(both.read(path).contains("isolcpus"), "{}", both.read(path));
    let running = both.read("/proc/cmdline");
    // The machine is restarted in between.
    both.write("/proc/cmdline", &both.read(path));
    write_boot_files(&both, Profile::LowLatency);
    assert_eq!(both.read(path), one.read(path));
    // Removed by hand, it is made anew of what it had to hold at first.
    std::fs::remove_file(both.place(path)).unwrap();
    write_boot_files(&both, Profile::LowLatency);
    assert_eq!(both.read(path), one.read(path));
    both.write("/proc/cmdline", &running);
    assert!(back(&both, false).complete());
    assert!(before == state(&both), "{}", difference(&before, &state(&both)));
}

#[test]
fn what_others_add_to_a_file_that_ontick_made_stays_with_what_it_needs() {
    let path = "/etc/kernel/cmdline";
    for (again, outcome) in [(false, Undone::TakenOut), (true, Undone::Restored)] {
        let machine = unified();
        write_boot_files(&machine, Profile::DedicatedCore);
        machine.write(path, &machine.read(path).replace('\n', " usbcore.quirks=x\n"));
        if again {
            write_boot_files(&machine, Profile::LowLatency);
            let line = machine.read(path);
            assert!(line.contains(" usbcore.quirks=x") && !line.contains("isolcpus"), "{line}");
        }
        let reverted = back(&machine, false);
        let step = reverted.steps.iter().find(|step| step.path == path).unwrap();
        assert_eq!(step.outcome, outcome);
        assert_eq!(machine.read(path), "root=UUID=8a1c2a50-1b7f-4a59-a5cb-6a0b1a9d8d01 rw quiet usbcore.quirks=x\n");
        assert!(back(&machine, false).steps.is_empty());
    }
}

#[test]
fn a_file_that_ontick_made_and_others_added_to_and_removed_is_made_anew_of_both() {
    let path = "/etc/kernel/cmdline";
    let machine = unified();
    write_boot_files(&machine, Profile::DedicatedCore);
    machine.write(path, &machine.read(path).replace('\n', " usbcore.quirks=x\n"));
    write_boot_files(&machine, Profile::DedicatedCore);
    // The machine is restarted by it, and somebody removes it.
    machine.write("/proc/cmdline", &machine.read(path));
    std::fs::remove_file(machine.place(path)).unwrap();
    let notes = write_boot_files(&machine, Profile::LowLatency);
    let line = machine.read(path);
    assert!(line.contains(" usbcore.quirks=x") && !line.contains("isolcpus"), "{line}");
    assert!(notes.iter().all(|note| !note.contains("takes over")), "{notes:?}");
    // That was how it stood before this last plan.
    assert!(back(&machine, false).complete());
    assert!(!machine.root.exists(path));
}

#[test]
fn arguments_of_a_plan_that_was_reverted_and_still_runs_are_named() {
    let path = "/etc/kernel/cmdline";
    let machine = unified();
    assert!(write_boot_files(&machine, Profile::DedicatedCore).iter().all(|note| !note.contains("takes over")));
    let line = machine.read(path);
    machine.write("/proc/cmdline", &line);
    assert!(back(&machine, false).complete());
    let notes = write_boot_files(&machine, Profile::LowLatency);
    let isolated = line.split_whitespace().find(|word| word.starts_with("isolcpus=")).unwrap();
    let is_named = |note: &String| note.starts_with(path) && note.contains(isolated) && note.contains("restart first");
    assert!(notes.iter().any(is_named), "{notes:?}");
    assert!(notes.iter().all(|note| !note.contains("skew_tick")), "it is wanted: {notes:?}");
}

#[test]
fn a_second_profile_keeps_what_others_added_to_the_boot_files() {
    let machine = Machine::lay("pi4");
    let (cmdline, config) = ("/boot/firmware/cmdline.txt", "/boot/firmware/config.txt");
    let before = state(&machine);
    write_boot_files(&machine, Profile::DedicatedCore);
    machine.write(cmdline, &machine.read(cmdline).replace('\n', " usbcore.quirks=x\n"));
    machine.write(config, &(machine.read(config) + "dtparam=mine=on\n"));
    write_boot_files(&machine, Profile::LowLatency);
    let line = machine.read(cmdline);
    assert!(line.contains(" usbcore.quirks=x") && !line.contains("isolcpus"), "{line}");
    let settings = machine.read(config);
    assert!(settings.ends_with("dtparam=mine=on\n") && !settings.contains("force_turbo=1"), "{settings}");
    assert!(back(&machine, false).complete());
    machine.write(cmdline, &machine.read(cmdline).replace(" usbcore.quirks=x", ""));
    machine.write(config, &machine.read(config).replace("dtparam=mine=on\n", ""));
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
}

#[test]
fn a_boot_file_that_was_edited_where_ontick_had_changed_it_is_not_taken_for_the_original() {
    // A line of the kernel's arguments, and a file of ontick's own.
    for (name, path, ours, theirs) in [
        ("pi4", "/boot/firmware/cmdline.txt", "isolcpus=managed_irq,domain,3", "isolcpus=2"),
        ("x86-grub", "/etc/default/grub.d/zz-ontick.cfg", "skew_tick=1", "skew_tick=0"),
    ] {
        let machine = Machine::lay(name);
        let before = state(&machine);
        let (facts, target) = (machine.facts(), machine.target(Profile::DedicatedCore));
        let first = boot::plan(&machine.root, &facts, &target, false).unwrap();
        let mut journal = Journal::open(&machine.root).unwrap();
        assert!(boot::apply(&machine.root, &first, &mut journal).stopped.is_none());
        let edited = machine.read(path).replace(ours, theirs);
        assert!(edited != machine.read(path), "{name}");
        machine.write(path, &edited);
        let edited = state(&machine);
        let error = boot::plan(&machine.root, &facts, &target, false).unwrap_err().to_string();
        assert!(error.starts_with(path) && error.contains("was edited where ontick had changed it"), "{error}");
        // As where it is edited between plan and apply, of which nothing is known then.
        let edits = vec![boot::Edit::new(path, Some(machine.read(path)), "new\n".into()).unwrap()];
        let plan = boot::BootPlan::of_edits(first.place.clone(), edits, false);
        let applied = boot::apply(&machine.root, &plan, &mut journal);
        assert_eq!(applied.stopped, Some(error));
        drop(journal);
        assert!(edited == state(&machine), "{}", difference(&edited, &state(&machine)));
        assert!(!back(&machine, false).complete());
        assert!(back(&machine, true).complete());
        assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
    }
}

#[test]
fn a_folder_that_others_use_since_stays_and_nothing_is_left_to_undo() {
    let machine = Machine::lay("x86-grub");
    let folder = "/etc/default/grub.d";
    assert!(!machine.root.exists(folder));
    write_boot_files(&machine, Profile::DedicatedCore);
    machine.write(&format!("{folder}/theirs.cfg"), "GRUB_TIMEOUT=1\n");
    let reverted = back(&machine, false);
    let step = reverted.steps.iter().find(|step| step.path == folder).unwrap();
    assert_eq!(step.outcome, Undone::Superseded("others keep files in it".into()));
    assert!(reverted.complete() && machine.root.exists(&format!("{folder}/theirs.cfg")), "{reverted:?}");
    assert!(back(&machine, false).steps.is_empty());
}
