//! `tune` and `kernel` on machines in folders.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::{Trial, campaign, succeeds, words};
use crate::kernel_install::Card;
use crate::machine::Machine;
use crate::machine::packed::MACHINES;

/// A command of `tune` or `kernel`, and those before it and after its kill.
struct InFolder {
    card: Card,
    /// What brings about what it finds, what it is, and the way back.
    prepare: Vec<Vec<&'static str>>,
    command: Vec<&'static str>,
    back: Vec<&'static str>,
    found: RefCell<BTreeMap<PathBuf, Vec<u8>>>,
}

impl InFolder {
    fn all_words(&self, command: &[&str]) -> Vec<String> {
        let package = self.card.package();
        let package = (command.contains(&"install")).then(|| package.display().to_string());
        let root = ["--root".to_owned(), self.card.machine.folder().display().to_string()];
        words(command).into_iter().chain(package).chain(root).collect()
    }

    /// A file of the kernel's is not emptied when it is opened, only to be written to.
    fn be_a_kernel(&self) {
        for (path, bytes) in
            self.found.borrow().iter().filter(|(path, _)| path.starts_with("proc") || path.starts_with("sys"))
        {
            let place = self.card.machine.folder().join(path);
            if fs::metadata(&place).is_ok_and(|file| file.is_file() && file.len() == 0) {
                fs::write(place, bytes).unwrap();
            }
        }
    }
}

impl Trial for InFolder {
    fn name(&self) -> String {
        self.command.join(" ")
    }

    fn prepare(&self) {
        for command in &self.prepare {
            succeeds(self, &self.all_words(command)).unwrap();
        }
        self.found.replace(self.card.machine.snapshot());
    }

    fn words(&self) -> Vec<String> {
        self.all_words(&self.command)
    }

    fn go_back(&self) -> Result<(), String> {
        self.be_a_kernel();
        succeeds(self, &self.all_words(&self.back))
    }

    fn state(&self) -> String {
        let files = self.card.machine.snapshot();
        files.iter().map(|(path, bytes)| format!("{} {}\n", path.display(), bytes.escape_ascii())).collect()
    }
}

fn tune(machine: &str, prepare: &[&'static [&'static str]], command: &[&'static str]) {
    let machine = Machine::lay(machine);
    fs::create_dir_all(machine.place("/var/lib")).unwrap();
    in_folder(Card { machine, folder: tempfile::tempdir().unwrap() }, prepare, command, &["tune", "revert"]);
}

fn kernel(n: usize, prepare: &[&'static [&'static str]], command: &[&'static str]) {
    let (machine, architecture) = MACHINES[n];
    in_folder(Card::lay(machine, architecture), prepare, command, &["kernel", "rollback"]);
}

fn in_folder(card: Card, prepare: &[&'static [&'static str]], command: &[&'static str], back: &[&'static str]) {
    let prepare = prepare.iter().map(|command| command.to_vec()).collect();
    campaign(&InFolder { card, prepare, command: command.to_vec(), back: back.to_vec(), found: RefCell::default() });
}

#[test]
fn tune_apply_killed_at_any_call_is_reverted() {
    for machine in ["pi4", "x86-grub"] {
        tune(machine, &[], &["tune", "apply", "--boot"]);
    }
}

#[test]
fn tune_revert_killed_at_any_call_is_reverted_again() {
    for machine in ["pi4", "x86-grub"] {
        tune(machine, &[&["tune", "apply", "--boot"]], &["tune", "revert"]);
    }
}

#[test]
fn a_kernels_install_killed_at_any_call_is_rolled_back() {
    for machine in [1, 3] {
        kernel(machine, &[], &["kernel", "install"]);
    }
}

#[test]
fn a_kernel_kept_by_a_command_killed_at_any_call_is_rolled_back() {
    for machine in [1, 3] {
        kernel(machine, &[&["kernel", "install"]], &["kernel", "keep", "--untried"]);
    }
}

#[test]
fn a_rollback_killed_at_any_call_is_done_again() {
    for machine in [1, 3] {
        kernel(machine, &[&["kernel", "install"]], &["kernel", "rollback"]);
        kernel(machine, &[&["kernel", "install"], &["kernel", "keep", "--untried"]], &["kernel", "rollback"]);
    }
}
