//! Helper programs (`ip`, `tc`, `sh`): where one is that this process may start, and what it finds in its environment.
//!
//! Whoever chooses which program root starts is root. So a process with privileges starts only programs that nobody but root
//! can replace, by their absolute path, and hands on nothing of its environment: `TC_LIB_DIR` would have `tc` load any file.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::privilege::is_privileged;
use crate::trust::{self, Untrusted};

/// The group of nobody, which owns nothing.
const NO_GROUP: u32 = 65_534;
/// Where programs are if PATH does not say it.
const SYSTEM: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The program in the folders of PATH that may be obeyed: its absolute path. One that only root's enemies could have put
/// there is passed over, and is the reason of the error where there is no other.
pub fn find(name: &str) -> io::Result<PathBuf> {
    find_in(&folders(), name)
}

/// What starts the program, in English and with an environment that has nothing but the folders of programs.
pub fn command(name: &str) -> io::Result<Command> {
    Ok(at(&find(name)?))
}

/// As [`command`], also for a program that its package gives to a user of its own: Debian's `lldpcli` is lldpd's. Root starts it
/// with the rights of that user alone, who could have replaced it.
pub fn command_as_owner(name: &str) -> io::Result<Command> {
    match command(name) {
        Err(refused) if refused.kind() == io::ErrorKind::PermissionDenied && rustix::process::geteuid().is_root() => {
            let owned = of_other_user(&folders(), name).ok_or(refused)?;
            let mut command = at(&owned.file);
            // Without further groups, as the standard library leaves none to another user.
            command.uid(owned.user).gid(NO_GROUP);
            Ok(command)
        }
        other => other,
    }
}

/// As [`command`], for a program that was found before.
pub fn at(file: &Path) -> Command {
    let mut command = Command::new(file);
    command.env_clear().env("PATH", path()).env("LC_ALL", "C");
    command
}

/// The folders of PATH that may be obeyed: what starts others in turn finds no other programs than this process. They are
/// looked at once, and again if PATH or the privileges are others: it takes a hundred system calls.
pub fn path() -> OsString {
    static SEEN: Mutex<Option<Seen>> = Mutex::new(None);
    let (path, privileged) = (std::env::var_os("PATH"), is_privileged());
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    match &*seen {
        Some(seen) if seen.path == path && seen.privileged == privileged => seen.obeyed.clone(),
        _ => seen.insert(Seen { path, privileged, obeyed: obeyed() }).obeyed.clone(),
    }
}

/// The folders that were obeyed, for whom.
struct Seen {
    path: Option<OsString>,
    privileged: bool,
    obeyed: OsString,
}

fn obeyed() -> OsString {
    let obeyed = folders().into_iter().filter(|folder| refusal(folder).is_ok_and(|refusal| refusal.is_none()));
    std::env::join_paths(obeyed).unwrap_or_else(|_| SYSTEM.into())
}

/// Those of PATH. Where one is depends on nobody's current folder.
fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| SYSTEM.into());
    std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
}

fn find_in(folders: &[PathBuf], name: &str) -> io::Result<PathBuf> {
    let mut passed_over = None;
    // One that is named by its path is looked for nowhere else.
    let places: Vec<PathBuf> = match name.starts_with('/') {
        true => vec![name.into()],
        false => folders.iter().map(|folder| folder.join(name)).collect(),
    };
    for file in places.into_iter().filter(|file| can_be_run(file)) {
        match refusal(&file)? {
            None => return Ok(file),
            Some(untrusted) => passed_over = passed_over.or(Some(untrusted)),
        }
    }
    Err(match passed_over {
        None => io::Error::new(io::ErrorKind::NotFound, format!("the program {name} is not installed")),
        Some(untrusted) => {
            let why = format!("the program {name} is not started with privileges, as {untrusted}");
            io::Error::new(io::ErrorKind::PermissionDenied, why)
        }
    })
}

/// A program of a user who is not root.
struct Owned {
    file: PathBuf,
    user: u32,
}

/// One that only root and its owner could have put there: its owner gains nothing if it is started with the owner's rights.
fn of_other_user(folders: &[PathBuf], name: &str) -> Option<Owned> {
    let places: Vec<PathBuf> = match name.starts_with('/') {
        true => vec![name.into()],
        false => folders.iter().map(|folder| folder.join(name)).collect(),
    };
    places.into_iter().filter(|file| can_be_run(file)).find_map(|named| {
        let file = named.canonicalize().ok()?;
        let only_root_replaces = |file: &Path| Some(refusal(file.parent()?).ok()?.is_none());
        let found = fs::metadata(&file).ok()?;
        let only_its_owner_writes = found.mode() & 0o022 == 0;
        let fits = only_its_owner_writes && only_root_replaces(&named)? && only_root_replaces(&file)?;
        fits.then_some(Owned { file, user: found.uid() })
    })
}

/// Why a program or a folder of programs may not be obeyed: a user's own process obeys that user.
fn refusal(path: &Path) -> io::Result<Option<Untrusted>> {
    match is_privileged() {
        false => Ok(None),
        true => Ok(trust::check_only_root_replaces(path)?.err()),
    }
}

fn can_be_run(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    /// A folder with a program in it.
    fn planted(name: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.path().join(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    #[test]
    fn the_first_that_can_be_run_is_meant_by_its_absolute_path() {
        let folder = planted("sh");
        fs::write(folder.path().join("no"), "").unwrap();
        let folders = [folder.path().to_owned(), "/bin".into()];
        assert_eq!(find_in(&folders, "sh").unwrap(), folder.path().join("sh"));
        assert_eq!(find_in(&folders, "no").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(find_in(&[], "sh").unwrap_err().to_string(), "the program sh is not installed");
        assert!(find("sh").unwrap().is_absolute());
        assert_eq!(find_in(&[], "/bin/sh").unwrap(), Path::new("/bin/sh"));
    }

    /// Makes a folder with a program what it should not be.
    type Prepare = fn(&Path);

    #[test]
    fn root_passes_over_what_another_user_could_have_put_there() {
        if !rustix::process::geteuid().is_root() {
            return ontick_skip::skipped!("only root can give files to others");
        }
        let prepared: [(&str, Prepare); 4] = [
            ("belongs to another user than root (uid 65534)", |f| chown(f, Some(65_534), None).unwrap()),
            ("belongs to another user than root (uid 65534)", |f| chown(f.join("sh"), Some(65_534), None).unwrap()),
            ("can be written by others (mode 0777)", |f| {
                fs::set_permissions(f, fs::Permissions::from_mode(0o777)).unwrap();
            }),
            ("can be written by others (mode 0757)", |f| {
                fs::set_permissions(f.join("sh"), fs::Permissions::from_mode(0o757)).unwrap();
            }),
        ];
        for (why, prepare) in prepared {
            let (folder, linking) = (planted("sh"), tempfile::tempdir().unwrap());
            prepare(folder.path());
            symlink(folder.path().join("sh"), linking.path().join("sh")).unwrap();
            for of in [folder.path(), linking.path()] {
                assert_eq!(find_in(&[of.to_owned(), "/bin".into()], "sh").unwrap(), Path::new("/bin/sh"), "{why}");
                let error = find_in(&[of.to_owned()], "sh").unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
                assert!(error.to_string().contains(why) && error.to_string().contains("sh "), "{error}");
            }
        }
    }

    #[test]
    fn root_starts_another_users_program_as_that_user() {
        if !rustix::process::geteuid().is_root() {
            return ontick_skip::skipped!("only root can give files to others");
        }
        let folder = planted("sh");
        let file = folder.path().join("sh");
        fs::write(&file, "#!/bin/sh\necho $(id -u) $(id -G)\n").unwrap();
        let named = file.to_str().unwrap();
        // Root's own is started as root.
        assert_eq!(of_other_user(&[], named).unwrap().user, 0);
        assert_eq!(command_as_owner(named).unwrap().output().unwrap().stdout, b"0 0\n");
        chown(&file, Some(4_711), Some(4)).unwrap();
        assert_eq!(command(named).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(command_as_owner(named).unwrap().output().unwrap().stdout, b"4711 65534\n");
        let refused = |mode: u32, of: &Path| {
            fs::set_permissions(of, fs::Permissions::from_mode(mode)).unwrap();
            let error = command_as_owner(named).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
            fs::set_permissions(of, fs::Permissions::from_mode(0o755)).unwrap();
        };
        refused(0o775, &file);
        refused(0o777, folder.path());
        chown(&folder, Some(4_711), None).unwrap();
        assert_eq!(command_as_owner(named).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_program_finds_nothing_of_this_environment() {
        let output = command("env").unwrap().output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["LC_ALL", "PATH"]);
    }
}
