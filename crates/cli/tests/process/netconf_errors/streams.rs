//! Streams: their filters, gates and meters.

use super::{BRIDGE, COMPONENT, IDENTITY, STREAMS, refused};
use crate::netconf::{Talk, managed};

const PSFP: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-psfp-bridge";

/// One stream with a filter, a gate that is always open, and a meter.
pub fn stream(size: u32, burst: u32, port: &str, more: &str) -> String {
    format!(
        "<stream-identity xmlns='{STREAMS}'><index>1</index><handle>5</handle><out-facing><input-port>{port}</input-port>\
         </out-facing><null-stream-identification><destination-mac>02-00-00-00-01-0A</destination-mac><tagged>tagged</tagged>\
         <vlan>10</vlan></null-stream-identification></stream-identity>{more}<bridges xmlns='{BRIDGE}'><bridge><name>cell</name>\
         <component><name>cell</name><flow-meters xmlns='{PSFP}'><flow-meter-instance-table><flow-meter-instance-id>3\
         </flow-meter-instance-id><committed-information-rate>1000000</committed-information-rate><committed-burst-size>{burst}\
         </committed-burst-size><excess-information-rate>0</excess-information-rate><excess-burst-size>0</excess-burst-size>\
         <color-mode>color-blind</color-mode></flow-meter-instance-table></flow-meters><stream-gates xmlns='{PSFP}'>\
         <stream-gate-instance-table><stream-gate-instance-id>0</stream-gate-instance-id></stream-gate-instance-table>\
         </stream-gates><stream-filters xmlns='{PSFP}'><stream-filter-instance-table><stream-filter-instance-id>7\
         </stream-filter-instance-id><stream-handle>5</stream-handle><priority-spec>wildcard</priority-spec><max-sdu-size>{size}\
         </max-sdu-size><stream-gate-ref>0</stream-gate-ref><flow-meter-enable>true</flow-meter-enable><flow-meter-ref>3\
         </flow-meter-ref></stream-filter-instance-table></stream-filters></component></bridge></bridges>"
    )
}

#[test]
fn a_wrong_value_of_a_stream_is_named_by_its_path() {
    let Some(bench) = managed() else { return };
    let mut talk = Talk::begin(&bench);
    let psfp = |nodes: [&str; 3]| nodes.map(|node| format!("/ieee802-dot1q-psfp-bridge:{node}")).concat();
    let filter = psfp([
        "stream-filters",
        "stream-filter-instance-table[ieee802-dot1q-psfp-bridge:stream-filter-instance-id='7']",
        "max-sdu-size",
    ]);
    refused(&mut talk, &stream(30, 400, "port0", "")).is(
        "invalid-value",
        &format!("{COMPONENT}{filter}"),
        "bridge cell, component cell, stream-filter-instance-table 7, max-sdu-size: no frame carries less than 42 octets \
         (shorter ones are padded), not 30",
    );
    let meter = psfp([
        "flow-meters",
        "flow-meter-instance-table[ieee802-dot1q-psfp-bridge:flow-meter-instance-id='3']",
        "committed-burst-size",
    ]);
    let refusal = refused(&mut talk, &stream(100, 10, "port0", ""));
    assert_eq!(refusal.part("error-path"), format!("{COMPONENT}{meter}"), "{}", refusal.reply);
    let refusal = refused(&mut talk, &stream(300, 100, "port0", ""));
    assert_eq!(refusal.part("error-path"), format!("{COMPONENT}{meter}").rsplit_once('/').unwrap().0);
    refused(&mut talk, &stream(100, 400, "port7", "")).is(
        "invalid-value",
        &format!(
            "{IDENTITY}/ieee802-dot1cb-stream-identification:out-facing/ieee802-dot1cb-stream-identification:input-port\
             [.='port7']"
        ),
        "stream-identity 1, input-port port7: the switch has no port port7; its ports are port0, port1",
    );
    let unasked = stream(0, 400, "port0", "").replace("enable>true<", "enable>false<");
    let (unasked, rest) =
        unasked.split_once("<flow-meters").map(|(a, b)| (a, b.split_once("</flow-meters>").unwrap().1)).unwrap();
    refused(&mut talk, &(unasked.to_owned() + rest)).is(
        "invalid-value",
        IDENTITY,
        "stream-identity 1: its filter asks for nothing; give it max-sdu-size, a flow meter, or a stream gate that closes, or \
         leave it out",
    );
    let good = stream(100, 400, "port0", "");
    talk.ask(&format!("<edit-config><target><candidate/></target><config>{good}</config></edit-config>"));

    // Another one of the same frames, behind it.
    let second = good.replace("<index>1<", "<index>2<").replace("<handle>5<", "<handle>6<");
    let second =
        second.replace("stream-handle>5<", "stream-handle>6<").replace("-id>7", "-id>8").replace("-id>3", "-id>4");
    let second = second.replace("flow-meter-ref>3", "flow-meter-ref>4");
    refused(&mut talk, &second).is(
        "invalid-value",
        &IDENTITY.replace("'1'", "'2'"),
        "stream-identity 2: no frame is left for it: the stream `stream5` (handle 5) takes all of them; put it first",
    );
}
