//! A page in a real browser.
//!
//! Without Chromium this is skipped, unless `ONTICK_REQUIRE_BROWSER=1` makes that a failure.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The browser's name, if it is installed.
pub fn chromium() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success()));
    let required = std::env::var("ONTICK_REQUIRE_BROWSER").is_ok_and(|v| v == "1");
    assert!(found.is_some() || !required, "chromium is not installed and ONTICK_REQUIRE_BROWSER=1 asks for it");
    if found.is_none() {
        ontick_skip::skipped!("chromium is not installed");
    }
    found
}

/// Opens a page, with options that say what to make of it, in a folder of its own: there are then its standard output as
/// `out`, its messages as `log`, and what it made besides: of the page once it has loaded, with all that is in it. A browser
/// that crashes or hangs, as happens on a machine short of memory, is started again.
pub fn open(browser: &str, page: &str, options: &[&str]) -> TempDir {
    for tried in 1.. {
        match try_open(browser, page, options) {
            Ok(folder) => return folder,
            Err(why) if tried < 3 => eprintln!("{why}"),
            Err(why) => panic!("{why}"),
        }
    }
    unreachable!()
}

/// The same once, or why the browser did not bring it to an end.
fn try_open(browser: &str, page: &str, options: &[&str]) -> Result<TempDir, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    fs::write(&file, page).unwrap();
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .args(options)
        .arg(format!("file://{}", file.display()))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::from(fs::File::create(folder.path().join("out")).unwrap()))
        .stderr(Stdio::from(fs::File::create(folder.path().join("log")).unwrap()))
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begun.elapsed() > Duration::from_secs(90) => {
                let _ = child.kill();
                break child.wait().unwrap();
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    if !status.success() {
        return Err(format!("{browser} ended with {status}:\n{}", text(&folder.path().join("log"))));
    }
    Ok(folder)
}

/// A file's text, whatever is in it.
pub fn text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
}
