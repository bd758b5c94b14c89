//! Which CPUs this program holds, whatever its command, so that two real-time loops never meet on one.
//!
//! A claim is a locked file in a folder that nobody else can write to. The kernel releases the lock when the process ends,
//! however it ends. Where there is no such folder, nobody is hindered.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::{Choice, online, preference_beside};

/// Root's claims. Others may see them, and touch none.
const RUN: &str = "/run/ontick";
const FOLDER: &str = "cpus";
const LOCK: &str = ".lock";

/// How a thread uses its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Occupancy {
    /// It leaves the CPU in each period, so that another such thread can be there, too.
    Rests,
    /// It keeps the CPU as good as all the time.
    Spins,
}

impl Occupancy {
    fn name(self) -> &'static str {
        match self {
            Self::Rests => "rests",
            Self::Spins => "spins",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Rests, Self::Spins].into_iter().find(|occupancy| occupancy.name() == name)
    }
}

/// Another process that holds a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The CPU.
    pub cpu: u32,
    /// The process.
    pub pid: u32,
    /// How it uses the CPU.
    pub occupancy: Occupancy,
}

impl Holder {
    fn file_name(&self) -> String {
        format!("{}.{}.{}", self.cpu, self.pid, self.occupancy.name())
    }

    fn named(name: &str) -> Option<Self> {
        let mut parts = name.split('.');
        let (cpu, pid, occupancy) = (parts.next()?, parts.next()?, parts.next()?);
        let holder = Self { cpu: cpu.parse().ok()?, pid: pid.parse().ok()?, occupancy: Occupancy::named(occupancy)? };
        (holder.file_name() == name).then_some(holder)
    }

    /// The beginning of its command line.
    fn command(&self) -> String {
        shortened(&fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default())
    }
}

/// The beginning of a command line as `/proc` has it: the program's name and three arguments.
pub(super) fn shortened(line: &[u8]) -> String {
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words: Vec<String> = words.take(4).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let program = words.first().map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
    let line: Vec<String> = program.into_iter().chain(words.into_iter().skip(1)).collect();
    // Arguments are other people's text, and this goes to a terminal.
    line.join(" ").chars().filter(|char| !char.is_control()).take(60).collect()
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.command() {
            command if command.is_empty() => write!(f, "process {}", self.pid),
            command => write!(f, "{command} (process {})", self.pid),
        }
    }
}

/// Why a CPU is not to be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// Another process has this one.
    #[error("CPU {cpu} is held by {holder}: name another CPU, or end that first", cpu = .0.cpu, holder = .0)]
    By(Holder),
    /// A loop that spins would take the last CPU that no other spins on.
    #[error(
        "CPU {cpu} is the last one on which no loop spins, and is left to everything else{beside}",
        beside = .beside.iter().map(|holder| format!("; CPU {} is held by {holder}", holder.cpu)).collect::<String>()
    )]
    LastOne {
        /// The CPU.
        cpu: u32,
        /// Who spins on the others.
        beside: Vec<Holder>,
    },
}

/// A CPU is this process's as long as this is there. Claims of one process do not exclude each other.
#[derive(Debug)]
#[must_use = "the CPU is free again when the claim is dropped"]
pub struct Claim {
    /// Its file; none where there is no folder of claims, and nobody is hindered.
    place: Option<PathBuf>,
    /// A forked child has a copy, and no claim.
    process: u32,
}

impl Claim {
    fn at(place: Option<PathBuf>) -> Self {
        Self { place, process: std::process::id() }
    }

    /// Until the process ends.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let Some(place) = self.place.as_ref().filter(|_| self.process == std::process::id()) else { return };
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = own.get_mut(place) else { return };
        entry.claims -= 1;
        if entry.claims == 0 {
            // Whoever finds the file meanwhile finds it locked.
            let _ = fs::remove_file(place);
            own.remove(place);
        }
    }
}

/// Claims `cpu` for this process.
pub fn claim(cpu: u32, occupancy: Occupancy) -> Result<Claim, ClaimError> {
    let Some(registry) = Registry::open() else { return Ok(Claim::at(None)) };
    let holders = registry.holders();
    is_free(cpu, occupancy, &holders, &online())?;
    Ok(registry.enter(cpu, occupancy))
}

/// Chooses a CPU that nobody holds, and claims it for this process. Threads that rest may share one.
pub fn dedicate(occupancy: Occupancy) -> Result<(Choice, Claim), ClaimError> {
    let registry = Registry::open();
    let holders = registry.as_ref().map(Registry::holders).unwrap_or_default();
    let choice = choose_beside(occupancy, &holders)?;
    let claim = registry.map_or(Claim::at(None), |registry| registry.enter(choice.cpu, occupancy));
    Ok((choice, claim))
}

/// Other processes that hold CPUs.
pub fn holders() -> Vec<Holder> {
    match Registry::open() {
        Some(registry) => registry.holders(),
        // Those of root can be seen.
        None => living(&Path::new(RUN).join(FOLDER)),
    }
}

fn choose_beside(occupancy: Occupancy, holders: &[Holder]) -> Result<Choice, ClaimError> {
    let choice = preference_beside(holders, occupancy);
    is_free(choice.cpu, occupancy, holders, &online()).map(|()| choice)
}

/// The CPUs of those allowed that are free for such a thread, the better ones only; all if there are none.
pub(super) fn free(occupancy: Occupancy, holders: &[Holder], allowed: &[u32], online: &[u32]) -> Vec<u32> {
    let of =
        |wanted: &dyn Fn(u32) -> bool| -> Vec<u32> { allowed.iter().copied().filter(|cpu| wanted(*cpu)).collect() };
    let alone = of(&|cpu| !holders.iter().any(|holder| holder.cpu == cpu));
    let shared = of(&|cpu| is_free(cpu, occupancy, holders, online).is_ok());
    [alone, shared].into_iter().find(|cpus| !cpus.is_empty()).unwrap_or_else(|| allowed.to_vec())
}

/// Whether a CPU may be claimed beside these holders.
fn is_free(cpu: u32, occupancy: Occupancy, holders: &[Holder], online: &[u32]) -> Result<(), ClaimError> {
    let spins = |holder: &&Holder| holder.occupancy == Occupancy::Spins;
    let excludes = |holder: &&Holder| occupancy == Occupancy::Spins || spins(holder);
    if let Some(holder) = holders.iter().filter(|holder| holder.cpu == cpu).find(excludes) {
        return Err(ClaimError::By(holder.clone()));
    }
    let is_left = |other: &u32| *other != cpu && !holders.iter().filter(spins).any(|holder| holder.cpu == *other);
    if occupancy == Occupancy::Spins && !online.iter().any(is_left) {
        return Err(ClaimError::LastOne { cpu, beside: holders.iter().filter(spins).cloned().collect() });
    }
    Ok(())
}

/// What this process has claimed.
static OWN: Mutex<BTreeMap<PathBuf, Entry>> = Mutex::new(BTreeMap::new());

/// A file that is locked, and how many claims it is for.
struct Entry {
    claims: u32,
    _locked: File,
}

/// The folder of claims, which nobody else changes meanwhile.
struct Registry {
    folder: PathBuf,
    _lock: File,
}

impl Registry {
    /// Root's, or the user's own.
    fn open() -> Option<Self> {
        Self::at(&home()?)
    }

    fn at(home: &Path) -> Option<Self> {
        let folder = home.join(FOLDER);
        for place in [home, &folder] {
            match DirBuilder::new().mode(0o755).create(place) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return None,
                _ => is_own(place).then_some(())?,
            }
        }
        let lock = open(&folder.join(LOCK), false).ok()?;
        flock(&lock, FlockOperation::LockExclusive).ok()?;
        Some(Self { folder, _lock: lock })
    }

    /// Others that live; what dead ones left is removed.
    fn holders(&self) -> Vec<Holder> {
        self.holders_and(roots(rustix::process::geteuid().is_root()).as_deref())
    }

    fn holders_and(&self, roots: Option<&Path>) -> Vec<Holder> {
        let own = std::process::id();
        let mut holders = listed(&self.folder);
        holders.retain(|holder| holder.pid != own && self.is_locked(holder));
        holders.extend(roots.map(living).unwrap_or_default());
        holders
    }

    fn is_locked(&self, holder: &Holder) -> bool {
        let place = self.folder.join(holder.file_name());
        let Ok(file) = open(&place, false) else { return false };
        let locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_err();
        if !locked {
            let _ = fs::remove_file(&place);
        }
        locked
    }

    fn enter(&self, cpu: u32, occupancy: Occupancy) -> Claim {
        let place = self.folder.join(Holder { cpu, pid: std::process::id(), occupancy }.file_name());
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = own.get_mut(&place) {
            entry.claims += 1;
            return Claim::at(Some(place));
        }
        // A dead process may have had this number.
        let _ = fs::remove_file(&place);
        let locked =
            open(&place, true).ok().filter(|file| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok());
        let Some(file) = locked else { return Claim::at(None) };
        own.insert(place.clone(), Entry { claims: 1, _locked: file });
        Claim::at(Some(place))
    }
}

/// Where the folder of this user's claims is.
#[cfg(not(test))]
fn home() -> Option<PathBuf> {
    home_of(rustix::process::geteuid().is_root(), std::env::var_os("XDG_RUNTIME_DIR"))
}

/// Root's claims concern everybody; another user's lie where the session keeps what does not outlive it.
fn home_of(is_root: bool, runtime: Option<OsString>) -> Option<PathBuf> {
    match is_root {
        true => Some(PathBuf::from(RUN)),
        false => Some(Path::new(&runtime?).join("ontick")),
    }
}

/// Tests claim nothing of the machine they run on.
#[cfg(test)]
fn home() -> Option<PathBuf> {
    Some(std::env::temp_dir().join(format!("ontick-own-claims-{}", std::process::id())))
}

/// The folder of root's claims, for whoever is not root: they hold a CPU against everybody.
fn roots(is_root: bool) -> Option<PathBuf> {
    (!is_root).then(|| Path::new(RUN).join(FOLDER))
}

/// Claims in a folder, by the names of its files.
fn listed(folder: &Path) -> Vec<Holder> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Holder::named(entry.file_name().to_str()?)).collect()
}

/// Those whose files are locked, for whoever may not try the locks. That a process is there says less: a later one may have
/// the number of one that was killed.
fn living(folder: &Path) -> Vec<Holder> {
    living_by(folder, || fs::read_to_string("/proc/locks"))
}

/// How often the list of locks is read, as long as one is not in it. The kernel hands it over a page at a time, however large
/// the buffer is, and lets it change in between: by one lock that goes meanwhile the next page begins one too late. What is
/// listed was there, so that readings add up; a second look is needed only for what none of them had.
const READINGS: usize = 3;

fn living_by(folder: &Path, locks: impl Fn() -> io::Result<String>) -> Vec<Holder> {
    let (mut missing, mut found) = (listed(folder), Vec::new());
    for _ in 0..READINGS {
        let Ok(locks) = locks() else {
            missing.retain(|holder| Path::new(&format!("/proc/{}", holder.pid)).exists());
            found.append(&mut missing);
            break;
        };
        let is_there = |holder: &Holder| {
            let file = fs::symlink_metadata(folder.join(holder.file_name()));
            file.is_ok_and(|file| has_lock(&locks, holder.pid, file.dev(), file.ino()))
        };
        let (there, not_there) = missing.into_iter().partition::<Vec<_>, _>(is_there);
        found.extend(there);
        missing = not_there;
        if missing.is_empty() {
            break;
        }
    }
    found
}

/// Whether a file is locked by flock(2), as `/proc/locks` has it (proc_locks(5)). Some file systems call their device by
/// another number there, and a process in another namespace has another number: one of the two has to agree.
fn has_lock(locks: &str, pid: u32, device: u64, inode: u64) -> bool {
    let device = format!("{:02x}:{:02x}", rustix::fs::major(device), rustix::fs::minor(device));
    locks.lines().any(|line| {
        // What waits for a lock has an arrow before its kind.
        let [_, "FLOCK", _, "WRITE", by, place, ..] = line.split_ascii_whitespace().collect::<Vec<_>>()[..] else {
            return false;
        };
        let Some((on, number)) = place.rsplit_once(':') else { return false };
        number.parse() == Ok(inode) && (on == device || by.parse() == Ok(pid))
    })
}

/// Whether a folder is this user's, and no other may write to it.
fn is_own(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0
    })
}

fn open(place: &Path, new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).create_new(new).mode(0o600);
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32).open(place)
}

#[cfg(test)]
mod tests;
