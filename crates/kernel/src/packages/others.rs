//! Package managers other than apt: each is asked in its own words for the names that its systems give such kernels.

use std::path::Path;

use ontick_machine::Root;
use ontick_undo::program;

use super::{ListError, Package};
use crate::command;

/// A package manager, what it is asked, and how its answer is read.
struct Manager {
    name: &'static str,
    program: &'static str,
    words: &'static [&'static str],
    read: fn(&str) -> Vec<Package>,
}

const MANAGERS: &[Manager] = &[
    Manager { name: "pacman", program: "/usr/bin/pacman", words: &["-Ss", "^linux-rt"], read: pacman },
    Manager {
        name: "dnf",
        program: "/usr/bin/dnf",
        words: &["-q", "repoquery", "--latest-limit=1", "--qf", "%{name} %{evr} %{repoid}\n", "kernel-rt"],
        read: dnf,
    },
    Manager { name: "zypper", program: "/usr/bin/zypper", words: &["-q", "search", "-s", "kernel-rt"], read: zypper },
    Manager { name: "apk", program: "/sbin/apk", words: &["search", "linux-rt"], read: apk },
];

/// The manager's name (empty for none that is known) and what it has.
pub fn list(root: &Root) -> Result<(&'static str, Vec<Package>), ListError> {
    let Some(manager) = MANAGERS.iter().find(|manager| root.exists(manager.program)) else {
        return Ok(("", Vec::new()));
    };
    if !root.is_live() {
        return Err(ListError::OnlyRunning(manager.name));
    }
    let mut command = program::at(Path::new(manager.program));
    command.args(manager.words);
    // They end with an error where nothing is found, too.
    let answer = command::output(manager.name, &mut command).unwrap_or_default();
    Ok((manager.name, (manager.read)(&answer)))
}

fn package(name: &str, version: &str, suite: &str, installed: bool, install: &str) -> Package {
    Package {
        name: name.into(),
        version: version.into(),
        suite: suite.into(),
        installed: installed.then(|| version.into()),
        running: false,
        install: format!("{install} {name}"),
    }
}

/// `extra/linux-rt 6.16.0.rt3.arch1-1 [installed]`, then a line that describes it.
fn pacman(answer: &str) -> Vec<Package> {
    let read = |line: &str| {
        let mut words = line.split_whitespace();
        let (suite, name) = words.next()?.split_once('/')?;
        let version = words.next().filter(|_| matches!(name, "linux-rt" | "linux-rt-lts"))?;
        Some(package(name, version, suite, line.contains("[installed"), "pacman -S"))
    };
    answer.lines().filter(|line| !line.starts_with(' ')).filter_map(read).collect()
}

/// `kernel-rt 6.12.0-55.el10 rt`
fn dnf(answer: &str) -> Vec<Package> {
    let read = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, version) = (words.next()?, words.next()?);
        (name == "kernel-rt").then(|| package(name, version, words.next().unwrap_or_default(), false, "dnf install"))
    };
    answer.lines().filter_map(read).collect()
}

/// `i | kernel-rt | package | 6.4.0-1 | x86_64 | Repository`
fn zypper(answer: &str) -> Vec<Package> {
    let read = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [state, "kernel-rt", "package", version, _, suite] = cells[..] else { return None };
        Some(package("kernel-rt", version, suite, state.starts_with('i'), "zypper install"))
    };
    // The newest comes first.
    answer.lines().filter_map(read).take(1).collect()
}

/// `linux-rt-6.6.14-r0`
fn apk(answer: &str) -> Vec<Package> {
    let read = |line: &str| {
        let version = line.trim().strip_prefix("linux-rt-").filter(|v| v.starts_with(|c: char| c.is_ascii_digit()))?;
        Some(package("linux-rt", version, "", false, "apk add"))
    };
    answer.lines().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(packages: &[Package]) -> Vec<String> {
        let one = |p: &Package| format!("{} {} {} {}", p.install, p.version, p.suite, p.installed.is_some());
        packages.iter().map(one).collect()
    }

    #[test]
    fn each_answer_is_read() {
        let arch =
            "extra/linux-rt 6.16.0.rt3-1 [installed]\n    The Linux RT kernel\nextra/linux-rt-docs 6.16-1\n    Docs\n";
        assert_eq!(shown(&pacman(arch)), ["pacman -S linux-rt 6.16.0.rt3-1 extra true"]);
        let fedora = "kernel-rt 6.12.0-55.el10 rt\nkernel-rt-core 6.12.0-55.el10 rt\n";
        assert_eq!(shown(&dnf(fedora)), ["dnf install kernel-rt 6.12.0-55.el10 rt false"]);
        let suse = "S | Name | Type | Version | Arch | Repository\n--+--+--\n  | kernel-rt | package | 6.17-1 | x86_64 | oss\n  \
            | kernel-rt | package | 6.16-1 | x86_64 | oss\n";
        assert_eq!(shown(&zypper(suse)), ["zypper install kernel-rt 6.17-1 oss false"]);
        assert_eq!(shown(&apk("linux-rt-6.6.14-r0\nlinux-rt-dev-6.6.14-r0\n")), ["apk add linux-rt 6.6.14-r0  false"]);
        assert!([pacman, dnf, zypper, apk].iter().all(|read| read("nothing\n\n|||\n/ / /\n").is_empty()));
    }
}
