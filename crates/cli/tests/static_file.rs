//! `packaging/static` in folders as users have them: whatever their names are, they make the same file.
//!
//! The program is a small one here, so that it takes seconds; profile, options and linker are those of the real one, which
//! `packaging/reproducible` builds twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = r#"
fn main() {
    // A panic names its file.
    assert_eq!(std::env::args().nth(1).as_deref(), Some("--version"), "this only says its version");
    println!("ontick {}", env!("CARGO_PKG_VERSION"));
}
"#;

fn checkout() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(from, to).unwrap_or_else(|e| panic!("{}: {e}", from.display()));
}

/// A workspace with this one's scripts and profiles, and a program of a few lines.
fn workspace(folder: &Path) {
    for file in fs::read_dir(checkout().join("packaging")).unwrap().map(|file| file.unwrap().path()) {
        if file.is_file() {
            copy(&file, &folder.join("packaging").join(file.file_name().unwrap()));
        }
    }
    copy(&checkout().join(".cargo/config.toml"), &folder.join(".cargo/config.toml"));
    let manifest = fs::read_to_string(checkout().join("Cargo.toml")).unwrap();
    let section = |name: &str| {
        let at = manifest.find(name).unwrap_or_else(|| panic!("Cargo.toml has no {name}"));
        manifest[at..].split("\n\n").next().unwrap()
    };
    let [package, release, dist] = ["[workspace.package]", "[profile.release]", "[profile.dist]"].map(section);
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("Cargo.toml", &format!("[workspace]\nmembers = [\"crates/*\"]\n\n{package}\n\n{release}\n\n{dist}\n"));
    write(
        "crates/cli/Cargo.toml",
        "[package]\nname = \"ontick\"\nversion.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n",
    );
    write("crates/cli/src/main.rs", PROGRAM);
    let version = env!("CARGO_PKG_VERSION");
    write("Cargo.lock", &format!("version = 4\n\n[[package]]\nname = \"ontick\"\nversion = \"{version}\"\n"));
}

/// The file that `packaging/static` makes there.
fn static_file(folder: &Path, machine: &str) -> Vec<u8> {
    workspace(folder);
    let script = folder.join("packaging/static");
    // Options that somebody has set for all that they build.
    let output = Command::new(&script).arg(machine).env("RUSTFLAGS", "--cfg=of_another").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", script.display());
    let version = env!("CARGO_PKG_VERSION");
    fs::read(folder.join(format!("dist/ontick-{version}-{machine}"))).unwrap()
}

/// Whether the Rust that the scripts find has a C library for static files of this machine.
fn has_musl(machine: &str) -> bool {
    let rust = Command::new(checkout().join("packaging/rust")).output().unwrap();
    let rust = PathBuf::from(String::from_utf8(rust.stdout).unwrap().trim());
    let target = format!("{machine}-unknown-linux-musl");
    let asked = Command::new(rust.join("rustc")).args(["--print", "target-libdir", "--target", &target]).output();
    asked.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

#[test]
fn folders_of_any_name_make_the_same_static_file() {
    let machine = std::env::consts::ARCH;
    if !has_musl(machine) {
        return ontick_skip::skipped!("this Rust has no library for {machine}-unknown-linux-musl");
    }
    let here = tempfile::tempdir().unwrap();
    let names = ["a", "with spaces, a \"quoted\" word = more/and a longer name"];
    let [one, other] = names.map(|name| static_file(&here.path().join(name), machine));
    assert!(one == other, "the files differ: {} and {} bytes", one.len(), other.len());
    let has = |text: &str| one.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("crates/cli/src/main.rs"), "the panic's place is searched for in vain, and so is what follows");
    // Neither where it was built nor a loader for libraries.
    for text in [here.path().to_str().unwrap(), "/.cargo/", "/lib/ld-", "/lib64/ld-"] {
        assert!(!has(text), "{text} is in the file");
    }
}
