//! What the shared library shows to programs: the header's functions and nothing else, under a name with its version.

use std::collections::BTreeSet;
use std::process::Command;

use crate::compile::has;
use crate::staged::{prefix, top};

fn header() -> String {
    std::fs::read_to_string(top().join("crates/c/include/ontick.h")).unwrap()
}

fn functions() -> BTreeSet<String> {
    let header = header();
    let code = header.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect::<String>();
    let words = code.split('(').filter_map(|before| before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next());
    words.filter(|word| word.starts_with("ontick_")).map(str::to_owned).collect()
}

fn defined() -> u32 {
    let header = header();
    let major = header.lines().find_map(|line| line.strip_prefix("#define ONTICK_ABI_MAJOR "));
    major.unwrap().trim().parse().unwrap()
}

#[test]
fn the_library_exports_the_headers_functions_and_nothing_else() {
    if !has("nm") {
        return;
    }
    let output =
        Command::new("nm").args(["--dynamic", "--defined-only"]).arg(prefix().join("lib/libontick.so")).output();
    let listed = String::from_utf8(output.unwrap().stdout).unwrap();
    let exported: BTreeSet<String> =
        listed.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect();
    assert_eq!(exported, functions());
    assert!(exported.len() > 30, "{exported:?}");
}

#[test]
fn the_loader_knows_the_library_by_its_abi() {
    if !has("readelf") {
        return;
    }
    let output = Command::new("readelf").args(["--dynamic", "--wide"]).arg(prefix().join("lib/libontick.so")).output();
    let read = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(read.contains(&format!("Library soname: [libontick.so.{}]", defined())), "{read}");
    assert!(read.contains("NODELETE"), "{read}");
}
