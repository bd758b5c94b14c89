//! `ontick sample --watch` on a terminal.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::terminal::Terminal;
use crate::{ontick, run, send, wait_until};

fn on(terminal: &Terminal, arguments: &[&str]) -> Child {
    ontick(arguments).stdout(terminal.side()).stderr(terminal.side()).spawn().unwrap()
}

/// Where it listens, as it said before the view took the terminal.
fn address(terminal: &Terminal) -> String {
    let said = terminal.shown();
    let address = said.lines().find_map(|line| line.trim().strip_prefix("listening on tcp "));
    address.expect("it says where it listens").to_string()
}

#[test]
fn the_live_view_fits_and_tells_everything() {
    for (columns, rows) in [(80, 24), (50, 24), (120, 50)] {
        let terminal = Terminal::of(columns, rows);
        let arguments =
            ["sample", "--rate", "1kHz", "--source", "wave:sine,50Hz", "--to", "tcp:127.0.0.1:0", "--watch"];
        let mut child = on(&terminal, &arguments);
        terminal.wait_for("\x1b[?1049h");
        let mut client = BufReader::new(TcpStream::connect(address(&terminal)).unwrap());
        let port = client.get_ref().local_addr().unwrap().port().to_string();
        client.read_line(&mut String::new()).unwrap();
        let drain = std::thread::spawn(move || client.read_to_end(&mut Vec::new()));

        // Its row counts what it got, and the signal is drawn.
        let has_dots = |text: &str| text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c));
        let gets = |line: &str| line.contains(&port) && line.contains(|c: char| ('1'..='9').contains(&c));
        let picture = terminal.wait_for_picture("its client and the signal", |text| {
            has_dots(text) && text.lines().any(gets) && text.contains("/s of 1000/s") && text.contains("sine: -")
        });
        let text = picture.join("\n");
        for word in ["missed", " too late · ", "ring", "at most", "listens", "p99", "Ctrl-C ends"] {
            assert!(text.contains(word), "{columns}: {word} is not in\n{text}");
        }
        assert!(picture.len() <= usize::from(rows), "{columns} x {rows}:\n{text}");
        assert!(picture.iter().all(|line| line.chars().count() <= usize::from(columns)), "{columns}:\n{text}");

        send(child.id(), Signal::INT);
        assert!(child.wait().unwrap().success());
        drain.join().unwrap().unwrap();
        terminal.wait_for("\x1b[?25h\x1b[?1049l");
        terminal.wait_for("samples handed on");
        assert!(!terminal.shown().contains('\u{fffd}'), "nothing was cut within a character");
    }
}

#[test]
fn a_client_that_went_is_shown_as_such() {
    let terminal = Terminal::open();
    let mut child = on(&terminal, &["sample", "--source", "wave:ramp", "--to", "tcp:127.0.0.1:0", "--watch"]);
    terminal.wait_for("\x1b[?1049h");
    let client = TcpStream::connect(address(&terminal)).unwrap();
    let port = client.local_addr().unwrap().port().to_string();
    terminal.wait_for_picture("it is there", |text| text.contains(&port));
    drop(client);
    let is_gone = |line: &str| line.contains(&port) && line.ends_with("gone");
    terminal.wait_for_picture("it is gone", |text| text.lines().any(is_gone));
    send(child.id(), Signal::INT);
    assert!(child.wait().unwrap().success());
}

#[test]
fn samples_and_the_view_do_not_share_a_terminal() {
    let terminal = Terminal::open();
    let mut child = on(&terminal, &["sample", "--source", "wave:sine", "--to", "-", "--watch", "--count", "5"]);
    assert_eq!(child.wait().unwrap().code(), Some(2));
    terminal.wait_for("cannot share a terminal");
    assert!(!terminal.shown().contains("\x1b[?1049h"), "nothing was drawn");
}

#[test]
fn samples_to_a_program_are_only_samples_while_the_terminal_shows_the_view() {
    let terminal = Terminal::open();
    let mut child = ontick(&["sample", "--source", "wave:sine", "--to", "-", "--watch", "--count", "2000"])
        .stdout(Stdio::piped())
        .stderr(terminal.side())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let values: Vec<Value> = lines.map(|line| serde_json::from_str(&line).expect("every line is JSON")).collect();
    assert_eq!(values.iter().filter(|value| value["number"].is_u64()).count(), 2000);
    assert!(child.wait().unwrap().success());
    terminal.wait_for_picture("the view", |text| text.contains("stdout"));
    terminal.wait_for("\x1b[?25h\x1b[?1049l");
}

#[test]
fn who_only_watches_keeps_nothing() {
    let output = run(&["sample", "--source", "wave:sine", "--watch", "--count", "20", "--json"]);
    let record: Value = serde_json::from_slice(&output.stdout).expect("standard output is the record's");
    assert_eq!(crate::samples(&record["series"][0]), 20);
}

#[test]
fn a_trigger_that_never_fires_is_waited_for_in_words() {
    let chip = format!("test-waits-{}", std::process::id());
    let trigger = format!("sim:{chip}/4:rising");
    let waits = format!("waiting for an edge of line sim:{chip}/4 (rising)");
    let arguments = ["sample", "--trigger", &trigger, "--source", "wave:ramp"];

    let terminal = Terminal::open();
    let mut child = on(&terminal, &[&arguments[..], &["--watch"]].concat());
    terminal.wait_for_picture("what is waited for", |text| text.contains(&waits) && text.contains("no sample yet"));
    send(child.id(), Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(2));
    terminal.wait_for("\x1b[?25h\x1b[?1049l");
    terminal.wait_for("so nothing was measured");

    // Without a terminal it is said once, and again at the end.
    let mut child = ontick(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), waits);
    send(child.id(), Signal::INT);
    wait_until("its end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(2));
    line.clear();
    said.read_to_string(&mut line).unwrap();
    assert!(line.starts_with("ontick: the run was ended while it waited for an edge"), "{line}");
    run(&["gpio", "remove", &format!("sim:{chip}")]);
}

/// An editor's terminal shows them as they are.
#[test]
fn a_dumb_terminal_gets_no_control_sequences() {
    for arguments in [
        &["latency", "timer", "--watch", "--count", "300", "--policy", "other"][..],
        &["latency", "wakeup", "--watch", "--count", "300", "--policy", "other"],
    ] {
        let terminal = Terminal::of(80, 24);
        let mut child =
            ontick(arguments).env("TERM", "dumb").stdout(terminal.side()).stderr(terminal.side()).spawn().unwrap();
        child.wait().unwrap();
        terminal.wait_for("machine");
        let shown = terminal.shown();
        assert!(!shown.contains('\x1b'), "{arguments:?}: {shown:?}");
    }
}
