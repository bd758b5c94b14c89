//! `ontick tune` and `ontick prove --tune`: every change goes back, byte for byte.

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::machine::Machine;
use crate::{
    Restored, alone_on_this_machine, catches_interrupt, has, may_tune, ontick, run, send, stderr, stdout, wait_until,
};

/// Its journal needs the place that every system has.
fn lay(name: &str) -> Machine {
    let machine = Machine::lay(name);
    fs::create_dir_all(machine.place("/var/lib")).unwrap();
    machine
}

fn tune(machine: &Machine, arguments: &[&str]) -> std::process::Output {
    run(&[&["tune"], arguments, &["--root", machine.folder().to_str().unwrap()]].concat())
}

#[test]
fn a_plan_tells_every_change_and_makes_none() {
    let machine = lay("pi5");
    let before = machine.snapshot();
    let output = tune(&machine, &["plan", "--boot"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for word in
        ["ondemand → performance", "why  ", "/proc/irq/105/smp_affinity_list and 2 more", "+console=", "isolcpus="]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(text.contains("This does it: sudo ontick tune apply --boot --root"), "{text}");
    assert!(machine.snapshot() == before);
}

#[test]
fn what_was_applied_goes_back_byte_for_byte() {
    for name in ["pi3b-stretch", "pi4", "pi5", "beaglebone", "x86-grub", "x86-systemd-boot", "vm"] {
        let machine = lay(name);
        let before = machine.snapshot();
        let boot: &[&str] = if name == "vm" { &[] } else { &["--boot"] };
        let applied = tune(&machine, &[&["apply"], boot].concat());
        assert_eq!(applied.status.code(), Some(0), "{name}: {}{}", stdout(&applied), stderr(&applied));
        assert!(stdout(&applied).contains("The way back: sudo ontick tune revert"), "{name}");
        let changed = machine.snapshot();
        assert!(changed != before, "{name}");

        let status = tune(&machine, &["status", "--json"]);
        let standing: Value = serde_json::from_slice(&status.stdout).unwrap();
        let changes = standing["changes"].as_array().unwrap();
        assert!(changes.len() > 3 && changes.iter().all(|c| c["state"] == "as_set"), "{name}: {standing}");
        assert!(machine.snapshot() == changed, "{name}: status changes nothing");

        let again = tune(&machine, &["apply"]);
        assert!(again.status.success() && stdout(&again).contains("as wanted already"), "{name}: {}", stdout(&again));
        let reverted = tune(&machine, &["revert"]);
        assert_eq!(reverted.status.code(), Some(0), "{name}: {}", stdout(&reverted));
        assert!(machine.snapshot() == before, "{name} is not as it was");
        assert!(stdout(&tune(&machine, &["revert"])).contains("No change by ontick is in force"), "{name}");
    }
}

#[test]
fn what_somebody_else_changed_is_reported_and_left() {
    let machine = lay("pi4");
    assert!(tune(&machine, &["apply", "stat-interval", "swappiness"]).status.success());
    machine.write("/proc/sys/vm/stat_interval", "5\n");
    let status = tune(&machine, &["status"]);
    assert!(status.status.code() == Some(1) && stdout(&status).contains("another program's 5"), "{}", stdout(&status));
    let reverted = tune(&machine, &["revert"]);
    assert_eq!(reverted.status.code(), Some(1));
    assert!(stdout(&reverted).contains("--force"), "{}", stdout(&reverted));
    assert_eq!(
        (machine.read("/proc/sys/vm/stat_interval"), machine.read("/proc/sys/vm/swappiness")),
        ("5\n".into(), "60\n".into())
    );
    assert!(tune(&machine, &["revert", "--force"]).status.success());
    assert_eq!(machine.read("/proc/sys/vm/stat_interval"), "1\n");
}

#[test]
fn a_trial_boot_leaves_the_files_of_every_other_boot_alone() {
    let machine = lay("pi4");
    let line = machine.read("/boot/firmware/cmdline.txt");
    let applied = tune(&machine, &["apply", "--boot", "--tryboot"]);
    assert!(stdout(&applied).contains("reboot '0 tryboot'"), "{}{}", stdout(&applied), stderr(&applied));
    assert!(machine.read("/boot/firmware/cmdline.txt") == line);
    assert!(machine.read("/boot/firmware/tryboot.txt").contains("cmdline=ontick-cmdline.txt"));
    let old = lay("pi3b-bookworm");
    let refused = tune(&old, &["apply", "--boot", "--tryboot"]);
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains("Raspberry Pi 4"), "{}", stderr(&refused));
}

#[test]
fn isolation_that_is_refused_changes_no_group() {
    // A folder has no kernel that fills a new control group with files.
    let machine = lay("pi5");
    let output = tune(&machine, &["apply", "--isolate", "stat-interval"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("refused  isolation"), "{}", stdout(&output));
    assert!(!machine.place("/sys/fs/cgroup/ontick").exists());
    assert_eq!(machine.read("/proc/sys/vm/stat_interval"), "10\n");
}

const KNOBS: [&str; 2] = ["/proc/sys/vm/stat_interval", "/proc/sys/kernel/timer_migration"];

pub fn settings() -> Vec<String> {
    KNOBS.iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
}

#[test]
fn a_setting_of_this_machine_goes_there_and_back() {
    let _alone = alone_on_this_machine();
    if !may_tune() {
        return;
    }
    let before = settings();
    let _as_before = Restored;
    let applied = run(&["tune", "apply", "stat-interval"]);
    let between = settings();
    let refused = run(&["prove", "--tune=stat-interval", "--duration", "1h"]);
    let measured = run(&["latency", "timer", "--count", "5", "--json"]);
    let reverted = run(&["tune", "revert"]);
    assert!(applied.status.success() && reverted.status.success(), "{}{}", stderr(&applied), stderr(&reverted));
    assert_eq!(settings(), before);
    if before[0].trim().parse::<u32>().unwrap() >= 10 {
        return ontick_skip::skipped!("this machine is as ontick wants it already");
    }
    assert_eq!(between[0], "10\n");
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains("tune revert"), "{}", stderr(&refused));
    assert_eq!(crate::record(&measured)["environment"]["tuned"], serde_json::json!(["stat-interval"]));
}

#[test]
fn prove_tune_puts_everything_back_however_it_ends() {
    let _alone = alone_on_this_machine();
    if !may_tune() {
        return;
    }
    let before = settings();
    let _as_before = Restored;
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("report.html");
    let prove = |duration: &str, load: &str| {
        let html = html.to_str().unwrap();
        let tune = "--tune=stat-interval,timer-migration";
        ontick(&["prove", tune, "--duration", duration, "--load", load, "--html", html, "--json"])
    };
    let whole = prove("900ms", "none").output().unwrap();
    assert_eq!(settings(), before);
    let run = crate::record(&whole);
    assert!(run["findings"].as_array().unwrap().len() > 15);
    assert!(run["environment"]["tuned"].is_array() || before == ["10\n", "0\n"], "{}", run["environment"]);
    let failed = prove("900ms", "cmd:/no/such/program").output().unwrap();
    assert_eq!((failed.status.code(), settings()), (Some(2), before.clone()), "{}", stderr(&failed));
    for signal in [Signal::INT, Signal::KILL] {
        let mut child = prove("1h", "none").stdout(Stdio::null()).spawn().unwrap();
        let changed = || settings() != before || before == ["10\n", "0\n"];
        // A shell that starts tests in the background has them ignore Ctrl-C until a program's handler is there.
        let heeds = || signal == Signal::KILL || catches_interrupt(child.id());
        wait_until("changed settings", || changed() && fs::exists("/var/lib/ontick/tune.jsonl").unwrap() && heeds());
        send(child.id(), signal);
        child.wait().unwrap();
        wait_until("the settings as before", || settings() == before && !fs::exists("/var/lib/ontick").unwrap());
    }
}

/// A power cut between the two would leave a change that nobody knows of.
#[test]
fn what_will_be_changed_is_on_the_disk_before_it_is() {
    let _alone = alone_on_this_machine();
    if !has("strace") || !may_tune() {
        return;
    }
    if fs::read_to_string("/proc/sys/vm/stat_interval").unwrap() == "10\n" {
        return ontick_skip::skipped!("this machine is as ontick wants it already");
    }
    let _as_before = Restored;
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let calls = ["-f", "-y", "-s", "300", "-e", "trace=write,fsync,fdatasync", "-o"];
    let mut traced = Command::new("strace");
    traced.args(calls).arg(&trace).arg(env!("CARGO_BIN_EXE_ontick")).args(["tune", "apply", "stat-interval"]);
    let output = traced.output().unwrap();
    if stderr(&output).contains("ptrace") {
        return ontick_skip::skipped!("{}", stderr(&output));
    }
    assert!(output.status.success(), "{}", stderr(&output));
    let trace = fs::read_to_string(trace).unwrap();
    let calls: Vec<&str> = trace.lines().collect();
    let nth = |from: usize, parts: [&str; 3]| {
        let found = calls[from..].iter().position(|call| parts.iter().all(|part| call.contains(part)));
        from + found.unwrap_or_else(|| panic!("no {parts:?} from call {from} on:\n{trace}"))
    };
    let journal = "/var/lib/ontick/tune.jsonl>";
    let announced = nth(0, ["write(", journal, "intend"]);
    let synced = nth(announced, ["sync(", journal, "= 0"]);
    let changed = nth(0, ["write(", "</proc/sys/vm/stat_interval>", "10"]);
    assert!(synced < changed, "{trace}");
    nth(nth(changed, ["write(", journal, "done"]), ["sync(", journal, "= 0"]);
    // A new file's name is on the disk, too.
    assert!(nth(0, ["sync(", "/var/lib/ontick>", "= 0"]) < changed, "{trace}");
}
