//! Holds the crate to what it says: no operating system in it.

use std::fs;
use std::path::Path;

/// What would need one, as sources name it. Addresses of `std::net` are plain values.
const OF_THE_SYSTEM: [&str; 13] = [
    "std::fs",
    "std::process",
    "std::thread",
    "std::os",
    "std::env",
    "std::io",
    "std::time",
    "std::path",
    "net::{",
    "net::Tcp",
    "net::Udp",
    "libc::",
    "rustix::",
];

/// Crates that the library may be built from.
const DEPENDENCIES: [&str; 9] =
    ["csv", "jiff", "ontick-units", "schemars", "serde", "serde_json", "strsim", "thiserror", "toml"];

/// Lines of code that need an operating system.
fn faults(text: &str) -> Vec<&str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.filter(|line| OF_THE_SYSTEM.iter().any(|name| line.contains(name))).collect()
}

fn each_source(folder: &Path, visit: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => each_source(&path, visit),
            false => visit(&path, &fs::read_to_string(&path).unwrap()),
        }
    }
}

#[test]
fn no_source_needs_an_operating_system() {
    let mut sources = 0;
    each_source(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut |path, text| {
        sources += 1;
        assert_eq!(faults(text), [""; 0], "{}", path.display());
    });
    assert!(sources > 50, "{sources} sources");
}

#[test]
fn only_crates_without_an_operating_system_are_used() {
    let manifest = include_str!("../Cargo.toml");
    let section = manifest.split("[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names = section.lines().filter_map(|line| line.split(['.', ' ', '=']).next()).filter(|name| !name.is_empty());
    assert_eq!(names.collect::<Vec<_>>(), DEPENDENCIES);
}

#[test]
fn a_source_that_opens_a_file_is_found() {
    assert_eq!(faults("use std::fs::File;\n// std::fs\nuse std::net::Ipv4Addr;"), ["use std::fs::File;"]);
    assert_eq!(faults("let now = std::time::Instant::now();").len(), 1);
}
