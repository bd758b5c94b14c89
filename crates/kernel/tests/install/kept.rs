//! What `keep` makes the usual kernel, and what it leaves alone.

use ontick_machine::boot::{BootFiles, efi};
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

        let packed = kernel(arch);
        let again = InstallPlan::make(&machine.root, &machine.facts(), &packed.package, &options(name)).unwrap_err();
        assert!(again.to_string().contains("restart, then roll back once more"), "{name}: {again}");

        let second = "6.13.1-rt2";
        install(&machine, &machine.root, &pack(&packed::files(arch, second)), &options(name)).unwrap();
        assert_eq!(keep(&machine, &machine.root).unwrap().kernel.release, second, "{name}");
        assert!(back(&machine, false).complete(), "{name}");
    }
}

/// Its release is what the machine runs, as after a boot by the new entry.
fn boot_new(machine: &Machine, cmdline: &str) {
    machine.write("/proc/sys/kernel/osrelease", &format!("{RELEASE}\n"));
    machine.write("/proc/cmdline", &format!("{cmdline}\n"));
}

#[test]
fn what_was_tried_by_grub_is_what_is_kept() {
    let machine = lay("x86-grub");
    let other = "menuentry 'Another system' {\n\tlinux\t/boot/vmlinuz-5.10 root=UUID=other ro\n\tinitrd\t/boot/initrd.img-5.10\n}\n";
    let menu = machine.read("/boot/grub/grub.cfg").replacen("menuentry ", &format!("{other}menuentry "), 1);
    machine.write("/boot/grub/grub.cfg", &menu);
    install(&machine, &machine.root, &kernel(Arch::Amd64), &options("x86-grub")).unwrap();
    let tried = machine.read("/boot/grub/custom.cfg");
    assert!(tried.contains("root=UUID=0e1b4b4c"), "{tried}");
    boot_new(&machine, &format!("BOOT_IMAGE=/boot/ontick-{RELEASE}/vmlinuz root=UUID=0e1b4b4c ro quiet"));
    keep(&machine, &machine.root).unwrap();
    let kept = machine.read("/boot/grub/custom.cfg");
    let default = format!("if [ \"${{boot_once}}\" != \"true\" ]; then\n\tset default='ontick-{RELEASE}'\nfi\n");
    assert_eq!(kept, tried.replace("### END", &format!("{default}### END")));
    assert!(keep(&machine, &machine.root).unwrap().edits.is_empty(), "twice is once");
}

#[test]
fn an_entry_of_something_else_is_no_pattern_for_grub() {
    let machine = lay("x86-grub");
    let menu = machine.read("/boot/grub/grub.cfg");
    machine.write("/boot/grub/grub.cfg", &menu.replace("vmlinuz-6.1.0-18-amd64", "memtest86+x64.bin"));
    let refused = install(&machine, &machine.root, &kernel(Arch::Amd64), &InstallOptions::default());
    assert!(refused.as_ref().is_err_and(|e| e.to_string().contains("no menu entry")), "{refused:?}");
}

#[test]
fn what_was_tried_by_systemd_boot_is_what_is_kept() {
    let machine = lay("x86-systemd-boot");
    let entries = "/boot/loader/entries";
    let text = machine.read(&format!("{entries}/arch.conf"));
    let named = |release: &str| format!("{text}version {release}\nsort-key arch\n");
    std::fs::remove_file(machine.place(&format!("{entries}/arch.conf"))).unwrap();
    machine.write(&format!("{entries}/arch-new.conf"), &named("6.14.2-arch1-1"));
    machine.write(&format!("{entries}/arch-lts.conf"), &named("6.12.20-1-lts").replace("quiet", "single"));
    machine.write("/boot/loader/loader.conf", "timeout 3\n");
    install(&machine, &machine.root, &kernel(Arch::Amd64), &options("x86-systemd-boot")).unwrap();
    let own = format!("{entries}/ontick-{RELEASE}.conf");
    let tried = machine.read(&own);
    assert!(tried.contains("quiet"), "{tried}");
    boot_new(&machine, machine.read("/proc/cmdline").trim());
    keep(&machine, &machine.root).unwrap();
    assert_eq!(machine.read(&own), tried);
    assert_eq!(machine.read("/boot/loader/loader.conf"), format!("timeout 3\ndefault ontick-{RELEASE}.conf\n"));
}

#[test]
fn settings_hold_after_a_filter_of_an_included_file() {
    let machine = lay("pi4");
    machine.write("/boot/firmware/config.txt", "arm_64bit=1\nauto_initramfs=1\ninclude own.txt\n");
    machine.write("/boot/firmware/own.txt", "[pi5]\ndtparam=spi=on\n");
    let before = state(&machine);
    install(&machine, &machine.root, &kernel(Arch::Arm64), &options("pi4")).unwrap();
    keep(&machine, &machine.root).unwrap();
    assert!(keep(&machine, &machine.root).unwrap().edits.is_empty(), "twice is once");
    assert!(back(&machine, false).complete());
    same(&machine, &before, "back");
}

#[test]
fn a_raspberry_pi_whose_command_line_lies_in_another_folder_keeps_a_kernel() {
    for (setting, folder) in [("os_prefix=current/", "current"), ("cmdline=sub/cmdline.txt", "sub")] {
        let machine = lay("pi4");
        let firmware = machine.place("/boot/firmware");
        let config = machine.read("/boot/firmware/config.txt");
        machine.write("/boot/firmware/config.txt", &format!("{config}[all]\n{setting}\n"));
        let line = format!("/boot/firmware/{folder}/cmdline.txt");
        std::fs::create_dir(firmware.join(folder)).unwrap();
        std::fs::rename(firmware.join("cmdline.txt"), machine.place(&line)).unwrap();
        let before = state(&machine);
        install(&machine, &machine.root, &kernel(Arch::Arm64), &options("pi4")).unwrap();
        let edited = machine.read(&line).replace("rootwait", "rootwait quiet");
        machine.write(&line, &edited);
        let kept = keep(&machine, &machine.root).unwrap_or_else(|e| panic!("{setting}: {e}"));
        assert!(kept.notes.iter().any(|note| note.contains("edited since")), "{setting}: {kept:?}");
        // The firmware takes the new kernel's own line, with what was edited.
        let own = format!("/boot/firmware/ontick-{RELEASE}/cmdline.txt");
        match ontick_machine::boot::find(&machine.root).unwrap() {
            BootFiles::RaspberryPi { cmdline, .. } => assert_eq!(cmdline, own, "{setting}"),
            other => panic!("{setting}: {other:?}"),
        }
        assert_eq!(machine.read(&own), edited, "{setting}");
        assert!(keep(&machine, &machine.root).unwrap().edits.is_empty(), "{setting}: twice is once");
        assert!(back(&machine, false).complete(), "{setting}");
        machine.write(&line, &edited.replace(" quiet", ""));
        same(&machine, &before, setting);
    }
}

#[test]
fn a_default_that_the_firmware_keeps_is_not_overruled_in_vain() {
    let machine = lay("x86-systemd-boot");
    install(&machine, &machine.root, &kernel(Arch::Amd64), &options("x86-systemd-boot")).unwrap();
    let variable = machine.place(&efi::path("LoaderEntryDefault"));
    let default = |text: &str| {
        std::fs::create_dir_all(variable.parent().unwrap()).unwrap();
        std::fs::write(&variable, efi::file_of(text)).unwrap();
    };
    default("arch.conf");
    let before = state(&machine);
    let refused = keep(&machine, &machine.root);
    assert!(refused.as_ref().is_err_and(|e| e.to_string().contains("names arch.conf")), "{refused:?}");
    same(&machine, &before, "refused");
    for free in [format!("ontick-{RELEASE}.conf"), String::new()] {
        default(&free);
        keep(&machine, &machine.root).unwrap_or_else(|e| panic!("\"{free}\": {e}"));
    }
}

#[test]
fn a_new_boot_file_that_was_edited_is_not_kept_over() {
    let machine = lay("x86-grub");
    install(&machine, &machine.root, &kernel(Arch::Amd64), &options("x86-grub")).unwrap();
    let file = "/boot/grub/custom.cfg";
    machine.write(file, &machine.read(file).replace("menuentry", "menuentry --unrestricted"));
    let before = state(&machine);
    let refused = keep(&machine, &machine.root);
    assert!(matches!(&refused, Err(KeepError::Edited(path)) if path == file), "{refused:?}");
    same(&machine, &before, "refused");
}
