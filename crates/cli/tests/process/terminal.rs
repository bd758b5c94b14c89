//! A terminal of the test's own, and all that was shown there.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::sync::{Arc, Mutex};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

pub struct Terminal {
    /// Kept open for programs to be started on.
    side: File,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    pub fn open() -> Self {
        Self::of(80, 24)
    }

    /// With so many columns and rows.
    pub fn of(columns: u16, rows: u16) -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap();
        let side = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        tcsetwinsize(&side, Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, seen) = (File::from(keyboard), shown.clone());
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut part) {
                seen.lock().unwrap().extend(&part[..length]);
            }
        });
        Self { side, shown }
    }

    pub fn side(&self) -> File {
        self.side.try_clone().unwrap()
    }

    /// All that was shown so far, with what steers the terminal.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    pub fn wait_for(&self, text: &str) {
        crate::wait_until(&format!("{text:?} on the terminal"), || self.shown().contains(text));
    }

    /// Waits for a picture on the other screen that `is_it`; as lines, without what steers the terminal.
    pub fn wait_for_picture(&self, what: &str, is_it: impl Fn(&str) -> bool) -> Vec<String> {
        let mut found = None;
        crate::wait_until(what, || {
            found = pictures(&self.shown()).into_iter().find(|picture| is_it(picture));
            found.is_some()
        });
        found.unwrap_or_default().lines().map(String::from).collect()
    }
}

/// The whole pictures that were drawn on the other screen, one after the other.
fn pictures(shown: &str) -> Vec<String> {
    let whole = shown.split("\x1b[H").skip(1).filter_map(|picture| picture.split_once("\x1b[J"));
    whole.map(|(picture, _)| plain(picture)).collect()
}

fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split("\x1b[");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).get(1..).unwrap_or_default());
    }
    plain.replace('\r', "")
}
