//! A Pico beside a measurement: the firmware in an emulator, and devices that are something else.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use ontick_pico::{Command as Asked, LONGEST, Message, Reader, TICKS_PER_SECOND, VERSION};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;

use crate::gpio::Chip;
use crate::{ontick, record, run, stderr};

/// A serial port without a device: the end that is the device's, and the name of the other.
fn serial_port() -> (File, String) {
    let device = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&device).unwrap();
    unlockpt(&device).unwrap();
    let name = ptsname(&device, Vec::new()).unwrap().into_string().unwrap();
    (File::from(device), name)
}

/// The emulated Pico at a serial port.
struct Emulated {
    node: Child,
    name: String,
    /// Keeps the port open at the host's end, too: without it the device sees an end.
    _held: File,
}

impl Emulated {
    /// Whose first lines see these; nothing where it was not built.
    fn seeing(lines: &[&str]) -> Option<Self> {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let is_there = Command::new(top.join("packaging/pico")).arg("--is-there").status();
        if !is_there.is_ok_and(|status| status.success()) {
            ontick_skip::skipped!("packaging/pico builds what this needs");
            return None;
        }
        let home = top.join("target/pico");
        let (device, name) = serial_port();
        let mut node = Command::new("node")
            .args([
                home.join("judge/bridge.mjs"),
                home.join("ontick-pico.uf2"),
                PathBuf::from(env!("CARGO_BIN_EXE_ontick")),
            ])
            .args(lines)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(node.stderr.take().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        let held = crate::open_terminal(&name);
        let (to_device, from_device) = (node.stdin.take().unwrap(), node.stdout.take().unwrap());
        pump(device.try_clone().unwrap(), to_device);
        pump(from_device, device);
        Some(Self { node, name, _held: held })
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}

/// From one to the other until one of them ends.
fn pump(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static) {
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if to.write_all(&bytes[..count]).and_then(|()| to.flush()).is_err() {
                break;
            }
        }
    });
}

/// A device that reads frames and answers each as it is told to, until it says nothing more to say and goes.
fn device(mut answer: impl FnMut(Asked) -> Option<Vec<Message<'static>>> + Send + 'static) -> (String, JoinHandle<()>) {
    let (mut port, name) = serial_port();
    let held = crate::open_terminal(&name);
    let thread = std::thread::spawn(move || {
        let (mut reader, mut bytes, mut sequence) = (Reader::default(), [0; 256], 0_u8);
        while let Ok(count @ 1..) = port.read(&mut bytes) {
            for byte in &bytes[..count] {
                let Some(asked) = reader.take(*byte).and_then(|frame| Asked::read(&frame)) else { continue };
                let Some(messages) = answer(asked) else {
                    drop((port, held));
                    return;
                };
                for message in messages {
                    let mut frame = [0; LONGEST];
                    let length = message.write(sequence, &mut frame);
                    sequence = sequence.wrapping_add(1);
                    port.write_all(&frame[..length]).unwrap();
                }
            }
        }
    });
    (name, thread)
}

fn info(version: u8) -> Message<'static> {
    Message::Info { version, ticks_per_second: TICKS_PER_SECOND, lines: 8 }
}

fn done(asked: Asked) -> Message<'static> {
    Message::Done { command: asked.kind(), refusal: None }
}

fn refused(observer: &str, words: &str) {
    let output = run(&["pulse", "--count", "10", "--observer", observer]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(words) && text.trim_end().lines().count() == 1, "{words}: {text}");
}

#[test]
fn the_emulated_pico_times_the_pulses_of_a_line() {
    let chip = Chip::new("pico");
    let line = chip.line(17);
    let Some(pico) = Emulated::seeing(&[&line]) else { return };
    let observer = format!("pico:{},channel=0,wire=7", pico.name);
    let output = ontick(&["pulse", "--output", &line, "--count", "60", "--json", "--observer", &observer]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let run_ = record(&output);
    assert_eq!(run_.get("notes"), None, "{}", run_["notes"]);
    let check = &run_["series"][0]["instrument_check"];
    let alignment = &check["alignment"];
    assert_eq!(alignment["matched"], check["own_edges"], "{check}");
    assert_eq!((&alignment["missing"]["count"], &alignment["extra"]["count"]), (&0.into(), &0.into()), "{alignment}");
    assert_eq!(check["instrument"]["rate_hz"], 125_000_000);
    assert_eq!(
        (&check["channels"][0], &check["observer"]),
        (&"GP0".into(), &Value::from(format!("pico:{}", pico.name)))
    );
    for quantity in check["quantities"].as_array().unwrap() {
        for end in ["min_ns", "max_ns"] {
            // Each edge is at the tick of 8 ns after it.
            let difference = quantity["difference"][end].as_f64().unwrap();
            assert!(difference.abs() <= 9.0, "{end} {quantity}");
        }
    }
}

#[test]
fn a_pico_without_the_wire_fails_its_self_test() {
    let chip = Chip::new("pico-wire");
    let Some(pico) = Emulated::seeing(&[&chip.line(17)]) else { return };
    refused(&format!("pico:{},channel=0,wire=6", pico.name), "self-test: of 1000 edges 0 came");
}

#[test]
fn what_is_no_pico_is_one_sentence_before_anything_is_measured() {
    refused("pico:/dev/no-such-port,channel=0", "observer pico:/dev/no-such-port: there is no such device");
    refused("pico:/dev/null,channel=0", "observer pico:/dev/null: it is no serial port");
    refused("pico:/dev/null", "name it, such as pico:/dev/null,channel=0");
    refused("pico:/dev/null,channel=8", "a line from 0 to 7");
    let response = run(&["latency", "response", "--observer", "pico:/dev/null,channel=0"]);
    assert!(stderr(&response).contains("such as pico:/dev/null,input=0,output=1"), "{}", stderr(&response));

    let (silent, _) = device(|_| Some(Vec::new()));
    refused(&format!("pico:{silent},channel=0"), "it does not answer");
    let (newer, _) = device(|asked| Some(vec![info(VERSION + 1), done(asked)]));
    refused(
        &format!("pico:{newer},channel=0"),
        "its firmware has version 2 of the protocol and this program version 1",
    );
    let (gone, _) = device(|_| None);
    refused(&format!("pico:{gone},channel=0"), "the device is gone");

    let (mut port, other) = serial_port();
    let held = crate::open_terminal(&other);
    let thread = std::thread::spawn(move || {
        let mut byte = [0];
        port.read_exact(&mut byte).unwrap();
        port.write_all(b"MicroPython v1.24\r\n>>> ").unwrap();
        // Until the program has gone.
        while port.read(&mut byte).is_ok_and(|count| count > 0) {}
    });
    refused(&format!("pico:{other},channel=0"), "what it sends is not from ontick's firmware");
    drop(held);
    thread.join().unwrap();
}

#[test]
fn a_pico_that_is_unplugged_and_what_it_lost_are_said() {
    let lost = ontick_pico::Lost { bank: 0, from: 10, to: 20, edges: Some(7) };
    let unseen = ontick_pico::Lost { bank: 0, from: 1_000, to: 126_000, edges: None };
    let (name, _) = device(move |asked| match asked {
        Asked::Hello { .. } => Some(vec![info(VERSION), done(asked)]),
        Asked::Start => Some(vec![done(asked), Message::Lost(lost), Message::Lost(unseen)]),
        _ => None,
    });
    let chip = Chip::new("unplugged");
    let output = run(&[
        "pulse",
        "--output",
        &chip.line(17),
        "--count",
        "100",
        "--json",
        "--observer",
        &format!("pico:{name},channel=0"),
    ]);
    let run_ = record(&output);
    assert_eq!(crate::samples(&run_["series"][0]), 100);
    let notes = run_["notes"].to_string();
    for words in [
        "ended before the run did (the device is gone)",
        "lost 7 edges on its way here",
        "did not see its lines 1 times, 1.000 ms in all",
    ] {
        assert!(notes.contains(&format!("observer pico:{name} {words}")), "{words}: {notes}");
    }
    assert!(run_["series"][0]["instrument_check"]["unaligned"].is_string(), "{run_}");
}
