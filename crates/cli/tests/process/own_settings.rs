//! A profile's file with settings of one's own, as `ontick tune` takes it.

use std::fs;
use std::process::Output;

use crate::machine::Machine;
use crate::{run, stderr, stdout};

fn tune(machine: &Machine, words: &[&str], profile: &str) -> Output {
    let file = machine.place("/profile.toml");
    fs::write(&file, format!("format = \"ontick-profile/1\"\nprofile = \"low-latency\"\n{profile}")).unwrap();
    let (file, root) = (file.display().to_string(), machine.folder().display().to_string());
    run(&[&["tune"], words, &["--profile", &file, "--root", &root]].concat())
}

fn lay() -> Machine {
    let machine = Machine::lay("x86-grub");
    fs::create_dir_all(machine.place("/var/lib")).unwrap();
    machine.write("/proc/sys/vm/nr_hugepages", "0\n");
    machine.write("/profile.toml", "");
    machine
}

const OWN: &str = "cpus = \"3\"\nknobs = [\"swappiness\"]\n[set]\nvm.nr_hugepages = 64\n";

#[test]
fn settings_of_ones_own_are_shown_changed_and_put_back() {
    let machine = lay();
    let before = machine.snapshot();
    let plan = stdout(&tune(&machine, &["plan"], OWN));
    assert!(plan.contains("set         0 → 64") && plan.contains("swappiness"), "{plan}");
    let applied = tune(&machine, &["apply"], OWN);
    assert_eq!(applied.status.code(), Some(0), "{}{}", stdout(&applied), stderr(&applied));
    assert_eq!(machine.read("/proc/sys/vm/nr_hugepages"), "64\n");
    let root = machine.folder().display().to_string();
    let status = stdout(&run(&["tune", "status", "--root", &root]));
    assert!(status.contains("set         0 → 64"), "{status}");
    assert!(run(&["tune", "revert", "--root", &root]).status.success());
    machine.write("/profile.toml", "");
    assert!(machine.snapshot() == before);
}

#[test]
fn what_is_not_there_or_a_knobs_own_is_refused_and_the_rest_is_made() {
    let machine = lay();
    let own = "knobs = [\"swappiness\"]\n[set]\nvm.swappiness = 5\nvm.no_such_thing = 1\nvm.nr_hugepages = 64\n";
    let applied = tune(&machine, &["apply"], own);
    let text = stdout(&applied);
    assert_eq!(applied.status.code(), Some(1), "{text}{}", stderr(&applied));
    assert!(text.contains("refused  set") && text.contains("swappiness is about this file, too"), "{text}");
    assert!(text.contains("absent   set"), "{text}");
    assert_eq!(
        (&*machine.read("/proc/sys/vm/nr_hugepages"), &*machine.read("/proc/sys/vm/swappiness")),
        ("64\n", "1\n")
    );
}

#[test]
fn what_is_no_setting_is_one_sentence() {
    let machine = lay();
    let before = machine.snapshot();
    for (own, part) in [
        (
            "[set]\n\"/etc/passwd\" = 1\n",
            "set: \"/etc/passwd\" is neither a sysctl, such as vm.nr_hugepages, nor a file below",
        ),
        ("[set]\n\"/sys/../etc/passwd\" = 1\n", "is neither a sysctl"),
        ("[set]\nvm.dirty_bytes = 65536\n", "set: \"vm.dirty_bytes\" could not be put back: set the ratio instead"),
        ("[set]\nvm.swappiness = [1]\n", "\"vm.swappiness\" must be a text or a whole number"),
    ] {
        let refused = tune(&machine, &["apply"], own);
        let said = stderr(&refused);
        assert!(refused.status.code() == Some(2) && said.contains(part) && said.lines().count() == 1, "{own}: {said}");
    }
    machine.write("/profile.toml", "");
    assert!(machine.snapshot() == before);
}

#[test]
fn two_names_of_one_file_change_nothing() {
    let machine = lay();
    std::os::unix::fs::symlink("../../proc/sys/vm", machine.place("/sys/kernel/vm")).unwrap();
    let before = machine.snapshot();
    let own = "[set]\n\"/sys/kernel/vm/nr_hugepages\" = 8\nvm.nr_hugepages = 64\n";
    for words in [&["plan"][..], &["apply"], &["apply", "--boot"]] {
        let refused = tune(&machine, words, own);
        let said = stderr(&refused);
        assert!(refused.status.code() == Some(2) && said.lines().count() == 1, "{words:?}: {said}");
        assert!(
            said.contains("/sys/kernel/vm/nr_hugepages and /proc/sys/vm/nr_hugepages are one file here"),
            "{words:?}: {said}"
        );
    }
    machine.write("/profile.toml", "");
    assert!(machine.snapshot() == before);
}

#[test]
fn at_boot_the_unit_reads_a_file_that_root_keeps() {
    let machine = lay();
    let before = machine.snapshot();
    let applied = tune(&machine, &["apply", "--boot"], OWN);
    assert_eq!(applied.status.code(), Some(0), "{}{}", stdout(&applied), stderr(&applied));
    let unit = machine.read("/etc/systemd/system/ontick-tune.service");
    assert!(unit.contains("tune apply --cpu 3 --profile /etc/ontick/tune-boot.toml\n"), "{unit}");
    let kept = machine.read("/etc/ontick/tune-boot.toml");
    assert!(
        kept.contains("knobs = [\"swappiness\"]") && kept.contains("\"/proc/sys/vm/nr_hugepages\" = \"64\""),
        "{kept}"
    );
    let root = machine.folder().display().to_string();
    assert!(run(&["tune", "revert", "--root", &root]).status.success());
    machine.write("/profile.toml", "");
    assert!(machine.snapshot() == before);
}

#[test]
fn a_later_file_of_arguments_alone_leaves_no_setting_at_boot() {
    let machine = lay();
    let before = machine.snapshot();
    let apply = |own: &str| {
        let applied = tune(&machine, &["apply", "--boot"], own);
        assert_eq!(applied.status.code(), Some(0), "{}{}", stdout(&applied), stderr(&applied));
        stdout(&applied)
    };
    let unit = || machine.read("/etc/systemd/system/ontick-tune.service");
    apply(OWN);
    let first = unit();
    let alone = "cpus = \"3\"\narguments = [\"nohz_full\"]\n";
    let planned = tune(&machine, &["plan", "--boot"], alone);
    assert!(planned.status.success() && unit() == first, "{}", stderr(&planned));
    let said = apply(alone);
    assert!(said.contains("no settings are applied at boot any more"), "{said}");
    assert!(unit().contains("ExecStart=/bin/true\n") && !unit().contains("tune apply"), "{}", unit());
    assert!(!machine.read("/etc/ontick/tune-boot.toml").contains("nr_hugepages"));
    apply(alone);
    apply(OWN);
    assert_eq!(unit(), first);
    let root = machine.folder().display().to_string();
    assert!(run(&["tune", "revert", "--root", &root]).status.success());
    machine.write("/profile.toml", "");
    assert!(machine.snapshot() == before);
}
