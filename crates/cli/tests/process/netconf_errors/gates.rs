//! Gates: what no list can be, what would be done otherwise, and what the link says of a guard band.

use super::streams::stream;
use super::{BRIDGE, COMPONENT, INTERFACES, refused};
use crate::netconf::{Talk, managed};
use crate::stderr;
use crate::switch_user::bench;

const SCHED: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-sched-bridge";

/// The gate parameters of port1.
const TABLE: &str = "/ietf-interfaces:interfaces/ietf-interfaces:interface[ietf-interfaces:name='port1']\
                     /ieee802-dot1q-bridge:bridge-port/ieee802-dot1q-sched-bridge:gate-parameter-table";

pub fn gates(inner: &str) -> String {
    format!(
        "<interfaces xmlns='{INTERFACES}'><interface><name>port1</name><bridge-port xmlns='{BRIDGE}'><gate-parameter-table \
         xmlns='{SCHED}'>{inner}</gate-parameter-table></bridge-port></interface></interfaces>"
    )
}

pub fn entries(first_ns: u32, second_ns: u32) -> String {
    let entry = |index: u32, ns: u32| {
        format!(
            "<gate-control-entry><index>{index}</index><time-interval-value>{ns}</time-interval-value></gate-control-entry>"
        )
    };
    format!("<admin-control-list>{}{}</admin-control-list>", entry(0, first_ns), entry(1, second_ns))
}

fn cycle(numerator: u32, denominator: u32) -> String {
    format!(
        "<admin-cycle-time><numerator>{numerator}</numerator><denominator>{denominator}</denominator></admin-cycle-time>"
    )
}

#[test]
fn a_wrong_value_of_a_gate_is_named_by_its_path() {
    let Some(bench) = managed() else { return };
    let mut talk = Talk::begin(&bench);
    let of_table = |rest: &str| {
        rest.split('/').fold(TABLE.to_owned(), |path, node| match node.split_once('[') {
            _ if node.is_empty() => path,
            Some((name, key)) => path + &format!("/ieee802-dot1q-sched-bridge:{name}[ieee802-dot1q-sched-bridge:{key}"),
            None => path + &format!("/ieee802-dot1q-sched-bridge:{node}"),
        })
    };
    let entry = "/admin-control-list/gate-control-entry[index='1']";

    // What no leaf can be.
    refused(&mut talk, &gates("<admin-gate-states>256</admin-gate-states>")).is(
        "invalid-value",
        &of_table("/admin-gate-states"),
        "interface port1, admin-gate-states: \"256\" is not a whole number from 0 to 255",
    );
    // What the YANG has no room for.
    refused(
        &mut talk,
        &gates("<queue-max-sdu-table><traffic-class>9</traffic-class><queue-max-sdu>300</queue-max-sdu></queue-max-sdu-table>"),
    )
    .is(
        "invalid-value",
        &of_table("/queue-max-sdu-table[traffic-class='9']/traffic-class"),
        "interface port1, queue-max-sdu-table 9, traffic-class: is not a whole number from 0 to 7 but 9",
    );
    let operation = "<admin-control-list><gate-control-entry><index>1</index><operation-name \
                     xmlns:s='urn:ieee:std:802.1Q:yang:ieee802-dot1q-sched'>s:open</operation-name></gate-control-entry>\
                     </admin-control-list>";
    refused(&mut talk, &gates(operation)).is(
        "invalid-value",
        &of_table(&format!("{entry}/operation-name")),
        "interface port1, gate-control-entry 1, operation-name: \"ieee802-dot1q-sched:open\" is no operation; \
         \"ieee802-dot1q-sched:set-gate-states\" is",
    );
    refused(&mut talk, &gates(&cycle(1, 3))).is(
        "invalid-value",
        &of_table("/admin-cycle-time"),
        "interface port1, admin-cycle-time: 1/3 s is not a whole number of nanoseconds",
    );
    let new = "<admin-control-list><gate-control-entry><index>2</index></gate-control-entry></admin-control-list>";
    let lacking = refused(&mut talk, &gates(new));
    lacking.is(
        "missing-element",
        &of_table("/admin-control-list/gate-control-entry[index='2']"),
        "interface port1, gate-control-entry 2: lacks `operation-name`",
    );
    assert_eq!(lacking.part("bad-element"), "operation-name");

    // What the switch cannot be.
    refused(&mut talk, &gates(&entries(999_000, 1_000))).is(
        "invalid-value",
        &of_table(entry),
        "interface port1, gate-control-entry 1: `red` (traffic class 1) is open for 1us, and its largest frame (an ordinary \
         frame: 1500 octets) takes 12.336us at 1Gbit: lengthen the entry",
    );
    let short = refused(&mut talk, &gates(&entries(987_000, 13_000)));
    let (message, end) = (short.part("error-message"), "lengthen the entry, or plan for the user data plane");
    assert!(message.contains("traffic class 1") && message.ends_with(end), "{message}");
    refused(&mut talk, &gates(&(cycle(5, 1_000_000) + &entries(4_000, 1_000)))).is(
        "invalid-value",
        &of_table("/admin-cycle-time"),
        "interface port1, admin-cycle-time: a cycle of 5us is too short for gates in software; 10us at least (2 more of its \
         values cannot be so)",
    );
    let base = "<admin-base-time><seconds>4102444800</seconds><nanoseconds>0</nanoseconds></admin-base-time>";
    refused(&mut talk, &gates(base)).is(
        "invalid-value",
        &of_table("/admin-base-time"),
        "interface port1, admin-base-time: is 2100-01-01, more than ten years ahead; it counts from 1970",
    );
    // What was refused has changed nothing.
    talk.ask("<validate><source><candidate/></source></validate>");
}

#[test]
fn a_value_that_would_be_done_otherwise_is_refused() {
    let Some(bench) = managed() else { return };
    let mut talk = Talk::begin(&bench);
    let of_table = |node: &str| format!("{TABLE}/ieee802-dot1q-sched-bridge:{node}");
    let mut done_otherwise = |config: &str, path: &str, message: &str| {
        refused(&mut talk, config).is("operation-not-supported", path, message);
    };
    done_otherwise(
        &gates("<admin-gate-states>0</admin-gate-states>"),
        &of_table("admin-gate-states"),
        "interface port1, admin-gate-states: before the base time all gates are open here; write 255",
    );
    done_otherwise(
        &gates("<admin-cycle-time-extension>1000</admin-cycle-time-extension>"),
        &of_table("admin-cycle-time-extension"),
        "interface port1, admin-cycle-time-extension: a new schedule begins with a whole cycle here; write 0",
    );
    for operation in ["set-and-hold-mac", "set-and-release-mac"] {
        let entry = format!(
            "<admin-control-list><gate-control-entry><index>1</index><operation-name \
             xmlns:s='urn:ieee:std:802.1Q:yang:ieee802-dot1q-sched'>s:{operation}</operation-name></gate-control-entry>\
             </admin-control-list>"
        );
        done_otherwise(
            &gates(&entry),
            &of_table(
                "admin-control-list/ieee802-dot1q-sched-bridge:gate-control-entry[ieee802-dot1q-sched-bridge:index='1']\
                 /ieee802-dot1q-sched-bridge:operation-name",
            ),
            "interface port1, gate-control-entry 1, operation-name: gates are set, and no frame is held here; write \
             ieee802-dot1q-sched:set-gate-states",
        );
    }
    let closed = "<stream-gate-instance-id>0</stream-gate-instance-id><gate-enable>true</gate-enable>\
                  <admin-gate-states>closed</admin-gate-states><admin-control-list><gate-control-entry><index>0</index>\
                  <operation-name xmlns:s='urn:ieee:std:802.1Q:yang:ieee802-dot1q-psfp'>s:set-gate-and-ipv</operation-name>\
                  <time-interval-value>1000000</time-interval-value><gate-state-value>open</gate-state-value>\
                  <ipv-spec>null</ipv-spec></gate-control-entry></admin-control-list>";
    let closed = stream(100, 400, "port0", "").replace("<stream-gate-instance-id>0</stream-gate-instance-id>", closed);
    done_otherwise(
        &closed,
        &format!(
            "{COMPONENT}/ieee802-dot1q-psfp-bridge:stream-gates/ieee802-dot1q-psfp-bridge:stream-gate-instance-table\
             [ieee802-dot1q-psfp-bridge:stream-gate-instance-id='0']/ieee802-dot1q-psfp-bridge:admin-gate-states"
        ),
        "bridge cell, component cell, stream-gate-instance-table 0, admin-gate-states: before the base time the gate is open \
         here; write \"open\"",
    );
    // The switch has no such class.
    let size =
        "<queue-max-sdu-table><traffic-class>5</traffic-class><queue-max-sdu>300</queue-max-sdu></queue-max-sdu-table>";
    refused(&mut talk, &gates(size)).is(
        "invalid-value",
        &of_table("queue-max-sdu-table[ieee802-dot1q-sched-bridge:traffic-class='5']"),
        "interface port1, queue-max-sdu-table 5: the switch has no traffic class 5; it has 0, 1",
    );
    // What the switch itself writes is taken.
    let same = "<admin-gate-states>255</admin-gate-states><admin-cycle-time-extension>0</admin-cycle-time-extension>";
    let config = gates(&(same.to_owned() + &entries(700_000, 300_000)));
    talk.ask(&format!("<edit-config><target><candidate/></target><config>{config}</config></edit-config>"));
    talk.ask("<commit/>");
}

/// As long as the link says that a frame takes.
#[test]
fn a_guard_band_of_the_largest_frame_needs_no_rate_in_the_file() {
    let Some(bench) = bench() else { return };
    let text = std::fs::read_to_string(bench.file()).unwrap();
    let band = "name = \"port1\"\n[port.gates]\nguard-band = \"largest-frame\"\n";
    let text = text.replace("name = \"port1\"\nrate = \"1Gbit\"\n[port.gates]\n", band);
    assert!(text.contains(band), "{text}");
    std::fs::write(bench.file(), text).unwrap();
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let mut talk = Talk::begin(&bench);
    for asked in ["<get/>", "<get-config><source><running/></source></get-config>"] {
        let answer = talk.answer(asked);
        // What virtual Ethernet says of itself: 10 Gbit/s, also where there is no processor for it.
        let band = "<time-interval-value>1234</time-interval-value><gate-states-value>0</gate-states-value>";
        assert_eq!(answer.matches(band).count(), 2, "{answer}");
    }
    let config = gates(&entries(698_766, 298_766).replace("<index>1<", "<index>2<"));
    talk.ask(&format!("<edit-config><target><candidate/></target><config>{config}</config></edit-config>"));
    talk.ask("<commit/>");
    let after = bench.status()["report"]["configuration"].as_str().unwrap().to_owned();
    assert!(after.contains("698.766us") && !after.contains("guard-band"), "{after}");
}
