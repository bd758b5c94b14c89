//! A folder full of files that appears whole or not at all, and goes the same way.
//!
//! It is made under another name beside its place, flushed, and renamed; it goes by being renamed first. So
//! whatever lies at its own name is whole, and whatever lies beside is ours to remove.

use std::io;

use ontick_undo::Undone;

use crate::boot::BootWriteError;
use crate::boot::apply::make_folders;
use crate::journal::{Content, Journal, JournalError, Undo};
use crate::root::{FileError, Root, beside_path};

/// Why a folder or a file could not be put in place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The folders above it.
    #[error(transparent)]
    Folders(#[from] BootWriteError),
    /// Something is in its place.
    #[error("{0} is there already and not from ontick")]
    Exists(String),
}

/// Stands in every tree that ontick planted, and says what it is.
pub const MARKER: &str = "installed-by-ontick.json";

/// A folder to be made.
pub struct Tree<'a> {
    /// What asks for it.
    pub knob: &'a str,
    /// Where.
    pub path: &'a str,
    /// What the marker says.
    pub marker: &'a str,
    /// The files in it that people edit, and what they will hold.
    pub texts: Vec<(String, Content)>,
}

/// A folder that is being made, under another name.
pub struct Staged {
    seq: u64,
    /// Where its files go for now.
    pub beside: String,
    path: String,
}

/// Begins a folder that is not there yet.
pub fn stage(root: &Root, journal: &mut Journal, tree: Tree) -> Result<Staged, TreeError> {
    let (path, beside) = (tree.path.to_owned(), beside_path(tree.path));
    if root.exists(&path) {
        return Err(TreeError::Exists(path));
    }
    let undo = Undo::Tree { path: path.clone(), texts: tree.texts };
    make_folders(root, &path, journal)?;
    let seq = journal.intend(tree.knob, undo)?;
    // What an earlier attempt left.
    root.remove_tree(&beside)
        .and_then(|()| root.make_folder(&beside))
        .map_err(FileError::of(&path, "cannot be written"))?;
    put(root, &format!("{beside}/{MARKER}"), tree.marker.as_bytes())?;
    Ok(Staged { seq, beside, path })
}

/// One of its files; the folders that it needs are made.
pub fn put(root: &Root, path: &str, content: &[u8]) -> Result<(), TreeError> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    Ok(root
        .make_folder(folder)
        .and_then(|()| root.fill(path, content))
        .map_err(FileError::of(path, "cannot be written"))?)
}

/// Gives the folder its name, once all of it is on the disk.
pub fn reveal(root: &Root, journal: &mut Journal, staged: Staged) -> Result<(), TreeError> {
    let Staged { seq, beside, path } = staged;
    root.sync(&beside).and_then(|()| root.rename(&beside, &path)).map_err(FileError::of(&path, "cannot be written"))?;
    Ok(journal.done(seq, None)?)
}

/// Takes such a folder away, unless somebody changed a file in it that people edit. Another folder in its place is never ours
/// to remove.
pub fn remove_tree(root: &Root, path: &str, texts: &[(String, Content)], force: bool) -> io::Result<Undone> {
    let beside = beside_path(path);
    root.remove_tree(&beside)?;
    if !root.exists(path) {
        return Ok(Undone::AlreadyAsBefore);
    }
    if !root.exists(&format!("{path}/{MARKER}")) {
        return Ok(Undone::Superseded("the folder is not the one that ontick put there".into()));
    }
    if !force {
        // A text that was being written anew has two.
        let edited = |(name, _): &&(String, Content)| {
            let ours = |now: &[u8]| texts.iter().any(|(n, wrote)| n == name && now == wrote.bytes());
            root.bytes(&format!("{path}/{name}")).is_ok_and(|now| !ours(&now))
        };
        if let Some((name, _)) = texts.iter().find(edited) {
            return Ok(Undone::ChangedByOthers(format!("{name} in it was edited: keep a copy of what you need")));
        }
    }
    root.rename(path, &beside)?;
    root.remove_tree(&beside)?;
    Ok(Undone::Restored)
}

/// Puts a file where none is, whole or not at all.
pub fn place(root: &Root, journal: &mut Journal, knob: &str, path: &str, content: &[u8]) -> Result<(), TreeError> {
    if root.exists(path) {
        return Err(TreeError::Exists(path.into()));
    }
    let mut crc = flate2::Crc::new();
    crc.update(content);
    let undo = Undo::Placed { path: path.into(), size: content.len() as u64, crc: crc.sum() };
    let seq = journal.intend(knob, undo)?;
    root.replace(path, content).map_err(FileError::of(path, "cannot be written"))?;
    Ok(journal.done(seq, None)?)
}

/// Takes such a file away, unless it is another one now.
pub fn remove_placed(root: &Root, path: &str, wrote: (u64, u32), force: bool) -> io::Result<Undone> {
    root.clear_beside(path)?;
    if !root.exists(path) {
        return Ok(Undone::AlreadyAsBefore);
    }
    if !force && root.fingerprint(path)? != wrote {
        return Ok(Undone::ChangedByOthers("it is another file now".into()));
    }
    root.remove(path)?;
    Ok(Undone::Restored)
}
