//! The library's own sources, for tests that hold them to something.

use std::fs;
use std::path::Path;

/// Visits every file of the library with its text.
pub fn each_source(visit: &mut impl FnMut(&Path, &str)) {
    each_below(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), visit);
}

fn each_below(folder: &Path, visit: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => each_below(&path, visit),
            false => visit(&path, &fs::read_to_string(&path).unwrap()),
        }
    }
}
