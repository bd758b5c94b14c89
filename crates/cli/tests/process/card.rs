//! `--root` on a card in a reader: no kernel runs there, and its /proc and /sys are empty.

use std::fs;
use std::path::Path;

use crate::machine::blob::board;
use crate::{run, stderr, stdout};

const LINE: &str = "console=serial0,115200 root=PARTUUID=4e639091-02 rootwait\n";

/// A card of Raspberry Pi OS, with device trees for these boards.
fn card(config: &str, trees: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
    let card = tempfile::tempdir().unwrap();
    let firmware = card.path().join("boot/firmware");
    for folder in ["boot/firmware", "proc", "sys", "var/lib", "usr/lib/systemd/system", "etc/systemd/system"] {
        fs::create_dir_all(card.path().join(folder)).unwrap();
    }
    fs::write(firmware.join("config.txt"), config).unwrap();
    fs::write(firmware.join("cmdline.txt"), LINE).unwrap();
    for (name, tree) in trees {
        fs::write(firmware.join(name), tree).unwrap();
    }
    card
}

fn pi(model: &str, board_name: &str, chip: &str, cpus: u32) -> Vec<u8> {
    board(&format!("Raspberry Pi {model}"), &format!("raspberrypi,{board_name}\0brcm,{chip}"), cpus, 0)
}

fn pi4() -> Vec<u8> {
    pi("4 Model B", "4-model-b", "bcm2711", 4)
}

fn on(card: &Path, arguments: &[&str]) -> std::process::Output {
    run(&[arguments, &["--root", card.to_str().unwrap()]].concat())
}

fn files(card: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![card.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push((path.display().to_string(), fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_card_without_sys_is_checked_planned_changed_and_put_back() {
    let card = card("arm_64bit=1\n", &[("bcm2711-rpi-4-b.dtb", pi4())]);
    let root = card.path().to_str().unwrap();
    let before = files(card.path());
    let checked = on(card.path(), &["check"]);
    let text = stdout(&checked);
    assert!(text.starts_with("machine   Raspberry Pi 4 Model B"), "{text}{}", stderr(&checked));
    assert!(text.contains(&format!("ontick tune plan --boot --root {root}")), "{text}");
    assert!(text.lines().all(|l| !l.contains("ontick tune apply") || l.contains("--root")), "{text}");
    // No kernel runs there that could be changed now.
    assert!(text.contains(" boot  ontick tune apply --boot") && !text.contains(" now  "), "{text}");

    let plan = on(card.path(), &["tune", "plan", "--boot", "--cpu", "3"]);
    let text = stdout(&plan);
    assert!(plan.status.success(), "{}", stderr(&plan));
    for word in ["isolcpus=3", "irqaffinity=0-2", "force_turbo=1"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(text.contains(&format!("sudo ontick tune apply --cpu 3 --boot --root {root}")), "{text}");
    assert!(text.contains("No kernel runs here") && !text.contains("as wanted"), "{text}");
    assert!(files(card.path()) == before);

    let applied = on(card.path(), &["tune", "apply", "--boot", "--cpu", "3"]);
    let text = stdout(&applied);
    assert!(applied.status.success(), "{text}{}", stderr(&applied));
    assert!(text.contains(&format!("The way back: sudo ontick tune revert --root {root}")), "{text}");
    let line = fs::read_to_string(card.path().join("boot/firmware/cmdline.txt")).unwrap();
    assert!(line.contains(" isolcpus=3 ") && line.contains(" irqaffinity=0-2 "), "{line}");
    assert!(on(card.path(), &["tune", "revert"]).status.success());
    assert!(files(card.path()) == before);
}

#[test]
fn what_the_system_of_a_folder_is_to_run_yet_is_said_before_the_restart() {
    let disk = card("", &[]);
    fs::create_dir_all(disk.path().join("etc/default")).unwrap();
    fs::create_dir_all(disk.path().join("boot/grub")).unwrap();
    fs::write(disk.path().join("etc/default/grub"), "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n").unwrap();
    fs::write(disk.path().join("boot/grub/grub.cfg"), "linux /vmlinuz root=/dev/sda1 quiet\n").unwrap();
    for file in ["cmdline.txt", "config.txt"] {
        fs::remove_file(disk.path().join("boot/firmware").join(file)).unwrap();
    }
    let applied = on(disk.path(), &["tune", "apply", "--boot", "--cpu", "3", "--board-cpus", "0-3"]);
    let text = stdout(&applied);
    let (before, restart) = text.split_once("It takes effect with a restart").unwrap_or((&text, ""));
    assert!(before.contains("then      grub-mkconfig") && !restart.is_empty(), "{text}{}", stderr(&applied));
    assert!(on(disk.path(), &["tune", "revert"]).status.success());
}

#[test]
fn what_is_not_seen_on_a_card_is_not_called_as_wanted() {
    let card = card("arm_64bit=1\n", &[("bcm2711-rpi-4-b.dtb", pi4())]);
    let applied = on(card.path(), &["tune", "apply", "--cpu", "3"]);
    let text = stdout(&applied);
    assert!(text.contains("No kernel runs here") && !text.contains("as wanted"), "{text}{}", stderr(&applied));
}

#[test]
fn a_journal_of_a_card_that_cannot_be_read_is_named_where_it_lies() {
    let card = card("", &[]);
    let journal = card.path().canonicalize().unwrap().join("var/lib/ontick/tune.jsonl");
    // What is no file is read by nobody, whatever the rights.
    fs::create_dir_all(&journal).unwrap();
    let status = on(card.path(), &["tune", "status"]);
    assert_eq!(status.status.code(), Some(2), "{}", stdout(&status));
    assert!(
        stderr(&status).contains(&format!("the journal {} cannot be read", journal.display())),
        "{}",
        stderr(&status)
    );
}

#[test]
fn the_device_tree_that_config_txt_names_counts() {
    let trees = [("bcm2708-rpi-b.dtb", pi("Model B", "model-b", "bcm2835", 1)), ("own.dtb", pi4())];
    let named = card("[all]\ndevice_tree=own.dtb\n", &trees);
    let plan = on(named.path(), &["tune", "plan", "--boot"]);
    assert!(stdout(&plan).contains("CPU 3 for timed programs, CPU 0-2"), "{}{}", stdout(&plan), stderr(&plan));
    let damaged = card("device_tree=own.dtb\n", &[trees[0].clone(), ("own.dtb", pi4()[..200].to_vec())]);
    let refused = on(damaged.path(), &["tune", "plan", "--boot"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("own.dtb: it is cut off or damaged; --board-cpus"), "{}", stderr(&refused));
}

#[test]
fn boards_with_other_cpus_are_told_apart_by_the_cpu_or_the_user() {
    let trees = [
        ("bcm2708-rpi-b.dtb", pi("Model B", "model-b", "bcm2835", 1)),
        ("bcm2710-rpi-3-b.dtb", pi("3 Model B", "3-model-b", "bcm2837", 4)),
        ("bcm2711-rpi-4-b.dtb", pi4()),
    ];
    let card = card("arm_64bit=1\n", &trees);
    let refused = on(card.path(), &["check"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("CPU 0 or 0-3; --board-cpus LIST"), "{}", stderr(&refused));
    let by_cpu = on(card.path(), &["tune", "plan", "--boot", "--cpu", "3"]);
    assert!(stdout(&by_cpu).contains("CPU 0-2 for everything else"), "{}{}", stdout(&by_cpu), stderr(&by_cpu));
    let said = on(card.path(), &["tune", "plan", "--boot", "--board-cpus", "0-3"]);
    assert!(stdout(&said).contains("CPU 0-2 for everything else"), "{}{}", stdout(&said), stderr(&said));
    assert!(stdout(&said).contains("--boot --board-cpus 0-3 --root "), "{}", stdout(&said));
    let wrong = on(card.path(), &["tune", "plan", "--boot", "--cpu", "4"]);
    assert!(wrong.status.code() == Some(2) && stderr(&wrong).contains("--board-cpus"), "{}", stderr(&wrong));
    let four = on(card.path(), &["tune", "plan", "--boot", "--cpu", "4", "--board-cpus", "0-3"]);
    assert!(stderr(&four).contains("CPU 4 is not one of the board"), "{}", stderr(&four));
    let running = run(&["check", "--board-cpus", "0-3"]);
    assert!(running.status.code() == Some(2) && stderr(&running).contains("--root"), "{}", stderr(&running));
}

/// Stock kernels handle interrupts without threads, unless `threadirqs` is among the kernel's arguments.
#[test]
fn priorities_of_interrupt_threads_come_with_threadirqs() {
    let card = card("arm_64bit=1\n", &[("bcm2711-rpi-4-b.dtb", pi4())]);
    let plan = on(card.path(), &["tune", "plan", "--boot", "--cpu", "3", "--irq-threads", "fifo:40"]);
    assert_eq!(plan.status.code(), Some(0), "{}", stderr(&plan));
    assert!(stdout(&plan).contains("threadirqs"), "{}", stdout(&plan));
    let wrong = on(card.path(), &["tune", "plan", "--irq-threads", "loud"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("policy \"loud\": there is no such policy"), "{}", stderr(&wrong));
}
