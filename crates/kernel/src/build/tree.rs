//! The source that is built from: somebody's tree as it is, or one of our own that was unpacked or copied, with the
//! real-time series on it where it needs that. Ours appears whole or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::UNIX_EPOCH;

use super::{BuildError, Event, From, Order, digest, fetch, file_error, space};
use crate::command::{self, CommandError};
use crate::rt_patches::RtPatches;
use crate::source::Source;

/// A tree that is ready to build from.
pub struct Tree {
    pub source: Source,
    /// Its version, and what tells it from another of that version.
    pub identity: String,
    /// What was put on it; empty for nothing.
    pub series: String,
    /// When it was made, in seconds since 1970.
    pub epoch: u64,
}

pub fn prepare(order: &Order, stop: &AtomicBool, report: &mut dyn FnMut(Event)) -> Result<Tree, BuildError> {
    let series = order.patches.as_deref().map(RtPatches::open).transpose()?;
    match &order.from {
        From::Tree(folder) => from_folder(order, folder, series, stop, report),
        From::Package(name) => from_package(order, name.as_deref(), series, stop, report),
    }
}

fn from_folder(
    order: &Order,
    folder: &Path,
    series: Option<RtPatches>,
    stop: &AtomicBool,
    report: &mut dyn FnMut(Event),
) -> Result<Tree, BuildError> {
    let source = Source::open(folder)?;
    source.clean()?;
    let (epoch, identity) = (epoch(&source.folder)?, identity(&source, report)?);
    let Some(series) = series else {
        needs_no_series(&source, order)?;
        return Ok(Tree { source, identity, series: String::new(), epoch });
    };
    series.fits(&source.version)?;
    let from = source.folder.clone();
    patched(order, &identity, epoch, Some(&series), stop, report, &mut |new, _| copy(&from, new, stop))
}

fn from_package(
    order: &Order,
    name: Option<&str>,
    series: Option<RtPatches>,
    stop: &AtomicBool,
    report: &mut dyn FnMut(Event),
) -> Result<Tree, BuildError> {
    let package = fetch::choose(name)?;
    let identity = format!("{} {}", package.name, package.version);
    let work = order.work.clone();
    let mut unpack = |new: &Path, report: &mut dyn FnMut(Event)| fetch::unpack(&package, &work, new, stop, report);
    patched(order, &identity, 0, series.as_ref(), stop, report, &mut unpack)
}

type Fill<'a> = dyn FnMut(&Path, &mut dyn FnMut(Event)) -> Result<(), BuildError> + 'a;

/// A tree of our own below the work folder. `fill` makes it; a marker beside it tells what it holds.
fn patched(
    order: &Order,
    identity: &str,
    made: u64,
    series: Option<&RtPatches>,
    stop: &AtomicBool,
    report: &mut dyn FnMut(Event),
    fill: &mut Fill,
) -> Result<Tree, BuildError> {
    let on_it = series.map(series_identity).transpose()?.unwrap_or_default();
    let (folder, marker) = (order.work.join("source"), order.work.join("source.holds"));
    let holds = format!("{identity}\n{on_it}\n");
    if fs::read_to_string(&marker).ok().as_deref() != Some(&holds) || !folder.is_dir() {
        let new = order.work.join("source.new");
        remove(&marker)?;
        remove(&new)?;
        space::has(&order.work, space::SOURCE, "the source")?;
        fill(&new, report)?;
        if let Some(series) = series {
            let version = Source::open(&new)?.version;
            report(Event::Begins("patching"));
            series.apply(&new, &version, stop, &mut |_, _| {})?;
        }
        remove(&folder)?;
        fs::rename(&new, &folder).map_err(file_error(&folder))?;
        fs::write(&marker, holds).map_err(file_error(&marker))?;
    }
    let source = Source::open(&folder)?;
    needs_no_series(&source, order)?;
    let epoch = if made == 0 { epoch(&source.folder)? } else { made };
    Ok(Tree { source, identity: identity.into(), series: on_it, epoch })
}

fn series_identity(series: &RtPatches) -> Result<String, BuildError> {
    let mut all = String::new();
    for patch in &series.patches {
        all += &digest::of_file(patch)?;
    }
    Ok(format!("{series} {}", digest::of_text(&all)?))
}

fn needs_no_series(source: &Source, order: &Order) -> Result<(), BuildError> {
    let arch = order.request.arch;
    if source.has_real_time(arch) || order.even_if_missing {
        return Ok(());
    }
    Err(BuildError::NeedsSeries { version: source.version.clone(), arch: arch.name() })
}

/// When a tree was made: what the caller says, its last commit, or its makefile's date, which archives keep.
fn epoch(folder: &Path) -> Result<u64, BuildError> {
    let said = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.trim().parse().ok());
    let committed = || git(folder, &["log", "-1", "--format=%ct"])?.trim().parse().ok();
    if let Some(epoch) = said.or_else(committed) {
        return Ok(epoch);
    }
    let makefile = folder.join("Makefile");
    let modified = fs::metadata(&makefile).and_then(|meta| meta.modified()).map_err(file_error(&makefile))?;
    Ok(modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

/// What tells a tree from another of its version: its commit and what was changed since, or all names, sizes and dates.
fn identity(source: &Source, report: &mut dyn FnMut(Event)) -> Result<String, BuildError> {
    let version = &source.version;
    let Some(commit) = git(&source.folder, &["rev-parse", "HEAD"]) else {
        return Ok(format!("linux {version} {}", digest::of_text(&listing(&source.folder, &source.folder))?));
    };
    let changed = git(&source.folder, &["status", "--porcelain"]).unwrap_or_default();
    if changed.trim().is_empty() {
        return Ok(format!("linux {version} {}", commit.trim()));
    }
    report(Event::Note("the source tree has changes that are not committed: they are built, too"));
    let difference = git(&source.folder, &["diff", "HEAD"]).unwrap_or_default();
    Ok(format!("linux {version} {} {}", commit.trim(), digest::of_text(&(changed + &difference))?))
}

/// Only where the tree itself is a repository, not where it lies in another one.
fn git(folder: &Path, words: &[&str]) -> Option<String> {
    if !folder.join(".git").exists() {
        return None;
    }
    let mut command = std::process::Command::new("git");
    command::output("git", command.arg("-C").arg(folder).args(words)).ok()
}

fn listing(top: &Path, folder: &Path) -> String {
    let mut names: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    names.sort();
    let of = |path: &PathBuf| {
        let Ok(meta) = fs::symlink_metadata(path) else { return String::new() };
        if meta.is_dir() {
            return listing(top, path);
        }
        let modified = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let name = path.strip_prefix(top).unwrap_or(path).display();
        format!("{name} {} {}\n", meta.len(), modified.as_secs())
    };
    names.iter().map(of).collect()
}

/// Copies a tree without its repository.
fn copy(from: &Path, to: &Path, stop: &AtomicBool) -> Result<(), BuildError> {
    if stop.load(Relaxed) {
        return Err(CommandError::Interrupted.into());
    }
    fs::create_dir_all(to).map_err(file_error(to))?;
    for entry in fs::read_dir(from).map_err(file_error(from))? {
        let entry = entry.map_err(file_error(from))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(file_error(&path))?;
        match () {
            () if entry.file_name() == ".git" => {}
            () if kind.is_dir() => copy(&path, &target, stop)?,
            () if kind.is_symlink() => {
                let leads = fs::read_link(&path).map_err(file_error(&path))?;
                std::os::unix::fs::symlink(leads, &target).map_err(file_error(&target))?;
            }
            () => drop(fs::copy(&path, &target).map_err(file_error(&target))?),
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), BuildError> {
    let removed = match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        _ => fs::remove_file(path),
    };
    removed.map_err(file_error(path))
}
