//! A Pico beside a measurement: the firmware in an emulator, devices that speak its protocol, or something else.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ontick_gpio::{Edges, Line, Request};
use ontick_pico::{Command as Asked, LONGEST, Lost, Message, Reader, TICK_NS, TICKS_PER_SECOND, VERSION};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::gpio::Chip;
use crate::{Running, catches_interrupt, ontick, record, run, send, stderr, wait_until};

/// Edges on GP1 at the end of a run, one every 4 ticks: more than the firmware can keep.
const FLOOD: u64 = 30_000;
const FLOOD_TICKS: u64 = 4;

/// The firmware in rp2040js, at a serial port.
struct Emulated {
    node: Child,
    port: String,
    /// Without an open end at the host's side, too, the device sees an end.
    _held: File,
    /// Edges of the flood that were sent.
    flood_sent: Arc<AtomicU64>,
}

impl Emulated {
    /// Whose GP0 has the edges of this line; nothing where it was not built.
    ///
    /// The emulator is some fifty times slower than a Pico. The line's edges are known when the host says stop, as then they
    /// have all been made: the Pico sees them before it hears of it, at their distances, in its own time.
    fn seeing(line: &str) -> Option<Self> {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let is_there = Command::new(top.join("packaging/pico")).arg("--is-there").status();
        if !is_there.is_ok_and(|status| status.success()) {
            ontick_skip::skipped!("packaging/pico builds what this needs");
            return None;
        }
        let home = top.join("target/pico");
        let mut node = Command::new("node")
            .args([home.join("judge/port.mjs"), home.join("ontick-pico.uf2")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (device, port) = serial_port();
        let held = crate::open_terminal(&port);
        let line = Line::open(&line.parse().unwrap(), &Request::input().edges(Edges::Both)).unwrap();
        let (to_pico, from_pico) = (node.stdin.take().unwrap(), node.stdout.take().unwrap());
        let flood_sent = Arc::new(AtomicU64::new(0));
        let of_host = device.try_clone().unwrap();
        std::thread::spawn(move || from_host(of_host, line, to_pico));
        std::thread::spawn({
            let flood_sent = flood_sent.clone();
            move || to_host(from_pico, device, &flood_sent)
        });
        Some(Self { node, port, _held: held, flood_sent })
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}

/// Commands of the host, each with the edges that came before it; until one of the two is gone.
fn from_host(mut port: File, mut line: Line, mut to_pico: ChildStdin) {
    let (mut reader, mut bytes, mut frame) = (Reader::default(), [0; 256], Vec::new());
    while let Ok(count @ 1..) = port.read(&mut bytes) {
        for byte in &bytes[..count] {
            frame.push(*byte);
            let Some(asked) = reader.take(*byte).and_then(|frame| Asked::read(&frame)) else { continue };
            let edges = if asked == Asked::Stop { edges_until_now(&mut line) } else { Vec::new() };
            for text in [json!({ "edges": edges }), json!({ "bytes": std::mem::take(&mut frame) })] {
                if writeln!(to_pico, "{text}").is_err() {
                    return;
                }
            }
        }
    }
}

/// The line's edges, those of GP0, and the flood after them if there are any: [ns since the first, line, level].
fn edges_until_now(line: &mut Line) -> Vec<Value> {
    let edges: Vec<_> = std::iter::from_fn(|| line.edge(0).unwrap()).collect();
    let (Some(first), Some(last)) = (edges.first(), edges.last()) else { return Vec::new() };
    assert!(edges.iter().all(|edge| edge.lost == 0), "the chip remembers too few edges");
    let end_ns = last.time_ns - first.time_ns;
    let made = edges.iter().map(|edge| json!([edge.time_ns - first.time_ns, 0, edge.rising]));
    let flood = (1..=FLOOD).map(|n| json!([end_ns + n * FLOOD_TICKS * u64::from(TICK_NS), 1, n % 2 == 1]));
    made.chain(flood).collect()
}

/// What the Pico sends, until one of the two is gone.
fn to_host(mut from_pico: impl Read, mut port: File, flood_sent: &AtomicU64) {
    let (mut reader, mut bytes) = (Reader::default(), [0; 4096]);
    while let Ok(count @ 1..) = from_pico.read(&mut bytes) {
        for byte in &bytes[..count] {
            let Some(frame) = reader.take(*byte) else { continue };
            if let Some(Message::Edges(edges)) = Message::read(&frame) {
                flood_sent.fetch_add(edges.filter(|edge| edge.line == 1).count() as u64, Relaxed);
            }
        }
        if port.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

/// A serial port without a device: the end that is the device's, and the name of the other.
fn serial_port() -> (File, String) {
    let device = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&device).unwrap();
    unlockpt(&device).unwrap();
    let name = ptsname(&device, Vec::new()).unwrap().into_string().unwrap();
    (File::from(device), name)
}

/// What is at a serial port, and speaks.
struct Device {
    port: File,
    sequence: u8,
}

impl Device {
    fn say(&mut self, message: Message) {
        let mut frame = [0; LONGEST];
        let length = message.write(self.sequence, &mut frame);
        self.sequence = self.sequence.wrapping_add(1);
        self.port.write_all(&frame[..length]).unwrap();
    }

    fn done(&mut self, asked: Asked) {
        self.say(Message::Done { command: asked.kind(), refusal: None });
    }

    /// The answer to a hello.
    fn greet(&mut self, version: u8) {
        self.say(Message::Info { version, ticks_per_second: TICKS_PER_SECOND, lines: 8 });
        self.done(Asked::Hello { version });
    }
}

/// A device that answers each command as it is told to, and is gone when that says so; the name of its port.
fn device(mut answer: impl FnMut(&mut Device, Asked) -> bool + Send + 'static) -> String {
    let (port, name) = serial_port();
    let held = crate::open_terminal(&name);
    std::thread::spawn(move || {
        let (mut device, mut reader, mut bytes) = (Device { port, sequence: 0 }, Reader::default(), [0; 256]);
        while let Ok(count @ 1..) = device.port.read(&mut bytes) {
            for byte in &bytes[..count] {
                let Some(asked) = reader.take(*byte).and_then(|frame| Asked::read(&frame)) else { continue };
                if !answer(&mut device, asked) {
                    drop((device, held));
                    return;
                }
            }
        }
    });
    name
}

fn refused(observer: &str, words: &str) {
    let output = run(&["pulse", "--count", "10", "--observer", observer]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(words) && text.trim_end().lines().count() == 1, "{words}: {text}");
}

#[test]
fn the_firmware_times_the_pulses_of_a_line_and_counts_what_it_loses() {
    let chip = Chip::new("pico");
    let line = chip.line(17);
    let Some(pico) = Emulated::seeing(&line) else { return };
    let observer = format!("pico:{},channel=0,wire=7,timeout=5min", pico.port);
    let pulses = ["--count", "40", "--width", "50us", "--gap", "50us"];
    let output = run(&[&["pulse", "--output", &line, "--json", "--observer", &observer][..], &pulses].concat());
    let run_ = record(&output);

    let check = &run_["series"][0]["instrument_check"];
    let alignment = &check["alignment"];
    // Those before the count begins are compared, too.
    let own = check["own_edges"].as_u64().unwrap();
    assert!(own >= 80, "{check}");
    assert_eq!(alignment["matched"], own, "{check}");
    assert_eq!((&alignment["missing"]["count"], &alignment["extra"]["count"]), (&0.into(), &0.into()), "{alignment}");
    assert_eq!((&check["channels"][0], &check["instrument"]["rate_hz"]), (&"GP0".into(), &125_000_000.into()));
    let quantities = check["quantities"].as_array().unwrap();
    assert_eq!(quantities.len(), 2, "{check}");
    for quantity in quantities {
        for end in ["min_ns", "max_ns"] {
            // Each edge is at the first tick of 8 ns that is not before it; the rate of the clocks is found to 1 ppm.
            let difference_ns = quantity["difference"][end].as_f64().unwrap();
            assert!(difference_ns.abs() < 8.5, "{end} {quantity}");
        }
    }

    let lost = FLOOD - pico.flood_sent.load(Relaxed);
    assert!((1..FLOOD).contains(&lost), "{lost}");
    let words = "edges on its way here, where they came faster than they were taken";
    assert_eq!(of_observer(&run_), [format!("observer pico:{} lost {lost} {words}", pico.port)]);
}

#[test]
fn the_firmware_without_the_wire_fails_its_self_test() {
    let chip = Chip::new("pico-wire");
    let Some(pico) = Emulated::seeing(&chip.line(17)) else { return };
    refused(
        &format!("pico:{},channel=0,wire=6,timeout=5min", pico.port),
        "self-test: of 1000 edges 0 came, and 0 were said to be lost (a wire must join GP16 to GP6, and nothing else)",
    );
}

#[test]
fn what_is_no_pico_is_one_sentence_before_anything_is_measured() {
    refused("pico:/dev/no-such-port,channel=0", "observer pico:/dev/no-such-port: there is no such device");
    refused("pico:/dev/null,channel=0", "observer pico:/dev/null: it is no serial port");
    refused("pico:/dev/null", "name it, such as pico:/dev/null,channel=0");
    refused("pico:/dev/null,channel=8", "a line from 0 to 7");
    let response = run(&["latency", "response", "--observer", "pico:/dev/null,channel=0"]);
    assert!(stderr(&response).contains("such as pico:/dev/null,input=0,output=1"), "{}", stderr(&response));

    let silent = device(|_, _| true);
    refused(&format!("pico:{silent},channel=0"), "it does not answer");
    refused("pico:/dev/null,channel=0,timeout=never", "is no time to wait for an answer (such as timeout=30s)");
    let newer = device(|device, _| {
        device.greet(VERSION + 1);
        true
    });
    refused(
        &format!("pico:{newer},channel=0"),
        "its firmware has version 2 of the protocol and this program version 1",
    );
    let gone = device(|_, _| false);
    refused(&format!("pico:{gone},channel=0"), "the device is gone");
    let other = device(|device, _| {
        device.port.write_all(b"MicroPython v1.24\r\n>>> ").unwrap();
        true
    });
    refused(&format!("pico:{other},channel=0"), "what it sends is not from ontick's firmware");
}

#[test]
fn a_pico_that_says_the_same_for_ever_is_not_waited_for() {
    let is_over = Arc::new(AtomicBool::new(false));
    let stuck = device({
        let is_over = is_over.clone();
        move |device, asked| {
            match asked {
                Asked::Hello { version } => device.greet(version),
                _ => {
                    while !is_over.load(Relaxed) {
                        device.say(Message::Status { until: 7, sent: 0, lost: 0, gaps: 0 });
                        std::thread::sleep(Duration::from_millis(20));
                    }
                }
            }
            true
        }
    });
    refused(&format!("pico:{stuck},channel=0,timeout=2s"), "it does not answer");
    is_over.store(true, Relaxed);
}

#[test]
fn a_pico_that_does_not_stop_is_not_waited_for() {
    let is_over = Arc::new(AtomicBool::new(false));
    let endless = device({
        let is_over = is_over.clone();
        move |device, asked| {
            match asked {
                Asked::Hello { version } => device.greet(version),
                Asked::Stop => {
                    for turn in 1.. {
                        if is_over.load(Relaxed) {
                            break;
                        }
                        // A fifth of a second later each, in less than that.
                        let until = turn * u64::from(TICKS_PER_SECOND) / 5;
                        device.say(Message::Status { until, sent: 0, lost: 0, gaps: 0 });
                        std::thread::sleep(Duration::from_millis(100));
                    }
                }
                _ => device.done(asked),
            }
            true
        }
    });
    let chip = Chip::new("endless");
    let observer = format!("pico:{endless},channel=0,timeout=2s");
    let began = Instant::now();
    let run_ = record(&run(&["pulse", "--output", &chip.line(17), "--count", "50", "--json", "--observer", &observer]));
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    is_over.store(true, Relaxed);
    assert!(crate::samples(&run_["series"][0]) == 50 && run_["interrupted"] != true, "{run_}");
    let notes = of_observer(&run_);
    assert!(notes.iter().any(|note| note.contains("ended before the run did (it does not answer")), "{notes:?}");
}

#[test]
fn ctrl_c_ends_the_wait_for_a_pico() {
    let (sender, asked) = std::sync::mpsc::channel();
    let silent = device(move |_, _| sender.send(()).is_ok());
    let observer = format!("pico:{silent},channel=0,timeout=1h");
    let arguments = ["pulse", "--count", "10", "--observer", &observer];
    let mut child = Running(ontick(&arguments).stderr(Stdio::piped()).spawn().unwrap());
    asked.recv().unwrap();
    wait_until("the handler", || catches_interrupt(child.0.id()));
    send(child.0.id(), Signal::INT);
    assert_eq!(child.0.wait().unwrap().code(), Some(2));
    let mut text = String::new();
    child.0.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(text.contains("it had not answered when the run was ended"), "{text}");
}

#[test]
fn a_pico_that_is_unplugged_and_what_it_lost_are_said() {
    let name = device(|device, asked| {
        match asked {
            Asked::Hello { version } => {
                // The end of a frame for whoever had the port before.
                device.port.write_all(&[1, 2, 3]).unwrap();
                device.greet(version);
            }
            Asked::Start => {
                device.done(asked);
                device.say(Message::Lost(Lost { bank: 0, from: 10, to: 20, edges: Some(7) }));
                device.say(Message::Lost(Lost { bank: 0, from: 1_000, to: 126_000, edges: None }));
            }
            _ => return false,
        }
        true
    });
    let chip = Chip::new("unplugged");
    let observer = format!("pico:{name},channel=0,timeout=5min");
    let run_ =
        record(&run(&["pulse", "--output", &chip.line(17), "--count", "100", "--json", "--observer", &observer]));
    assert_eq!(crate::samples(&run_["series"][0]), 100);
    let notes = of_observer(&run_);
    let said = [
        "ended before the run did (the device is gone): what it recorded until then is compared",
        "lost 7 edges on its way here, where they came faster than they were taken",
        "did not see its lines 1 times, 1.000 ms in all, as edges came faster than it can take them",
    ];
    assert_eq!(notes, said.map(|words| format!("observer pico:{name} {words}")));
    assert!(run_["series"][0]["instrument_check"]["unaligned"].is_string(), "{run_}");
}

/// What a run notes of the instrument.
fn of_observer(run: &Value) -> Vec<&str> {
    let notes = run["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap());
    notes.filter(|note| note.starts_with("observer ")).collect()
}
