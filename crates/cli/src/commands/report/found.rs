//! Which files are records of a fleet, and of which machine.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};
use ontick_record::store::StoreError;

/// A file that may be a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    pub machine: String,
    pub file: PathBuf,
}

/// Deeper folders are not looked into.
const DEEPEST: usize = 16;

/// The files of all places, each a folder, a file or a pattern, in the order of machines. Symbolic links are not followed
/// within a folder, so that nothing is read twice.
pub fn found(places: &[PathBuf]) -> Result<Vec<Found>, StoreError> {
    let (mut files, mut named) = (Vec::new(), Vec::new());
    for place in places {
        let problem = |error| StoreError::Io { path: place.clone(), error };
        match fs::metadata(place) {
            Ok(kind) if kind.is_dir() => {
                below(place, DEEPEST, &is_json, &mut files).map_err(problem)?;
                named.push(place.clone());
            }
            Ok(_) => files.push(place.clone()),
            Err(_) if is_pattern(place) => {
                files.extend(matching(place)?);
                named.push(walked_from(&fixed_part(place)).into());
            }
            Err(error) => return Err(problem(error)),
        }
    }
    files.sort_unstable();
    files.dedup();
    Ok(of_machines(files, &named))
}

fn below(
    folder: &Path,
    deepest: usize,
    wanted: &impl Fn(&Path) -> bool,
    files: &mut Vec<PathBuf>,
) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && deepest > 0 {
            below(&path, deepest - 1, wanted, files)?;
        } else if kind.is_file() && wanted(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_json(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "json")
}

fn is_pattern(place: &Path) -> bool {
    place.to_string_lossy().contains(['*', '?', '['])
}

/// The folder that a pattern begins with.
fn fixed_part(pattern: &Path) -> PathBuf {
    pattern.components().take_while(|part| !is_pattern(Path::new(part))).collect()
}

/// Where the files of a pattern with this fixed part are looked for.
fn walked_from(fixed: &Path) -> &Path {
    if fixed.as_os_str().is_empty() { Path::new(".") } else { fixed }
}

/// The files that a pattern names. The walk is not left to `glob::glob`: its `**` follows symbolic links, in circles too.
fn matching(pattern: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let problem = |problem| StoreError::NotARecord { path: pattern.into(), problem };
    let text = pattern.to_str().ok_or_else(|| problem("a pattern must be text".into()))?;
    let compiled = Pattern::new(text).map_err(|error| problem(format!("not a pattern: {}", error.msg)))?;
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };

    let start = fixed_part(pattern);
    let open = pattern.components().count() - start.components().count();
    let deepest = if text.contains("**") { DEEPEST } else { open - 1 };

    let mut files = Vec::new();
    let here = start.as_os_str().is_empty();
    let wanted = |file: &Path| {
        let file = if here { file.strip_prefix(".").unwrap_or(file) } else { file };
        compiled.matches_path_with(file, options)
    };
    let walked = below(walked_from(&start), deepest, &wanted, &mut files);
    match walked {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::Io { path: pattern.into(), error }),
        _ if files.is_empty() => Err(problem("no file is named so".into())),
        _ => Ok(files),
    }
}

/// A machine is the folder that its records lie in, by its path below the folder of all. A record in that folder itself
/// is a machine of its own, by its file's name. The folder of all holds the folders that were `named`, too: one machine's
/// folder alone in it is that machine's nevertheless.
fn of_machines(files: Vec<PathBuf>, named: &[PathBuf]) -> Vec<Found> {
    let of_files = files.iter().map(|file| file.parent().unwrap_or(Path::new("")));
    let all = common(of_files.chain(named.iter().map(PathBuf::as_path)));
    let machine = |file: &Path| -> String {
        let folder = file.parent().unwrap_or(Path::new(""));
        let folder = folder.strip_prefix(&all).unwrap_or(folder);
        let name =
            if folder.as_os_str().is_empty() { file.file_stem().unwrap_or_default() } else { folder.as_os_str() };
        name.to_string_lossy().into_owned()
    };
    let mut found: Vec<Found> = files.into_iter().map(|file| Found { machine: machine(&file), file }).collect();
    found.sort_unstable();
    found
}

/// The deepest folder that holds all of these, or is one of them.
fn common<'a>(mut folders: impl Iterator<Item = &'a Path>) -> PathBuf {
    let Some(first) = folders.next() else { return PathBuf::new() };
    folders.fold(first.to_path_buf(), |common, folder| {
        common.components().zip(folder.components()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines(files: &[&str]) -> Vec<String> {
        machines_below(&[], files)
    }

    fn machines_below(named: &[&str], files: &[&str]) -> Vec<String> {
        let named: Vec<PathBuf> = named.iter().map(PathBuf::from).collect();
        of_machines(files.iter().map(PathBuf::from).collect(), &named).into_iter().map(|found| found.machine).collect()
    }

    #[test]
    fn a_machine_is_the_folder_of_its_records() {
        assert_eq!(machines(&["f/pi-1/a.json", "f/pi-1/b.json", "f/pi-2/a.json"]), ["pi-1", "pi-1", "pi-2"]);
        assert_eq!(machines(&["/f/hall/pi-1/a.json", "/f/lab/pi-1/a.json"]), ["hall/pi-1", "lab/pi-1"]);
        assert_eq!(machines(&["f/pi-1.json", "f/pi-2.json"]), ["pi-1", "pi-2"]);
        assert_eq!(machines(&["f/pi-1.json", "f/pi-2/a.json"]), ["pi-1", "pi-2"]);
        assert_eq!(machines(&["a.json"]), ["a"]);
    }

    #[test]
    fn the_only_machine_of_a_folder_is_one() {
        let files = ["f/pi-1/a.json", "f/pi-1/b.json"];
        assert_eq!(machines_below(&["f"], &files), ["pi-1", "pi-1"]);
        assert_eq!(machines_below(&["f/pi-1"], &files), ["a", "b"], "its own folder holds all records");
        assert_eq!(machines_below(&["."], &["./pi-1/a.json"]), ["pi-1"]);
        assert_eq!(machines_below(&["f/pi-1", "g"], &["f/pi-1/a.json", "g/b.json"]), ["f/pi-1", "g"]);

        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("pi-1")).unwrap();
        ["pi-1/a.json", "pi-1/b.json"].iter().for_each(|name| fs::write(at(name), "{}").unwrap());
        for place in [at(""), at("*/*.json"), at("**/*.json"), at("pi-?/*.json")] {
            let machines: Vec<String> = found(&[place]).unwrap().into_iter().map(|one| one.machine).collect();
            assert_eq!(machines, ["pi-1", "pi-1"]);
        }
    }

    #[test]
    fn folders_and_patterns_find_records_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["pi-1/a.json", "pi-1/notes.txt", "pi-2/old/b.json"] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), "{}").unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), at("pi-1/again")).unwrap();
        let files =
            |place: PathBuf| -> Vec<PathBuf> { found(&[place]).unwrap().into_iter().map(|one| one.file).collect() };
        let both = [at("pi-1/a.json"), at("pi-2/old/b.json")];
        assert_eq!(files(folder.path().into()), both);
        assert_eq!(files(at("**/*.json")), both);
        assert_eq!(files(at("pi-?/*.json")), both[..1]);
        assert_eq!(files(at("**/b*")), both[1..]);
        assert_eq!(files(at("pi-*/[a-c].json")), both[..1]);
        assert!(found(&[at("pi-9/*.json")]).unwrap_err().to_string().contains("no file is named so"));
        assert!(found(&[at("***")]).unwrap_err().to_string().contains("not a pattern"));
        assert!(found(&[at("none")]).is_err());
    }
}
