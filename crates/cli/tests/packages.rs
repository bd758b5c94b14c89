//! A crate is packed from its own folder: what its sources take in when they are compiled has to be there. Tests, which a
//! package's users do not build, may take in files of the whole repository.

mod source;

use std::fs;
use std::path::{Component, Path, PathBuf};

use source::without_tests;

/// Modules that are compiled for tests alone, by an attribute where they are named.
const FOR_TESTS: [&str; 1] = ["cli/src/options.rs"];

#[test]
fn a_crate_takes_in_no_file_from_outside_its_package() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut taken, mut outside) = (0, Vec::new());
    for package in fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()) {
        for file in sources(&package.join("src")) {
            let name = file.strip_prefix(crates).unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&file).unwrap();
            for path in included(without_tests(&text)) {
                taken += 1;
                let place = plain(&file.parent().unwrap().join(&path));
                if !FOR_TESTS.contains(&name.as_str()) && (!place.starts_with(&package) || !place.exists()) {
                    outside.push(format!("{name} takes in {path}"));
                }
            }
        }
    }
    assert!(taken >= 5, "{taken} files are taken in: the search finds none");
    assert!(outside.is_empty(), "{}", outside.join("\n"));
}

/// Sources below a folder, but those of tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.file_stem().is_some_and(|stem| stem == "tests") {
            true => {}
            false if path.is_dir() => found.extend(sources(&path)),
            false => found.extend(path.extension().is_some_and(|e| e == "rs").then_some(path)),
        }
    }
    found
}

/// Paths that `include_str!`, `include_bytes!` and `#[path]` name.
fn included(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for opening in ["include_str!(", "include_bytes!(", "#[path ="] {
        for after in text.split(opening).skip(1) {
            let quoted = after.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'));
            found.extend(quoted.map(|(path, _)| path.to_owned()));
        }
    }
    found
}

/// The path without `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
        plain
    })
}

#[test]
fn what_follows_an_attribute_for_tests_is_looked_at() {
    let taken = |text| included(without_tests(text));
    assert_eq!(taken("#[cfg(test)]\nmod tests;\nconst A: &str = include_str!(\"../x\");"), ["../x"]);
    // Behind such an attribute a path is still the package's.
    assert_eq!(taken("#[cfg(test)]\n#[path = \"../tests/blob.rs\"]\nmod blob;\n"), ["../tests/blob.rs"]);
    assert_eq!(taken("#[cfg(test)]\nmod tests {\n    const A: &str = include_str!(\"../../x\");\n}\n"), [""; 0]);
}
