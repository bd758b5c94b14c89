//! The library of this build, installed into a folder of its own as `make install-lib` does it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

pub fn top() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Where cargo puts the libraries that these tests are linked with.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

pub fn install(prefix: &Path, arguments: &[&str]) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["so", "a"] {
        std::os::unix::fs::symlink(
            built().join(format!("libontick_c.{kind}")),
            folder.path().join(format!("libontick.{kind}")),
        )
        .unwrap();
    }
    let mut script = Command::new(top().join("packaging/install-lib"));
    script.args(arguments).env("PREFIX", prefix).env("BUILT", folder.path());
    let output = script.env_remove("DESTDIR").env_remove("LIBDIR").output().expect("bash starts");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), said)
}

/// Installed once, and removed when the tests are through: a static is not dropped.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = built().join("libontick-installed");
        let _ = std::fs::remove_dir_all(&prefix);
        let (done, said) = install(&prefix, &[]);
        assert!(done, "{said}");
        prefix
    })
}

#[test]
fn what_is_installed_is_whole_and_taken_away_again() {
    let folder: TempDir = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("a-prefix");
    let (done, said) = install(&prefix, &[]);
    assert!(done, "{said}");
    let lib = prefix.join("lib");
    let link = |name: &str| std::fs::read_link(lib.join(name)).unwrap();
    let (major, full) = (link("libontick.so"), link("libontick.so.0"));
    assert_eq!(major, Path::new("libontick.so.0"));
    let full = full.to_str().unwrap();
    assert!(full.starts_with("libontick.so.0.") && lib.join(full).is_file(), "{full}");
    let config = std::fs::read_to_string(lib.join("pkgconfig/ontick.pc")).unwrap();
    assert!(config.contains(&format!("prefix={}\n", prefix.display())) && !config.contains('@'), "{config}");
    assert!(config.contains(concat!("Version: ", env!("CARGO_PKG_VERSION"), "\n")), "{config}");
    assert!(prefix.join("include/ontick.h").is_file() && lib.join("libontick.a").is_file());

    std::fs::write(lib.join("libother.so"), "").unwrap();
    let (done, said) = install(&prefix, &["--uninstall"]);
    assert!(done && said.lines().count() == 6, "{said}");
    assert_eq!(std::fs::read_dir(&lib).unwrap().flatten().filter(|entry| !entry.path().is_dir()).count(), 1);
    let (done, said) = install(Path::new("elsewhere"), &[]);
    assert!(!done && said.contains("must be a path from the root"), "{said}");
}
