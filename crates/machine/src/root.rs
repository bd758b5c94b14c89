//! Every file this crate touches is reached through a [`Root`]: the live machine, or a folder that
//! stands for one (`--root DIR`: a mounted card, a test's tree).

mod act;
pub(crate) mod cache;
mod interface;
pub(crate) mod irqbalance;
mod shape;
mod thread;
mod variable;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ontick_undo::state_dir::{self, StateDirError};
use ontick_undo::trust;

pub use act::{Act, FileError, Hook, Verdict, reason};
use cache::Caches;
pub use cache::RESCTRL;
pub use interface::ETHTOOL;
use interface::Parameter;
use irqbalance::Daemon;
pub use irqbalance::IRQBALANCE;
pub use thread::THREAD;
use thread::Thread;

/// No file of /proc, /sys or /boot that is read here is larger; reading stops rather than fill the memory.
const LIMIT: u64 = 16 << 20;

/// The file system of a machine.
#[derive(Clone)]
pub struct Root {
    base: PathBuf,
    live: bool,
    hook: Option<Arc<dyn Hook>>,
}

impl Root {
    /// The machine this program runs on.
    pub fn live() -> Self {
        Self { base: "/".into(), live: true, hook: None }
    }

    /// A folder that stands for a machine. `/` is the live machine.
    pub fn at(folder: &Path) -> io::Result<Self> {
        let base = folder.canonicalize()?;
        if !base.is_dir() {
            return Err(io::Error::other(format!("{} is not a folder", folder.display())));
        }
        Ok(Self { live: base == Path::new("/"), base, hook: None })
    }

    /// Asks `hook` before everything that changes a file.
    pub fn with_hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hook = Some(hook);
        self
    }

    /// Whether this is the running machine, whose /proc and /sys act.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Where a path of the machine lies here. Links are followed inside the root and never lead out of it.
    pub fn resolve(&self, path: &str) -> io::Result<PathBuf> {
        let mut pending: Vec<_> = parts(Path::new(path)).into_iter().rev().collect();
        let mut inside = PathBuf::new();
        let mut links = 0;
        while let Some(part) = pending.pop() {
            if part == ".." {
                inside.pop();
                continue;
            }
            let here = self.base.join(&inside).join(&part);
            match fs::read_link(&here) {
                Ok(target) => {
                    links += 1;
                    if links > 40 {
                        return Err(io::Error::other(format!("{path}: too many links")));
                    }
                    if target.is_absolute() {
                        inside = PathBuf::new();
                    }
                    pending.extend(parts(&target).into_iter().rev());
                }
                Err(_) => inside.push(part),
            }
        }
        Ok(self.base.join(inside))
    }

    /// The kernel resolves paths of the live machine (its links such as /proc/self/fd are magic).
    fn place(&self, path: &str) -> io::Result<PathBuf> {
        if self.live { Ok(PathBuf::from(path)) } else { self.resolve(path) }
    }

    /// A file's bytes.
    pub fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        if let Some(thread) = Thread::at(path) {
            return thread.policy(self).map(String::into_bytes);
        }
        if let Some(caches) = Caches::at(path) {
            return caches.allocation(self).map(|allocation| allocation.to_string().into_bytes());
        }
        if path == IRQBALANCE {
            let banned = || Daemon::find(self)?.banned().map(|cpus| irqbalance::value_of(&cpus).into_bytes());
            return if self.live { banned() } else { self.bytes(irqbalance::FILE) };
        }
        let parameter = Parameter::at(path);
        if let Some(parameter) = parameter.filter(|_| self.live) {
            return parameter.value().map(String::into_bytes);
        }
        let mut bytes = Vec::new();
        let place = self.place(&parameter.map_or_else(|| path.into(), Parameter::file))?;
        // A fifo or device in place of a file must not hold the program up.
        if !fs::metadata(&place)?.is_file() {
            return Err(io::Error::other("not a file"));
        }
        File::open(place)?.take(LIMIT + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LIMIT {
            return Err(io::Error::other("larger than any such file (16 MiB)"));
        }
        Ok(bytes)
    }

    /// A model-specific register of an x86 CPU (msr(4)); a folder that stands for a machine has a file in the device's place.
    pub(crate) fn register(&self, cpu: u32, register: u32) -> io::Result<u64> {
        let place = self.place(&format!("/dev/cpu/{cpu}/msr"))?;
        let kind = fs::metadata(&place)?.file_type();
        // A device on a mounted system could be any.
        if !(if self.live { kind.is_char_device() } else { kind.is_file() }) {
            return Err(io::Error::other("not the registers of a CPU"));
        }
        let mut bytes = [0; 8];
        File::open(place)?.read_exact_at(&mut bytes, register.into())?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// A file as text; bytes that are not UTF-8 become replacement characters.
    pub fn text(&self, path: &str) -> io::Result<String> {
        self.bytes(path).map(|b| String::from_utf8(b).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into()))
    }

    /// A file's text without the white space around it (and the zero byte that ends device-tree strings);
    /// `None` where it cannot be read.
    pub fn value(&self, path: &str) -> Option<String> {
        self.text(path).ok().map(|t| t.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
    }

    /// A file's value as a number.
    pub fn number<N: std::str::FromStr>(&self, path: &str) -> Option<N> {
        self.value(path)?.parse().ok()
    }

    /// Whether a path is there.
    pub fn exists(&self, path: &str) -> bool {
        if let Some(thread) = Thread::at(path) {
            return thread.policy(self).is_ok();
        }
        if let Some(caches) = Caches::at(path) {
            return caches.allocation(self).is_ok();
        }
        if path == IRQBALANCE {
            return if self.live { Daemon::find(self).is_ok() } else { self.exists(irqbalance::FILE) };
        }
        if let Some(parameter) = Parameter::at(path) {
            return if self.live { parameter.value().is_ok() } else { self.exists(&parameter.file()) };
        }
        self.place(path).is_ok_and(|p| p.exists())
    }

    /// Names in a folder, sorted as people count (`irq2` before `irq10`); none where it cannot be read.
    pub fn list(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = self.place(folder).and_then(fs::read_dir) else { return Vec::new() };
        let mut names: Vec<String> = entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort_by_cached_key(|name| {
            let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
            (name[..name.len() - digits.len()].to_owned(), digits.parse::<u64>().unwrap_or(u64::MAX), name.clone())
        });
        names
    }

    /// Paths that a pattern names; `*` stands for any part of one name. `thread:irq/*` names threads of the kernel, by how
    /// their names begin, `ethtool:eth1/ring/*` settings of a network interface, `resctrl:L3` the caches of a level, and
    /// `irqbalance:banned-cpus` the CPUs that irqbalance keeps off.
    pub fn matching(&self, pattern: &str) -> Vec<String> {
        if let Some(beginning) = pattern.strip_prefix(THREAD).and_then(|name| name.strip_suffix('*')) {
            return thread::matching(self, beginning);
        }
        if pattern.starts_with(ETHTOOL) {
            return interface::matching(self, pattern);
        }
        if pattern.starts_with(RESCTRL) || pattern == IRQBALANCE {
            return Some(pattern.to_owned()).filter(|path| self.exists(path)).into_iter().collect();
        }
        let mut found = vec![String::new()];
        for part in pattern.split('/').filter(|p| !p.is_empty()) {
            found = match part.split_once('*') {
                None => found.into_iter().map(|f| format!("{f}/{part}")).collect(),
                Some((before, after)) => found
                    .into_iter()
                    .flat_map(|folder| {
                        let names = self.list(&folder).into_iter().filter(|n| {
                            n.len() >= before.len() + after.len() && n.starts_with(before) && n.ends_with(after)
                        });
                        names.map(|n| format!("{folder}/{n}")).collect::<Vec<_>>()
                    })
                    .collect(),
            };
        }
        found.retain(|path| self.exists(path));
        found
    }

    /// Writes a value into a file that the kernel made. Never creates one.
    pub fn set(&self, path: &str, value: &str) -> io::Result<()> {
        if let Some(thread) = Thread::at(path) {
            let place = self.place(&thread.stat())?;
            // A thread has one policy or the other.
            return self
                .act(Act::Set { path, value }, &place, |cut| cut.map_or_else(|| thread.set(self, value), |_| Ok(())));
        }
        if let Some(caches) = Caches::at(path) {
            return caches.divide(self, value);
        }
        if path == IRQBALANCE && self.live {
            let ban = || match irqbalance::cpus(value) {
                Some(cpus) => Daemon::find(self)?.ban(&cpus),
                None => Err(rustix::io::Errno::INVAL.into()),
            };
            let place = Path::new(path);
            return self.act(Act::Set { path, value }, place, |cut| cut.map_or_else(ban, |_| Ok(())));
        }
        if path == IRQBALANCE {
            return self.set(irqbalance::FILE, value);
        }
        let parameter = Parameter::at(path);
        if let Some(parameter) = parameter.filter(|_| self.live) {
            let place = Path::new(path);
            return self
                .act(Act::Set { path, value }, place, |cut| cut.map_or_else(|| parameter.set(value), |_| Ok(())));
        }
        let place = self.place(&parameter.map_or_else(|| path.into(), Parameter::file))?;
        self.act(Act::Set { path, value }, &place, |cut| {
            // The kernel takes a value in one write and shows it in its own form; a tree keeps that form.
            let text = match self.live {
                true => format!("{value}\n"),
                false => shape::shaped(&self.text(path)?, value),
            };
            let mut file = OpenOptions::new().write(true).truncate(!self.live).open(&place)?;
            file.write_all(&text.as_bytes()[..cut.unwrap_or(text.len()).min(text.len())])
        })
    }

    /// Puts a whole file in place of another, or a new one: written beside, flushed, renamed, the folder
    /// flushed. Owner and mode stay as they were (where the file system has them; FAT does not).
    pub fn replace(&self, path: &str, content: &[u8]) -> io::Result<()> {
        self.replace_like(path, content, None)
    }

    /// The same; a file that is new gets the owner and mode of `like`, of which it is a copy.
    pub fn replace_like(&self, path: &str, content: &[u8], like: Option<&str>) -> io::Result<()> {
        let place = self.resolve(path)?;
        let copied = || like.and_then(|like| fs::metadata(self.resolve(like).ok()?).ok());
        let old = fs::metadata(&place).ok().or_else(copied);
        let beside = beside(&place)?;
        let beside_path = beside_path(path);
        // What a power cut left of an earlier attempt.
        if fs::symlink_metadata(&beside).is_ok() {
            self.act(Act::Remove { path: &beside_path }, &beside, |_| fs::remove_file(&beside))?;
        }
        let written = self.act(Act::Create { path: &beside_path, content }, &beside, |cut| {
            // Nobody reads it before it has its mode.
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
            file.write_all(&content[..cut.unwrap_or(content.len()).min(content.len())])?;
            if let Some(old) = &old {
                let _ = std::os::unix::fs::fchown(&file, Some(old.uid()), Some(old.gid()));
            }
            let mode = old.as_ref().map_or(0o644, |old| old.mode() & 0o7777);
            let _ = file.set_permissions(fs::Permissions::from_mode(mode));
            file.sync_all()
        });
        let renamed = written.and_then(|()| {
            self.act(Act::Rename { from: &beside_path, path }, &place, |_| fs::rename(&beside, &place))?;
            sync_folder(&place)
        });
        if renamed.is_err() && fs::symlink_metadata(&beside).is_ok() {
            let _ = self.act(Act::Remove { path: &beside_path }, &beside, |_| fs::remove_file(&beside));
        }
        renamed
    }

    /// Removes what an interrupted [`replace`](Self::replace) left beside a file, if anything.
    pub fn clear_beside(&self, path: &str) -> io::Result<()> {
        let beside = beside(&self.resolve(path)?)?;
        if fs::symlink_metadata(&beside).is_err() {
            return Ok(());
        }
        self.act(Act::Remove { path: &beside_path(path) }, &beside, |_| fs::remove_file(&beside))
    }

    /// Appends to a file (made if need be) and waits until it is on the disk. A file that is `private` can be read by
    /// its owner alone from then on.
    pub fn append(&self, path: &str, content: &[u8], private: bool) -> io::Result<()> {
        let place = self.place(path)?;
        let new = !place.exists();
        self.act(Act::Append { path, content }, &place, |cut| {
            let mode = if private { 0o600 } else { 0o644 };
            let mut file = OpenOptions::new().append(true).create(true).mode(mode).open(&place)?;
            if new || private {
                file.set_permissions(fs::Permissions::from_mode(mode))?;
            }
            file.write_all(&content[..cut.unwrap_or(content.len()).min(content.len())])?;
            file.sync_all()
        })?;
        if new { sync_folder(&place) } else { Ok(()) }
    }

    /// Makes a link.
    pub fn link(&self, path: &str, target: &str) -> io::Result<()> {
        let place = self.place(path)?;
        self.act(Act::Link { path, target }, &place, |_| std::os::unix::fs::symlink(target, &place))?;
        sync_folder(&place)
    }

    /// Where a link points, unfollowed.
    pub fn link_target(&self, path: &str) -> Option<String> {
        let (folder, name) = path.rsplit_once('/')?;
        let place = self.place(folder).ok()?.join(name);
        fs::read_link(place).ok()?.into_os_string().into_string().ok()
    }

    /// Removes a file or a link (the link itself). One that is gone already is fine.
    pub fn remove(&self, path: &str) -> io::Result<()> {
        let (folder, name) = path.rsplit_once('/').ok_or_else(|| io::Error::other("not an absolute path"))?;
        let place = self.place(folder)?.join(name);
        if fs::symlink_metadata(&place).is_err() {
            return Ok(());
        }
        self.act(Act::Remove { path }, &place, |_| fs::remove_file(&place))?;
        sync_folder(&place)
    }

    /// Makes a folder, its parents too. One that is there already is fine.
    pub fn make_folder(&self, path: &str) -> io::Result<()> {
        let place = self.place(path)?;
        if place.is_dir() {
            return Ok(());
        }
        self.act(Act::MakeFolder { path }, &place, |_| fs::create_dir_all(&place))
    }

    /// Removes a folder. The kernel removes a control group, or a group of resctrl, with its files; in a tree that stands for a
    /// machine the files go with the folder as they would there.
    pub fn remove_folder(&self, path: &str) -> io::Result<()> {
        let place = self.place(path)?;
        if !place.exists() {
            return Ok(());
        }
        let group = !self.live && path.starts_with("/sys/fs/");
        self.act(Act::RemoveFolder { path }, &place, |_| match group {
            true => fs::remove_dir_all(&place),
            false => fs::remove_dir(&place),
        })
    }

    /// A new file that waits for a later [`sync`](Self::sync): for many files at once.
    pub fn fill(&self, path: &str, content: &[u8]) -> io::Result<()> {
        let place = self.resolve(path)?;
        self.act(Act::Create { path, content }, &place, |cut| {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&place)?;
            file.write_all(&content[..cut.unwrap_or(content.len()).min(content.len())])
        })
    }

    /// Waits until everything on the file system that holds a folder is on the disk.
    pub fn sync(&self, folder: &str) -> io::Result<()> {
        Ok(rustix::fs::syncfs(File::open(self.place(folder)?)?)?)
    }

    /// Gives a file or folder a name that is free.
    pub fn rename(&self, from: &str, path: &str) -> io::Result<()> {
        let (old, place) = (self.resolve(from)?, self.resolve(path)?);
        if fs::symlink_metadata(&place).is_ok() {
            return Err(io::Error::from_raw_os_error(17));
        }
        self.act(Act::Rename { from, path }, &place, |_| fs::rename(&old, &place))?;
        sync_folder(&place)
    }

    /// Removes a folder with everything in it, step by step; links are removed, never followed.
    pub fn remove_tree(&self, path: &str) -> io::Result<()> {
        let (folder, name) = path.rsplit_once('/').ok_or_else(|| io::Error::other("not an absolute path"))?;
        let place = self.place(folder)?.join(name);
        if fs::symlink_metadata(&place).is_err() {
            return Ok(());
        }
        self.remove_below(path, &place)?;
        sync_folder(&place)
    }

    fn remove_below(&self, path: &str, place: &Path) -> io::Result<()> {
        if !fs::symlink_metadata(place)?.is_dir() {
            return self.act(Act::Remove { path }, place, |_| fs::remove_file(place));
        }
        for entry in fs::read_dir(place)? {
            let entry = entry?;
            self.remove_below(&format!("{path}/{}", entry.file_name().to_string_lossy()), &entry.path())?;
        }
        self.act(Act::RemoveFolder { path }, place, |_| fs::remove_dir(place))
    }

    /// A file's length and CRC-32, however large it is.
    pub fn fingerprint(&self, path: &str) -> io::Result<(u64, u32)> {
        let mut crc = flate2::CrcReader::new(File::open(self.place(path)?)?);
        let size = io::copy(&mut crc, &mut io::sink())?;
        Ok((size, crc.crc().sum()))
    }

    /// The file system that holds a path, or will.
    pub fn file_system(&self, path: &str) -> io::Result<FileSystem> {
        let mut place = self.place(path)?;
        while !place.exists() {
            place = place.parent().ok_or_else(|| io::Error::other("has no folder"))?.to_owned();
        }
        let at = rustix::fs::statvfs(&place)?;
        Ok(FileSystem {
            device: fs::metadata(&place)?.dev(),
            free: at.f_bavail.saturating_mul(at.f_frsize),
            block: at.f_frsize.max(1),
            read_only: at.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
        })
    }

    /// Where a path of the machine lies here, for a program that needs it.
    pub fn outside(&self, path: &str) -> io::Result<PathBuf> {
        self.place(path)
    }

    /// A path with its links followed, as the machine names it.
    pub(crate) fn real(&self, path: &str) -> io::Result<String> {
        let place = self.resolve(path)?;
        let inside = place.strip_prefix(&self.base).map_err(io::Error::other)?;
        Ok(format!("/{}", inside.display()))
    }

    /// Whether a file of the kernel is made to be written; whether this process may is another question.
    pub(crate) fn is_writable(&self, path: &str) -> bool {
        self.mode(path).is_some_and(|mode| mode & 0o222 != 0)
    }

    /// The same of reading.
    pub(crate) fn is_readable(&self, path: &str) -> bool {
        self.mode(path).is_some_and(|mode| mode & 0o444 != 0)
    }

    fn mode(&self, path: &str) -> Option<u32> {
        fs::metadata(self.place(path).ok()?).ok().map(|found| found.mode())
    }

    /// Whether others than its owner and group may read a file; not where it is not there.
    pub(crate) fn is_public(&self, path: &str) -> Option<bool> {
        self.mode(path).map(|mode| mode & 0o004 != 0)
    }

    /// Makes a folder of state (0755), or checks one that is there: no other user could have written what lies in it.
    pub(crate) fn make_state_dir(&self, folder: &str) -> Result<(), StateDirError> {
        let place = self.resolve(folder)?;
        if place.is_dir() {
            return state_dir::check(&place, &self.base);
        }
        let mut made = Ok(());
        self.act(Act::MakeFolder { path: folder }, &place, |_| {
            made = state_dir::create(&place, &self.base, 0o755);
            Ok(())
        })?;
        made
    }

    /// Checks a folder of state and one file in it, if they are there, before the file is believed.
    pub(crate) fn check_state(&self, folder: &str, file: &str) -> Result<(), StateDirError> {
        state_dir::check(&self.resolve(folder)?, &self.base)?;
        match trust::check(&self.resolve(file)?) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            checked => Ok(checked??),
        }
    }

    fn act(&self, act: Act, place: &Path, run: impl FnOnce(Option<usize>) -> io::Result<()>) -> io::Result<()> {
        match self.hook.as_ref().map_or(Verdict::Go, |h| h.before(&act)) {
            Verdict::Go => run(None)?,
            Verdict::Handled => {}
            Verdict::Refuse(error) => return Err(error),
            Verdict::Torn(bytes, error) => {
                run(Some(bytes))?;
                return Err(error);
            }
        }
        if let Some(hook) = &self.hook {
            hook.after(&act, place);
        }
        Ok(())
    }
}

/// What can still be put on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    /// Its device's number: two folders with the same share their space.
    pub device: u64,
    /// Bytes that are free for anybody.
    pub free: u64,
    /// The least that a file takes.
    pub block: u64,
    /// Whether nothing can be written there.
    pub read_only: bool,
}

fn parts(path: &Path) -> Vec<std::ffi::OsString> {
    let named = path.components().filter(|c| matches!(c, Component::Normal(_) | Component::ParentDir));
    named.map(|c| c.as_os_str().to_owned()).collect()
}

fn beside(place: &Path) -> io::Result<PathBuf> {
    let name = place.file_name().ok_or_else(|| io::Error::other("names no file"))?.to_string_lossy();
    Ok(place.with_file_name(format!(".{name}.ontick-new")))
}

/// The name under which something is made before it gets its own.
pub(crate) fn beside_path(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    format!("{folder}/.{name}.ontick-new")
}

fn sync_folder(place: &Path) -> io::Result<()> {
    let folder = place.parent().ok_or_else(|| io::Error::other("has no folder"))?;
    match File::open(folder)?.sync_all() {
        // Kernel file systems have nothing to flush and some say so.
        Err(e) if e.raw_os_error() == Some(22) => Ok(()),
        other => other,
    }
}
