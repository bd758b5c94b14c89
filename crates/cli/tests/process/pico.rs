//! A Pico beside a measurement: devices that speak its protocol, or something else.

use std::fs::File;
use std::io::{Read, Write};
use std::thread::JoinHandle;

use ontick_pico::{Command as Asked, LONGEST, Message, Reader, TICKS_PER_SECOND, VERSION};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::gpio::Chip;
use crate::{record, run, stderr};

/// A serial port without a device: the end that is the device's, and the name of the other.
fn serial_port() -> (File, String) {
    let device = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&device).unwrap();
    unlockpt(&device).unwrap();
    let name = ptsname(&device, Vec::new()).unwrap().into_string().unwrap();
    (File::from(device), name)
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
