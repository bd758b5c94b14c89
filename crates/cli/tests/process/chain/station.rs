//! A station's own frames on the user data plane: through its interface to the core, and onto the wire in their windows.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ontick_switch::user::packet::PacketPort;
use ontick_switch::user::port::{Port, Sent};
use serde_json::Value;

use crate::put_back::RevertSwitches;
use crate::wire_capture::{Capture, Frame, Gates, Verdict, Wire, tai_ahead_ns};
use crate::{alone_on_this_machine, has, namespace::namespace, ontick, stderr, stdout, wait_until};

const FRAMES: u64 = 500;
const CAMERA: &str = r#"[switch]
name = "camera"
role = "station"
plane = "user"

[[class]]
name = "red"
queue = 5
match = [{ pcp = 5 }]

[[class]]
name = "blue"
queue = 0

[[port]]
name = "wire"
rate = "1Gbit"

[port.gates]
cycle = "1ms"
entries = [{ open = ["blue"], for = "600us" }, { open = ["red"], for = "400us" }]
"#;

#[test]
fn a_stations_own_frames_leave_in_their_windows() {
    if !["ip", "tc", "tcpdump"].into_iter().all(has) {
        return;
    }
    let (Some(here), Some(far)) = (namespace(), namespace()) else { return };
    here.join("wire", &far, "far").unwrap();
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("camera.toml").display().to_string();
    fs::write(&file, CAMERA).unwrap();
    let state = folder.path().join("state").display().to_string();
    let _as_before = RevertSwitches { here: &here, state: state.as_ref() };
    let switch = |words: &[&str]| -> Output {
        let mut command = ontick(&[&["switch"], words, &["--state", &state]].concat());
        here.within(|| command.output()).unwrap().unwrap()
    };
    let links = || here.run("ip", &["-o", "link", "show"]).unwrap();
    let before = links();
    let applied = switch(&["apply", &file]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let report = || -> Value {
        serde_json::from_slice::<Value>(&switch(&["status", "--json"]).stdout).unwrap()["report"].clone()
    };
    wait_until("it to work", || report().is_object());
    // As the file says: nothing is to be done.
    let again = switch(&["apply", &file]);
    assert!(again.status.success(), "{}", stderr(&again));

    // This machine's network stack, both ways.
    here.ip(&["addr", "add", "10.9.9.1/24", "dev", "camera"]).unwrap();
    far.ip(&["addr", "add", "10.9.9.2/24", "dev", "far"]).unwrap();
    let listener = far.within(|| TcpListener::bind("10.9.9.2:0")).unwrap().unwrap();
    let octets: Vec<u8> = (0..100_000u32).map(|n| ((n * 7) >> 3) as u8).collect();
    let to = listener.local_addr().unwrap();
    let receiver = std::thread::spawn(move || {
        let mut received = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut received).map(|_| received)
    });
    let mut stream = here.within(|| TcpStream::connect(to)).unwrap().unwrap();
    stream.write_all(&octets).unwrap();
    drop(stream);
    assert!(receiver.join().unwrap().unwrap() == octets, "what was sent");

    // Before their base time gates are open.
    let base = Duration::from_nanos(report()["base_ns"].as_u64().unwrap() - tai_ahead_ns());
    wait_until("the gates to begin", || SystemTime::now().duration_since(UNIX_EPOCH).unwrap() > base);
    let capture = far.within(|| Capture::begin("far", &folder.path().join("far.pcap"))).unwrap().unwrap();
    let mut port = here.within(|| PacketPort::open("camera", 64)).unwrap().unwrap();
    let mut frame =
        [&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1][..], &[0x81, 0, 5 << 5, 0, 0x88, 0xb5], b"sta", &[0; 40]].concat();
    for number in 0..FRAMES {
        frame[22..27].copy_from_slice(&number.to_be_bytes()[3..]);
        assert_eq!(port.send(&frame), Sent::Done);
        std::thread::sleep(Duration::from_micros(300));
    }
    let wire = |report: &Value, key: &str| report["counters"]["ports"][1]["queues"][5][key].as_u64().unwrap();
    wait_until("all to be sent or counted", || {
        let report = report();
        wire(&report, "sent") + wire(&report, "full") + wire(&report, "no_window") >= FRAMES
    });
    let frames: Vec<Frame> =
        capture.end().into_iter().filter(|frame| frame.mark().is_some_and(|mark| mark.run == *b"sta")).collect();
    let report = report();
    assert_eq!(frames.len() as u64, wire(&report, "sent"), "{report}");
    assert!(frames.windows(2).all(|pair| pair[0].mark() < pair[1].mark()), "each once, in order");
    assert!(frames.iter().all(|of| of.bytes[..18] == frame[..18]), "with their tag");
    let gates = Gates { base_ns: 0, list: vec![(1, 600_000), (1 << 5, 400_000)] };
    let mut line = Wire::new(1_000_000_000);
    let ahead_ns = tai_ahead_ns();
    let verdicts = frames.iter().map(|frame| gates.judge(5, line.carry(frame.at_ns + ahead_ns, frame.octets), 10_000));
    let outside = verdicts.filter(|verdict| *verdict != Verdict::Inside).count() as u64;
    let late = wire(&report, "late");
    assert!(outside <= late, "{outside} outside, {late} late");

    let reverted = switch(&["revert"]);
    assert!(stdout(&reverted).contains("everything else is as before"), "{}{}", stdout(&reverted), stderr(&reverted));
    wait_until("the interfaces to be as before", || links() == before);
}
