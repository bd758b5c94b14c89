//! A machine in a folder that is restarted by hand, as its boot loader does it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::machine::Machine;
use crate::{record, run, stderr, stdout};

const UNIT: &str = "/etc/systemd/system/multi-user.target.wants/ontick-search.service";
/// No search here takes more restarts.
const MOST: u32 = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loader {
    Grub,
    SystemdBoot,
    Pi,
}

impl Loader {
    pub const ALL: [Self; 3] = [Self::Grub, Self::SystemdBoot, Self::Pi];
}

pub const GRUBENV: &str = "/boot/grub/grubenv";
pub const ONE_SHOT: &str = "/sys/firmware/efi/efivars/LoaderEntryOneShot-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
pub const FEATURES: &str = "/sys/firmware/efi/efivars/LoaderFeatures-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
const TRIED: &str = "/boot/firmware/tryboot.txt";

pub struct Pc {
    pub machine: Machine,
    pub usual: String,
    pub boots: Cell<u32>,
    loader: Loader,
    before: BTreeMap<PathBuf, Vec<u8>>,
    /// Whether the restart asks a Raspberry Pi's firmware for a trial.
    asked: Cell<bool>,
}

impl Pc {
    pub fn lay(loader: Loader) -> Self {
        let machine = Machine::lay(match loader {
            Loader::Grub => "x86-grub",
            Loader::SystemdBoot => "x86-systemd-boot",
            Loader::Pi => "pi5",
        });
        fs::create_dir_all(machine.place("/var/lib")).unwrap();
        fs::create_dir_all(machine.place("/etc/systemd/system")).unwrap();
        let mut usual = machine.read("/proc/cmdline").trim().to_owned();
        match loader {
            Loader::Grub => {
                usual =
                    "BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=UUID=0e1b4b4c-7f3e-4a1d-9d35-1f1d6a6b2f11 ro quiet"
                        .into();
                machine.write(GRUBENV, &format!("{:#<1024}", "# GRUB Environment Block\n"));
            }
            Loader::SystemdBoot => machine.write(FEATURES, "\u{6}\0\0\0\u{7f}\0\0\0\0\0\0\0"),
            Loader::Pi => {}
        }
        let mut pc =
            Self { machine, usual, boots: Cell::new(0), loader, before: BTreeMap::new(), asked: Cell::new(false) };
        pc.boot(&pc.usual);
        pc.before = pc.files();
        pc
    }

    /// All that outlives a restart, but the search's own journal.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let own = |path: &Path| path.starts_with("proc") || path.starts_with("var/lib/ontick");
        self.machine.snapshot().into_iter().filter(|(path, _)| !own(path)).collect()
    }

    pub fn is_as_before(&self, when: &str) {
        let now = self.files();
        let differ: Vec<_> =
            now.keys().chain(self.before.keys()).filter(|p| now.get(*p) != self.before.get(*p)).collect();
        assert!(differ.is_empty(), "{:?}, {when}: {differ:?}", self.loader);
    }

    pub fn words<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        [&["tune", "search", "--boot"], words, &["--root", self.machine.folder().to_str().unwrap()]].concat()
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.seen(run(&self.words(words)))
    }

    /// What it says of the restart is done by that.
    pub fn seen(&self, output: Output) -> Output {
        self.asked.set(stdout(&output).contains("(reboot '0 tryboot')"));
        output
    }

    pub fn begin(&self, words: &[&str]) {
        let begun = self.run(
            &[words, &["--seed", "1", "--smallest", "1", "--blocks", "4", "--settle", "1s", "--restart"]].concat(),
        );
        assert!(begun.status.success() && stdout(&begun).contains("Boot 1 comes next"), "{}", stderr(&begun));
    }

    pub fn go_on(&self) {
        let on = self.run(&["--continue"]);
        assert!(on.status.success(), "{}", stderr(&on));
    }

    pub fn boot(&self, cmdline: &str) {
        self.boots.set(self.boots.get() + 1);
        assert!(self.boots.get() < MOST, "the search does not end");
        self.machine.write("/proc/cmdline", &format!("{cmdline}\n"));
        self.machine.write("/proc/sys/kernel/random/boot_id", &format!("boot-{}\n", self.boots.get()));
    }

    /// What the boot loader does: takes the entry that it is told to, once; the kernel's command line.
    pub fn restart(&self) -> String {
        let tried = match self.loader {
            Loader::Grub => self.grub(),
            Loader::SystemdBoot => self.systemd_boot(),
            Loader::Pi => self.pi(),
        };
        let cmdline = tried.unwrap_or_else(|| self.usual.clone());
        self.boot(&cmdline);
        cmdline
    }

    /// As above, after the power went: nobody asked a Raspberry Pi's firmware for anything.
    pub fn power_cut(&self) -> String {
        self.asked.set(false);
        self.restart()
    }

    fn grub(&self) -> Option<String> {
        let env = self.machine.read(GRUBENV);
        let next = env.lines().find_map(|line| line.strip_prefix("next_entry=")).filter(|next| !next.is_empty())?;
        let emptied: String = env
            .lines()
            .filter(|line| !line.starts_with(['#']))
            .map(|line| match line {
                line if line.starts_with("next_entry=") => "next_entry=\n".to_owned(),
                line => format!("{line}\n"),
            })
            .collect();
        self.machine.write(GRUBENV, &format!("{:#<1024}", format!("# GRUB Environment Block\n{emptied}")));
        let menu = self.machine.read("/boot/grub/custom.cfg");
        let entry = menu.split("menuentry ").find(|entry| entry.contains(&format!("'{next}' {{"))).expect("the entry");
        let line = entry.lines().find_map(|line| line.trim().strip_prefix("linux")).expect("a kernel");
        Some(format!("BOOT_IMAGE={}", line.split_whitespace().collect::<Vec<_>>().join(" ")))
    }

    fn systemd_boot(&self) -> Option<String> {
        let variable = fs::read_to_string(self.machine.place(ONE_SHOT)).ok()?;
        fs::remove_file(self.machine.place(ONE_SHOT)).unwrap();
        let next: String = variable[4..].chars().filter(|c| *c != '\0').collect();
        let entry = self.machine.read(&format!("/boot/loader/entries/{next}"));
        let of = |word| entry.lines().find_map(|line| line.strip_prefix(word)).unwrap().trim().to_owned();
        assert_eq!(of("linux"), "/vmlinuz-linux");
        Some(format!("initrd={} {}", of("initrd").replace('/', "\\"), of("options")))
    }

    fn pi(&self) -> Option<String> {
        let tried = fs::read_to_string(self.machine.place(TRIED)).ok().filter(|_| self.asked.take())?;
        let file = tried.lines().rev().find_map(|line| line.strip_prefix("cmdline=")).expect("a file of arguments");
        let line = self.machine.read(&format!("/boot/firmware/{file}"));
        let own = self.usual.split("console=").next().unwrap();
        Some(format!("{own}{}", line.trim().replace("console=serial0", "console=ttyAMA10")))
    }

    /// Whether the boot loader is to take the search's entry.
    pub fn is_armed(&self) -> bool {
        match self.loader {
            Loader::Grub => self.machine.read(GRUBENV).contains("next_entry=ontick-search"),
            Loader::SystemdBoot => self.machine.place(ONE_SHOT).exists(),
            Loader::Pi => self.asked.get(),
        }
    }

    /// Whether something begins at boot.
    pub fn has_unit(&self) -> bool {
        fs::symlink_metadata(self.machine.place(UNIT)).is_ok()
    }

    /// Restarts until the search has ended; a boot whose command line has `hangs` in it is switched off before it comes up.
    pub fn restart_to_the_end(&self, hangs: &str) {
        while self.has_unit() {
            let cmdline = self.restart();
            if hangs.is_empty() || !cmdline.contains(hangs) {
                self.go_on();
            }
        }
    }

    pub fn status(&self) -> Value {
        record(&self.run(&["--status", "--json"]))
    }
}
