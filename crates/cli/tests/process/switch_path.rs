//! The data path of a switch, stage by stage: `ontick switch status --watch` and `--svg`, against the counters of the
//! kernel and frames that were counted by hand.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use ontick_switch::user::packet::PacketPort;
use ontick_switch::user::port::{Port, Received, Sent};
use rustix::process::Signal;
use serde_json::Value;

use super::switch_user::{Bench, bench};
use super::terminal::Terminal;
use super::{send, stderr, stdout, wait_until};

fn frame(octets: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa, 0x88, 0xb5];
    frame.resize(octets, 0);
    frame
}

/// 20 frames that come through, 20 that the far end does not take, and 7 from nobody's address.
pub(super) fn with_frames() -> Option<Bench> {
    let bench = bench()?;
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    bench.far.ip(&["link", "set", "dev", "far1", "mtu", "1000"]).unwrap();
    let open = |name: &str| bench.far.within(|| PacketPort::open(name, 1024)).unwrap().unwrap();
    let (mut from, mut to) = (open("far0"), open("far1"));
    for _ in 0..20 {
        assert_eq!(from.send(&frame(1514)), Sent::Done);
        assert_eq!(from.send(&frame(200)), Sent::Done);
    }
    for _ in 0..7 {
        let mut nobody = frame(100);
        nobody[6..12].fill(0);
        assert_eq!(from.send(&nobody), Sent::Done);
    }
    for _ in 0..20 {
        wait_until("the shorter frames to come", || to.receive(&mut [0; 2048]) == Received::Frame(200));
    }
    let counted = |status: &Value, what: &str| status["report"]["counters"]["ports"][1]["queues"][0][what].as_u64();
    wait_until("every frame to be counted", || {
        let status = bench.status();
        counted(&status, "refused") == Some(20)
            && status["report"]["counters"]["ports"][0]["malformed"].as_u64() == Some(7)
    });
    Some(bench)
}

#[test]
fn the_data_path_has_counters_at_each_stage() {
    let Some(bench) = with_frames() else { return };
    let picture = bench.folder.path().join("path.svg");
    let status = bench.switch(&["status", "--svg", picture.to_str().unwrap()]);
    assert!(status.status.success() && stdout(&status).contains("picture: "), "{}", stderr(&status));
    let drawn = std::fs::read_to_string(&picture).unwrap();
    for part in [
        ">ingress<",
        ">classifier<",
        ">queue<",
        ">gate<",
        ">egress<",
        ">47 came in<",
        ">40 forwarded<",
        ">✕ 7 malformed<",
        "data-name=\"port1 blue\"",
        ">✕ 20 refused by the interface<",
        "gates with a cycle of 1",
    ] {
        assert!(drawn.contains(part), "{part}: {drawn}");
    }
    // The kernel counts the same at the port: 47 came in (beside its own chatter, of which this bench has none).
    let shown = bench.here.run("ip", &["-s", "-j", "link", "show", "dev", "port0"]).unwrap();
    let links: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(links[0]["stats64"]["rx"]["packets"], 47, "{shown}");
}

/// `switch status --watch` with standard error on this terminal.
fn watching(bench: &Bench, terminal: &Terminal, term: &str, output: impl Into<Stdio>) -> Child {
    let mut command = bench.command(&["status", "--watch"]);
    command.env("TERM", term).stdout(output).stderr(terminal.side());
    bench.here.within(|| command.spawn()).unwrap().unwrap()
}

#[test]
fn a_dumb_terminal_gets_plain_lines_of_a_watched_switch() {
    let Some(bench) = with_frames() else { return };
    let terminal = Terminal::open();
    let mut child = watching(&bench, &terminal, "dumb", terminal.side());
    terminal.wait_for("   0 s  port1 blue: classifier 40, queue 40, gate 40, egress 20, waiting 0, dropped 20\r\n");
    // Another second, for as long as nobody ends it.
    terminal.wait_for("   1 s  port0 blue: ");
    send(child.id(), Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!terminal.shown().contains('\u{1b}'), "{:?}", terminal.shown());
}

#[test]
fn who_reads_a_watched_switch_gets_lines_whatever_the_terminal_beside() {
    let Some(bench) = with_frames() else { return };
    let terminal = Terminal::open();
    let mut child = watching(&bench, &terminal, "xterm", Stdio::piped());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut line = || lines.next().expect("lines go on").unwrap();
    let first: Vec<String> = (0..4).map(|_| line()).collect();
    assert!(first[2].starts_with("   0 s  port1 blue: classifier 40, "), "{first:?}");
    assert!(line().starts_with("   1 s  port0 blue: "));
    send(child.id(), Signal::INT);
    assert_eq!((child.wait().unwrap().code(), terminal.shown().as_str()), (Some(0), ""));
}

#[test]
fn a_watched_switch_fills_the_screen_and_leaves_it() {
    let Some(bench) = with_frames() else { return };
    let terminal = Terminal::open();
    let mut child = watching(&bench, &terminal, "xterm", terminal.side());
    let picture = terminal.wait_for_picture("the data path", |picture| picture.contains("refused by the interface"));
    assert!(picture.iter().all(|line| line.trim_end().chars().count() <= 80), "{picture:?}");
    assert!(picture.iter().any(|line| line.contains("20 dropped at the egress")), "{picture:?}");
    send(child.id(), Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    wait_until("the terminal to be as it was", || terminal.shown().contains("\u{1b}[?1049l"));
}
