//! Where and what is wrong, as NETCONF says it (RFC 6241 section 4.3).

use serde_json::Value;

use super::netconf::{Talk, managed, rpc};
use super::switch_user::bench;
use super::{run, stderr, stdout};

const INTERFACES: &str = "urn:ietf:params:xml:ns:yang:ietf-interfaces";
const BRIDGE: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-bridge";
const SCHED: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-sched-bridge";
const CBSA: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-cbsa-bridge";
const PSFP: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-psfp-bridge";
const FRER: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-frer";
const STREAMS: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-stream-identification";
/// The gate parameters of port1.
const TABLE: &str = "/ietf-interfaces:interfaces/ietf-interfaces:interface[ietf-interfaces:name='port1']\
                     /ieee802-dot1q-bridge:bridge-port/ieee802-dot1q-sched-bridge:gate-parameter-table";
/// Those of the switch's stream filters, gates and meters.
const COMPONENT: &str = "/ieee802-dot1q-bridge:bridges/ieee802-dot1q-bridge:bridge[ieee802-dot1q-bridge:name='cell']\
                         /ieee802-dot1q-bridge:component[ieee802-dot1q-bridge:name='cell']";
const IDENTITY: &str = "/ieee802-dot1cb-stream-identification:stream-identity\
                        [ieee802-dot1cb-stream-identification:index='1']";

/// The texts of an error's elements: tag, path, message and information.
struct Refusal {
    reply: String,
}

impl Refusal {
    fn part(&self, name: &str) -> &str {
        let (_, rest) = self.reply.split_once(&format!("<{name}")).unwrap_or_else(|| panic!("{name}: {}", self.reply));
        rest.split_once('>').unwrap().1.split_once(&format!("</{name}>")).unwrap().0
    }

    /// Holds it against a tag, a path below a place, and a sentence.
    #[track_caller]
    fn is(&self, tag: &str, path: &str, message: &str) {
        let found = ["error-tag", "error-path", "error-message"].map(|name| {
            [("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">")]
                .iter()
                .fold(self.part(name).to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
        });
        assert_eq!(found.each_ref().map(String::as_str), [tag, path, message]);
    }
}

/// What an edit of the candidate is answered.
fn refused(talk: &mut Talk, config: &str) -> Refusal {
    let edit = format!("<edit-config><target><candidate/></target><config>{config}</config></edit-config>");
    talk.say(&(rpc(&edit) + "]]>]]>"));
    let refusal = Refusal { reply: talk.hear() };
    let mut found = words_of_file(refusal.part("error-message"));
    // Some elements of YANG are called as keys of the file are.
    found.retain(|key| !["<key>", "<key/>"].iter().any(|tag| config.contains(&tag.replace("key", key))));
    assert!(found.is_empty(), "{found:?}: {}", refusal.reply);
    refusal
}

/// Keys of the switch's file that a sentence has: quoted, with a value, or such as no other sentence would have.
fn words_of_file(sentence: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(&stdout(&run(&["schema", "switch"]))).unwrap();
    let mut keys = Vec::new();
    add_keys(&schema, &mut keys);
    keys.sort_unstable();
    keys.dedup();
    assert!(
        ["max-sdu", "burst", "offload", "plane"].iter().all(|key| keys.iter().any(|other| other == key)),
        "{keys:?}"
    );
    let words: Vec<&str> = sentence.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
    keys.retain(|key| {
        sentence.contains(&format!("`{key}`"))
            || sentence.contains(&format!("{key} = "))
            || sentence.contains(&format!("[{key}"))
            || key.contains('-') && words.contains(&key.as_str())
    });
    keys
}

fn add_keys(schema: &Value, keys: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        keys.extend(properties.keys().cloned());
    }
    let below: Vec<&Value> = match schema {
        Value::Array(values) => values.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    };
    below.into_iter().for_each(|value| add_keys(value, keys));
}

#[test]
fn words_of_the_file_are_found_in_a_sentence() {
    for (sentence, found) in [
        ("or write max-sdu = { red = 83 }", &["max-sdu"][..]),
        ("lower max-sdu, or lengthen the entry", &["max-sdu"]),
        ("`burst` is 3", &["burst"]),
        ("leave [[stream]] out", &["stream"]),
        ("a cycle of 5us; queue-max-sdu is 300, max-sdu-size 400", &[]),
    ] {
        assert_eq!(words_of_file(sentence), found, "{sentence}");
    }
}

fn gates(inner: &str) -> String {
    format!(
        "<interfaces xmlns='{INTERFACES}'><interface><name>port1</name><bridge-port xmlns='{BRIDGE}'><gate-parameter-table \
         xmlns='{SCHED}'>{inner}</gate-parameter-table></bridge-port></interface></interfaces>"
    )
}

fn entries(first_ns: u32, second_ns: u32) -> String {
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

/// One stream with a filter, a gate that is always open, and a meter.
fn stream(size: u32, burst: u32, port: &str, more: &str) -> String {
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

/// A stream that comes in by port0, and what drops its copies.
fn frer(recovered: u32, history: u32, algorithm: &str, output: &str) -> String {
    format!(
        "<stream-identity xmlns='{STREAMS}'><index>1</index><handle>5</handle><out-facing><input-port>port0</input-port>\
         {output}</out-facing><null-stream-identification><destination-mac>02-00-00-00-01-0A</destination-mac><tagged>all\
         </tagged></null-stream-identification></stream-identity><frer xmlns='{FRER}'><sequence-recovery><index>3</index>\
         <stream>{recovered}</stream><port>port0</port><direction-out-facing>true</direction-out-facing>\
         <algorithm><{algorithm}/></algorithm><history-length>{history}</history-length></sequence-recovery>\
         <sequence-identification><port>port0</port><direction-out-facing>true</direction-out-facing><active>false</active>\
         <stream>5</stream><encapsulation><r-tag/></encapsulation></sequence-identification></frer>"
    )
}

#[test]
fn a_wrong_value_of_several_paths_is_named_by_its_path() {
    let Some(bench) = managed() else { return };
    let mut talk = Talk::begin(&bench);
    let at = |path: &str| {
        let path = path.replace("[index", "[ieee802-dot1cb-frer:index").replace("[port", "[ieee802-dot1cb-frer:port");
        let path = path.replace("[direction", "[ieee802-dot1cb-frer:direction");
        path.split('/').map(|node| format!("/ieee802-dot1cb-frer:{node}")).collect::<String>()
    };
    let recovery = "frer/sequence-recovery[index='3']";
    let tag = "frer/sequence-identification[port='port0'][direction-out-facing='true']";

    refused(&mut talk, &frer(5, 64, "match", "")).is(
        "invalid-value",
        &at(&format!("{recovery}/algorithm")),
        "sequence-recovery 3, algorithm: `match` is not supported; numbers are recovered by the vector algorithm: write \
         `vector`",
    );
    let newest = refused(&mut talk, &frer(5, 64, "newest", ""));
    newest.is(
        "unknown-element",
        &at(&format!("{recovery}/algorithm")),
        "sequence-recovery 3, algorithm: there is no <newest> here that this switch has",
    );
    assert_eq!(newest.part("bad-element"), "newest");
    refused(&mut talk, &frer(5, 500, "vector", "")).is(
        "invalid-value",
        &at(&format!("{recovery}/history-length")),
        "sequence-recovery 3, history-length: is not a whole number from 2 to 128 but 500",
    );
    // The only stream has no recovery then, and the other one is none.
    refused(&mut talk, &frer(9, 64, "vector", "")).is(
        "invalid-value",
        &at(&format!("{tag}/stream[.='5']")),
        "sequence-identification port0 true, stream 5: no sequence-recovery looks at its numbers; leave it out",
    );
    let alone = frer(9, 64, "vector", "").split_once("<sequence-identification>").unwrap().0.to_owned() + "</frer>";
    let alone = alone.split_once("</stream-identity>").unwrap().1;
    refused(&mut talk, alone).is(
        "invalid-value",
        &at(&format!("{recovery}/stream[.='9']")),
        "sequence-recovery 3, stream 9: no entry of stream-identity has the handle 9",
    );
    let ports = "<output-port>port0</output-port><output-port>port7</output-port>";
    let replicated = frer(5, 64, "vector", ports).replace(
        "</frer>",
        "<sequence-identification><port>port0</port><direction-out-facing>false</direction-out-facing><active>true</active>\
         <stream>5</stream><encapsulation><r-tag/></encapsulation></sequence-identification></frer>",
    );
    refused(&mut talk, &replicated).is(
        "invalid-value",
        &format!(
            "{IDENTITY}/ieee802-dot1cb-stream-identification:out-facing/ieee802-dot1cb-stream-identification:output-port\
             [.='port7']"
        ),
        "stream-identity 1, output-port port7: the switch has no port port7; its ports are port0, port1",
    );
    // What was refused has changed nothing.
    talk.say(&(rpc("<get-config><source><candidate/></source></get-config>") + "]]>]]>"));
    let candidate = talk.hear();
    assert!(!candidate.contains("stream-identity") && !candidate.contains("frer"), "{candidate}");
    talk.ask(&format!(
        "<edit-config><target><candidate/></target><config>{}</config></edit-config>",
        frer(5, 64, "vector", "")
    ));
}

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

#[test]
fn the_kernel_s_data_plane_takes_no_several_paths() {
    let Some(bench) = bench() else { return };
    // One class needs nothing of the kernel but its bridge.
    let text = "[switch]\nname = \"cell\"\nplane = \"kernel\"\n[[class]]\nname = \"blue\"\nqueue = 0\n[[port]]\nname = \
                \"port0\"\n[[port]]\nname = \"port1\"\n";
    std::fs::write(bench.file(), text).unwrap();
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let mut talk = Talk::begin(&bench);
    refused(&mut talk, &frer(5, 64, "vector", "")).is(
        "operation-not-supported",
        "/ieee802-dot1cb-frer:frer",
        "frer: stream stream5: sequence generation and recovery are of the user data plane alone",
    );
}
