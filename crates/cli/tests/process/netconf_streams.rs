//! Streams of a switch that works, changed by NETCONF: what frames pass, and what is counted.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::netconf::{BASE, Talk, edit, managed};
use super::switch_user::Bench;
use super::{stderr, stdout, wait_until};

const FRAMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/process/netconf_streams.py");
const BRIDGE: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-bridge";
const PSFP: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-psfp-bridge";
const FRER: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-frer";
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
    let counts = "<matching-frames-count>2</matching-frames-count><passing-frames-count>1</passing-frames-count>\
                  <not-passing-frames-count>0</not-passing-frames-count><passing-sdu-count>1</passing-sdu-count>\
                  <not-passing-sdu-count>1</not-passing-sdu-count><red-frames-count>0</red-frames-count>";
    let state = talk.answer("<get/>");
    assert!(state.contains(counts), "{state}");
    let configuration = talk.answer("<get-config><source><running/></source></get-config>");
    assert!(!configuration.contains("frames-count"), "{configuration}");

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

/// A stream of the same frames as above, with these ports that they leave by and these tables.
fn redundant(output: &str, tables: &str) -> String {
    format!(
        "<edit-config><target><candidate/></target><config xmlns:nc='{BASE}'><stream-identity xmlns='{STREAMS}' \
         nc:operation='replace'><index>1</index><handle>5</handle><out-facing><input-port>port0</input-port>{output}\
         </out-facing><null-stream-identification><destination-mac>02-00-00-00-01-0A</destination-mac><tagged>all</tagged>\
         </null-stream-identification></stream-identity><frer xmlns='{FRER}' nc:operation='replace'>{tables}</frer></config>\
         </edit-config>"
    )
}

fn tag(is_out_facing: bool) -> String {
    format!(
        "<sequence-identification><port>port0</port><direction-out-facing>{is_out_facing}</direction-out-facing><active>{}\
         </active><stream>5</stream><encapsulation><r-tag/></encapsulation></sequence-identification>",
        !is_out_facing
    )
}

/// What came in by a port and left by it, as a manager reads it.
fn octets(state: &str, place: usize) -> [String; 2] {
    let (_, port) = state.split_once(&format!("<interface><name>port{place}</name>")).unwrap();
    ["in-octets", "out-octets"].map(|name| {
        let (_, rest) = port.split_once(&format!("<{name}>")).unwrap_or_else(|| panic!("{state}"));
        rest.split_once('<').unwrap().0.to_owned()
    })
}

/// The same of a port's counters.
fn octets_of(port: &Value) -> [String; 2] {
    let count = |of: &Value, name: &str| of[name].as_u64().unwrap();
    let sum = |name: &str| port["queues"].as_array().unwrap().iter().map(|queue| count(queue, name)).sum::<u64>();
    let (came, left) = (count(port, "octets") + 4 * count(port, "received"), sum("octets") + 4 * sum("sent"));
    [came, left].map(|octets| octets.to_string())
}

/// From a commit on, frames are numbered, or their numbers looked at.
#[test]
fn committed_functions_of_several_paths_are_done() {
    let Some(bench) = managed() else { return };
    let mut talk = Talk::begin(&bench);
    let of_stream = |name: &str| bench.status()["report"]["counters"]["streams"][0][name].as_u64();
    let generation = "<sequence-generation><index>1</index><stream>5</stream><direction-out-facing>false\
                      </direction-out-facing></sequence-generation>";
    let output = "<output-port>port0</output-port><output-port>port1</output-port>";
    let numbered = redundant(output, &(generation.to_owned() + &tag(false)));
    talk.ask(&numbered);
    talk.ask("<commit/>");
    // With a redundancy tag they have another EtherType.
    passes(&bench, [false, false]);
    wait_until("the frames are numbered", || of_stream("numbered") == Some(2));

    let recovery = "<sequence-recovery><index>1</index><stream>5</stream><port>port0</port><direction-out-facing>true\
                    </direction-out-facing><algorithm><vector/></algorithm></sequence-recovery>";
    talk.ask(&redundant("", &(recovery.to_owned() + &tag(true))));
    talk.ask("<commit><confirmed/></commit>");
    passes(&bench, [false, false]);
    wait_until("frames without a number are counted", || of_stream("tagless") == Some(2));
    // A manager reads it at the port that they come in by.
    let state = talk.answer("<get/>");
    let counts = "<direction-out-facing>true</direction-out-facing><handle>5</handle><rx-out-of-order-pkts>0\
                  </rx-out-of-order-pkts><rx-rogue-pkts>0</rx-rogue-pkts><rx-passed-pkts>0</rx-passed-pkts><rx-discarded-pkts>0\
                  </rx-discarded-pkts><rx-lost-pkts>0</rx-lost-pkts><rx-tagless-pkts>2</rx-tagless-pkts><rx-resets>";
    let (before, _) = state.split_once(counts).unwrap_or_else(|| panic!("{state}"));
    assert_eq!(before.matches("<interface>").count(), 1, "{state}");
    // Octets of each port, with the check sequence of each frame; others may send some, too.
    wait_until("the octets of both ports are those of status", || {
        let state = talk.answer("<get/>");
        let ports = &bench.status()["report"]["counters"]["ports"];
        (0..2).all(|place| octets(&state, place) == octets_of(&ports[place]))
    });
    // Both go with the session, and numbers go on.
    talk.kill();
    let is_as_before = || bench.status()["report"]["configuration"].to_string().contains("replicate");
    wait_until("the stream from before", is_as_before);
    passes(&bench, [false, false]);
    wait_until("the frames are numbered", || of_stream("numbered") == Some(4));

    // What is refused changes nothing of it.
    let mut talk = Talk::begin(&bench);
    let refused = talk.answer(&redundant(output, &(recovery.replace("<vector/>", "<match/>") + &tag(true))));
    assert!(refused.contains("recovered by the vector algorithm"), "{refused}");
    talk.ask("<commit/>");
    assert_eq!(of_stream("numbered"), Some(4));
    assert!(is_as_before());
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
