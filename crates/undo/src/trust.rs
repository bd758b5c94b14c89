//! Who could have written what lies at a path: root acts on a file only if nobody else could have put it there.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const STICKY: u32 = 0o1000;

/// Somebody other than root and the caller could have written what lies at a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} {why}", path = path.display())]
pub struct Untrusted {
    /// The file or folder at fault.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// Checks a file or folder by itself: it belongs to root or the caller, and no other user can write to it.
pub fn check(path: &Path) -> io::Result<Result<(), Untrusted>> {
    Ok(check_metadata(path, &fs::symlink_metadata(path)?))
}

/// Checks what is open or known already; `path` names it in the error.
pub fn check_metadata(path: &Path, found: &Metadata) -> Result<(), Untrusted> {
    check_metadata_of(path, found, None)
}

/// As [`check_metadata`], where what belongs to this user is believed, too: the one who called sudo.
pub fn check_metadata_of(path: &Path, found: &Metadata, user: Option<u32>) -> Result<(), Untrusted> {
    let untrusted = |why: String| Err(Untrusted { path: path.to_owned(), why });
    if let Some(why) = foreign_owner(found).filter(|_| user != Some(found.uid())) {
        return untrusted(why);
    }
    match found.mode() & 0o022 {
        0 => Ok(()),
        _ => untrusted(format!("can be written by others (mode {:04o})", found.mode() & 0o7777)),
    }
}

/// Checks the folders above a path, up to `top` (which is not looked at): in none of them can another user
/// put something else in its place. What is not there yet is not at fault.
pub fn check_parents(path: &Path, top: &Path) -> io::Result<Result<(), Untrusted>> {
    check_parents_of(path, top, None)
}

/// Checks a file and the folders above it, both as it is named and where links lead; what belongs to this user is believed,
/// too.
pub fn check_file_of(path: &Path, user: Option<u32>) -> io::Result<Result<(), Untrusted>> {
    let (resolved, top) = (path.canonicalize()?, Path::new("/"));
    let file = check_metadata_of(&resolved, &fs::metadata(&resolved)?, user);
    let (named, led_to) = (check_parents_of(path, top, user)?, check_parents_of(&resolved, top, user)?);
    Ok(file.and(named).and(led_to))
}

fn check_parents_of(path: &Path, top: &Path, user: Option<u32>) -> io::Result<Result<(), Untrusted>> {
    // As it is named, and where links on the way lead.
    let resolved = path.parent().and_then(|parent| parent.canonicalize().ok());
    let named = path.ancestors().skip(1);
    for folder in named.chain(resolved.iter().flat_map(|folder| folder.ancestors())) {
        if !folder.starts_with(top) || folder == top {
            continue;
        }
        match fs::metadata(folder) {
            Ok(found) => {
                if let Err(untrusted) = check_parent(folder, &found, user) {
                    return Ok(Err(untrusted));
                }
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(Ok(()))
}

/// Checks a program that root is to start: root owns it and every folder above it, and no other user can write there,
/// not even in a sticky folder.
pub fn check_root_owned(program: &Path) -> io::Result<Result<(), Untrusted>> {
    let resolved = program.canonicalize()?;
    for path in resolved.ancestors() {
        let found = fs::metadata(path)?;
        if found.uid() != 0 {
            let why = format!("belongs to another user than root (uid {})", found.uid());
            return Ok(Err(Untrusted { path: path.to_owned(), why }));
        }
        if let Err(untrusted) = check_metadata(path, &found) {
            return Ok(Err(untrusted));
        }
    }
    Ok(Ok(()))
}

/// Checks a program, or a folder of programs, that a process with privileges is to obey now: nobody but root can write to it
/// or put something else in its place, neither as it is named nor where links on the way lead.
pub fn check_only_root_replaces(path: &Path) -> io::Result<Result<(), Untrusted>> {
    // In a user namespace root's files may belong to a user that it does not know.
    let root = fs::metadata("/")?.uid();
    let resolved = path.canonicalize()?;
    for place in path.ancestors().chain(resolved.ancestors()) {
        let found = fs::metadata(place)?;
        let untrusted = |why: String| Ok(Err(Untrusted { path: place.to_owned(), why }));
        if found.uid() != 0 && found.uid() != root {
            return untrusted(format!("belongs to another user than root (uid {})", found.uid()));
        }
        // In a sticky folder above nobody replaces another's file; what others can write themselves is no better for that.
        let mode = if place == path || place == resolved { found.mode() & !STICKY } else { found.mode() };
        if is_open_to_others(mode, found.gid() == 0) {
            return untrusted(format!("can be written by others (mode {:04o})", found.mode() & 0o7777));
        }
    }
    Ok(Ok(()))
}

fn check_parent(folder: &Path, found: &Metadata, user: Option<u32>) -> Result<(), Untrusted> {
    let untrusted = |why: String| Err(Untrusted { path: folder.to_owned(), why });
    if let Some(why) = foreign_owner(found).filter(|_| user != Some(found.uid())) {
        return untrusted(why);
    }
    let mode = found.mode();
    match is_open_to_others(mode, is_own(found.gid(), rustix::process::getegid().as_raw())) {
        true => untrusted(format!("can be written by others (mode {:04o})", mode & 0o7777)),
        false => Ok(()),
    }
}

/// Whether others can rename or remove what lies in a folder: never in a sticky one. A group of root or of the caller
/// alone is no other.
fn is_open_to_others(mode: u32, own_group: bool) -> bool {
    mode & STICKY == 0 && (mode & 0o002 != 0 || mode & 0o020 != 0 && !own_group)
}

/// Whether a user or group is root's or the caller's.
fn is_own(id: u32, callers: u32) -> bool {
    id == 0 || id == callers
}

fn foreign_owner(found: &Metadata) -> Option<String> {
    let owner = found.uid();
    let own = is_own(owner, rustix::process::geteuid().as_raw());
    (!own).then(|| format!("belongs to another user (uid {owner})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown};

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_others_can_write_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        fs::write(&file, "").unwrap();
        for (mode, trusted) in [(0o600, true), (0o644, true), (0o755, true), (0o664, false), (0o602, false)] {
            set_mode(&file, mode);
            assert_eq!(check(&file).unwrap().is_ok(), trusted, "{mode:o}");
        }
        set_mode(&file, 0o666);
        assert!(check(&file).unwrap().unwrap_err().to_string().ends_with("/a can be written by others (mode 0666)"));
    }

    #[test]
    fn a_folder_above_that_others_can_write_is_not_trusted_unless_it_is_sticky() {
        let dir = tempfile::tempdir().unwrap();
        let (top, path) = (dir.path().canonicalize().unwrap(), dir.path().canonicalize().unwrap().join("a/b/c"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let above = top.join("a");
        for (mode, trusted) in [(0o755, true), (0o1777, true), (0o777, false), (0o757, false)] {
            set_mode(&above, mode);
            assert_eq!(check_parents(&path, &top).unwrap().is_ok(), trusted, "{mode:o}");
        }
        set_mode(&above, 0o755);
        // A link leads through a folder that others can write.
        let open = top.join("open");
        fs::create_dir_all(open.join("b")).unwrap();
        set_mode(&open, 0o777);
        std::os::unix::fs::symlink(&open, top.join("link")).unwrap();
        let untrusted = check_parents(&top.join("link/b/c"), &top).unwrap().unwrap_err();
        assert!(untrusted.path.ends_with("link") || untrusted.path.ends_with("open"), "{untrusted}");
    }

    #[test]
    fn a_group_may_write_to_a_folder_above_if_it_is_the_callers() {
        for (mode, own_group, open) in [
            (0o755, false, false),
            (0o775, true, false),
            (0o775, false, true),
            (0o720, false, true),
            (0o757, true, true),
            (0o702, true, true),
            (0o1775, false, false),
            (0o1777, false, false),
        ] {
            assert_eq!(is_open_to_others(mode, own_group), open, "{mode:o} {own_group}");
        }
    }

    #[test]
    fn root_and_the_caller_are_no_others() {
        assert!(is_own(0, 1000) && is_own(1000, 1000) && !is_own(1001, 1000) && !is_own(1000, 0));
    }

    #[test]
    fn the_top_is_not_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir(top.join("a")).unwrap();
        set_mode(&top, 0o777);
        assert_eq!(check_parents(&top.join("a/b"), &top).unwrap(), Ok(()));
    }

    #[test]
    fn what_cannot_be_looked_at_is_an_error_and_what_is_not_there_is_none() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        assert_eq!(check_parents(&dir.path().join("a/b/c"), dir.path()).unwrap(), Ok(()));
        let error = check_parents(&dir.path().join("file/b/c"), dir.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn a_program_of_a_folder_that_others_can_write_is_not_roots() {
        assert_eq!(check_root_owned(Path::new("/bin/sh")).unwrap(), Ok(()));
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        fs::write(&program, "").unwrap();
        // /tmp is sticky, and anybody may put a file there.
        set_mode(dir.path(), 0o1777);
        assert!(check_root_owned(&program).unwrap().is_err());
    }

    #[test]
    fn another_users_file_is_not_trusted() {
        if !rustix::process::geteuid().is_root() {
            return ontick_skip::skipped!("only root can give a file to another user");
        }
        let dir = tempfile::tempdir().unwrap();
        let (folder, file) = (dir.path().join("a"), dir.path().join("a/b"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "").unwrap();
        chown(&file, Some(65_534), None).unwrap();
        assert!(check(&file).unwrap().unwrap_err().why.contains("uid 65534"));
        let found = fs::symlink_metadata(&file).unwrap();
        assert_eq!(check_metadata_of(&file, &found, Some(65_534)), Ok(()));
        assert!(check_metadata_of(&file, &found, Some(65_533)).is_err());
        chown(&folder, Some(65_534), None).unwrap();
        assert_eq!(check_parents(&file, dir.path()).unwrap().unwrap_err().path, folder);
        assert_eq!(check_file_of(&file, Some(65_534)).unwrap(), Ok(()));
        assert!(check_file_of(&file, None).unwrap().is_err());
        chown(&file, Some(0), None).unwrap();
        assert_eq!(check_file_of(&file, None).unwrap().unwrap_err().path, folder, "it can be replaced");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(check_file_of(&link, None).unwrap().unwrap_err().path, folder, "where a link leads");
    }
}
