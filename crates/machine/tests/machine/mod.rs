//! Lays a machine that is written down as text (`trees/*.tree`) out as a folder, and compares folders.
#![allow(dead_code, reason = "each test uses its own part")]

pub mod blob;
pub mod packed;
pub mod stop;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ontick_machine::{Facts, Journal, Profile, Reverted, Root, Target, TuningPlan, revert};

pub const MACHINES: [&str; 8] =
    ["pi3b-stretch", "pi3b-bookworm", "pi4", "pi5", "beaglebone", "x86-grub", "x86-systemd-boot", "vm"];

/// A machine in a folder.
pub struct Machine {
    folder: tempfile::TempDir,
    pub root: Root,
}

impl Machine {
    pub fn lay(name: &str) -> Self {
        // In memory, where there is such a place: waiting for a disk would make these tests slow.
        let memory = Path::new("/dev/shm");
        let folder = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
        lay_out(folder.path(), name);
        let root = Root::at(folder.path()).unwrap();
        Self { folder, root }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn place(&self, path: &str) -> PathBuf {
        self.folder.path().join(path.trim_start_matches('/'))
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.place(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    pub fn write(&self, path: &str, content: &str) {
        fs::create_dir_all(self.place(path).parent().unwrap()).unwrap();
        fs::write(self.place(path), content).unwrap();
    }

    pub fn facts(&self) -> Facts {
        Facts::gather(&self.root)
    }

    pub fn target(&self, profile: Profile) -> Target {
        Target::new(&self.facts(), None, profile).unwrap()
    }

    pub fn plan(&self, profile: Profile) -> TuningPlan {
        TuningPlan::make(&self.root, &self.facts(), &self.target(profile)).unwrap()
    }

    /// Every file and link with its content.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        collect(self.folder.path(), self.folder.path(), &mut all);
        all
    }
}

/// Every file and link but the journal's parents, which may stay.
pub fn state(machine: &Machine) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = machine.snapshot();
    all.retain(|path, _| !["var", "var/lib"].iter().any(|keep| path.as_os_str() == *keep));
    all
}

/// Puts back what a journal has, as `tune revert` does.
pub fn back(root: &Root) -> Reverted {
    let mut journal = Journal::open(root).unwrap();
    let reverted = revert(root, &mut journal, false);
    journal.close();
    reverted
}

/// The paths that differ, and how the first does.
pub fn difference<T: PartialEq + std::fmt::Debug>(a: &BTreeMap<PathBuf, T>, b: &BTreeMap<PathBuf, T>) -> String {
    let paths: Vec<_> = a.keys().chain(b.keys()).filter(|p| a.get(*p) != b.get(*p)).collect();
    format!("{paths:?} {:?} {:?}", paths.first().map(|p| a.get(*p)), paths.first().map(|p| b.get(*p)))
}

fn collect(base: &Path, folder: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = path.strip_prefix(base).unwrap().to_owned();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            all.insert(name, b"<folder>".to_vec());
            collect(base, &path, all);
        } else if kind.is_symlink() {
            all.insert(name, fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes());
        } else {
            all.insert(name, fs::read(&path).unwrap());
        }
    }
}

fn lay_out(folder: &Path, name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../machine/tests/trees/{name}.tree"));
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut open: Option<(Vec<String>, &str, Vec<&str>)> = None;
    for line in text.lines() {
        let Some(header) = line.strip_prefix('@') else {
            open.as_mut().expect("content follows a path").2.push(line);
            continue;
        };
        finish(folder, open.take());
        match header.split_once(' ').unwrap() {
            ("include", other) => lay_out(folder, other),
            (">", link) => {
                let (path, target) = link.split_once(' ').unwrap();
                let place = folder.join(&path[1..]);
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(target, place).unwrap();
            }
            (ending, path) => open = Some((expanded(path), ending, Vec::new())),
        }
    }
    finish(folder, open);
}

fn finish(folder: &Path, open: Option<(Vec<String>, &str, Vec<&str>)>) {
    let Some((paths, ending, lines)) = open else { return };
    let end = match ending {
        "" => "\n",
        "0" => "\0",
        "-" => "",
        other => panic!("unknown ending {other:?}"),
    };
    for path in paths {
        let place = folder.join(&path[1..]);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, lines.join("\n") + end).unwrap();
    }
}

/// `cpu{0-3}/state{0-1}`: every combination.
fn expanded(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.into()] };
    let (range, after) = rest.split_once('}').unwrap();
    let (first, last) = range.split_once('-').unwrap();
    let (first, last): (u32, u32) = (first.parse().unwrap(), last.parse().unwrap());
    (first..=last).flat_map(|n| expanded(&format!("{before}{n}{after}"))).collect()
}
