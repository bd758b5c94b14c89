//! What is in the place of the new kernel's files is not touched.

use super::*;

fn plan(machine: &Machine, arch: Arch, name: Option<&str>) -> Result<InstallPlan, InstallError> {
    let options = InstallOptions { name: name.map(str::to_owned), once: false };
    InstallPlan::make(&machine.root, &machine.facts(), &kernel(arch).package, &options)
}

#[test]
fn files_of_others_beside_which_the_kernel_would_lie_are_not_touched() {
    let trees = format!("/boot/dtbs/{RELEASE}");
    for path in [trees.clone() + "/mine.dtb", format!("/boot/vmlinuz-{RELEASE}"), format!("/boot/initrd.img-{RELEASE}")]
    {
        let machine = lay("beaglebone");
        machine.write("/boot/initrd.img-4.14.71-ti-r80", "an initramfs");
        machine.write(&path, "mine");
        let refused = plan(&machine, Arch::Arm, None);
        let is_said =
            |e: &InstallError| matches!(e, InstallError::ReleaseTaken { path: said, .. } if path.starts_with(said));
        assert!(refused.as_ref().is_err_and(is_said), "{path}: {refused:?}");
    }
    // The name has nothing to do with where these files lie.
    for name in ["t", "boot"] {
        assert!(plan(&lay("beaglebone"), Arch::Arm, Some(name)).is_ok(), "{name}");
    }
    let machine = lay("x86-grub");
    std::fs::create_dir_all(machine.place("/boot/t")).unwrap();
    let refused = plan(&machine, Arch::Amd64, Some("t"));
    assert!(matches!(refused, Err(InstallError::NameTaken(ref path)) if path == "/boot/t"), "{refused:?}");
}

#[test]
fn a_folder_of_others_in_the_place_of_ours_stays_also_by_force() {
    for force in [false, true] {
        let machine = lay("beaglebone");
        install(&machine, &machine.root, &kernel(Arch::Arm), &InstallOptions::default()).unwrap();
        let trees = format!("/boot/dtbs/{RELEASE}");
        std::fs::remove_dir_all(machine.place(&trees)).unwrap();
        machine.write(&format!("{trees}/mine.dtb"), "mine");
        let done = back(&machine, force);
        assert!(done.complete() && format!("{done:?}").contains("not the one that ontick put there"), "{done:?}");
        assert_eq!(machine.read(&format!("{trees}/mine.dtb")), "mine");
        assert!(back(&machine, force).reverted.steps.is_empty());
    }
}

#[test]
fn the_folder_is_the_one_that_the_loader_names() {
    let machine = lay("arm-extlinux");
    let file = "/boot/extlinux/extlinux.conf";
    let text = machine.read(file);
    let named = text.split_whitespace().find(|word| word.contains("vmlinuz-")).unwrap();
    machine.write("/boot/vmlinuz", "another kernel\n");
    machine.write("/boot/debian/vmlinuz", "a kernel\n");
    let folder = |kernel: &str| {
        machine.write(file, &text.replace(named, kernel));
        plan(&machine, Arch::Arm, None).unwrap().kernel.folder
    };
    assert_eq!(folder("/debian/vmlinuz"), format!("/boot/debian/ontick-{RELEASE}"));
    assert_eq!(folder("/vmlinuz"), format!("/boot/ontick-{RELEASE}"));
    assert_eq!(folder("../vmlinuz"), format!("/boot/ontick-{RELEASE}"));
}

#[test]
fn a_boot_file_that_is_a_link_to_nothing_is_refused() {
    let machine = lay("x86-grub");
    std::os::unix::fs::symlink("/srv/custom.cfg", machine.place("/boot/grub/custom.cfg")).unwrap();
    let refused = install(&machine, &machine.root, &kernel(Arch::Amd64), &options("x86-grub"));
    assert!(refused.as_ref().is_err_and(|e| e.to_string().contains("link to /srv/custom.cfg")), "{refused:?}");
    assert!(machine.root.link_target("/boot/grub/custom.cfg").is_some());
    assert!(machine.root.matching("/boot/ontick-*").is_empty());
}
