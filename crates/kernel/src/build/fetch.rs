//! The distribution's own source, out of its package `linux-source-*`: downloaded and unpacked, never installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use super::{BuildError, Event, file_error};
use crate::command::{self, CommandError};

/// Why the distribution's source is not to be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Another kind of package.
    #[error("{0} is no package of a kernel's source: linux-source-…")]
    NotASource(String),
    /// The lists are empty.
    #[error("the package lists have no linux-source-*: run apt update, or name a source tree")]
    NoneListed,
    /// The lists do not have it.
    #[error("apt knows no package {0}: run apt update, or name a source tree")]
    Unknown(String),
    /// Another package manager.
    #[error("this system has no apt to fetch a kernel's source with: name a source tree")]
    NoApt,
    /// apt reports success and there is no file.
    #[error("apt-get left no {name} in {}", folder.display())]
    NotThere {
        /// The package.
        name: String,
        /// Where it should be.
        folder: PathBuf,
    },
    /// The package holds something else.
    #[error("{} holds no archive linux-source-*.tar.*", .0.display())]
    NoArchive(PathBuf),
    /// The package is damaged.
    #[error("the source's package does not unpack: remove it and start again")]
    Damaged,
}

/// A package that can be downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: String,
}

/// The named one (`NAME` or `NAME=VERSION`, as apt takes them), or the newest.
pub fn choose(name: Option<&str>) -> Result<Package, BuildError> {
    let listed = || {
        let mut command = Command::new("apt-cache");
        command.env("LC_ALL", "C").args(["search", "--names-only", "^linux-source-[0-9]"]);
        command::output("apt-cache search", &mut command).map_err(no_apt)
    };
    let name = match name {
        Some(name) if !name.starts_with("linux-source") => {
            return Err(FetchError::NotASource(name.into()).into());
        }
        Some(name) => name.to_owned(),
        None => newest(&listed()?).ok_or(FetchError::NoneListed)?,
    };
    if let Some((name, version)) = name.split_once('=') {
        return Ok(Package { name: name.into(), version: version.into() });
    }
    let mut command = Command::new("apt-cache");
    command.env("LC_ALL", "C").args(["policy", &name]);
    let policy = command::output("apt-cache policy", &mut command).map_err(no_apt)?;
    let version = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
    match version.filter(|version| *version != "(none)") {
        Some(version) => Ok(Package { version: version.into(), name }),
        None => Err(FetchError::Unknown(name).into()),
    }
}

fn no_apt(error: CommandError) -> BuildError {
    match error {
        CommandError::Start { .. } => FetchError::NoApt.into(),
        other => other.into(),
    }
}

/// `linux-source-6.12 - Linux kernel source…`: the name with the highest version.
fn newest(listed: &str) -> Option<String> {
    let version = |name: &str| -> Option<Vec<u32>> {
        name.strip_prefix("linux-source-")?.split('.').map(|number| number.parse().ok()).collect()
    };
    let names = listed.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| version(name).is_some()).max_by_key(|name| version(name)).map(str::to_owned)
}

/// Downloads the package if need be, and unpacks the tree in it as `new`.
pub fn unpack(
    package: &Package,
    work: &Path,
    new: &Path,
    stop: &AtomicBool,
    report: &mut dyn FnMut(Event),
) -> Result<(), BuildError> {
    let folder = work.join("download");
    fs::create_dir_all(&folder).map_err(file_error(&folder))?;
    let deb = match downloaded(&folder, package) {
        Some(deb) => deb,
        None => download(package, &folder, stop, report)?,
    };
    report(Event::Begins("unpacking the source"));
    let archive = folder.join("source.tar");
    let inside = archive_in(&deb)?;
    // The package holds the tree as an archive.
    pipe(
        Command::new("dpkg-deb").arg("--fsys-tarfile").arg(&deb),
        Command::new("tar").args(["-x", "-O", "-f", "-"]).arg(&inside).stdout(create(&archive)?),
    )?;
    fs::create_dir_all(new).map_err(file_error(new))?;
    let mut untar = Command::new("tar");
    untar.arg("-x").arg("-f").arg(&archive).arg("-C").arg(new).arg("--strip-components=1");
    command::run("unpacking the source", &mut untar, stop, &mut |_| {})?;
    fs::remove_file(&archive).map_err(file_error(&archive))
}

/// The package's file, as apt names it: `:` of a version stands as `%3a`.
fn downloaded(folder: &Path, package: &Package) -> Option<PathBuf> {
    let begins = format!("{}_{}_", package.name, package.version.replace(':', "%3a"));
    let entries = fs::read_dir(folder).ok()?.flatten();
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with(&begins) && name.ends_with(".deb")
    };
    entries.map(|entry| entry.path()).find(named)
}

fn download(
    package: &Package,
    folder: &Path,
    stop: &AtomicBool,
    report: &mut dyn FnMut(Event),
) -> Result<PathBuf, BuildError> {
    report(Event::Begins(&format!("downloading {} {}", package.name, package.version)));
    let mut apt = Command::new("apt-get");
    // apt keeps the file under another name until it is whole and its hash is right.
    apt.current_dir(folder).args(["-q", "-o", "APT::Sandbox::User=root", "download"]);
    apt.arg(format!("{}={}", package.name, package.version));
    command::run("apt-get download", &mut apt, stop, &mut |_| {})?;
    let missing = || FetchError::NotThere { name: package.name.clone(), folder: folder.into() };
    downloaded(folder, package).ok_or_else(|| missing().into())
}

/// `./usr/src/linux-source-6.12.tar.xz`
fn archive_in(deb: &Path) -> Result<String, BuildError> {
    let listed = command::output("dpkg-deb", Command::new("dpkg-deb").arg("--contents").arg(deb))?;
    let is_archive = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        name.starts_with("linux-source-") && name.contains(".tar.")
    };
    let found = listed.lines().filter_map(|line| line.split_whitespace().nth(5)).find(is_archive);
    found.map(str::to_owned).ok_or_else(|| FetchError::NoArchive(deb.into()).into())
}

fn create(path: &Path) -> Result<fs::File, BuildError> {
    fs::File::create(path).map_err(file_error(path))
}

fn pipe(first: &mut Command, second: &mut Command) -> Result<(), BuildError> {
    let start = |command: &Command| {
        let program = command.get_program().to_string_lossy().into_owned();
        move |reason| BuildError::from(CommandError::Start { program, reason })
    };
    let wrong = start(first);
    let mut giving = first.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(wrong)?;
    let wrong = start(second);
    let taking = giving.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let taken = second.stdin(taking).status().map_err(wrong)?;
    let given = giving.wait().map_err(start(first))?;
    match taken.success() && given.success() {
        true => Ok(()),
        false => Err(FetchError::Damaged.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_chosen_by_number() {
        let listed = "linux-source-6.1 - source\nlinux-source-6.12 - source\nlinux-source-6.9 - x\nlinux-source - y\n";
        assert_eq!(newest(listed).as_deref(), Some("linux-source-6.12"));
        assert_eq!(newest("linux-source-rt - x\n"), None);
    }

    #[test]
    fn a_download_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let package = Package { name: "linux-source-6.1".into(), version: "1:6.1.9-1".into() };
        assert_eq!(downloaded(folder.path(), &package), None);
        let file = folder.path().join("linux-source-6.1_1%3a6.1.9-1_all.deb");
        fs::write(&file, "").unwrap();
        assert_eq!(downloaded(folder.path(), &package), Some(file));
    }

    #[test]
    fn only_sources_of_kernels_are_taken() {
        assert!(choose(Some("bash")).unwrap_err().to_string().starts_with("bash is no package of a kernel's source"));
    }
}
