//! The files of a package, one after the other. What is packed by other means than gzip is unpacked by the
//! programs that every distribution has for it.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};

use super::safe;

/// Takes a file's path, length and content.
pub(super) type Take<'a> = dyn FnMut(String, u64, &mut dyn Read) -> Result<(), String> + 'a;

/// Every file of a package.
pub(super) fn each(file: &Path, take: &mut Take) -> Result<(), String> {
    let said = |e: std::io::Error| format!("{}: {}", file.display(), crate::root::reason(&e));
    let mut opened = File::open(file).map_err(said)?;
    if !opened.metadata().map_err(said)?.is_file() {
        return Err(format!("{} is not a file", file.display()));
    }
    let mut begin = [0; 8];
    let read = super::fill(&mut opened, &mut begin).map_err(said)?;
    opened.rewind().map_err(said)?;
    let named = |why: String| format!("{}: {why}", file.display());
    match &begin[..read] {
        [0x1f, 0x8b, ..] => unpack(flate2::read::MultiGzDecoder::new(BufReader::new(opened)), take),
        b"!<arch>\n" => through("dpkg-deb", &["--fsys-tarfile"], Some(file), opened, take),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => through("xz", &["-dc"], None, opened, take),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => through("zstd", &["-dc"], None, opened, take),
        _ => unpack(BufReader::new(opened), take),
    }
    .map_err(named)
}

/// Through a program that writes the tar to its standard output.
fn through(
    program: &str,
    arguments: &[&str],
    named: Option<&Path>,
    input: File,
    take: &mut Take,
) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(arguments).args(named).stdin(Stdio::from(input)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => format!("{program} is needed to unpack it and is not installed"),
        _ => format!("{program} cannot be started: {e}"),
    })?;
    let unpacked = unpack(BufReader::new(child.stdout.take().expect("its output is a pipe")), take);
    if unpacked.is_err() {
        let _ = child.kill();
    }
    let ended = child.wait_with_output().map_err(|e| format!("{program}: {e}"))?;
    match unpacked {
        Ok(()) if !ended.status.success() => {
            let said = String::from_utf8_lossy(&ended.stderr);
            Err(format!("{program} cannot unpack it: {}", said.lines().next().unwrap_or("it failed").trim()))
        }
        other => other,
    }
}

/// Every file of a tar.
pub(super) fn unpack(tar: impl Read, take: &mut Take) -> Result<(), String> {
    let mut archive = tar::Archive::new(tar);
    // What the library says of it quotes the file's own bytes.
    let damaged = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => "it ends early: copy or build it again".to_owned(),
        _ => "it is damaged, or no tar and no Debian package".to_owned(),
    };
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let kind = entry.header().entry_type();
        let path = safe(&entry.path().map_err(damaged)?)?;
        match kind {
            tar::EntryType::Regular | tar::EntryType::Continuous | tar::EntryType::GNUSparse => {
                let size = entry.size();
                take(path, size, &mut entry)?;
            }
            tar::EntryType::Directory => {}
            // modules_install leaves links to the source tree, which is not there.
            tar::EntryType::Symlink if path.contains("lib/modules/") && path.ends_with("/build") => {}
            tar::EntryType::Symlink if path.contains("lib/modules/") && path.ends_with("/source") => {}
            // Packages keep changelogs as links; nothing of it is put in place.
            tar::EntryType::Symlink if !is_for_kernel(&path) => {}
            tar::EntryType::Symlink | tar::EntryType::Link => {
                return Err(format!("it is dangerous: {path} is a link, which no kernel needs"));
            }
            _ => return Err(format!("it is dangerous: {path} is no plain file")),
        }
    }
    // What follows the tar's end: checksums of what it is packed by are there, and its program waits for a reader.
    std::io::copy(&mut archive.into_inner().take(super::MOST_BYTES), &mut std::io::sink()).map_err(damaged)?;
    Ok(())
}

/// Whether something at this path would be put in place; a link there could lead the next file anywhere.
fn is_for_kernel(path: &str) -> bool {
    let path = path.strip_prefix("usr/").unwrap_or(path);
    let areas = ["boot", "lib", "dtbs", "overlays"];
    areas.iter().any(|area| path == *area || path.strip_prefix(area).is_some_and(|rest| rest.starts_with('/')))
        && !path.starts_with("lib/firmware/")
}
