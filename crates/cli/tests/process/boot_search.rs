//! `ontick tune search --boot` on a machine in a folder that restarts as GRUB, systemd-boot or a Raspberry Pi does it: what is
//! found, what a hang, a kill or a power cut leaves, and that the boot files are as before.

mod pc;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::{has, run, stderr, stdout};
use pc::{FEATURES, Loader, ONE_SHOT, Pc};

fn verdict(record: &Value, name: &str) -> String {
    let effects = record["search"]["effects"].as_array().unwrap();
    effects.iter().find(|effect| effect["name"] == name).unwrap_or_else(|| panic!("{name}"))["verdict"]
        .as_str()
        .unwrap()
        .into()
}

#[test]
fn a_search_restarts_the_machine_until_it_knows() {
    Loader::ALL.into_iter().for_each(is_searched);
}

fn is_searched(loader: Loader) {
    let pc = Pc::lay(loader);
    let words = ["sim:good=6", "sim:none=0"];
    let shown = pc.run(&words);
    assert!(stdout(&shown).contains("Nothing is changed yet"), "{}{}", stdout(&shown), stderr(&shown));
    pc.is_as_before("shown");
    pc.begin(&words);
    assert!(pc.has_unit());
    let unit = pc.machine.read("/etc/systemd/system/ontick-search.service");
    assert!(unit.contains("ExecStart=/usr/bin/ontick tune search --boot --continue\n"), "{unit}");
    pc.restart_to_the_end("");
    pc.is_as_before("at the end");
    let result = pc.status();
    assert_eq!((verdict(&result, "sim:good=6").as_str(), result["simulated"].is_string()), ("helps", true));
    assert_eq!(verdict(&result, "sim:none=0"), "no-effect");
    let boots = result["search"]["boots"]["measured"].as_u64().unwrap();
    // One to begin in, and one more if the last was of a candidate.
    assert!((boots + 1..=boots + 2).contains(&u64::from(pc.boots.get())), "{boots} of {}", pc.boots.get());
    let text = stdout(&pc.run(&["--status"]));
    assert!(text.contains("sim:good=6 helps.") && text.contains("rounds"), "{text}");
    let given_up = pc.run(&["--give-up"]);
    assert!(given_up.status.success(), "{}", stderr(&given_up));
    assert!(!fs::exists(pc.machine.place("/var/lib/ontick")).unwrap(), "the folder of state stays");
}

#[test]
fn a_boot_that_does_not_come_up_is_the_last_of_its_candidate() {
    Loader::ALL.into_iter().for_each(is_left_out);
}

fn is_left_out(loader: Loader) {
    let pc = Pc::lay(loader);
    pc.begin(&["sim:good=6", "sim:hangs=0"]);
    pc.restart_to_the_end("ontick.hangs");
    pc.is_as_before("at the end");
    let result = pc.status();
    assert_eq!(verdict(&result, "sim:good=6"), "helps");
    let skipped = &result["search"]["skipped"];
    assert_eq!(
        (&skipped[0]["name"], &skipped[0]["why"]),
        (&"sim:hangs=0".into(), &"did not come up".into()),
        "{skipped}"
    );
    assert_eq!(skipped.as_array().unwrap().len(), 1);
}

#[test]
fn a_search_is_given_up_or_reverted_at_any_boot() {
    Loader::ALL.into_iter().for_each(is_given_up);
}

fn is_given_up(loader: Loader) {
    for back in [&["--give-up"][..], &[]] {
        for boots in 0..4 {
            let pc = Pc::lay(loader);
            pc.begin(&["sim:a=0"]);
            for _ in 0..boots {
                pc.restart();
                pc.go_on();
            }
            let folder = pc.machine.folder().to_str().unwrap();
            let output = if back.is_empty() { run(&["tune", "revert", "--root", folder]) } else { pc.run(back) };
            assert!(output.status.success(), "{boots}: {}", stderr(&output));
            pc.is_as_before(&format!("{back:?} after {boots} boots"));
            // Nothing begins by itself any more; a reverted search can still go on.
            pc.restart();
            assert!(!pc.has_unit());
            assert_eq!(pc.run(&["--continue"]).status.success(), back.is_empty());
        }
    }
}

/// The scripts of the Debian package, as dpkg runs them: what was measured stays for a purge.
#[test]
fn removal_of_the_package_ends_a_search() {
    for loader in Loader::ALL {
        let pc = Pc::lay(loader);
        pc.begin(&["sim:a=0"]);
        // What runs is no part of the machine in the folder.
        let tools = tempfile::tempdir().unwrap();
        fs::create_dir_all(tools.path().join("run/systemd/system")).unwrap();
        let folder = pc.machine.folder().to_str().unwrap();
        let stopped = tools.path().join("stopped");
        for (name, does) in [
            ("ontick", format!("exec {} \"$@\" --root {folder}", env!("CARGO_BIN_EXE_ontick"))),
            // As long as it is there, it would restart the machine.
            (
                "systemctl",
                format!("echo \"$@\" $(ls {folder}/etc/systemd/system/*.wants | grep ontick) >>{}", stopped.display()),
            ),
            ("getent", "exit 2".to_owned()),
            ("udevadm", String::new()),
        ] {
            let tool = tools.path().join(name);
            fs::write(&tool, format!("#!/bin/sh\n{does}\n")).unwrap();
            fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let path = format!("{}:{}", tools.path().display(), std::env::var("PATH").unwrap());
        let script = |name: &str, word: &str| {
            let file = format!("{}/../../packaging/debian/ontick/{name}", env!("CARGO_MANIFEST_DIR"));
            let text = fs::read_to_string(file).unwrap().replace("/run/", "$TOOLS/run/");
            let text =
                ["/var/", "/etc/"].into_iter().fold(text, |text, top| text.replace(top, &format!("$FOLDER{top}")));
            let mut shell = Command::new("sh");
            shell.args(["-c", &text, name, word]).env("PATH", &path).env("FOLDER", folder).env("TOOLS", tools.path());
            let output = shell.output().unwrap();
            assert!(output.status.success(), "{name} {word}: {}", stderr(&output));
            stderr(&output)
        };
        let said = script("prerm", "remove");
        assert!(said.contains("stays for a purge") && said.lines().count() == 1, "{said}");
        let stopped = fs::read_to_string(&stopped).unwrap();
        assert!(stopped.starts_with("stop ontick-search.service ontick-search.service\n"), "{stopped}");
        pc.is_as_before("after the package is removed");
        assert!(pc.machine.place("/var/lib/ontick/search-boot.jsonl").exists());
        script("postrm", "remove");
        script("postrm", "purge");
        let left = fs::read_dir(pc.machine.place("/var/lib/ontick")).into_iter().flatten();
        let left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// The unit would begin with it at each boot, and end with the same error.
#[test]
fn a_search_whose_journal_is_damaged_leaves_nothing_behind() {
    for loader in Loader::ALL {
        let pc = Pc::lay(loader);
        pc.begin(&["sim:a=0"]);
        assert!(pc.has_unit());
        let journal = "/var/lib/ontick/search-boot.jsonl";
        let kept = pc.machine.read(journal);
        let (first, rest) = kept.split_once('\n').unwrap();
        pc.machine.write(journal, &format!("{first}\n?\n{rest}"));
        let refused = pc.run(&["--continue"]);
        assert!(refused.status.code() == Some(2) && stderr(&refused).contains("line 2: cannot be read"), "{loader:?}");
        pc.is_as_before(&format!("with a damaged journal, {loader:?}"));
    }
}

/// Killed at one wait for the disk or another, then cut off from its power: it goes on, blames nobody, and ends as if nothing
/// had happened.
#[test]
fn a_kill_and_a_power_cut_at_any_step_change_nothing() {
    if has("strace") {
        Loader::ALL.into_iter().for_each(is_killed);
    }
}

fn is_killed(loader: Loader) {
    let pc = Pc::lay(loader);
    pc.begin(&["sim:good=9"]);
    let (mut kills, mut n) = (0, 0);
    while pc.has_unit() {
        pc.restart();
        n += 1;
        let call = ["fsync", "rename", "fdatasync"][n % 3];
        let inject = format!("inject={call}:signal=KILL:when={}", 1 + n / 3 % 6);
        let mut traced = Command::new("strace");
        traced.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]);
        let killed = traced.arg(env!("CARGO_BIN_EXE_ontick")).args(pc.words(&["--continue"])).output().unwrap();
        let killed = pc.seen(killed);
        if killed.status.success() {
            continue;
        }
        kills += 1;
        // What was measured when the power went is measured again, in the boot after this one at the latest.
        for restart in [Pc::power_cut, Pc::restart] {
            if pc.has_unit() {
                restart(&pc);
                pc.go_on();
            }
        }
    }
    pc.is_as_before("at the end");
    let result = pc.status();
    assert_eq!(verdict(&result, "sim:good=9"), "helps");
    assert!(result["search"]["skipped"].as_array().is_none_or(Vec::is_empty), "{}", result["search"]["skipped"]);
    assert!(kills >= 6, "only {kills} kills");
}

#[test]
fn what_speaks_against_a_search_is_said_and_nothing_is_changed() {
    let pc = Pc::lay(Loader::Grub);
    let refused = |words: &[&str], says: &str| {
        let output = pc.run(words);
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains(says), "{words:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        pc.is_as_before(says);
    };
    refused(&["sim:a=1", "sim:b=1", "--boots", "10", "--restart"], "2 candidates need at least");
    refused(&["isolcpus"], "no kernel runs there");
    refused(&["--continue"], "no search to go on with");
    refused(&["--status"], "no search to go on with");
    pc.machine.write("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=UUID=other ro\n");
    refused(&["sim:a=1"], "no entry by which the running kernel was booted");
    pc.machine.write("/proc/cmdline", &format!("{}\n", pc.usual));
    pc.begin(&["sim:a=1"]);
    let again = pc.run(&["sim:a=1", "--restart"]);
    assert!(stderr(&again).contains("did not end") && stderr(&again).contains("--give-up"), "{}", stderr(&again));
    is_not_taken(&pc);
}

/// Restarted past the boot loader, as by kexec, at a boot of the candidate.
fn is_not_taken(pc: &Pc) {
    while !pc.is_armed() {
        pc.restart();
        pc.go_on();
    }
    pc.boot(&pc.usual);
    let not_taken = pc.run(&["--continue"]);
    assert!(stderr(&not_taken).contains("did not take the entry"), "{}", stderr(&not_taken));
    pc.is_as_before("not taken");
}

#[test]
fn systemd_boot_must_have_booted_the_machine_and_keep_its_default() {
    let pc = Pc::lay(Loader::SystemdBoot);
    let refused = |says: &str| {
        let output = pc.run(&["sim:a=1", "--restart"]);
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains(says), "{says}: {said}");
        assert!(said.lines().count() == 1 && !pc.has_unit(), "{said}");
    };
    let usual = pc.usual.clone();
    pc.machine.write("/proc/cmdline", &usual.replace(" quiet", ""));
    refused("/boot/loader/entries has no entry by which the running kernel was booted");
    pc.machine.write("/proc/cmdline", &usual);
    pc.machine.write(FEATURES, "\u{6}\0\0\0\u{7}\0\0\0\0\0\0\0");
    refused("does not say that the boot loader boots an entry once");
    pc.machine.write(FEATURES, "\u{6}\0\0\0\u{8}\0\0\0\0\0\0\0");
    pc.machine.write("/boot/loader/loader.conf", "default o*\n");
    refused("name the entry that is booted now (arch.conf) there first");
    pc.machine.write("/boot/loader/loader.conf", "default arch.conf\n");
    let chosen = FEATURES.replace("LoaderFeatures", "LoaderEntryDefault");
    pc.machine.write(&chosen, "\u{7}\0\0\0*\0\0\0");
    refused("LoaderEntryDefault");
    fs::remove_file(pc.machine.place(&chosen)).unwrap();
    pc.machine.write("/boot/loader/entries/ontick-search.conf", "title mine\n");
    refused("/boot/loader/entries/ontick-search.conf is there already and not from ontick");
}

/// Without a default the newest entry would be booted, which is the one on trial: so there is one before it.
#[test]
fn systemd_boot_without_a_default_gets_one_for_the_boot_on_trial() {
    let pc = Pc::lay(Loader::SystemdBoot);
    let settings = "/boot/loader/loader.conf";
    pc.machine.write(settings, "timeout 3\n");
    let before = pc.files();
    pc.begin(&["sim:a=0"]);
    while !pc.is_armed() {
        assert_eq!(pc.machine.read(settings), "timeout 3\n", "only for a boot on trial");
        pc.restart();
        pc.go_on();
    }
    assert_eq!(pc.machine.read(settings), "timeout 3\ndefault arch.conf\n");
    let entry = pc.machine.read("/boot/loader/entries/ontick-search.conf");
    assert!(entry.contains("initrd  /initramfs-linux.img\n") && entry.contains(" quiet ontick.search="), "{entry}");
    assert!(pc.run(&["--give-up"]).status.success());
    assert_eq!(pc.files(), before);
    // What somebody else chose for the next boot stays as it is.
    pc.machine.write(ONE_SHOT, "\u{7}\0\0\0x\0\0\0");
    let before = pc.files();
    pc.begin(&["sim:a=0", "sim:b=0"]);
    assert!(pc.machine.read(ONE_SHOT).contains("o\0n\0t\0i\0c\0k"), "the first boot is of a candidate");
    assert!(pc.run(&["--give-up"]).status.success());
    assert_eq!(pc.files(), before);
}

#[test]
fn systemd_boot_that_is_passed_by_ends_the_search() {
    let pc = Pc::lay(Loader::SystemdBoot);
    pc.begin(&["sim:a=1"]);
    is_not_taken(&pc);
}

/// Nothing says afterwards whether the firmware was asked: a candidate is left out when it did not come up twice.
#[test]
fn a_raspberry_pi_whose_power_went_before_the_boot_on_trial_is_asked_again() {
    let pc = Pc::lay(Loader::Pi);
    let files = pc.files();
    pc.begin(&["sim:good=9"]);
    let mut cuts = 0;
    while pc.has_unit() {
        cuts += u32::from(pc.is_armed());
        pc.power_cut();
        pc.go_on();
        if pc.has_unit() {
            pc.restart();
            pc.go_on();
        }
    }
    assert!(cuts >= 3, "{cuts}");
    assert_eq!(pc.files(), files);
    assert_eq!(verdict(&pc.status(), "sim:good=9"), "helps");
}

#[test]
fn a_raspberry_pi_is_refused_where_a_trial_cannot_be_told_from_others() {
    let pc = Pc::lay(Loader::Pi);
    let refused = |says: &str| {
        let output = pc.run(&["sim:a=1", "--restart"]);
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains(says), "{says}: {said}");
        assert!(said.lines().count() == 1 && !pc.has_unit(), "{said}");
    };
    pc.machine.write("/boot/firmware/tryboot.txt", "mine=1\n");
    refused("/boot/firmware/tryboot.txt is there already");
    fs::remove_file(pc.machine.place("/boot/firmware/tryboot.txt")).unwrap();
    let line = pc.machine.read("/boot/firmware/cmdline.txt");
    pc.machine.write("/boot/firmware/cmdline.txt", &format!("{} edited=1\n", line.trim()));
    refused("other arguments than the running kernel was booted with");
}

#[test]
fn loaders_without_a_trial_are_refused() {
    for (name, file) in [("arm-extlinux", "/boot/extlinux/extlinux.conf"), ("beaglebone", "/boot/uEnv.txt")] {
        let machine = crate::machine::Machine::lay(name);
        let before = machine.snapshot();
        let folder = machine.folder().to_str().unwrap();
        let output = run(&["tune", "search", "--boot", "sim:a=1", "--restart", "--root", folder]);
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.lines().count() == 1, "{said}");
        assert!(
            said.contains(&format!("{file}: U-Boot and syslinux boot no entry once"))
                && said.contains("tune apply --boot"),
            "{said}"
        );
        assert_eq!(machine.snapshot(), before);
    }
}

#[test]
fn a_modelled_search_shows_how_many_boots_it_takes() {
    let words = ["tune", "search", "--boot", "sim:good=4", "sim:none=0", "--seed", "3", "--smallest", "1"];
    let output = run(&words);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(text.starts_with("simulated a modelled machine that restarts"), "{text}");
    assert!(text.contains("sim:good=4 helps.") && text.contains("blocks of 500ms in each"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let mixed = run(&["tune", "search", "--boot", "sim:good=4", "isolcpus"]);
    assert!(stderr(&mixed).contains("isolcpus is no candidate"), "{}", stderr(&mixed));
    let alone = run(&["tune", "search", "--boots", "4"]);
    assert_eq!(alone.status.code(), Some(2), "{}", stdout(&alone));
}

#[test]
fn arguments_that_were_found_are_applied_at_boot_and_no_others() {
    let pc = Pc::lay(Loader::Grub);
    let file = pc.machine.place("/var/found.toml");
    let found = "format = \"ontick-profile/1\"\nprofile = \"dedicated-core\"\ncpus = \"3\"\narguments = [\"mce=ignore_ce\", \"nohz_full\", \"skew_tick\", \"other\"]\n";
    fs::write(&file, found).unwrap();
    let before = pc.files();
    let of = ["--profile", file.to_str().unwrap(), "--root", pc.machine.folder().to_str().unwrap()];
    let now = run(&[&["tune", "plan"], &of[..]].concat());
    assert!(now.status.code() == Some(2) && stderr(&now).contains("add --boot"), "{}", stderr(&now));
    let applied = run(&[&["tune", "apply", "--boot"], &of[..]].concat());
    let said = stdout(&applied);
    assert!(
        applied.status.success() && said.contains("other of the profile's file is left out"),
        "{said}{}",
        stderr(&applied)
    );
    let line = pc.machine.read("/etc/default/grub.d/zz-ontick.cfg");
    assert!(line.ends_with("=\"$GRUB_CMDLINE_LINUX_DEFAULT nohz_full=3 skew_tick=1 mce=ignore_ce\"\n"), "{line}");
    assert!(
        !fs::exists(pc.machine.place("/etc/systemd/system/ontick-tune.service")).unwrap(),
        "there is no setting for it"
    );
    let reverted = run(&["tune", "revert", "--root", of[3]]);
    assert!(reverted.status.success() && pc.files() == before, "{}", stderr(&reverted));
}
