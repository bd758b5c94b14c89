//! Idle slopes of shaped classes.

use super::gates::{entries, gates};
use super::{BRIDGE, INTERFACES, refused};
use crate::netconf::Talk;
use crate::stderr;
use crate::switch_user::bench;

const CBSA: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-cbsa-bridge";

/// What a manager says of a port's class red.
fn slope(port: &str, bits: &str) -> String {
    format!(
        "<interfaces xmlns='{INTERFACES}'><interface><name>{port}</name><bridge-port xmlns='{BRIDGE}'><cbsa xmlns='{CBSA}'>\
         <cbsa-parameter-table><traffic-class>1</traffic-class><admin-idle-slope>{bits}</admin-idle-slope>\
         </cbsa-parameter-table></cbsa></bridge-port></interface></interfaces>"
    )
}

#[test]
fn idle_slopes_are_read_and_change_while_the_switch_works() {
    let Some(bench) = bench() else { return };
    let text = std::fs::read_to_string(bench.file()).unwrap();
    let shaped = "name = \"port1\"\nidle-slope = { red = \"100Mbit\" }";
    std::fs::write(bench.file(), text.replace("name = \"port1\"", shaped)).unwrap();
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let mut talk = Talk::begin(&bench);
    let state = talk.answer("<get/>");
    let entry = "<traffic-class>1</traffic-class><admin-idle-slope>100000000</admin-idle-slope>";
    assert!(state.contains(&format!("{entry}<oper-idle-slope>100000000</oper-idle-slope>")), "{state}");
    let before = talk.answer("<get-config><source><running/></source></get-config>");
    assert!(before.contains(&format!("{entry}</cbsa-parameter-table>")), "{before}");

    let port =
        |name: &str| format!("/ietf-interfaces:interfaces/ietf-interfaces:interface[ietf-interfaces:name='{name}']");
    let list = "/ieee802-dot1q-bridge:bridge-port/ieee802-dot1q-cbsa-bridge:cbsa/ieee802-dot1q-cbsa-bridge:cbsa-parameter-table";
    refused(&mut talk, &slope("port1", "20Mbit")).is(
        "invalid-value",
        &format!(
            "{}{list}[ieee802-dot1q-cbsa-bridge:traffic-class='1']/ieee802-dot1q-cbsa-bridge:admin-idle-slope",
            port("port1")
        ),
        "interface port1, cbsa-parameter-table 1, admin-idle-slope: \"20Mbit\" is not a whole number of 64 bits",
    );
    // What its gate leaves too little time for.
    refused(&mut talk, &gates(&entries(950_000, 50_000))).is(
        "invalid-value",
        &format!("{}{list}", port("port1")),
        "interface port1, cbsa-parameter-table: `red` (traffic class 1) is open for 50us of 1ms, where an idle slope of 100Mbit \
         needs, with those of higher classes, 2Gbit of a link with 1Gbit: lower it or lengthen the entries",
    );
    // What was refused has changed nothing, and gates change beside the slopes.
    assert_eq!(talk.answer("<get-config><source><candidate/></source></get-config>"), before);
    talk.ask(&format!(
        "<edit-config><target><candidate/></target><config>{}</config></edit-config>",
        gates(&entries(700_000, 300_000))
    ));
    talk.ask("<commit/>");
    let configuration = || bench.status()["report"]["configuration"].as_str().unwrap().to_owned();
    let standing = configuration();
    assert!(standing.contains("700us") && standing.contains("100Mbit"), "{standing}");

    // Another slope, and one for a port that had none; the gates stay.
    let mut commit = |config: &str| {
        talk.ask(&format!("<edit-config><target><candidate/></target><config>{config}</config></edit-config>"));
        talk.ask("<commit/>");
        configuration()
    };
    let changed = commit(&slope("port1", "30000000"));
    assert_eq!(changed, standing.replace("100Mbit", "30Mbit"));
    let both = commit(&slope("port0", "20000000"));
    assert!(both.contains("20Mbit") && both.contains("30Mbit") && both.contains("700us"), "{both}");
    // And none again.
    let cbsa = "<cbsa xmlns='urn:ieee:std:802.1Q:yang:ieee802-dot1q-cbsa-bridge' xmlns:nc='urn:ietf:params:xml:ns:netconf:base:1.0' \
                nc:operation='delete'/>";
    let algorithms = "<transmission-selection-algorithm-table xmlns:nc='urn:ietf:params:xml:ns:netconf:base:1.0' \
                      nc:operation='delete'/>";
    let none = format!(
        "<interfaces xmlns='{INTERFACES}'><interface><name>port0</name><bridge-port xmlns='{BRIDGE}'>{algorithms}{cbsa}\
         </bridge-port></interface></interfaces>"
    );
    assert_eq!(commit(&none), changed);
}
