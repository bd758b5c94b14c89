//! Folders on the way to a file, or named for several: by no link that another user planted.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, PROC_SUPER_MAGIC};
use rustix::io::Errno;

use super::{MOST_LINKS, must_be_trusted};

/// Makes a folder, and those above it, as far as they are not there, after [`check_folder`].
pub fn make_folder(path: &Path) -> io::Result<()> {
    check_folder(path)?;
    std::fs::create_dir_all(path)?;
    // What took its place meanwhile.
    check_folder(path)
}

/// Whether a folder that is to take files is none that another user planted, as a folder or as a link on the way. What is
/// not there yet is not at fault.
pub fn check_folder(path: &Path) -> io::Result<()> {
    match walk(path, true) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        walked => walked.map(drop),
    }
}

/// Opens a folder as a place.
pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    walk(path, false)
}

/// Goes where the kernel would go, a part of the name at a time, and judges each link. A folder that is no link may be
/// another user's: whoever names a file there knows it. As the place of several files it `is_named` itself.
fn walk(path: &Path, is_named: bool) -> io::Result<OwnedFd> {
    let place = OFlags::PATH | OFlags::CLOEXEC;
    let (mut folder, mut shown) = (rustix::fs::open(".", place, Mode::empty())?, PathBuf::new());
    let mut parts = parts(path);
    let mut links = 0;
    while let Some(part) = parts.pop() {
        let found =
            match rustix::fs::openat(&folder, &part, place | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(found) => found,
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    let link = rustix::fs::openat(&folder, &part, place | OFlags::NOFOLLOW, Mode::empty())?;
                    let stat = rustix::fs::fstat(&link)?;
                    must_be_trusted(&rustix::fs::fstat(&folder)?, &stat, &shown.join(&part))?;
                    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
                        return Err(ErrorKind::NotADirectory.into());
                    }
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    // Links such as `/proc/self/cwd` lead to what is open, not to what their text names.
                    if rustix::fs::fstatfs(&folder)?.f_type != PROC_SUPER_MAGIC {
                        let target = rustix::fs::readlinkat(&link, "", Vec::new())?;
                        parts.extend(self::parts(Path::new(&OsString::from_vec(target.into_bytes()))));
                        continue;
                    }
                    rustix::fs::openat(&folder, &part, place | OFlags::DIRECTORY, Mode::empty())?
                }
                Err(error) => return Err(error.into()),
            };
        shown.push(&part);
        if is_named && parts.is_empty() {
            must_be_trusted(&rustix::fs::fstat(&folder)?, &rustix::fs::fstat(&found)?, &shown)?;
        }
        folder = found;
    }
    Ok(folder)
}

/// The parts of a name, the last one first. The root is one, which leads there from anywhere.
fn parts(path: &Path) -> Vec<OsString> {
    let part = |part: Component<'_>| part.as_os_str().to_owned();
    path.components().rev().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_walk_ends_where_the_kernel_ends() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        fs::create_dir_all(at("a/b/c")).unwrap();
        fs::create_dir(at("d")).unwrap();
        fs::write(at("file"), "").unwrap();
        symlink("a/b", at("inner")).unwrap();
        symlink(at("inner/c"), at("d/far")).unwrap();
        symlink("../d/far/..", at("a/back")).unwrap();
        symlink("circle", at("circle")).unwrap();
        symlink("nothing", at("dangling")).unwrap();
        let place = |stat: fs::Metadata| (stat.dev(), stat.ino());
        for path in
            ["", "a/./b//c", "inner", "inner/", "inner/..", "d/far", "a/back", "a/back/c/../../back", "a/../inner/c"]
        {
            let (walked, kernels) = (walk(&at(path), false).unwrap(), fs::metadata(at(path)).unwrap());
            let walked = rustix::fs::fstat(&walked).unwrap();
            assert_eq!((walked.st_dev, walked.st_ino), place(kernels), "{path}");
        }
        for path in [".", "..", "/", "/proc/self/cwd", "/proc/self/fd", "src/.."] {
            let walked = rustix::fs::fstat(walk(Path::new(path), false).unwrap()).unwrap();
            assert_eq!(walked.st_ino, fs::metadata(path).unwrap().ino(), "{path}");
        }
        for path in ["nothing/x", "dangling", "circle", "file", "file/x", "a/b/c/d"] {
            let (ours, kernels) = (walk(&at(path), false).unwrap_err(), fs::read_dir(at(path)).unwrap_err());
            assert_eq!(ours.kind(), kernels.kind(), "{path}: {ours}");
        }
        // What is missing is made, and what is there may stay.
        make_folder(&at("d/new/er")).unwrap();
        make_folder(&at("d/far/new")).unwrap();
        make_folder(&at("a")).unwrap();
        assert!(at("a/b/c/new").is_dir() && make_folder(&at("file")).is_err());
    }
}
