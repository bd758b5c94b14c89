//! The header says what the sources do.

use std::path::Path;

/// Made anew where this is set: `ONTICK_WRITE_HEADER=1 cargo test -p ontick-c the_header_is_that_of_the_sources`.
const WRITE: &str = "ONTICK_WRITE_HEADER";

#[test]
fn the_header_is_that_of_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    // Of a crate cbindgen asks cargo for every dependency of every system, which may not be here.
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(folder.join("src/lib.rs"))
        .generate()
        .expect("cbindgen understands the sources")
        .write(&mut made);
    let (file, made) = (folder.join("include/ontick.h"), String::from_utf8(made).unwrap());
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    let line = there.lines().zip(made.lines()).position(|(there, made)| there != made);
    let line = line.unwrap_or(there.lines().count().min(made.lines().count())) + 1;
    assert!(there == made, "include/ontick.h is not that of the sources from line {line} on: run it with {WRITE}=1");
}
