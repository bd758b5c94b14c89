//! What goes wrong at a wire: settings that differ, ends that are missing, cut wires, noise, full disks.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::time::Duration;

use ontick_gpio::{Line, Name, OnExit, Request};
use rustix::process::Signal;

use crate::link::{CODE, Chip, Receiver, data, send_it};
use crate::{ontick, run, send, stderr, stdout};

/// A sender that is at work.
fn sender(arguments: &[&str]) -> Child {
    let child = ontick(&[&["link", "send"], arguments, &CODE[..]].concat()).stderr(Stdio::piped()).spawn();
    child.expect("the program starts")
}

/// Its status and what it said.
fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), stderr(&output))
}

/// Waits until so much is sent.
fn until_edges(chip: &Chip, count: u32) {
    let seen = run(&["gpio", "watch", &chip.line(17), "--count", &count.to_string()]);
    assert!(seen.status.success(), "{}", stderr(&seen));
}

fn is_low(line: &str) {
    assert!(stdout(&run(&["gpio", "get", line])).contains("=0"), "{line} is left low");
}

#[test]
fn a_sender_may_start_first_where_there_is_a_return_line() {
    let chip = Chip::new("early", &[]);
    let folder = tempfile::tempdir().unwrap();
    let (file, sent) = (folder.path().join("data"), data(100));
    std::fs::write(&file, &sent).unwrap();
    let (line, back) = (chip.line(4), chip.line(18));
    let file = file.to_str().unwrap();
    let sender = sender(&["--output", &line, "--return-input", &back, "--file", file, "--timeout", "60s"]);
    until_edges(&chip, 20);
    let receiver = Receiver::start(&["--input", &chip.line(17), "--return-output", &chip.line(5), "--timeout", "60s"]);
    let (status, said) = ended(sender);
    assert_eq!(status, Some(0), "{said}");
    let (status, came, said) = receiver.end();
    assert_eq!((status, came == sent), (Some(0), true), "{said}");
}

#[test]
fn what_was_sent_before_there_was_a_receiver_is_reported() {
    let chip = Chip::new("late", &[]);
    // What stops an end may take all that the receiver was there for, but not each time.
    assert!((0..5).any(|_| is_missed_by_a_late_receiver(&chip)), "nothing came in five tries");
}

/// Whether anything came to a receiver that begins behind the first frame; if so, it says that frames are missing.
fn is_missed_by_a_late_receiver(chip: &Chip) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, data(240)).unwrap();
    let sender = sender(&["--output", &chip.line(4), "--file", file.to_str().unwrap()]);
    // A frame of 8 bytes has some 1100 edges: the first is over then, beyond what parity replaces.
    until_edges(chip, 2_000);
    let receiver = Receiver::start(&["--input", &chip.line(17), "--timeout", "5s"]);
    assert_eq!(ended(sender).0, Some(0), "nobody tells it");
    send(receiver.id(), Signal::INT);
    let (status, came, said) = receiver.end();
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains(if came.is_empty() { "nothing came" } else { "missing" }), "{said}");
    !came.is_empty()
}

#[test]
fn ends_with_different_settings_say_so() {
    let chip = Chip::new("differ", &[]);
    let receiver = Receiver::start(&["--input", &chip.line(17), "--return-output", &chip.line(5), "--code", "8x8"]);
    let (line, back) = (chip.line(4), chip.line(18));
    let (status, said) = send_it(&data(200), &["--output", &line, "--return-input", &back, "--timeout", "2s"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("nobody answers (is the receiver running, with the same"), "{said}");
    send(receiver.id(), Signal::INT);
    let (status, came, said) = receiver.end();
    assert_eq!((status, came.len()), (Some(1), 0), "{said}");
    assert!(said.contains("do both ends have the same --code, --short and --step?"), "{said}");
}

#[test]
fn the_wire_is_cut_and_comes_back() {
    let chip = Chip::new("cut", &[]);
    let mut receiver =
        Receiver::start(&["--input", &chip.line(17), "--return-output", &chip.line(5), "--timeout", "60s"]);
    let folder = tempfile::tempdir().unwrap();
    let (file, sent) = (folder.path().join("data"), data(240));
    std::fs::write(&file, &sent).unwrap();
    let (line, back) = (chip.line(4), chip.line(18));
    let sender =
        sender(&["--output", &line, "--return-input", &back, "--file", file.to_str().unwrap(), "--timeout", "60s"]);
    let first = receiver.first();
    assert!(run(&["gpio", "unwire", &chip.line(17)]).status.success());
    std::thread::sleep(Duration::from_millis(300));
    assert!(run(&["gpio", "wire", &chip.line(4), &chip.line(17)]).status.success());
    let (status, said) = ended(sender);
    assert_eq!(status, Some(0), "{said}");
    let (status, came, said) = receiver.end();
    assert_eq!((status, [vec![first], came].concat() == sent), (Some(0), true), "{said}");
}

#[test]
fn noise_is_no_data() {
    let chip = Chip::new("noise", &[]);
    let receiver = Receiver::start(&["--input", &chip.line(17), "--return-output", &chip.line(5)]);
    let name: Name = chip.line(4).parse().unwrap();
    let mut line = Line::open(&name, &Request::output(false).on_exit(OnExit::Low)).unwrap();
    let (mut state, mut level) = (0x9e37_79b9_7f4a_7c15u64, false);
    for _ in 0..150_000 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let until = std::time::Instant::now() + Duration::from_nanos(500 + (state >> 50));
        while std::time::Instant::now() < until {}
        level = !level;
        line.write(level).unwrap();
    }
    drop(line);
    std::thread::sleep(Duration::from_secs(1));
    let status = std::fs::read_to_string(format!("/proc/{}/status", receiver.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak_kib < 100_000, "{peak}");
    send(receiver.id(), Signal::INT);
    let (status, came, said) = receiver.end();
    assert_eq!((status, came.len()), (Some(1), 0), "{said}");
    assert!(said.contains("noise") && said.contains("nothing came that could be read"), "{said}");
}

/// Ctrl-C in the middle of frames, at either end.
#[test]
fn an_end_that_is_ended_leaves_its_line_low() {
    let chip = Chip::new("ended", &[]);
    let mut receiver =
        Receiver::start(&["--input", &chip.line(17), "--return-output", &chip.line(5), "--timeout", "60s"]);
    let sender = sender(&["--output", &chip.line(4), "--return-input", &chip.line(18), "--file", "/dev/urandom"]);
    receiver.first();
    send(receiver.id(), Signal::INT);
    let (status, _, said) = receiver.end();
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("the end never came"), "{said}");
    is_low(&chip.line(5));
    // It goes on asking.
    until_edges(&chip, 20);
    send(sender.id(), Signal::INT);
    let (status, said) = ended(sender);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("ended before everything was sent"), "{said}");
    is_low(&chip.line(4));
}

#[test]
fn a_killed_receiver_leaves_the_sender_telling() {
    let chip = Chip::new("killed-recv", &[]);
    let mut receiver =
        Receiver::start(&["--input", &chip.line(17), "--return-output", &chip.line(5), "--timeout", "60s"]);
    let (line, back) = (chip.line(4), chip.line(18));
    let sender = sender(&["--output", &line, "--return-input", &back, "--file", "/dev/urandom", "--timeout", "5s"]);
    receiver.first();
    drop(receiver);
    let (status, said) = ended(sender);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("nobody answers"), "{said}");
}

/// What the one before had is gone with it, so the new one cannot complete the stream, and the sender must not say that.
#[test]
fn a_receiver_that_is_started_anew_does_not_count_as_the_one_before() {
    let chip = Chip::new("anew-recv", &[]);
    let (input, answers) = (chip.line(17), chip.line(5));
    let receiving = ["--input", &input, "--return-output", &answers, "--timeout", "5s"];
    let mut receiver = Receiver::start(&receiving);
    let (line, back) = (chip.line(4), chip.line(18));
    let arguments = ["link", "send", "--output", &line, "--return-input", &back, "--timeout", "5s"];
    let mut sender =
        ontick(&[&arguments, &CODE[..]].concat()).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut bytes = sender.stdin.take().unwrap();
    // One frame each. The acknowledgement follows what is handed on.
    for byte in *b"abc" {
        bytes.write_all(&[byte]).unwrap();
        assert_eq!(receiver.first(), byte);
    }
    std::thread::sleep(Duration::from_millis(500));
    drop(receiver);
    let receiver = Receiver::start(&receiving);
    bytes.write_all(b"d").unwrap();
    drop(bytes);
    let (status, said) = ended(sender);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("nobody answers"), "{said}");
    send(receiver.id(), Signal::INT);
    let (status, came, said) = receiver.end();
    assert_eq!((status, came.len()), (Some(1), 0), "{said}");
}

#[test]
fn a_full_disk_ends_the_receiver_with_a_sentence() {
    let chip = Chip::new("full", &[]);
    let (line, back) = (chip.line(17), chip.line(5));
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut child = ontick(
        &[&["link", "recv", "--input", &line, "--return-output", &back, "--timeout", "60s"], &CODE[..]].concat(),
    )
    .stdout(full)
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("Listening on ") {
        assert!(errors.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let (line, back) = (chip.line(4), chip.line(18));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, data(100)).unwrap();
    let file = file.to_str().unwrap();
    let sender = sender(&["--output", &line, "--return-input", &back, "--file", file, "--timeout", "60s"]);
    said.clear();
    errors.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{said}");
    // What the receiver could not write it did not acknowledge. Else its sender would have ended by now.
    std::thread::sleep(Duration::from_secs(1));
    send(sender.id(), Signal::INT);
    let (status, sender_said) = ended(sender);
    assert_eq!(status, Some(1), "{sender_said}");
    assert!(said.contains("ontick: cannot write what was received") && said.trim_end().lines().count() == 1, "{said}");
}
