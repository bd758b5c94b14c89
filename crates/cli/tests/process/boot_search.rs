//! `ontick tune search --boot` on a machine in a folder that restarts as GRUB does it: what is found, what a hang, a kill or
//! a power cut leaves, and that the boot files are as before.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::machine::Machine;
use crate::{has, record, run, stderr, stdout};

const USUAL: &str = "BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=UUID=0e1b4b4c-7f3e-4a1d-9d35-1f1d6a6b2f11 ro quiet";
const UNIT: &str = "/etc/systemd/system/multi-user.target.wants/ontick-search.service";
/// No search here takes more restarts.
const MOST: u32 = 400;

/// A PC that is restarted by hand.
struct Pc {
    machine: Machine,
    before: BTreeMap<PathBuf, Vec<u8>>,
    boots: Cell<u32>,
}

impl Pc {
    fn lay() -> Self {
        let machine = Machine::lay("x86-grub");
        fs::create_dir_all(machine.place("/var/lib")).unwrap();
        machine.write("/boot/grub/grubenv", &format!("{:#<1024}", "# GRUB Environment Block\n"));
        let mut pc = Self { machine, before: BTreeMap::new(), boots: Cell::new(0) };
        pc.boot(USUAL);
        pc.before = pc.files();
        pc
    }

    /// All that outlives a restart, but the search's own journal.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let own = |path: &Path| path.starts_with("proc") || path.starts_with("var/lib/ontick");
        self.machine.snapshot().into_iter().filter(|(path, _)| !own(path)).collect()
    }

    fn is_as_before(&self, when: &str) {
        let now = self.files();
        let differ: Vec<_> =
            now.keys().chain(self.before.keys()).filter(|p| now.get(*p) != self.before.get(*p)).collect();
        assert!(differ.is_empty(), "{when}: {differ:?}");
    }

    fn words<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        [&["tune", "search", "--boot"], words, &["--root", self.machine.folder().to_str().unwrap()]].concat()
    }

    fn run(&self, words: &[&str]) -> Output {
        run(&self.words(words))
    }

    fn begin(&self, words: &[&str]) {
        let begun = self.run(
            &[words, &["--seed", "1", "--smallest", "1", "--blocks", "4", "--settle", "1s", "--restart"]].concat(),
        );
        assert!(begun.status.success() && stdout(&begun).contains("Boot 1 comes next"), "{}", stderr(&begun));
    }

    fn boot(&self, cmdline: &str) {
        self.boots.set(self.boots.get() + 1);
        assert!(self.boots.get() < MOST, "the search does not end");
        self.machine.write("/proc/cmdline", &format!("{cmdline}\n"));
        self.machine.write("/proc/sys/kernel/random/boot_id", &format!("boot-{}\n", self.boots.get()));
    }

    /// What GRUB does: takes the entry of `next_entry` once; the kernel's command line.
    fn restart(&self) -> String {
        let env = self.machine.read("/boot/grub/grubenv");
        let next = env.lines().find_map(|line| line.strip_prefix("next_entry=")).unwrap_or_default().to_owned();
        let mut cmdline = USUAL.to_owned();
        if !next.is_empty() {
            let emptied: String = env
                .lines()
                .filter(|line| !line.starts_with(['#']))
                .map(|line| match line {
                    line if line.starts_with("next_entry=") => "next_entry=\n".to_owned(),
                    line => format!("{line}\n"),
                })
                .collect();
            self.machine
                .write("/boot/grub/grubenv", &format!("{:#<1024}", format!("# GRUB Environment Block\n{emptied}")));
            let menu = self.machine.read("/boot/grub/custom.cfg");
            let entry =
                menu.split("menuentry ").find(|entry| entry.contains(&format!("'{next}' {{"))).expect("the entry");
            let line = entry.lines().find_map(|line| line.trim().strip_prefix("linux")).expect("a kernel");
            cmdline = format!("BOOT_IMAGE={}", line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        self.boot(&cmdline);
        cmdline
    }

    /// Whether something begins at boot.
    fn has_unit(&self) -> bool {
        fs::symlink_metadata(self.machine.place(UNIT)).is_ok()
    }

    /// Restarts until the search has ended; a boot whose command line has `hangs` in it is switched off before it comes up.
    fn restart_to_the_end(&self, hangs: &str) {
        while self.has_unit() {
            let cmdline = self.restart();
            if !hangs.is_empty() && cmdline.contains(hangs) {
                continue;
            }
            let on = self.run(&["--continue"]);
            assert!(on.status.success(), "{}", stderr(&on));
        }
    }

    fn status(&self) -> Value {
        record(&self.run(&["--status", "--json"]))
    }
}

fn verdict(record: &Value, name: &str) -> String {
    let effects = record["search"]["effects"].as_array().unwrap();
    effects.iter().find(|effect| effect["name"] == name).unwrap_or_else(|| panic!("{name}"))["verdict"]
        .as_str()
        .unwrap()
        .into()
}

#[test]
fn a_search_restarts_the_machine_until_it_knows() {
    let pc = Pc::lay();
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
    let pc = Pc::lay();
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
    for back in [&["--give-up"][..], &[]] {
        for boots in 0..4 {
            let pc = Pc::lay();
            pc.begin(&["sim:a=0"]);
            for _ in 0..boots {
                pc.restart();
                assert!(pc.run(&["--continue"]).status.success());
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

/// Killed at one wait for the disk or another, then cut off from its power: it goes on, blames nobody, and ends as if nothing
/// had happened.
#[test]
fn a_kill_and_a_power_cut_at_any_step_change_nothing() {
    if !has("strace") {
        return;
    }
    let pc = Pc::lay();
    pc.begin(&["sim:good=9"]);
    let go_on = || {
        let on = pc.run(&["--continue"]);
        assert!(on.status.success(), "{}", stderr(&on));
    };
    let (mut kills, mut n) = (0, 0);
    while pc.has_unit() {
        pc.restart();
        n += 1;
        let call = ["fsync", "rename", "fdatasync"][n % 3];
        let inject = format!("inject={call}:signal=KILL:when={}", 1 + n / 3 % 6);
        let mut traced = Command::new("strace");
        traced.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]);
        let killed = traced.arg(env!("CARGO_BIN_EXE_ontick")).args(pc.words(&["--continue"])).output().unwrap();
        if killed.status.success() {
            continue;
        }
        kills += 1;
        // What was measured when the power went is measured again, in the boot after this one at the latest.
        for _ in 0..2 {
            if pc.has_unit() {
                pc.restart();
                go_on();
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
    let pc = Pc::lay();
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
    pc.machine.write("/proc/cmdline", &format!("{USUAL}\n"));
    pc.begin(&["sim:a=1"]);
    let again = pc.run(&["sim:a=1", "--restart"]);
    assert!(stderr(&again).contains("did not end") && stderr(&again).contains("--give-up"), "{}", stderr(&again));
    // Restarted past the boot loader, as by kexec, at a boot of the candidate.
    while !pc.machine.read("/boot/grub/grubenv").contains("next_entry=ontick-search") {
        pc.restart();
        assert!(pc.run(&["--continue"]).status.success());
    }
    pc.boot(USUAL);
    let not_taken = pc.run(&["--continue"]);
    assert!(stderr(&not_taken).contains("did not take the entry"), "{}", stderr(&not_taken));
    pc.is_as_before("not taken");
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
    let pc = Pc::lay();
    let file = pc.machine.place("/var/found.toml");
    let found = "format = \"ontick-profile/1\"\nprofile = \"dedicated-core\"\ncpus = \"3\"\narguments = [\"nohz_full\", \"skew_tick\", \"other\"]\n";
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
    assert!(line.ends_with("=\"$GRUB_CMDLINE_LINUX_DEFAULT nohz_full=3 skew_tick=1\"\n"), "{line}");
    assert!(
        !fs::exists(pc.machine.place("/etc/systemd/system/ontick-tune.service")).unwrap(),
        "there is no setting for it"
    );
    let reverted = run(&["tune", "revert", "--root", of[3]]);
    assert!(reverted.status.success() && pc.files() == before, "{}", stderr(&reverted));
}
