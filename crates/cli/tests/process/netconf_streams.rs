//! Streams of a switch that works, changed by NETCONF: what frames pass, and what is counted.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::netconf::{Talk, edit, managed};
use super::switch_user::Bench;
use super::{stderr, stdout, wait_until};

const FRAMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/process/netconf_streams.py");
const BRIDGE: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-bridge";
const PSFP: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-psfp-bridge";
const STREAMS: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-stream-identification";

/// A stream of frames that may carry so many octets.
fn stream(size: u32) -> String {
    format!(
        "<edit-config><target><candidate/></target><config><stream-identity xmlns='{STREAMS}'><index>1</index><handle>5\
         </handle><out-facing><input-port>port0</input-port></out-facing><null-stream-identification><destination-mac>02-00-00-00-01-0A</destination-mac><tagged>all</tagged>\
         <vlan>0</vlan></null-stream-identification></stream-identity><bridges xmlns='{BRIDGE}'><bridge><name>cell</name>\
         <component><name>cell</name><stream-gates xmlns='{PSFP}'><stream-gate-instance-table><stream-gate-instance-id>0\
         </stream-gate-instance-id></stream-gate-instance-table></stream-gates><stream-filters xmlns='{PSFP}'>\
         <stream-filter-instance-table><stream-filter-instance-id>5</stream-filter-instance-id><stream-handle>5\
         </stream-handle><priority-spec>wildcard</priority-spec><max-sdu-size>{size}</max-sdu-size><stream-gate-ref>0\
         </stream-gate-ref></stream-filter-instance-table></stream-filters></component></bridge></bridges></config>\
         </edit-config>"
    )
}

fn sender(bench: &Bench, words: &[&str]) -> Child {
    let mut command = Command::new("python3");
    command.arg(FRAMES).args(["far0", "far1", "02000000010a"]).args(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    bench.far.within(|| command.spawn()).unwrap().unwrap()
}

/// Which of frames that carry 100 and 400 octets pass.
#[track_caller]
fn passes(bench: &Bench, expected: [bool; 2]) {
    let output = sender(bench, &["100", "400"]).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let came: Vec<String> = stdout(&output).split_whitespace().map(str::to_owned).collect();
    assert_eq!([100, 400].map(|size| came.contains(&size.to_string())), expected);
}

/// Frames of the only stream, and those that were too large.
fn counted(bench: &Bench) -> (u64, u64) {
    let streams = bench.status()["report"]["counters"]["streams"].take();
    let of = |name: &str| streams[0][name].as_u64().unwrap_or(u64::MAX);
    assert_eq!(streams.as_array().map(Vec::len), Some(1), "{streams}");
    (of("frames"), of("over_sdu"))
}

fn has_size(bench: &Bench, size: u32) -> bool {
    let status: Value = bench.status();
    status["report"]["configuration"].as_str().is_some_and(|text| text.contains(&format!("max-sdu = {size}\n")))
}

#[test]
fn committed_streams_are_policed_and_those_that_are_not_confirmed_go() {
    let Some(bench) = managed() else { return };
    let mut talk = Talk::begin(&bench);
    passes(&bench, [true, true]);
    talk.ask(&stream(300));
    talk.ask("<commit/>");
    passes(&bench, [true, false]);
    wait_until("the frames are counted", || counted(&bench) == (2, 1));

    // With gates, in one commit; its counts go on. Killed, the session takes both along.
    talk.ask(&stream(500));
    talk.ask(&edit(600));
    talk.ask("<commit><confirmed/></commit>");
    passes(&bench, [true, true]);
    wait_until("the frames are counted", || counted(&bench) == (4, 1));
    talk.kill();
    wait_until("the streams from before", || has_size(&bench, 300));
    assert!(bench.status()["report"]["configuration"].to_string().contains("800us"));
    passes(&bench, [true, false]);
    wait_until("the frames are counted", || counted(&bench) == (6, 2));

    // One that outlasts its session goes on time.
    let mut talk = Talk::begin(&bench);
    talk.ask(&stream(500));
    talk.ask("<commit><confirmed/><confirm-timeout>2</confirm-timeout><persist>a</persist></commit>");
    talk.kill();
    assert!(has_size(&bench, 500));
    wait_until("the streams from before", || has_size(&bench, 300));
    passes(&bench, [true, false]);

    // Who began before another one's change does not undo it unawares.
    let mut talk = Talk::begin(&bench);
    talk.ask(&stream(500));
    let applied = bench.switch(&["apply", &bench.file()]);
    assert_eq!(stdout(&applied), "Streams of switch cell are changed.\n", "{}", stderr(&applied));
    passes(&bench, [true, true]);
    let refused = talk.answer("<commit/>");
    assert!(refused.contains("changed by somebody else"), "{refused}");
    assert_eq!(bench.status()["report"]["counters"]["streams"], serde_json::json!([]));
}

/// While a stream changes again and again, none of its frames passes that may not.
#[test]
fn no_frame_passes_while_its_stream_changes() {
    let Some(bench) = managed() else { return };
    let mut talk = Talk::begin(&bench);
    talk.ask(&stream(300));
    talk.ask("<commit/>");
    let mut babbler = sender(&bench, &["400", "--until-asked"]);
    for size in 200..220 {
        talk.ask(&stream(size));
        talk.ask("<commit/>");
    }
    drop(babbler.stdin.take());
    let output = babbler.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "\n");
    let sent: u64 = stderr(&output).trim().parse().unwrap();
    assert!(sent > 100, "{sent}");
    wait_until("the frames are counted", || counted(&bench) == (sent, sent));
}
