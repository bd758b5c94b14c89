//! Files that a command line names: what is written there replaces neither what is read nor what else is written.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::error::{Error, ErrorKind};

/// Options whose files are written, by their names in the declarations.
const WRITTEN: [&str; 14] = [
    "record", "html", "svg", "png", "junit", "out", "to", "arrow", "frames", "metrics", "picture", "journal",
    "samples", "vcd",
];

/// Options whose files may be read and replaced at once: what is changed, and a plan that is gone on with.
const CHANGED: [&str; 2] = ["into", "keep"];

/// Where a name leads.
#[derive(PartialEq, Eq)]
enum Place {
    /// A file that is there.
    Inode(u64, u64),
    /// One that is not, in a folder.
    Name(PathBuf, OsString),
}

/// Fails where one of the files would be lost.
pub fn check(matches: &ArgMatches) -> Result<(), Error> {
    let mut of_command = matches;
    while let Some((_, below)) = of_command.subcommand() {
        of_command = below;
    }
    let named = |id: &'static str| Some((id, file(of_command.try_get_one::<PathBuf>(id).ok()??)?));
    let dash = |id: &str| matches!(of_command.try_get_one::<PathBuf>(id), Ok(Some(path)) if path == Path::new("-"));
    if let Some(id) = WRITTEN.into_iter().find(|id| dash(id)) {
        // Samples may not go where the result goes.
        let instead = if id == "samples" { "a FIFO" } else { "/dev/stdout" };
        return Err(refusal(format!("--{id} - names no file: write {instead}, or ./- for a file of that name")));
    }
    let written: Vec<(&str, Place)> = WRITTEN.into_iter().filter_map(named).collect();
    for (at, (second, place)) in written.iter().enumerate() {
        if let Some((first, _)) = written[..at].iter().find(|(_, other)| other == place) {
            return Err(refusal(format!("--{first} and --{second} name the same file: each needs its own")));
        }
    }
    for id in of_command.ids().map(clap::Id::as_str).filter(|id| !WRITTEN.contains(id) && !CHANGED.contains(id)) {
        let Ok(Some(paths)) = of_command.try_get_many::<PathBuf>(id) else { continue };
        for path in paths {
            let read = file(path);
            if let Some((option, _)) = written.iter().find(|(_, place)| Some(place) == read.as_ref()) {
                let name = path.display();
                return Err(refusal(format!("{name} is read, and --{option} would replace it: name another file")));
            }
        }
    }
    Ok(())
}

fn refusal(sentence: String) -> Error {
    Error::raw(ErrorKind::ArgumentConflict, sentence)
}

/// Where a path leads, unless that is a folder, or a pipe or device, into which several may write.
fn file(path: &Path) -> Option<Place> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Some(Place::Inode(found.dev(), found.ino())),
        Ok(_) => None,
        Err(_) => {
            let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(Place::Name(fs::canonicalize(folder).ok()?, path.file_name()?.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use clap::Command;

    use super::*;

    /// Options whose value is called a file, and that only read it.
    const READ: [&str; 10] =
        ["base", "calibration", "config", "file", "fragment", "into", "payload", "profile", "read", "token"];

    fn files(command: &Command, found: &mut Vec<(String, bool)>) {
        for argument in command.get_arguments().filter(|argument| argument.get_long().is_some()) {
            let is_file = argument.get_value_names().is_some_and(|names| names.iter().any(|n| n.contains("FILE")));
            let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
            found.extend(is_file.then(|| (argument.get_id().to_string(), is_path)));
        }
        command.get_subcommands().for_each(|below| files(below, found));
    }

    #[test]
    fn a_dash_is_no_file_to_write() {
        let asked = ["ontick", "latency", "timer", "--samples", "-"];
        let matches = crate::built(crate::command()).try_get_matches_from(asked).unwrap();
        let refused = check(&matches).unwrap_err().to_string();
        assert!(refused.contains("--samples - names no file: write a FIFO, or ./- "), "{refused}");
    }

    #[test]
    fn every_option_with_a_file_is_known_as_read_or_written() {
        let all = crate::built(crate::command());
        let mut found = Vec::new();
        files(&all, &mut found);
        for (id, is_path) in &found {
            assert_ne!(READ.contains(&&**id), WRITTEN.contains(&&**id), "--{id} is read or written");
            assert!(*is_path || !WRITTEN.contains(&&**id), "--{id} is no path");
        }
        for id in READ.iter().chain(&WRITTEN) {
            assert!(found.iter().any(|(other, _)| other == id), "no option is called --{id}");
        }
    }
}
