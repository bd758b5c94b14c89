//! Bytes over a wire: a sender and a receiver as processes of their own, on simulated lines.
//!
//! The machine may stop either at any time, so nothing here depends on every frame's arriving: with a return line
//! everything must, without one what arrives must be right and what does not must be reported.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::{ontick, run, send, stderr};

/// A chip of a test's own, gone afterwards: 4 is joined to 17, and 5 to 18.
/// One test has one at a time: the ends' timed threads go before all others, also before those of other tests.
pub struct Chip {
    name: String,
    _alone: crate::apart::Alone,
}

impl Chip {
    pub fn new(test: &str, wire: &[&str]) -> Self {
        let _alone = crate::alone_on_this_machine();
        let chip = Self { name: format!("sim:link-{test}-{}", std::process::id()), _alone };
        for (from, to) in [(4, 17), (5, 18)] {
            let output = run(&[&["gpio", "wire", &chip.line(from), &chip.line(to)], wire].concat());
            assert!(output.status.success(), "{}", stderr(&output));
        }
        chip
    }

    pub fn line(&self, line: u32) -> String {
        format!("{}/{line}", self.name)
    }
}

impl Drop for Chip {
    fn drop(&mut self) {
        run(&["gpio", "remove", &self.name]);
    }
}

/// Slow enough for a loaded machine, in frames so short that few are hit by what stops an end there.
pub const CODE: [&str; 4] = ["--short", "40us", "--payload", "8"];
/// Bytes of the stream in one frame.
const PAYLOAD: usize = 8;

/// A receiver that listens; killed if the test fails half-way.
pub struct Receiver {
    child: Child,
    errors: BufReader<ChildStderr>,
}

impl Receiver {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = ontick(&[&["link", "recv"], arguments, &CODE[..]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut said = String::new();
        while !said.starts_with("Listening on ") {
            said.clear();
            assert!(errors.read_line(&mut said).unwrap() > 0, "it ended before it listened");
        }
        Self { child, errors }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The first byte that comes.
    pub fn first(&mut self) -> u8 {
        let mut first = [0];
        self.child.stdout.as_mut().expect("a pipe").read_exact(&mut first).unwrap();
        first[0]
    }

    /// Status, bytes, and what it said.
    pub fn end(mut self) -> (Option<i32>, Vec<u8>, String) {
        let mut bytes = Vec::new();
        self.child.stdout.take().expect("a pipe").read_to_end(&mut bytes).unwrap();
        let mut said = String::new();
        self.errors.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), bytes, said)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn data(length: u32) -> Vec<u8> {
    (0..length).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Sends data from a file to its end; status and what it said.
pub fn send_it(bytes: &[u8], arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, bytes).unwrap();
    let output = run(&[&["link", "send", "--file", file.to_str().unwrap()], arguments, &CODE[..]].concat());
    (output.status.code(), stderr(&output))
}

fn arrives_with_a_return_line(test: &str, by: &str, wire: &[&str], length: u32) {
    let chip = Chip::new(test, wire);
    let receiver = Receiver::start(&[
        "--input",
        &chip.line(17),
        "--return-output",
        &chip.line(5),
        "--method",
        by,
        "--timeout",
        "60s",
    ]);
    let sent = data(length);
    let patient = ["--output", &chip.line(4), "--return-input", &chip.line(18), "--timeout", "60s"];
    let (status, said) = send_it(&sent, &patient);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("all of it arrived") && said.contains("(simulated)"), "{said}");
    let (status, came, said) = receiver.end();
    assert_eq!((status, came == sent), (Some(0), true), "{} of {} bytes: {said}", came.len(), sent.len());
}

#[test]
fn with_a_return_line_everything_arrives() {
    // More frames than are under way at a time.
    arrives_with_a_return_line("return", "interrupt", &[], 300);
}

#[test]
fn jitter_and_delay_do_no_harm() {
    arrives_with_a_return_line("jitter", "interrupt", &["--delay", "5us", "--jitter", "8us"], 100);
}

#[test]
fn a_dead_time_below_the_pulses_does_no_harm() {
    arrives_with_a_return_line("dead", "interrupt", &["--dead-time", "20us"], 100);
}

#[test]
fn an_empty_stream_arrives_too() {
    arrives_with_a_return_line("empty", "interrupt", &[], 0);
}

/// Without a return line: what came is a piece of what was sent for every frame that is not reported missing. The machine
/// may stop either end for a whole try, but not each time.
#[test]
fn without_a_return_line_what_arrives_is_right_and_what_is_missing_is_reported() {
    let chip = Chip::new("oneway", &[]);
    assert!((0..5).any(|_| some_arrives_one_way(&chip)), "nothing came in five tries");
}

/// Whether anything came; if so, it was right.
fn some_arrives_one_way(chip: &Chip) -> bool {
    let receiver = Receiver::start(&["--input", &chip.line(17), "--timeout", "5s"]);
    let sent = data(160);
    let (status, said) = send_it(&sent, &["--output", &chip.line(4)]);
    assert_eq!(status, Some(0), "{said}");
    std::thread::sleep(std::time::Duration::from_millis(500));
    // If even the first frame was lost nobody would end it.
    if rustix::process::test_kill_process(pid(&receiver.child)).is_ok() {
        send(receiver.child.id(), Signal::INT);
    }
    let (status, came, said) = receiver.end();
    if status == Some(0) {
        assert_eq!(came, sent, "{said}");
        return true;
    }
    assert_eq!(status, Some(1), "{said}");
    assert!(["missing", "damaged", "never came", "nothing came"].iter().any(|words| said.contains(words)), "{said}");
    assert!(came.is_empty() || !said.contains("nothing came"), "{said}");
    // Every frame's bytes are there whole, in order.
    let mut rest = &sent[..];
    for piece in came.chunks(PAYLOAD) {
        let at = rest.chunks(PAYLOAD).position(|frame| frame == piece).unwrap_or_else(|| panic!("wrong bytes: {said}"));
        rest = &rest[(at * PAYLOAD + PAYLOAD).min(rest.len())..];
    }
    !came.is_empty()
}

fn pid(child: &Child) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(child.id() as i32).expect("a process id")
}

#[test]
fn a_killed_sender_leaves_the_receiver_telling() {
    let chip = Chip::new("killed", &[]);
    let mut receiver =
        Receiver::start(&["--input", &chip.line(17), "--return-output", &chip.line(5), "--timeout", "3s"]);
    let mut sender = ontick(
        &[
            &["link", "send", "--file", "/dev/urandom", "--output", &chip.line(4), "--return-input", &chip.line(18)],
            &CODE[..],
        ]
        .concat(),
    )
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    receiver.first();
    sender.kill().unwrap();
    sender.wait().unwrap();
    let (status, _, said) = receiver.end();
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("the end never came"), "{said}");
}

#[test]
fn nobody_answers_a_sender() {
    let chip = Chip::new("alone", &[]);
    let arguments = ["--output", &chip.line(4), "--return-input", &chip.line(18), "--timeout", "500ms"];
    let (status, said) = send_it(&data(100), &arguments);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("nobody answers"), "{said}");
    let levels = run(&["gpio", "get", &chip.line(4)]);
    assert!(crate::stdout(&levels).contains("=0"), "left low");
}

#[test]
fn ctrl_c_ends_a_receiver_that_hears_nothing() {
    let chip = Chip::new("silent", &[]);
    let receiver = Receiver::start(&["--input", &chip.line(17)]);
    send(receiver.child.id(), Signal::INT);
    let (status, came, said) = receiver.end();
    assert_eq!((status, came.len()), (Some(1), 0));
    assert!(said.contains("nothing came"), "{said}");
}

#[test]
fn a_test_counts_frames_and_bits() {
    for by in ["interrupt", "poll"] {
        counts_frames_and_bits(by);
    }
}

fn counts_frames_and_bits(by: &str) {
    let words = ["link", "test", "--frames", "4", "--short", "50us", "--code", "2x2", "--method", by, "--json"];
    let output = run(&words);
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&document["frames"], &document["false_frames"]), (&4.into(), &0.into()));
    let lost = document["frames_lost"].as_u64().expect("frames that were lost");
    assert_eq!(output.status.code(), Some(i32::from(lost > 0)), "{lost} lost: {}", stderr(&output));
    assert_eq!((&document["backend"], &document["alphabet"]), (&"simulated".into(), &"2x2".into()));
    assert!((document["raw_bits_per_s"].as_f64().unwrap() - 13_333.3).abs() < 1.0);
}

#[test]
fn what_cannot_be_is_said_in_one_sentence() {
    let chip = Chip::new("wrong", &[]);
    let (line, held) = (chip.line(4), chip.line(5));
    let cases: [(&[&str], &str); 8] = [
        (&["send", "--output", "nowhere at all"], "nowhere"),
        (&["send", "--output", &line, "--code", "3x1"], "powers of two"),
        (&["send", "--output", &line, "--short", "10ns"], "300ns"),
        (&["send", "--output", &line, "--parity", "201"], "parity"),
        (&["send", "--output", &line, "--payload", "0"], "payload"),
        (&["send", "--output", &line, "--file", "/no/such/file"], "/no/such/file"),
        (&["recv", "--input", &held, "--method", "ear"], "poll or interrupt"),
        (&["test", "--output", &line], "--input"),
    ];
    for (arguments, word) in cases {
        let output = run(&[&["link"], arguments].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with("ontick: ") && said.trim_end().lines().count() == 1, "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}
