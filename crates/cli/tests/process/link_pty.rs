//! Two terminals joined by simulated wires, each a process of its own.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::Signal;

use crate::link::{Chip, data};
use crate::{ontick, run, send, stderr, stdout};

/// Nothing takes that long, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(120);

struct Pty {
    child: Child,
    path: String,
}

impl Pty {
    /// The first end drives 4 and looks at 18; the second 5 and 17. Each sends from a CPU of its own where there is one.
    fn start(chip: &Chip, first: bool, more: &[&str]) -> Self {
        let (line, back) = if first { (4, 18) } else { (5, 17) };
        let cpus = ontick_rt::cpus::allowed();
        let cpu = if first { cpus[0] } else { cpus[cpus.len() - 1] }.to_string();
        let (line, back) = (chip.line(line), chip.line(back));
        let arguments = ["link", "pty", "--output", &line, "--input", &back, "--code", "2x2", "--short", "60us"];
        let mut child = ontick(&[&arguments[..], &["--cpu", &cpu], more].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut path = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut path).unwrap();
        assert!(path.starts_with("/dev/"), "{path:?}");
        Self { child, path: path.trim_end().into() }
    }

    fn open(&self) -> File {
        crate::open_terminal(&self.path)
    }

    /// Ends it by Ctrl-C; what it said.
    fn end(mut self) -> String {
        send(self.child.id(), Signal::INT);
        let mut said = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut said).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(1), "{said}");
        said
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads so many bytes.
fn read(file: &File, length: usize) -> Vec<u8> {
    let (reported, heard) = mpsc::channel();
    let mut file = file.try_clone().unwrap();
    std::thread::spawn(move || {
        let mut bytes = vec![0; length];
        let _ = reported.send(file.read_exact(&mut bytes).map(|()| bytes));
    });
    heard.recv_timeout(PATIENCE).expect("it comes in time").unwrap()
}

#[test]
fn bytes_go_both_ways_at_once() {
    let chip = Chip::new("pty", &[]);
    let (first, second) = (Pty::start(&chip, true, &[]), Pty::start(&chip, false, &[]));
    let (one, two) = (first.open(), second.open());
    let (there, back) = (data(400), data(700)[300..].to_vec());
    std::thread::scope(|scope| {
        scope.spawn(|| (&one).write_all(&there).unwrap());
        scope.spawn(|| (&two).write_all(&back).unwrap());
        let came = scope.spawn(|| read(&one, back.len()));
        assert!(read(&two, there.len()) == there);
        assert!(came.join().unwrap() == back);
    });
    let said = first.end();
    assert!(said.contains("sent 400 bytes, received 400") && said.contains("(simulated)"), "{said}");
    second.end();
    let levels = run(&["gpio", "get", &chip.line(4), &chip.line(5)]);
    assert!(!stdout(&levels).contains("=1"), "both are left low");
}

#[test]
fn what_comes_while_nobody_has_the_terminal_open_is_there_later() {
    let chip = Chip::new("pty-closed", &[]);
    let (first, second) = (Pty::start(&chip, true, &[]), Pty::start(&chip, false, &[]));
    let one = first.open();
    for word in ["before", "after"] {
        (&one).write_all(word.as_bytes()).unwrap();
        // Opened anew for each word, whether that has come by then or not.
        let two = second.open();
        assert_eq!(String::from_utf8(read(&two, word.len())).unwrap(), word);
        (&two).write_all(b"yes").unwrap();
        drop(two);
        assert_eq!(read(&one, 3), b"yes");
    }
}

#[test]
fn the_wire_is_cut_and_comes_back() {
    let chip = Chip::new("pty-cut", &[]);
    let (first, second) = (Pty::start(&chip, true, &[]), Pty::start(&chip, false, &[]));
    let (one, two) = (first.open(), second.open());
    (&one).write_all(b"hello").unwrap();
    assert_eq!(read(&two, 5), b"hello");
    assert!(run(&["gpio", "unwire", &chip.line(17)]).status.success());
    (&one).write_all(b"into the void").unwrap();
    (&two).write_all(b"still heard").unwrap();
    assert_eq!(read(&one, 11), b"still heard");
    assert!(run(&["gpio", "wire", &chip.line(4), &chip.line(17)]).status.success());
    assert_eq!(read(&two, 13), b"into the void");
}

#[test]
fn one_end_is_killed_and_the_other_goes_on() {
    let chip = Chip::new("pty-killed", &[]);
    let first = Pty::start(&chip, true, &[]);
    let mut second = Pty::start(&chip, false, &[]);
    let one = first.open();
    (&one).write_all(b"to the first").unwrap();
    (&second.open()).write_all(b"from the first").unwrap();
    assert_eq!(read(&second.open(), 12), b"to the first");
    assert_eq!(read(&one, 14), b"from the first");
    second.child.kill().unwrap();
    second.child.wait().unwrap();
    (&one).write_all(b"under way").unwrap();
    let second = Pty::start(&chip, false, &[]);
    let two = second.open();
    // The last word may have been acknowledged by nobody: then it comes once more.
    let came = read(&two, 9);
    let came = if came == b"under way" { came } else { [came, read(&two, 12)].concat().split_off(12) };
    assert_eq!(came, b"under way");
    (&two).write_all(b"from the second").unwrap();
    assert_eq!(read(&one, 15), b"from the second");
    let said = first.end();
    assert!(said.contains("the other end was restarted"), "{said}");
}

#[test]
fn a_link_leads_to_the_terminal_and_replaces_nothing() {
    let chip = Chip::new("pty-link", &[]);
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("wire");
    let name = at.to_str().unwrap();
    let pty = Pty::start(&chip, true, &["--link", name]);
    assert_eq!(std::fs::read_link(&at).unwrap().to_str(), Some(&pty.path[..]));
    let (line, back) = (chip.line(5), chip.line(17));
    let refused = run(&["link", "pty", "--output", &line, "--input", &back, "--link", name]);
    let said = stderr(&refused);
    assert!(refused.status.code() == Some(2) && said.contains("something is there already"), "{said}");
    pty.end();
    assert!(std::fs::symlink_metadata(&at).is_err(), "gone at the end");
    std::fs::write(&at, "mine").unwrap();
    let refused = run(&["link", "pty", "--output", &line, "--input", &back, "--link", name]);
    assert_eq!((refused.status.code(), std::fs::read_to_string(&at).unwrap()), (Some(2), "mine".into()));
}
