//! The files of a package, one after the other. What is packed by other means than gzip is unpacked by the
//! programs that every distribution has for it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{PackageFault, safe};

/// No path is longer (PATH_MAX).
const LONGEST_NAME: u64 = 4096;
/// Extended headers hold a path and times.
const LONGEST_EXTENSION: u64 = 64 << 10;

/// Takes a file's path, length and content.
pub(super) type Take<'a, E> = dyn FnMut(String, u64, &mut dyn Read) -> Result<(), E> + 'a;

/// Every file of a package.
pub(super) fn each<E: From<PackageFault>>(file: &Path, take: &mut Take<E>) -> Result<(), E> {
    let said = |e: std::io::Error| PackageFault::Unreadable(ontick_machine::root::reason(&e));
    let mut opened = File::open(file).map_err(said)?;
    if !opened.metadata().map_err(said)?.is_file() {
        return Err(PackageFault::NotAFile.into());
    }
    let mut begin = [0; 8];
    let read = super::fill(&mut opened, &mut begin).map_err(said)?;
    opened.rewind().map_err(said)?;
    match &begin[..read] {
        [0x1f, 0x8b, ..] => unpack(flate2::read::MultiGzDecoder::new(BufReader::new(opened)), take),
        b"!<arch>\n" => through("dpkg-deb", &["--fsys-tarfile"], Some(file), opened, take),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => through("xz", &["-dc"], None, opened, take),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => through("zstd", &["-dc"], None, opened, take),
        _ => unpack(BufReader::new(opened), take),
    }
}

/// Through a program that writes the tar to its standard output.
fn through<E: From<PackageFault>>(
    program: &'static str,
    arguments: &[&str],
    named: Option<&Path>,
    input: File,
    take: &mut Take<E>,
) -> Result<(), E> {
    let failed = |why: String| PackageFault::Program { program, why };
    let start = |mut command: Command| {
        command
            .args(arguments)
            .args(named)
            .stdin(Stdio::from(input))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    };
    let mut child = ontick_undo::program::command(program).and_then(start).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => PackageFault::NoProgram(program),
        _ => failed(format!("cannot be started: {e}")),
    })?;
    let unpacked = unpack(BufReader::new(child.stdout.take().expect("its output is a pipe")), take);
    if unpacked.is_err() {
        let _ = child.kill();
    }
    let ended = child.wait_with_output().map_err(|e| failed(format!("does not end: {e}")))?;
    match unpacked {
        Ok(()) if !ended.status.success() => {
            let said = String::from_utf8_lossy(&ended.stderr);
            Err(failed(format!("cannot unpack it: {}", said.lines().next().unwrap_or("it failed").trim())).into())
        }
        other => other,
    }
}

/// Every file of a tar. Nothing that it only announces (a length, a name) is believed or held in memory.
pub(super) fn unpack<E: From<PackageFault>>(tar: impl Read, take: &mut Take<E>) -> Result<(), E> {
    let mut archive = tar::Archive::new(tar);
    let mut long_name = None;
    // Raw: the library would read a name of any length, and fill the holes of a sparse file with zeros.
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        let kind = entry.header().entry_type();
        match kind {
            tar::EntryType::GNULongName => {
                let name = short(&mut entry, LONGEST_NAME)?;
                long_name =
                    Some(PathBuf::from(OsString::from_vec(name.split(|b| *b == 0).next().unwrap_or(&[]).into())));
                continue;
            }
            tar::EntryType::XHeader => {
                long_name = path_in(&short(&mut entry, LONGEST_EXTENSION)?)?.or(long_name);
                continue;
            }
            // Where a link points; and what is true of all files, which is no name.
            tar::EntryType::GNULongLink | tar::EntryType::XGlobalHeader => {
                short(&mut entry, LONGEST_EXTENSION)?;
                continue;
            }
            _ => {}
        }
        let path = match long_name.take() {
            Some(path) => safe(&path)?,
            None => safe(&entry.path().map_err(damaged)?)?,
        };
        match kind {
            tar::EntryType::Regular | tar::EntryType::Continuous => {
                let size = entry.size();
                take(path, size, &mut entry)?;
            }
            tar::EntryType::GNUSparse => {
                return Err(PackageFault::Sparse(Some(path)).into());
            }
            tar::EntryType::Directory => {}
            // modules_install leaves links to the source tree, which is not there.
            tar::EntryType::Symlink if path.contains("lib/modules/") && path.ends_with("/build") => {}
            tar::EntryType::Symlink if path.contains("lib/modules/") && path.ends_with("/source") => {}
            // Packages keep changelogs as links; nothing of it is put in place.
            tar::EntryType::Symlink if !is_for_kernel(&path) => {}
            tar::EntryType::Symlink | tar::EntryType::Link => {
                return Err(PackageFault::Link(path).into());
            }
            _ => return Err(PackageFault::NotPlain(path).into()),
        }
    }
    // What follows the tar's end: checksums of what it is packed by are there, and its program waits for a reader.
    std::io::copy(&mut archive.into_inner().take(super::MOST_BYTES), &mut std::io::sink()).map_err(damaged)?;
    Ok(())
}

/// What the library says of it quotes the file's own bytes.
fn damaged(error: std::io::Error) -> PackageFault {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => PackageFault::EndsEarly,
        _ => PackageFault::Damaged,
    }
}

/// The content of an entry that says something of the next one.
fn short(entry: &mut tar::Entry<impl Read>, longest: u64) -> Result<Vec<u8>, PackageFault> {
    if entry.size() > longest {
        return Err(PackageFault::LongName { length: entry.size(), longest });
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(damaged)?;
    match bytes.len() as u64 == entry.size() {
        true => Ok(bytes),
        false => Err(PackageFault::EndsEarly),
    }
}

/// The path in a header of POSIX's form. A length there is for files beyond 8 GiB, and holes are there, too.
fn path_in(extension: &[u8]) -> Result<Option<PathBuf>, PackageFault> {
    let mut path = None;
    for field in tar::PaxExtensions::new(extension) {
        let field = field.map_err(damaged)?;
        match field.key_bytes() {
            b"path" => path = Some(PathBuf::from(OsString::from_vec(field.value_bytes().to_vec()))),
            b"size" => return Err(PackageFault::HugeFile),
            key if key.starts_with(b"GNU.sparse.") => {
                return Err(PackageFault::Sparse(None));
            }
            _ => {}
        }
    }
    Ok(path)
}

/// Whether something at this path would be put in place; a link there could lead the next file anywhere.
fn is_for_kernel(path: &str) -> bool {
    let path = path.strip_prefix("usr/").unwrap_or(path);
    let areas = ["boot", "lib", "dtbs", "overlays"];
    areas.iter().any(|area| path == *area || path.strip_prefix(area).is_some_and(|rest| rest.starts_with('/')))
        && !path.starts_with("lib/firmware/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Hands on what it is asked for, and counts that.
    struct Counted<'a, R>(R, &'a Cell<u64>);

    impl<R: Read> Read for Counted<'_, R> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let read = self.0.read(into)?;
            self.1.set(self.1.get() + read as u64);
            Ok(read)
        }
    }

    fn header(kind: tar::EntryType, size: u64) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_path("boot/vmlinuz-6.12").unwrap();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        header
    }

    /// What is said of a tar that begins so and goes on for ever, and how much of it is read.
    fn refusal(begin: &[u8]) -> (String, u64) {
        let (read, mut taken) = (Cell::new(0), Vec::new());
        let tar = Counted(begin.chain(std::io::repeat(b'a')), &read);
        let refused =
            unpack(tar, &mut |_, size, content| content.take(size).read_to_end(&mut taken).map(drop).map_err(damaged));
        (refused.unwrap_err().to_string(), read.get())
    }

    #[test]
    fn a_small_tar_never_takes_gigabytes() {
        const GIGABYTES: u64 = 12 << 30;
        let mut sparse = header(tar::EntryType::GNUSparse, 512);
        sparse.as_gnu_mut().unwrap().realsize.copy_from_slice(b"140000000000");
        sparse.set_cksum();
        let pax = |text: &str| {
            let mut bytes = header(tar::EntryType::XHeader, text.len() as u64).as_bytes().to_vec();
            bytes.extend_from_slice(text.as_bytes());
            bytes.resize(1024, 0);
            bytes
        };
        let cases = [
            (header(tar::EntryType::GNULongName, GIGABYTES).as_bytes().to_vec(), "a name of 12884901888 bytes"),
            (header(tar::EntryType::GNULongLink, GIGABYTES).as_bytes().to_vec(), "a name of 12884901888 bytes"),
            (header(tar::EntryType::XHeader, GIGABYTES).as_bytes().to_vec(), "a name of 12884901888 bytes"),
            (header(tar::EntryType::XGlobalHeader, GIGABYTES).as_bytes().to_vec(), "a name of 12884901888 bytes"),
            (sparse.as_bytes().to_vec(), "stored with holes"),
            (pax("30 GNU.sparse.realsize=999999\n"), "stored with holes"),
            (pax("20 size=12884901888\n"), "larger than any of a kernel"),
        ];
        for (begin, expected) in cases {
            let (why, read) = refusal(&begin);
            assert!(why.contains(expected), "{why}");
            assert!(read <= 64 << 10, "{read} bytes are read: {why}");
        }
    }

    #[test]
    fn long_names_of_both_kinds_are_names() {
        let name = format!("lib/modules/6.12/{}.ko", "x".repeat(150));
        let mut gnu = tar::Builder::new(Vec::new());
        gnu.append_data(&mut header(tar::EntryType::Regular, 1), &name, &b"1"[..]).unwrap();
        let mut posix = tar::Builder::new(Vec::new());
        posix.append_pax_extensions([("path", name.as_bytes())]).unwrap();
        posix.append(&header(tar::EntryType::Regular, 1), &b"1"[..]).unwrap();
        posix.append(&header(tar::EntryType::Regular, 1), &b"2"[..]).unwrap();
        for (tar, names) in [(gnu, vec![name.clone()]), (posix, vec![name.clone(), "boot/vmlinuz-6.12".into()])] {
            let mut found = Vec::new();
            unpack(&tar.into_inner().unwrap()[..], &mut |path, _, _| {
                found.push(path);
                Ok::<(), PackageFault>(())
            })
            .unwrap();
            assert_eq!(found, names);
        }
    }
}
