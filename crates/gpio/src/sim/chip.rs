//! The file behind a simulated chip: found or made, and looked at.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use rustix::fs::FlockOperation;

use super::page::{self, Page};
use super::user::user;
use crate::{Error, Name, NameError, name};

pub use super::page::LINES;

/// Opens the chip; makes it if there is none.
pub(super) fn open(chip: &str) -> Result<Page, Error> {
    let path = path(chip)?;
    for _ in 0..2 {
        match use_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(chip, &path)?,
            other => return check(chip, &path, other),
        }
    }
    check(chip, &path, use_file(&path))
}

/// Opens a chip that is there already.
pub(super) fn open_existing(chip: &str) -> Result<Page, Error> {
    let path = path(chip)?;
    check(chip, &path, use_file(&path))
}

/// Opens the line's chip. One is not made for a line that no chip has.
pub(super) fn open_for(name: &Name, chip: &str, line: u32) -> Result<Page, Error> {
    check_line(name, chip, line)?;
    open(chip)
}

/// Whether chips have the line.
pub(super) fn check_line(name: &Name, chip: &str, line: u32) -> Result<(), Error> {
    match line < LINES {
        true => Ok(()),
        false => Err(Error::NoSuchLine { name: name.clone(), chip: format!("sim:{chip}"), last: LINES - 1 }),
    }
}

/// Where chips are: memory that all of a machine's processes can share, and that a reboot empties.
fn folder() -> PathBuf {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { shared.into() } else { std::env::temp_dir() }
}

/// What the names of the user's chips begin with.
fn prefix() -> String {
    format!("ontick-sim-{}-", user())
}

/// Of a chip only: whoever asks for another name, one with a folder in it say, means some other file.
fn path(chip: &str) -> Result<PathBuf, Error> {
    match name::is_chip(chip) {
        true => Ok(folder().join(prefix() + chip)),
        false => Err(NameError::no_simulated_chip(chip).into()),
    }
}

/// The folder is everybody's: links that others laid there are not followed.
fn open_file(path: &Path) -> io::Result<File> {
    let no_links = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    OpenOptions::new().read(true).write(true).custom_flags(no_links).open(path)
}

/// Opens a chip's file and marks it as in use. One that was removed between the two is not there.
fn use_file(path: &Path) -> io::Result<File> {
    let file = open_file(path)?;
    let seen = file.metadata()?;
    if seen.is_file() && seen.uid() == user() {
        if is_of_an_earlier_version(&file) && rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            // Another process may have removed it before this one had the lock.
            if file.metadata()?.nlink() > 0 {
                fs::remove_file(path)?;
            }
            return Err(io::ErrorKind::NotFound.into());
        }
        rustix::fs::flock(&file, FlockOperation::LockShared)?;
        if file.metadata()?.nlink() == 0 {
            return Err(io::ErrorKind::NotFound.into());
        }
    }
    Ok(file)
}

/// Such a chip is left where somebody has it open, and gone otherwise.
fn is_of_an_earlier_version(file: &File) -> bool {
    let mut head = [0; 12];
    if file.read_exact_at(&mut head, 0).is_err() || head[..8] != page::MAGIC.to_ne_bytes() {
        return false;
    }
    let version = u32::from_ne_bytes([head[8], head[9], head[10], head[11]]);
    (1..page::VERSION).contains(&version)
}

fn check(chip: &str, path: &Path, opened: io::Result<File>) -> Result<Page, Error> {
    let wrong = |what: String| Error::Chip { chip: chip.into(), path: path.into(), what };
    let again = format!("(remove sim:{chip}, and the next use creates it again)");
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(wrong("belongs to another user (use another name)".into()));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::NotMade { chip: chip.into(), path: path.into() });
        }
        Err(error) => return Err(wrong(format!("cannot be opened: {error}"))),
    };
    let seen = file.metadata().map_err(|error| wrong(format!("cannot be looked at: {error}")))?;
    // Its owner could cut it short under us, which ends the process: not even root maps somebody else's.
    // Whoever is acted for ends nothing but their own command by that.
    if seen.uid() != user() {
        let whose = format!("belongs to user {}", seen.uid());
        return Err(wrong(match rustix::process::geteuid().is_root() {
            true => format!("{whose}, who could cut it short (use another name, or act as that user)"),
            false => format!("{whose} (use another name)"),
        }));
    }
    if !seen.is_file() || seen.len() != Page::BYTES {
        return Err(wrong(format!("is not a chip of this version of ontick {again}")));
    }
    let page = Page::map(file).map_err(|error| wrong(format!("cannot be mapped: {error}")))?;
    let (magic, version) = (page.chip().magic.load(Relaxed), page.chip().version.load(Relaxed));
    if magic != page::MAGIC {
        return Err(wrong(format!("is not a simulated chip {again}")));
    }
    if version != page::VERSION || page.chip().lines.load(Relaxed) != LINES {
        let ours = page::VERSION;
        return Err(wrong(format!("has layout version {version}, this ontick uses {ours} {again}")));
    }
    Ok(page)
}

/// Makes the chip under another name and then gives it its own, so that nobody ever sees half of one.
/// Another process may be first: then its chip is used.
fn make(chip: &str, path: &Path) -> Result<(), Error> {
    make_in(&folder(), path).map_err(|error| Error::Chip {
        chip: chip.into(),
        path: path.into(),
        what: format!("cannot be made: {error}"),
    })
}

fn make_in(folder: &Path, path: &Path) -> io::Result<()> {
    let egg = tempfile::Builder::new().prefix(".ontick-sim-").tempfile_in(folder)?;
    egg.as_file().set_len(Page::BYTES)?;
    if user() != rustix::process::geteuid().as_raw() {
        std::os::unix::fs::fchown(egg.as_file(), Some(user()), None)?;
    }
    let page = Page::map(egg.as_file().try_clone()?)?;
    page.chip().lines.store(LINES, Relaxed);
    page.chip().version.store(page::VERSION, Relaxed);
    page.chip().magic.store(page::MAGIC, Relaxed);
    match egg.persist_noclobber(path) {
        Err(refused) if refused.error.kind() != io::ErrorKind::AlreadyExists => Err(refused.error),
        Err(_) => Ok(()),
        Ok(_) => {
            MADE.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
            Ok(())
        }
    }
}

/// What this process made.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the chips that this process made and that nobody has open, as far as it may: for a command that failed.
pub fn remove_made() {
    for path in std::mem::take(&mut *MADE.lock().unwrap_or_else(PoisonError::into_inner)) {
        let Ok(file) = open_file(&path) else { continue };
        // Whoever opens it meanwhile waits, and then finds that it is gone.
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_file(&path);
        }
    }
}

/// The user's simulated chips, by name.
pub fn list() -> io::Result<Vec<String>> {
    let prefix = prefix();
    let mut chips: Vec<String> = fs::read_dir(folder())?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix(prefix.as_str()).map(String::from))
        .filter(|chip| name::is_chip(chip))
        .collect();
    chips.sort();
    Ok(chips)
}

/// Removes the chip. Who has it open goes on with it alone.
pub fn remove(chip: &str) -> Result<(), Error> {
    let path = path(chip)?;
    fs::remove_file(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::NotMade { chip: chip.into(), path },
        _ => Error::Chip { chip: chip.into(), path, what: format!("cannot be removed: {error}") },
    })
}
