//! Machines that are namespaces of this one, which an SSH server makes accessible (`lab/machines`).

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Running, has, stdout};

pub(super) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Machines, and the folder of who manages them.
pub(super) struct Fleet {
    machines: Running,
    folder: tempfile::TempDir,
}

impl Fleet {
    /// Nothing where there is no Ansible, or where namespaces are not to be had.
    pub(super) fn start(names: &[&str]) -> Option<Self> {
        if !["ssh", "ssh-keygen", "unshare", "nsenter", "ip"].iter().all(|tool| has(tool)) {
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            ontick_skip::skipped!("machines of namespaces: not permitted without root");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(top().join("lab/machines"))
            .arg(folder.path())
            .args(names)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line != "ready\n" {
            let mut why = String::new();
            child.stderr.take().unwrap().read_to_string(&mut why).unwrap();
            child.wait().unwrap();
            assert!(why.contains("not permitted") || why.contains("ermission denied"), "{why}");
            ontick_skip::skipped!("{}", why.lines().last().unwrap_or_default());
            return None;
        }
        Some(Self { machines: Running(child), folder })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program that the network of the machines is open to.
    pub(super) fn beside(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.machines.0.id().to_string(), "--net", program]);
        command
    }

    /// Runs a command on a machine, and gives what it printed.
    pub(super) fn on(&self, name: &str, command: &str) -> String {
        let inventory = fs::read_to_string(self.path("inventory")).unwrap();
        let host = inventory.lines().find_map(|line| line.strip_prefix(&format!("{name} ansible_host="))).unwrap();
        let known = format!("UserKnownHostsFile={}", self.path("known_hosts").display());
        let output = self
            .beside("ssh")
            .args(["-F", "none", "-o", &known, "-i"])
            .arg(self.path("key"))
            .args([&format!("root@{host}"), command])
            .output()
            .unwrap();
        stdout(&output).trim_end().to_owned()
    }
}
