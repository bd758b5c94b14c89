//! The header says what the sources do.

use std::path::{Path, PathBuf};

/// Made anew where this is set: `ONTICK_WRITE_HEADER=1 cargo test -p ontick-c the_header_is_that_of_the_sources`.
const WRITE: &str = "ONTICK_WRITE_HEADER";

/// In the order in which the library names its modules.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let library = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    let modules = library.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "));
    let modules = modules.map(|name| folder.join(format!("src/{}.rs", name.trim_end_matches(';'))));
    [folder.join("src/lib.rs")].into_iter().chain(modules).collect()
}

#[test]
fn the_header_is_that_of_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    // Of a crate cbindgen asks cargo for every dependency of every system, which may not be here.
    let builder = sources(folder).into_iter().fold(cbindgen::Builder::new(), |builder, file| builder.with_src(file));
    builder.with_config(config).generate().expect("cbindgen understands the sources").write(&mut made);
    let (file, made) = (folder.join("include/ontick.h"), String::from_utf8(made).unwrap());
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    let line = there.lines().zip(made.lines()).position(|(there, made)| there != made);
    let line = line.unwrap_or(there.lines().count().min(made.lines().count())) + 1;
    assert!(there == made, "include/ontick.h is not that of the sources from line {line} on: run it with {WRITE}=1");
}
