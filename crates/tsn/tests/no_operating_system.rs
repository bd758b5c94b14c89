//! Holds the crate to what it says: no operating system in it.

mod sources;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use sources::each_source;

/// A target without files, processes, threads, clocks and libc. Its standard library has the names of the first four, and
/// fails when they are used: that no source names them is what [`faults`] is for.
const TARGET: &str = "wasm32-unknown-unknown";

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
const DEPENDENCIES: [&str; 10] =
    ["csv", "jiff", "ontick-units", "roxmltree", "schemars", "serde", "serde_json", "strsim", "thiserror", "toml"];

/// Lines of code that need an operating system.
fn faults(text: &str) -> Vec<&str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.filter(|line| OF_THE_SYSTEM.iter().any(|name| line.contains(name))).collect()
}

#[test]
fn no_source_needs_an_operating_system() {
    let mut sources = 0;
    each_source(&mut |path, text| {
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

fn rustc() -> Command {
    let beside_cargo = Path::new(env!("CARGO")).with_file_name("rustc");
    Command::new(if beside_cargo.exists() { beside_cargo } else { "rustc".into() })
}

/// Whether the standard library for the target is installed; skips where it is not.
fn has_target() -> bool {
    let output = rustc().args(["--print", "target-libdir", "--target", TARGET]).output().expect("rustc starts");
    let there = output.status.success() && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir();
    if !there {
        ontick_skip::skipped!("this Rust has no library for {TARGET}");
    }
    there
}

/// Compiles a crate of this text for the target. Its metadata goes to a file: rustc renames another file to the one that was
/// named, which by root would take the place of `/dev/null`.
fn compile(text: &str) -> Output {
    let mut rustc = rustc();
    rustc.args(["--target", TARGET, "--edition", "2024", "--crate-type", "lib", "-"]);
    rustc.arg(concat!("--emit=metadata=", env!("CARGO_TARGET_TMPDIR"), "/no_operating_system.rmeta"));
    let mut child = rustc.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn the_library_builds_for_a_target_without_an_operating_system() {
    if !has_target() {
        return;
    }
    let target_folder: PathBuf = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().into();
    let mut cargo = Command::new(env!("CARGO"));
    // Set for the harness alone (packaging/test): with it cargo would build the dependencies anew.
    cargo.env_remove("RUSTC_BOOTSTRAP").current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args(["build", "--lib", "--offline", "--locked", "--quiet", "--target", TARGET, "--target-dir"]);
    let output = cargo.arg(target_folder).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_needs_an_operating_system_does_not_build_for_that_target() {
    if !has_target() {
        return;
    }
    let text = |output: Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let output = compile("pub fn length(text: &str) -> usize { text.len() }");
    assert!(output.status.success(), "{}", text(output));
    for line in ["use std::os::unix::fs::MetadataExt;", "use std::os::fd::OwnedFd;"] {
        let output = compile(line);
        assert!(!output.status.success(), "{line}");
        assert!(text(output).contains("error[E04"), "{line}");
    }
}
