//! Whole messages.

use serde_json::{Value, json};

use super::*;

const SWITCH: &str = r#"
[switch]
name = "cell4"

[[class]]
name = "red"
queue = 1
match = [{ pcp = 6 }]

[[class]]
name = "blue"
queue = 0

[[port]]
name = "left"

[[port]]
name = "right"
rate = "1Gbit"
max-sdu = { red = 300 }

[port.gates]
cycle = "1ms"
base-time = 1700000000000000001
entries = [{ open = ["blue"], for = "800us" }, { open = ["red"], for = "200us" }]

[[stream]]
name = "axis1"
to = "02:00:00:00:01:01"
vlan = 10
max-sdu = 100
meter = { rate = "976kbit", burst = 244 }

[[stream]]
name = "camera"
to = "02:00:00:00:01:02"
ingress = ["left"]

[stream.gate]
base-time = 1700000000000000001
entries = [{ open = true, for = "300us" }, { open = false, for = "700us" }]
"#;

fn export() -> Value {
    let switch = crate::config::read(SWITCH).unwrap().switch;
    crate::yang::export(&switch).unwrap().document
}

fn edit(data: &Value, config: &str, default: Operation) -> Result<Value, RpcError> {
    let xml = format!("<config xmlns='{BASE}' xmlns:nc='{BASE}'>{config}</config>");
    let document = read(xml.as_bytes()).unwrap();
    edited(data, document.root_element(), default)
}

fn select(data: &Value, filter: &str) -> Value {
    let xml = format!("<filter xmlns='{BASE}'>{filter}</filter>");
    let document = read(xml.as_bytes()).unwrap();
    selected(data, document.root_element())
}

const INTERFACES: &str = "urn:ietf:params:xml:ns:yang:ietf-interfaces";
const BRIDGE: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-bridge";
const STREAMS: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-stream-identification";
const FRER: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-frer";
const SCHED: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-sched-bridge";

/// Something in the gate parameters of a port.
fn gates(port: &str, attribute: &str, inner: &str) -> String {
    format!(
        "<interfaces xmlns='{INTERFACES}'><interface><name>{port}</name><bridge-port xmlns='{BRIDGE}'>\
         <gate-parameter-table xmlns='{SCHED}' {attribute}>{inner}</gate-parameter-table></bridge-port></interface></interfaces>"
    )
}

fn table<'a>(data: &'a Value, port: &str) -> &'a Value {
    let interfaces = data["ietf-interfaces:interfaces"]["interface"].as_array().unwrap();
    let interface = interfaces.iter().find(|interface| interface["name"] == port).unwrap();
    &interface["ieee802-dot1q-bridge:bridge-port"]["ieee802-dot1q-sched-bridge:gate-parameter-table"]
}

#[test]
fn what_is_written_as_xml_is_read_back() {
    let data = export();
    assert_eq!(edit(&Value::Null, &data_xml(&data), Operation::Merge).unwrap(), data);
    assert_eq!(edit(&data, &data_xml(&data), Operation::Replace).unwrap(), data);
    assert_eq!(edit(&data, &data_xml(&data), Operation::Merge).unwrap(), data);
}

#[test]
fn frame_preemption_is_read_back() {
    let own = "rate = \"1Gbit\"\noffload = \"full\"\npreemption = { preemptible = [\"blue\"] }";
    let text = SWITCH.replace("rate = \"1Gbit\"", own);
    let data = crate::yang::export(&crate::config::read(&text).unwrap().switch).unwrap().document;
    let xml = data_xml(&data);
    assert!(xml.contains("<priority5>preemptable</priority5><priority6>express</priority6>"), "{xml}");
    assert_eq!(edit(&Value::Null, &xml, Operation::Merge).unwrap(), data);
    let error = edit(&Value::Null, &xml.replace(">express<", ">fast<"), Operation::Merge).unwrap_err();
    assert!(error.message.contains("one of express, preemptable"), "{}", error.message);
}

#[test]
fn values_of_a_leaf_list_come_and_go_one_by_one() {
    let data = export();
    let port = |operation: &str, name: &str| {
        let facing = format!("<out-facing><input-port nc:operation='{operation}'>{name}</input-port></out-facing>");
        format!("<stream-identity xmlns='{STREAMS}'><index>2</index>{facing}</stream-identity>")
    };
    let stream = |data: &Value| data["ieee802-dot1cb-stream-identification:stream-identity"][1]["out-facing"].clone();
    let two = edit(&data, &port("create", "right"), Operation::Merge).unwrap();
    assert_eq!(stream(&two), json!({ "input-port": ["left", "right"] }));
    assert_eq!(edit(&two, &port("merge", "right"), Operation::Merge).unwrap(), two);
    let error = edit(&two, &port("create", "right"), Operation::Merge).unwrap_err();
    assert_eq!(error.tag, Tag::DataExists);
    assert!(error.path.unwrap().ends_with("/input-port[.='right']"));
    assert_eq!(edit(&two, &port("delete", "right"), Operation::Merge).unwrap(), data);
    assert_eq!(edit(&data, &port("delete", "right"), Operation::Merge).unwrap_err().tag, Tag::DataMissing);
    // Without a port left, there is no list.
    assert_eq!(stream(&edit(&data, &port("remove", "left"), Operation::Merge).unwrap()), Value::Null);

    let found = select(
        &two,
        &format!(
            "<stream-identity xmlns='{STREAMS}'><out-facing><input-port>right</input-port></out-facing></stream-identity>"
        ),
    );
    let found = found["ieee802-dot1cb-stream-identification:stream-identity"].as_array().unwrap().clone();
    assert_eq!(found.iter().map(|stream| stream["index"].clone()).collect::<Vec<_>>(), [1, 2]);
    let tagged = format!(
        "<stream-identity xmlns='{STREAMS}'><index>1</index><null-stream-identification><tagged>no</tagged>\
         </null-stream-identification></stream-identity>"
    );
    let error = edit(&data, &tagged, Operation::Merge).unwrap_err();
    assert_eq!(error.tag, Tag::InvalidValue);
    assert!(error.message.contains("one of tagged, priority, all"), "{}", error.message);
}

/// Streams that take several paths.
fn redundant() -> Value {
    let text = SWITCH.replace("max-sdu = 100", "eliminate = {}\nreplicate = [\"left\", \"right\"]\nmax-sdu = 100");
    let data = crate::yang::export(&crate::config::read(&text).unwrap().switch).unwrap().document;
    assert_eq!(data["ieee802-dot1cb-frer:frer"]["sequence-identification"].as_array().unwrap().len(), 4);
    data
}

#[test]
fn containers_that_are_there_although_empty_stay() {
    let data = redundant();
    let xml = data_xml(&data);
    assert!(xml.contains("<algorithm><vector></vector></algorithm>"), "{xml}");
    assert_eq!(edit(&Value::Null, &xml, Operation::Merge).unwrap(), data);
    assert_eq!(edit(&data, &xml, Operation::Merge).unwrap(), data);
    let algorithm = |inner: &str| {
        format!(
            "<frer xmlns='{FRER}'><sequence-recovery><index>1</index><algorithm>{inner}</algorithm></sequence-recovery></frer>"
        )
    };
    let found = |data: &Value| data["ieee802-dot1cb-frer:frer"]["sequence-recovery"][0]["algorithm"].clone();
    let none = edit(&data, &algorithm("<vector nc:operation='delete'/>"), Operation::Merge).unwrap();
    assert_eq!(found(&none), Value::Null);
    assert_eq!(found(&edit(&none, &algorithm("<match/>"), Operation::Merge).unwrap()), json!({ "match": {} }));
    let error = edit(&data, &algorithm("<vector><oui-cid/></vector>"), Operation::Merge).unwrap_err();
    assert_eq!((error.tag, error.info[0].1.as_str()), (Tag::UnknownElement, "oui-cid"));
    assert_eq!(edit(&data, &algorithm("<newest/>"), Operation::Merge).unwrap_err().tag, Tag::UnknownElement);
    let selected = select(&data, &algorithm("<vector/>"));
    assert_eq!(found(&selected), json!({ "vector": {} }));
}

#[test]
fn entries_with_two_keys_are_told_apart_by_both() {
    let data = redundant();
    let entry = |operation: &str, keys: &str, inner: &str| {
        format!(
            "<frer xmlns='{FRER}'><sequence-identification nc:operation='{operation}'>{keys}{inner}\
             </sequence-identification></frer>"
        )
    };
    let list = |data: &Value| data["ieee802-dot1cb-frer:frer"]["sequence-identification"].as_array().unwrap().clone();
    let keys = "<port>right</port><direction-out-facing>true</direction-out-facing>";
    let merged = edit(&data, &entry("merge", keys, "<stream>7</stream>"), Operation::Merge).unwrap();
    let changed: Vec<usize> = (0..4).filter(|at| list(&merged)[*at] != list(&data)[*at]).collect();
    assert_eq!((changed, list(&merged)[2]["stream"].clone()), (vec![2], json!([1, 7])));
    let rest = edit(&data, &entry("delete", keys, ""), Operation::Merge).unwrap();
    assert_eq!((list(&rest).len(), &list(&rest)[2]), (3, &list(&data)[3]));
    let error = edit(&rest, &entry("delete", keys, ""), Operation::Merge).unwrap_err();
    let path = "/ieee802-dot1cb-frer:frer/sequence-identification[port='right'][direction-out-facing='true']";
    assert_eq!((error.tag, error.path.as_deref()), (Tag::DataMissing, Some(path)));
    assert!(error.xml().contains("[ieee802-dot1cb-frer:direction-out-facing='true']"), "{}", error.xml());
    let error = edit(&data, &entry("merge", "<port>right</port>", ""), Operation::Merge).unwrap_err();
    assert_eq!((error.tag, error.info[0].1.as_str()), (Tag::MissingElement, "direction-out-facing"));
    // A leaf comes with both.
    let found = select(&data, &entry("merge", "<port>right</port>", "<active/>").replace(" nc:operation='merge'", ""));
    let selected = |is_out_facing: bool| json!({ "port": "right", "direction-out-facing": is_out_facing, "active": !is_out_facing });
    assert_eq!(list(&found), [selected(true), selected(false)]);
}

#[test]
fn every_operation_edits_as_the_standard_says() {
    let data = export();
    let port = "right";
    let entry = |operation: &str, index: u32, rest: &str| {
        gates(
            port,
            "",
            &format!(
                "<admin-control-list><gate-control-entry nc:operation='{operation}'><index>{index}</index>{rest}\
                 </gate-control-entry></admin-control-list>"
            ),
        )
    };
    let whole = "<operation-name xmlns:s='urn:ieee:std:802.1Q:yang:ieee802-dot1q-sched'>s:set-gate-states</operation-name>\
                 <time-interval-value>5</time-interval-value><gate-states-value>3</gate-states-value>";
    let list = |data: &Value| table(data, port)["admin-control-list"]["gate-control-entry"].as_array().unwrap().clone();
    let before = list(&data);
    let count = before.len();

    let merged =
        edit(&data, &entry("merge", 0, "<time-interval-value>7</time-interval-value>"), Operation::Merge).unwrap();
    assert_eq!(list(&merged)[0]["time-interval-value"], 7);
    assert_eq!(list(&merged)[0]["gate-states-value"], before[0]["gate-states-value"]);
    assert_eq!(list(&merged)[1..], before[1..]);

    let created = edit(&data, &entry("create", 99, whole), Operation::None).unwrap();
    let new = json!({
        "index": 99, "operation-name": "ieee802-dot1q-sched:set-gate-states", "time-interval-value": 5, "gate-states-value": 3
    });
    assert_eq!(list(&created)[count], new);
    let error = edit(&created, &entry("create", 99, whole), Operation::None).unwrap_err();
    assert_eq!(error.tag, Tag::DataExists);
    assert!(error.path.unwrap().ends_with("/gate-control-entry[index='99']"));

    let deleted = edit(&created, &entry("delete", 99, ""), Operation::None).unwrap();
    assert_eq!(deleted, data);
    assert_eq!(edit(&data, &entry("delete", 99, ""), Operation::Merge).unwrap_err().tag, Tag::DataMissing);
    assert_eq!(edit(&data, &entry("remove", 99, ""), Operation::Merge).unwrap(), data);

    let replaced =
        edit(&data, &gates(port, "nc:operation='replace'", "<gate-enabled>false</gate-enabled>"), Operation::Merge);
    assert_eq!(*table(&replaced.unwrap(), port), json!({ "gate-enabled": false }));
    let gone = edit(&data, &gates(port, "nc:operation='delete'", ""), Operation::Merge).unwrap();
    assert!(table(&gone, port).is_null());
    let none = gates("no-port", "", "<gate-enabled>true</gate-enabled>");
    assert_eq!(edit(&data, &none, Operation::None).unwrap_err().tag, Tag::DataMissing);
    assert_eq!(edit(&data, "", Operation::Replace).unwrap(), json!({}));
}

#[test]
fn what_is_wrong_is_said_with_its_path() {
    let data = export();
    let at = "/ietf-interfaces:interfaces/interface[name='right']/ieee802-dot1q-bridge:bridge-port/\
              ieee802-dot1q-sched-bridge:gate-parameter-table";
    for (inner, tag, place) in [
        ("<gate-enabled>yes</gate-enabled>", Tag::InvalidValue, "/gate-enabled"),
        ("<admin-gate-states>256</admin-gate-states>", Tag::InvalidValue, "/admin-gate-states"),
        ("<admin-gate-states/>", Tag::InvalidValue, "/admin-gate-states"),
        ("<oper-base-time/>", Tag::UnknownElement, "/oper-base-time"),
        ("<gates/>", Tag::UnknownElement, ""),
        ("<x xmlns='urn:x'/>", Tag::UnknownNamespace, ""),
        ("<gate-enabled><x/></gate-enabled>", Tag::UnknownElement, "/gate-enabled"),
        (
            "<admin-control-list><gate-control-entry/></admin-control-list>",
            Tag::MissingElement,
            "/admin-control-list/gate-control-entry",
        ),
        (
            "<admin-control-list><gate-control-entry><index>0</index><operation-name>x:set-gate-states</operation-name>\
             </gate-control-entry></admin-control-list>",
            Tag::InvalidValue,
            "/admin-control-list/gate-control-entry[index='0']/operation-name",
        ),
        ("text", Tag::InvalidValue, ""),
        ("<gate-enabled>true</gate-enabled><gate-enabled>false</gate-enabled>", Tag::BadElement, "/gate-enabled"),
        (
            "<admin-control-list/><gate-enabled>true</gate-enabled><admin-control-list/>",
            Tag::BadElement,
            "/admin-control-list",
        ),
        (
            "<admin-control-list><gate-control-entry><index>0</index><index>1</index></gate-control-entry></admin-control-list>",
            Tag::BadElement,
            "/admin-control-list/gate-control-entry[index='0']/index",
        ),
    ] {
        let error = edit(&data, &gates("right", "", inner), Operation::Merge).unwrap_err();
        assert_eq!(
            (error.tag, error.path.as_deref()),
            (tag, Some(format!("{at}{place}").as_str())),
            "{inner}: {error}"
        );
        assert!(read(error.xml().as_bytes()).is_ok(), "{}", error.xml());
    }
    let renamed = gates("right", "", "").replace("<name>right</name>", "<name>right</name><name>left</name>");
    let error = edit(&data, &renamed, Operation::Merge).unwrap_err();
    assert_eq!((error.tag, error.info[0].1.as_str()), (Tag::BadElement, "name"));
    let wrong = gates("right", "nc:operation='destroy'", "");
    assert_eq!(edit(&data, &wrong, Operation::Merge).unwrap_err().tag, Tag::BadAttribute);
    let unprefixed = gates("right", "operation='delete'", "");
    let error = edit(&data, &unprefixed, Operation::Merge).unwrap_err();
    assert_eq!((error.tag, error.info[0].1.as_str()), (Tag::UnknownAttribute, "operation"));
    let xml = edit(&data, &gates("right", "", "<gate-enabled>yes</gate-enabled>"), Operation::Merge).unwrap_err().xml();
    assert!(
        xml.contains(
            "/ietf-interfaces:interfaces/ietf-interfaces:interface[ietf-interfaces:name='right']/ieee802-dot1q-bridge:bridge-port/"
        ) && xml.contains(&format!("xmlns:ieee802-dot1q-sched-bridge=\"{SCHED}\"")),
        "{xml}"
    );
}

#[test]
fn subtree_filters_select_as_the_standard_says() {
    let data = export();
    assert_eq!(select(&data, ""), json!({}));
    assert_eq!(select(&data, "<interfaces xmlns='urn:other'/>"), json!({}));
    let interfaces = json!({ "ietf-interfaces:interfaces": data["ietf-interfaces:interfaces"] });
    assert_eq!(select(&data, &format!("<interfaces xmlns='{INTERFACES}'/>")), interfaces);
    assert_eq!(select(&data, "<interfaces xmlns=''/>"), interfaces);
    let streams = select(&data, &format!("<stream-identity xmlns='{STREAMS}'><handle/></stream-identity>"));
    let expected = json!([{ "index": 1, "handle": 1 }, { "index": 2, "handle": 2 }]);
    assert_eq!(streams, json!({ "ieee802-dot1cb-stream-identification:stream-identity": expected }));
    // Contents that match select all beside them.
    let one = select(
        &data,
        &format!("<interfaces xmlns='{INTERFACES}'><interface><name>right</name></interface></interfaces>"),
    );
    let ports = one["ietf-interfaces:interfaces"]["interface"].as_array().unwrap();
    assert_eq!((ports.len(), table(&one, "right")), (1, table(&data, "right")));
    let none = format!("<interfaces xmlns='{INTERFACES}'><interface><name>no</name></interface></interfaces>");
    assert_eq!(select(&data, &none), json!({}));
    // A leaf of one port, with the key; and two parts of one table.
    let leaf = select(&data, &gates("right", "", "<gate-enabled/>"));
    assert_eq!((table(&leaf, "right"), leaf.to_string().contains("left")), (&json!({ "gate-enabled": true }), false));
    let both = gates("right", "", "<gate-enabled/><admin-cycle-time><numerator/></admin-cycle-time>");
    let both = select(&data, &(both.clone() + &gates("right", "", "<admin-gate-states/>")));
    let cycle = &table(&data, "right")["admin-cycle-time"]["numerator"];
    let expected =
        json!({ "gate-enabled": true, "admin-gate-states": 255, "admin-cycle-time": { "numerator": cycle } });
    assert_eq!(*table(&both, "right"), expected);
    let names = select(&data, &format!("<interfaces xmlns='{INTERFACES}'><interface><name/></interface></interfaces>"));
    assert_eq!(
        names,
        json!({ "ietf-interfaces:interfaces": { "interface": [{ "name": "left" }, { "name": "right" }] } })
    );
}

#[test]
fn requests_are_read_and_answered_with_their_attributes() {
    let rpc = |inner: &str| {
        format!("<x:rpc xmlns:x='{BASE}' xmlns='{BASE}' xmlns:u='urn:u' message-id='1&lt;' u:user='me'>{inner}</x:rpc>")
    };
    for (inner, expected) in [
        ("<get/>", Ok(Request::Get { filter: None })),
        (
            "<get-config><source><running/></source></get-config>",
            Ok(Request::GetConfig { source: Datastore::Running, filter: None }),
        ),
        ("<lock><target><candidate/></target></lock>", Ok(Request::Lock(Datastore::Candidate))),
        ("<kill-session><session-id>7</session-id></kill-session>", Ok(Request::KillSession(7))),
        ("<commit/>", Ok(Request::Commit(Commit::default()))),
        (
            "<commit><confirmed/><persist>a</persist></commit>",
            Ok(Request::Commit(Commit { confirmed_s: Some(600), persist: Some("a".into()), persist_id: None })),
        ),
        ("<commit><confirm-timeout>5</confirm-timeout></commit>", Err(Tag::BadElement)),
        ("<commit><confirmed/><confirm-timeout>0</confirm-timeout></commit>", Err(Tag::InvalidValue)),
        ("<get-config/>", Err(Tag::MissingElement)),
        ("<get-config><source><url>file:///a</url></source></get-config>", Err(Tag::OperationNotSupported)),
        (
            "<get-config><source><startup/></source></get-config>",
            Ok(Request::GetConfig { source: Datastore::Startup, filter: None }),
        ),
        (
            "<copy-config><target><startup/></target><source><running/></source></copy-config>",
            Ok(Request::CopyConfig { target: Datastore::Startup, source: Source::Datastore(Datastore::Running) }),
        ),
        (
            "<copy-config><target><running/></target><source><startup/></source></copy-config>",
            Err(Tag::OperationNotSupported),
        ),
        ("<copy-config><target><startup/></target><source><startup/></source></copy-config>", Err(Tag::InvalidValue)),
        ("<edit-config><target><startup/></target><config/></edit-config>", Err(Tag::OperationNotSupported)),
        ("<delete-config><target><startup/></target></delete-config>", Ok(Request::DeleteConfig)),
        ("<delete-config><target><running/></target></delete-config>", Err(Tag::OperationNotSupported)),
        ("<get><filter type='xpath' select='/'/></get>", Err(Tag::BadAttribute)),
        ("<get><with-defaults/></get>", Err(Tag::UnknownElement)),
        ("<edit-config><target><running/></target><config/></edit-config>", Err(Tag::OperationNotSupported)),
        ("<edit-config><target><candidate/></target></edit-config>", Err(Tag::MissingElement)),
        ("<edit-config><target><candidate/></target><config xmlns=''/></edit-config>", Err(Tag::UnknownNamespace)),
        ("<delete-config><target><candidate/></target></delete-config>", Err(Tag::OperationNotSupported)),
        ("<reboot xmlns='urn:x'/>", Err(Tag::OperationNotSupported)),
        ("<get/><get/>", Err(Tag::UnknownElement)),
        ("", Err(Tag::MissingElement)),
    ] {
        let text = rpc(inner);
        let document = read(text.as_bytes()).unwrap();
        let found = Rpc::of(&document);
        assert_eq!(found.request.map_err(|error| error.tag), expected, "{inner}");
        assert_eq!(
            found.attributes,
            format!(" xmlns:x=\"{BASE}\" xmlns:u=\"urn:u\" message-id=\"1&lt;\" u:user=\"me\"")
        );
    }
    let nameless = format!("<rpc xmlns='{BASE}'><get/></rpc>");
    let document = read(nameless.as_bytes()).unwrap();
    let error = Rpc::of(&document).request.unwrap_err();
    assert_eq!((error.tag, error.info[0].clone()), (Tag::MissingAttribute, ("bad-attribute", "message-id".into())));
}

#[test]
fn the_framing_is_the_best_that_both_have() {
    let greeting = |bases: &[&str], more: &str| {
        let all: String = bases.iter().map(|base| format!("<capability>\n {base} </capability>")).collect();
        format!("<hello xmlns='{BASE}'><capabilities>{all}</capabilities>{more}</hello>")
    };
    let read_hello = |text: &str| Hello::of(&read(text.as_bytes()).unwrap()).map(|hello| hello.framing);
    assert_eq!(read_hello(&greeting(&[BASE_1_0, BASE_1_1], "")), Ok(framing::Framing::Chunked));
    assert_eq!(read_hello(&greeting(&[BASE_1_0], "")), Ok(framing::Framing::EndOfMessage));
    assert!(read_hello(&greeting(&["urn:x"], "")).is_err());
    assert!(read_hello(&greeting(&[BASE_1_1], "<session-id>3</session-id>")).is_err());
    assert!(read_hello(&hello(3, &[])).is_err(), "a server's greeting");
    assert!(read_hello("<hello/>").is_err());
}

#[test]
fn the_library_names_the_modules_of_the_greeting_with_their_features() {
    let greeting = hello(3, &[]);
    let library = library();
    let state = &library["ietf-yang-library:modules-state"];
    assert!(greeting.contains(&format!(
        "yang-library:1.0?revision=2019-01-04&amp;module-set-id={}",
        state["module-set-id"].as_str().unwrap()
    )));
    let all = state["module"].as_array().unwrap();
    for module in all {
        let text = |key: &str| module[key].as_str().unwrap();
        let features = module["feature"].as_array().map_or(String::new(), |features| {
            format!(
                "&amp;features={}",
                features.iter().map(|feature| feature.as_str().unwrap()).collect::<Vec<_>>().join(",")
            )
        });
        let uri = format!(
            "<capability>{}?module={}&amp;revision={}{features}</capability>",
            text("namespace"),
            text("name"),
            text("revision")
        );
        assert_eq!(greeting.contains(&uri), text("conformance-type") == "implement", "{uri}");
    }
    let set = &library["ietf-yang-library:yang-library"]["module-set"][0];
    let listed = |key: &str| set[key].as_array().unwrap().len();
    assert_eq!((listed("module"), listed("module") + listed("import-only-module")), (MODULES.len(), all.len()));
    // What is gated by a feature would not be of the schema without it.
    let with_feature = |feature: &str| greeting.contains(&format!("&amp;features={feature}</capability>"));
    assert!(with_feature("frame-preemption") && with_feature("credit-based-shaper-algorithm"));
}

#[test]
fn the_library_is_written_and_selected_as_other_state_and_cannot_be_configured() {
    let data = Value::Object(library());
    let xml = data_xml(&data);
    for part in [
        "<yang-library xmlns=\"urn:ietf:params:xml:ns:yang:ietf-yang-library\"><module-set><name>all</name><module>",
        "<datastore><name xmlns:ietf-datastores=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">ietf-datastores:running</name>",
        "<conformance-type>import</conformance-type>",
    ] {
        assert!(xml.contains(part), "{part}: {xml}");
    }
    let filter = "<filter><modules-state xmlns='urn:ietf:params:xml:ns:yang:ietf-yang-library'><module-set-id/></modules-state></filter>";
    let document = read(filter.as_bytes()).unwrap();
    let id = selected(&data, document.root_element());
    assert_eq!(id["ietf-yang-library:modules-state"].as_object().unwrap().len(), 1, "{id}");
    let config = "<config><modules-state xmlns='urn:ietf:params:xml:ns:yang:ietf-yang-library'><module-set-id>1</module-set-id></modules-state></config>";
    let document = read(config.as_bytes()).unwrap();
    let refused = edited(&Value::Null, document.root_element(), Operation::Merge).unwrap_err();
    assert!(refused.to_string().contains("is state"), "{refused}");
}
