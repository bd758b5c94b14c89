//! A kernel is installed beside the one that is there, and goes without a trace, wherever it was stopped.

#[path = "../../machine/tests/machine/mod.rs"]
mod machine;

#[path = "install/trial.rs"]
mod trial;

#[path = "install/taken.rs"]
mod taken;

#[path = "install/kept.rs"]
mod kept;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use machine::Machine;
use machine::packed::{self, Arch, MACHINES, RELEASE};
use machine::stop::{Manner, at_each_step};
use ontick_kernel::install::{self, InstallError, InstallOptions, InstallPlan, KeepError, Package, RolledBack};
use ontick_machine::boot::grubenv;
use ontick_machine::journal::JournalKind;
use ontick_machine::root::{Act, Hook, Verdict};
use ontick_machine::{Journal, Root};
use proptest::prelude::*;

const ENV: &str = "/boot/grub/grubenv";

fn lay(name: &str) -> Machine {
    let machine = Machine::lay(name);
    std::fs::create_dir_all(machine.place("/var/lib")).unwrap();
    std::fs::create_dir_all(machine.place("/lib/modules")).unwrap();
    if name == "x86-grub" {
        machine.write(ENV, &format!("{:#<1024}", "# GRUB Environment Block\nsaved_entry=0\n"));
    }
    machine
}

struct Packed {
    _folder: tempfile::TempDir,
    package: Package,
}

fn pack(files: &packed::Files) -> Packed {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel.tar.gz");
    packed::write(&file, files);
    Packed { package: Package::open(&file).unwrap(), _folder: folder }
}

fn kernel(arch: Arch) -> Packed {
    pack(&packed::files(arch, RELEASE))
}

fn options(name: &str) -> InstallOptions {
    InstallOptions { name: None, once: name == "x86-grub" }
}

fn install(
    machine: &Machine,
    root: &Root,
    packed: &Packed,
    options: &InstallOptions,
) -> Result<InstallPlan, InstallError> {
    let mut journal = Journal::open_kind(root, JournalKind::Kernel)?;
    let facts = machine.facts();
    let plan = InstallPlan::make(root, &facts, &packed.package, options)?;
    install::apply(root, &plan, &packed.package, &mut journal, &mut |_| true)?;
    journal.close();
    Ok(plan)
}

fn keep(machine: &Machine, root: &Root) -> Result<install::Keeping, KeepError> {
    let mut journal = Journal::open_kind(root, JournalKind::Kernel)?;
    let plan = install::keeping(root, &machine.facts(), true)?;
    install::keep(root, &plan, &mut journal)?;
    Ok(plan)
}

fn back(machine: &Machine, force: bool) -> RolledBack {
    let mut journal = Journal::open_kind(&machine.root, JournalKind::Kernel).unwrap();
    let done = install::rollback(&machine.root, &machine.facts(), &mut journal, force, false);
    journal.close();
    done
}

fn state(machine: &Machine) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = machine.snapshot();
    // Folders that everything needs may be made and stay.
    all.retain(|path, content| {
        content != b"<folder>" || !["var", "var/lib", "lib", "lib/modules"].iter().any(|f| path.as_os_str() == *f)
    });
    all
}

fn same(machine: &Machine, before: &BTreeMap<PathBuf, Vec<u8>>, when: &str) {
    let now = state(machine);
    let differ: Vec<_> = before.keys().chain(now.keys()).filter(|p| before.get(*p) != now.get(*p)).collect();
    assert!(differ.is_empty(), "{when}: {differ:?}");
}

#[test]
fn every_boot_loader_gets_an_entry_that_nobody_boots_by_himself_and_loses_it_again() {
    for (name, arch) in MACHINES {
        let machine = lay(name);
        let before = state(&machine);
        let packed = kernel(arch);
        let plan = install(&machine, &machine.root, &packed, &options(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let changed = state(&machine);
        for (path, content) in &before {
            // grubenv holds the choice for one boot; extlinux.conf has one more label.
            let may = ["boot/grub/grubenv", "boot/extlinux/extlinux.conf"].iter().any(|p| path.as_os_str() == *p);
            assert!(may || changed.get(path) == Some(content), "{name}: {} was changed", path.display());
        }
        let module = machine.place(&format!("/lib/modules/{RELEASE}/kernel/drivers/one.ko"));
        assert_eq!(std::fs::read(module).unwrap(), arch.module());
        let image = machine.place(&format!("{}/{}", plan.kernel.folder, plan.kernel.kernel));
        assert_eq!(std::fs::read(image).unwrap(), arch.image(RELEASE), "{name}");
        let again = InstallPlan::make(&machine.root, &machine.facts(), &packed.package, &options(name));
        assert!(again.is_err_and(|e| matches!(e, InstallError::AlreadyInstalled(_))), "{name}");
        let done = back(&machine, false);
        assert!(done.complete(), "{name}: {done:?}");
        same(&machine, &before, name);

        install(&machine, &machine.root, &packed, &options(name)).unwrap();
        let kept = keep(&machine, &machine.root).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(!kept.edits.is_empty(), "{name}");
        assert!(keep(&machine, &machine.root).is_ok_and(|again| again.edits.is_empty()), "{name}: twice is once");
        assert!(back(&machine, false).complete(), "{name}");
        same(&machine, &before, &format!("{name}, kept"));
    }
}

#[test]
fn what_each_boot_loader_is_reported() {
    let reported = |name: &str, arch: Arch, stage: fn(&Machine)| {
        let machine = lay(name);
        install(&machine, &machine.root, &kernel(arch), &options(name)).unwrap();
        stage(&machine);
        machine
    };
    let kept: fn(&Machine) = |machine| drop(keep(machine, &machine.root).unwrap());
    let tried: fn(&Machine) = |_| {};
    let own = format!("ontick-{RELEASE}");

    let pi = reported("pi4", Arch::Arm64, tried);
    let config = pi.read("/boot/firmware/tryboot.txt");
    for line in [&format!("os_prefix={own}/"), "kernel=kernel8.img", "arm_64bit=1"] {
        assert!(config.contains(&format!("{line}\n")), "{line}: {config}");
    }
    let mut files = pi.root.list(&format!("/boot/firmware/{own}"));
    files.sort();
    assert_eq!(
        files,
        [
            "bcm2710-rpi-3-b-plus.dtb",
            "bcm2711-rpi-4-b.dtb",
            "bcm2712-rpi-5-b.dtb",
            "cmdline.txt",
            "initramfs8",
            "installed-by-ontick.json",
            "kernel8.img",
            "overlays"
        ]
    );
    assert_eq!(pi.root.list(&format!("/boot/firmware/{own}/overlays")), ["README", "uart0.dtbo"]);
    assert_eq!(pi.read(&format!("/boot/firmware/{own}/cmdline.txt")), pi.read("/boot/firmware/cmdline.txt"));
    let pi = reported("pi4", Arch::Arm64, kept);
    assert!(pi.read("/boot/firmware/config.txt").ends_with(&config[config.len() - 60..]));
    assert!(!pi.root.exists("/boot/firmware/tryboot.txt"));

    let pc = reported("x86-grub", Arch::Amd64, tried);
    let entry = pc.read("/boot/grub/custom.cfg");
    assert!(
        entry.contains(&format!("linux /boot/{own}/vmlinuz root=UUID=0e1b4b4c")) && !entry.contains("set default"),
        "{entry}"
    );
    assert_eq!(grubenv::get(&pc.read(ENV), "next_entry"), Some(own.as_str()));
    keep(&pc, &pc.root).unwrap();
    assert!(pc.read("/boot/grub/custom.cfg").contains(&format!("set default='{own}'")));

    let pc = reported("x86-systemd-boot", Arch::Amd64, kept);
    let entry = pc.read(&format!("/boot/loader/entries/{own}.conf"));
    assert!(entry.contains(&format!("linux   /{own}/linux\n")) && entry.contains("options root=UUID="), "{entry}");
    assert!(pc.read("/boot/loader/loader.conf").starts_with(&format!("default {own}.conf\n")));

    let bone = reported("arm-extlinux", Arch::Arm, tried);
    let conf = bone.read("/boot/extlinux/extlinux.conf");
    assert!(conf.contains("default l0\n") && conf.contains(&format!("\tfdtdir /boot/{own}/dtbs/\n")), "{conf}");
    keep(&bone, &bone.root).unwrap();
    assert!(bone.read("/boot/extlinux/extlinux.conf").contains(&format!("default {own}\n")));

    let bone = reported("beaglebone", Arch::Arm, kept);
    assert!(bone.read("/boot/uEnv.txt").contains(&format!("uname_r={RELEASE}\n")));
    assert!(bone.root.exists(&format!("/boot/dtbs/{RELEASE}/am335x-boneblack.dtb")));
}

#[test]
fn stopped_at_any_step_of_install_and_keep_everything_comes_back() {
    for (name, arch) in MACHINES {
        let machine = lay(name);
        let before = state(&machine);
        let packed = kernel(arch);
        let steps = at_each_step(&Manner::ALL, |kill| {
            let root = machine.root.clone().with_hook(kill.clone());
            if install(&machine, &root, &packed, &options(name)).is_ok() {
                let _ = keep(&machine, &root);
            }
            let done = back(&machine, false);
            assert!(done.complete(), "{name}, {kill}: {done:?}");
            same(&machine, &before, &format!("{name}, {kill}"));
        });
        assert!(steps > 20, "{name}: only {steps} steps were tried");
    }
}

#[test]
fn a_rollback_that_is_stopped_can_be_repeated_and_leaves_no_entry_without_its_kernel() {
    for (name, arch) in [MACHINES[1], MACHINES[3], MACHINES[6]] {
        let machine = lay(name);
        let before = state(&machine);
        let packed = kernel(arch);
        at_each_step(&Manner::ALL, |kill| {
            install(&machine, &machine.root, &packed, &options(name)).unwrap();
            let kept = keep(&machine, &machine.root).unwrap();
            let root = machine.root.clone().with_hook(kill.clone());
            let mut journal = Journal::open_kind(&root, JournalKind::Kernel).unwrap();
            install::rollback(&root, &machine.facts(), &mut journal, false, false);
            drop(journal);
            let image = format!("{}/{}", kept.kernel.folder, kept.kernel.kernel);
            let names_it = kept.edits.iter().any(|e| machine.root.text(&e.path).is_ok_and(|now| now == e.after));
            assert!(machine.root.exists(&image) || !names_it, "{name}, {kill}: an entry names nothing");
            assert!(back(&machine, false).complete(), "{name}, {kill}");
            same(&machine, &before, &format!("{name}, {kill}"));
        });
    }
}

/// One step is refused, the next ones are not: the disk was full for a moment.
struct Full(usize, AtomicUsize);

impl Hook for Full {
    fn before(&self, act: &Act) -> Verdict {
        match self.1.fetch_add(1, Ordering::Relaxed) == self.0 {
            true => match act {
                Act::Append { content, .. } | Act::Create { content, .. } => {
                    Verdict::Torn(content.len() / 3, io::Error::from_raw_os_error(28))
                }
                _ => Verdict::Refuse(io::Error::from_raw_os_error(28)),
            },
            false => Verdict::Go,
        }
    }
}

#[test]
fn a_full_disk_at_any_step_leaves_what_was_there() {
    for (name, arch) in MACHINES {
        let machine = lay(name);
        let before = state(&machine);
        let packed = kernel(arch);
        let mut taken_back = 0;
        for at in 0.. {
            let full = Arc::new(Full(at, AtomicUsize::new(0)));
            let root = machine.root.clone().with_hook(full.clone());
            let result = install(&machine, &root, &packed, &options(name));
            let reached = full.1.load(Ordering::Relaxed) > at;
            match result {
                Err(why) => {
                    assert!(why.to_string().contains("ENOSPC"), "{name} step {at}: {why}");
                    // What it says is true: all is as before, but for a journal that may have to be cleared.
                    if matches!(why, InstallError::TakenBack(_)) {
                        taken_back += 1;
                        let mut now = state(&machine);
                        now.retain(|path, _| !path.starts_with("var/lib/ontick"));
                        assert!(now == before, "{name} step {at}: {why}");
                    }
                }
                Ok(_) if reached => {}
                Ok(_) => break,
            }
            assert!(back(&machine, false).complete(), "{name} step {at}");
            same(&machine, &before, &format!("{name} step {at}"));
        }
        assert!(taken_back > 5, "{name}: taken back at {taken_back} steps only");
    }
}

#[test]
fn what_others_edit_meanwhile_stays() {
    // Edited before keep and after it: both stay, ours goes.
    let machine = lay("pi4");
    let config = "/boot/firmware/config.txt";
    let before = machine.read(config);
    install(&machine, &machine.root, &kernel(Arch::Arm64), &options("pi4")).unwrap();
    machine.write(config, &format!("dtparam=spi=on\n{before}"));
    keep(&machine, &machine.root).unwrap();
    machine.write(config, &format!("{}gpu_mem=16\n", machine.read(config)));
    assert!(back(&machine, false).complete());
    assert_eq!(machine.read(config), format!("dtparam=spi=on\n{before}gpu_mem=16\n"));

    // Edited where ontick had written: reported, left, and the kernel stays until it is settled.
    let machine = lay("pi4");
    let before = state(&machine);
    install(&machine, &machine.root, &kernel(Arch::Arm64), &options("pi4")).unwrap();
    let kept = keep(&machine, &machine.root).unwrap();
    machine.write(config, &machine.read(config).replace("os_prefix=ontick", "os_prefix=mine"));
    let done = back(&machine, false);
    assert!(!done.complete() && done.notes.iter().any(|n| n.contains("stay until")), "{done:?}");
    assert!(machine.root.exists(&kept.kernel.folder));
    assert!(back(&machine, true).complete());
    same(&machine, &before, "forced");
}

#[test]
fn a_command_line_that_is_edited_meanwhile_is_carried_over_and_kept() {
    let machine = lay("pi5");
    let line = "/boot/firmware/cmdline.txt";
    let own = format!("/boot/firmware/ontick-{RELEASE}/cmdline.txt");
    install(&machine, &machine.root, &kernel(Arch::Arm64), &options("pi5")).unwrap();
    let edited = machine.read(line).replace("rootwait", "rootwait quiet");
    machine.write(line, &edited);
    let kept = keep(&machine, &machine.root).unwrap();
    assert!(kept.notes.iter().any(|n| n.contains("edited since")), "{kept:?}");
    assert_eq!(machine.read(&own), edited);
    assert!(back(&machine, false).complete());
    assert_eq!(machine.read(line), edited);

    // The new kernel's own line: reported, and not thrown away.
    install(&machine, &machine.root, &kernel(Arch::Arm64), &options("pi5")).unwrap();
    machine.write(&own, "root=/dev/mmcblk0p2 mine\n");
    let done = back(&machine, false);
    assert!(!done.complete() && format!("{done:?}").contains("cmdline.txt in it was edited"), "{done:?}");
    assert_eq!(machine.read(&own), "root=/dev/mmcblk0p2 mine\n");
    assert!(back(&machine, true).complete() && !machine.root.exists(&own));
}

#[test]
fn tune_and_kernel_go_back_in_any_order() {
    for tune_first in [true, false] {
        let machine = lay("pi4");
        let before = state(&machine);
        let facts = machine.facts();
        let tune = |machine: &Machine| {
            let target = machine.target(ontick_machine::Profile::DedicatedCore);
            let plan = ontick_machine::boot::plan(&machine.root, &facts, &target, false).unwrap();
            assert!(plan.edits.iter().any(|e| e.path.ends_with("config.txt")), "{plan:?}");
            let mut journal = Journal::open(&machine.root).unwrap();
            assert!(ontick_machine::boot::apply(&machine.root, &plan, &mut journal).stopped.is_none());
        };
        if tune_first {
            tune(&machine);
        }
        install(&machine, &machine.root, &kernel(Arch::Arm64), &options("pi4")).unwrap();
        keep(&machine, &machine.root).unwrap();
        if !tune_first {
            tune(&machine);
            let own = machine.read(&format!("/boot/firmware/ontick-{RELEASE}/cmdline.txt"));
            assert!(own.contains("isolcpus="), "the kernel that is booted gets the arguments: {own}");
            let refused = back(&machine, false);
            assert!(!refused.complete() && refused.tuned, "{refused:?}");
        }
        let mut journal = Journal::open(&machine.root).unwrap();
        let reverted = ontick_machine::revert(&machine.root, &mut journal, false);
        assert!(reverted.complete(), "{reverted:?}");
        journal.close();
        assert!(back(&machine, false).complete());
        same(&machine, &before, &format!("tune first: {tune_first}"));
    }
}

fn refused(machine: &Machine, files: &packed::Files) -> String {
    let before = state(machine);
    let packed = pack(files);
    let why = InstallPlan::make(&machine.root, &machine.facts(), &packed.package, &InstallOptions::default())
        .unwrap_err()
        .to_string();
    same(machine, &before, &why);
    why
}

#[test]
fn a_kernel_that_could_not_come_up_is_refused() {
    let machine = lay("pi4");
    assert!(refused(&machine, &packed::files(Arch::Amd64, RELEASE)).contains("64-bit PC"));
    let mut bare = packed::files(Arch::Arm64, RELEASE);
    bare.retain(|(path, _)| !path.contains("rpi-4-b"));
    assert!(refused(&machine, &bare).contains("no device tree for Raspberry Pi 4 Model B"));
    // An initramfs that nobody can make for a card.
    machine.write("/boot/firmware/config.txt", "auto_initramfs=1\n");
    machine.write("/boot/firmware/initramfs8", "x");
    let mut without = packed::files(Arch::Arm64, RELEASE);
    without.retain(|(path, _)| !path.contains("initrd"));
    assert!(refused(&machine, &without).contains("initramfs"));
    without.iter_mut().filter(|(path, _)| path.contains("config-")).for_each(|(_, config)| {
        *config = b"CONFIG_MMC_BLOCK=y\nCONFIG_EXT4_FS=y\nCONFIG_MMC_SDHCI_IPROC=y\n".to_vec();
    });
    let plan = InstallPlan::make(&machine.root, &machine.facts(), &pack(&without).package, &InstallOptions::default())
        .unwrap();
    assert!(plan.kernel.initramfs.is_none() && plan.edits[0].after.contains("auto_initramfs=0"));
    // One that the new kernel would get, too, and whose modules are the old one's.
    for line in ["initramfs /initramfs8 followkernel", "ramfsfile=/initramfs8"] {
        machine.write("/boot/firmware/config.txt", &format!("{line}\n"));
        assert!(refused(&machine, &packed::files(Arch::Arm64, RELEASE)).contains("with a / first"), "{line}");
    }
    machine.write("/boot/firmware/config.txt", "auto_initramfs=1\n");

    // A release that a package has installed.
    machine.write(&format!("/lib/modules/{RELEASE}/modules.dep"), "");
    machine.write("/var/lib/dpkg/info/linux-image-6.12.25-rt9.list", &format!("/.\n/lib/modules/{RELEASE}\n"));
    assert!(refused(&machine, &packed::files(Arch::Arm64, RELEASE)).contains("linux-image-6.12.25-rt9"));

    let old = lay("pi3b-stretch");
    assert!(refused(&old, &packed::files(Arch::Amd64, RELEASE)).contains("64-bit PC"));
    // A signature is asked for where the firmware asks for one.
    let pc = lay("x86-grub");
    let variable = pc.place("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c");
    std::fs::create_dir_all(variable.parent().unwrap()).unwrap();
    std::fs::write(&variable, [6, 0, 0, 0, 1]).unwrap();
    assert!(refused(&pc, &packed::files(Arch::Amd64, RELEASE)).contains("Secure Boot"));
    std::fs::write(&variable, [6, 0, 0, 0, 0]).unwrap();
    // A menu that would never see the entry; a default that would take it at once.
    pc.write("/boot/grub/grub.cfg", "set default=0\n");
    assert!(refused(&pc, &packed::files(Arch::Amd64, RELEASE)).contains("custom.cfg"));
    let pc = lay("x86-systemd-boot");
    pc.write("/boot/loader/loader.conf", "default *\n");
    assert!(refused(&pc, &packed::files(Arch::Amd64, RELEASE)).contains("booted at once"));
}

#[test]
fn a_package_that_is_damaged_or_dangerous_is_refused() {
    let whole = packed::files(Arch::Arm64, RELEASE);
    let said = |bytes: &[u8]| Package::read(bytes).unwrap_err().to_string();
    let changed = |change: &dyn Fn(&mut packed::Files)| {
        let mut files = whole.clone();
        change(&mut files);
        said(&packed::tar(&files))
    };
    for path in ["/etc/passwd", "../etc/passwd", "boot/../../etc/passwd"] {
        assert!(changed(&|files| files.push((path.into(), Vec::new()))).contains("dangerous"), "{path}");
    }
    for (path, target) in
        [("lib", "/etc"), ("boot", "../etc"), ("boot/vmlinuz-1", "/dev/mem"), ("usr/lib/modules", "/etc")]
    {
        assert!(said(&packed::tar_with_link(path, target)).contains("dangerous"), "{path}");
    }
    assert!(changed(&|f| f.retain(|(p, _)| !p.contains("modules"))).contains("no modules"));
    assert!(changed(&|f| f.retain(|(p, _)| !p.contains("vmlinuz"))).contains("no kernel"));
    assert!(changed(&|f| f.push(("boot/kernel7.img".into(), Arch::Arm.image("")))).contains("several kernels"));
    assert!(changed(&|f| f.push(("lib/modules/6.1/a.ko".into(), Vec::new()))).contains("several kernels"));
    assert!(changed(&|f| f[0].1 = b"no kernel".to_vec()).contains("no Linux kernel"));
    assert!(changed(&|f| f[0].1 = Arch::Arm64.image("6.1.0")).contains("6.1.0"));
    assert!(changed(&|f| f[0].1 = Arch::Arm.image("")).contains("its modules are for 64-bit ARM"));
    let mut cut = packed::tar(&whole);
    cut.truncate(cut.len() / 2);
    assert!(!said(&cut).is_empty());
    assert!(!said(b"no tar at all, but longer than one block".repeat(20).as_slice()).is_empty());
    assert!(Package::read(&packed::tar(&whole)).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever stands in the boot files, install (and keep) and rollback together change nothing.
    #[test]
    fn install_and_rollback_is_nothing(
        which in 0..MACHINES.len(),
        above in "(#[ a-z]{0,9}\n|[a-z_]{1,8}=[a-z0-9]{0,4}\n|\\[(all|pi4|cm4|none)\\]\n){0,4}",
        below in "(#[ a-z]{0,9}\r?\n|[a-z_]{1,8}=[a-z0-9]{0,4}\n|\\[(all|pi4|cm4)\\]\n){0,4}",
        open in any::<bool>(),
        kept in any::<bool>(),
    ) {
        let (name, arch) = MACHINES[which];
        let machine = lay(name);
        let files = ["/boot/firmware/config.txt", "/boot/grub/custom.cfg", "/boot/loader/loader.conf", "/boot/extlinux/extlinux.conf", "/boot/uEnv.txt"];
        let file = files.iter().find(|f| machine.root.exists(f)).unwrap_or(&"/boot/grub/custom.cfg");
        let mut text = format!("{above}{}{below}", machine.root.text(file).unwrap_or_default());
        if open {
            text = text.trim_end_matches(['\r', '\n']).into();
        }
        machine.write(file, &text);
        let before = state(&machine);
        // What is refused has changed nothing, either.
        if install(&machine, &machine.root, &kernel(arch), &options(name)).is_ok() && kept {
            let _ = keep(&machine, &machine.root);
        }
        let done = back(&machine, false);
        prop_assert!(done.complete(), "{:?}", done);
        same(&machine, &before, name);
    }
}

/// Journals of version 0.1.0 after `install` and `keep` on each boot loader: what later versions must go on reading.
#[test]
fn a_journal_that_an_earlier_version_left_is_rolled_back() {
    for (name, arch) in MACHINES {
        let machine = lay(name);
        let before = state(&machine);
        install(&machine, &machine.root, &kernel(arch), &options(name)).unwrap();
        keep(&machine, &machine.root).unwrap();
        let journal = format!("{}/tests/journals/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let (file, left) = ("/var/lib/ontick/kernel.jsonl", std::fs::read_to_string(&journal).unwrap());
        // Copies of files that were edited are named by the time.
        let left = match (copied_at(&left), copied_at(&machine.read(file))) {
            (Some(then), Some(now)) => left.replace(&then, &now),
            _ => left,
        };
        machine.write(file, &left);
        let done = back(&machine, false);
        assert!(done.complete() && done.reverted.steps.len() > 1, "{name}: {done:?}");
        same(&machine, &before, &format!("{name}, by {journal}"));
    }
}

/// The time in the name of a copy, `ontick-20261123-080736`.
fn copied_at(journal: &str) -> Option<String> {
    let at = journal.find(".ontick-2")?;
    Some(journal[at..].split('"').next()?.to_owned())
}
