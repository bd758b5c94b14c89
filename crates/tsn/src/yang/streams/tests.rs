//! Streams as managers write them, and what becomes of them.

use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;
use crate::config;
use crate::model::*;

const FILE: &str = r#"
[switch]
name = "press"
plane = "user"

[[class]]
name = "tc0"
queue = 0

[[port]]
name = "left"

[[port]]
name = "right"

[[port]]
name = "top"

[[stream]]
name = "stream7"
to = "02:00:00:00:01:0a"
vlan = 10
ingress = ["left", "top"]
max-sdu = 100
meter = { rate = "976kbit", burst = 244 }

[[stream]]
name = "stream1"
to = "02:00:00:00:01:02"

[stream.gate]
cycle = "1ms"
base-time = 1700000000000250000
entries = [
    { open = true, for = "300us" },
    { open = false, for = "700us" },
]
"#;

const COMPONENT: &str = "/ieee802-dot1q-bridge:bridges/bridge/0/component/0";

fn switch() -> Switch {
    config::read(FILE).unwrap().switch
}

fn document() -> Value {
    export(&switch()).unwrap().document
}

/// A place in the component, or from the top.
fn place(at: &str) -> String {
    match at.strip_prefix("psfp:") {
        Some(at) => format!("{COMPONENT}/ieee802-dot1q-psfp-bridge:{at}"),
        None => format!("/ieee802-dot1cb-stream-identification:stream-identity/{at}"),
    }
}

/// The document with one value replaced, or added.
fn changed(at: &str, to: Value) -> String {
    let mut document = document();
    let at = place(at);
    let (parent, key) = at.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap_or_else(|| panic!("{at}")) {
        Value::Array(list) => match key.parse::<usize>().unwrap() {
            new if new == list.len() => list.push(to),
            old => list[old] = to,
        },
        parent => parent[key] = to,
    }
    document.to_string()
}

#[test]
fn streams_go_out_and_come_back() {
    let exported = export(&switch()).unwrap();
    assert_eq!(exported.notes, [""; 0]);
    let document = exported.document;
    assert_eq!(
        document["ieee802-dot1cb-stream-identification:stream-identity"][0],
        json!({
            "index": 1,
            "handle": 7,
            "out-facing": { "input-port": ["left", "top"] },
            "null-stream-identification": { "destination-mac": "02-00-00-00-01-0A", "tagged": "tagged", "vlan": 10 },
        })
    );
    let filters = "psfp:stream-filters/stream-filter-instance-table";
    let filter = |handle: u32, size: u32, gate: u32, meter: Option<u32>| {
        let mut filter = json!({
            "stream-filter-instance-id": handle, "stream-handle": handle, "priority-spec": "wildcard",
            "max-sdu-size": size, "stream-gate-ref": gate, "flow-meter-enable": meter.is_some(),
        });
        if let Some(meter) = meter {
            filter["flow-meter-ref"] = json!(meter);
        }
        filter
    };
    assert_eq!(document.pointer(&place(filters)), Some(&json!([filter(7, 100, 0, Some(7)), filter(1, 0, 1, None)])));
    assert_eq!(
        document.pointer(&place("psfp:stream-gates/stream-gate-instance-table/1")),
        Some(&json!({
            "stream-gate-instance-id": 1,
            "gate-enable": true,
            "admin-gate-states": "open",
            "admin-control-list": { "gate-control-entry": [
                { "index": 0, "operation-name": "ieee802-dot1q-psfp:set-gate-and-ipv", "time-interval-value": 300_000, "gate-state-value": "open", "ipv-spec": "null" },
                { "index": 1, "operation-name": "ieee802-dot1q-psfp:set-gate-and-ipv", "time-interval-value": 700_000, "gate-state-value": "closed", "ipv-spec": "null" },
            ] },
            "admin-cycle-time": { "numerator": 1_000_000, "denominator": 1_000_000_000 },
            "admin-cycle-time-extension": 0,
            "admin-base-time": { "seconds": "1700000000", "nanoseconds": 250_000 },
            "config-change": true,
        }))
    );
    let mut imported = import(&document.to_string()).unwrap();
    let new = new_switch("press", &mut imported);
    assert_eq!((&new.streams, &new.ports), (&switch().streams, &switch().ports));
    assert!(config::read(&config::write(&new)).is_ok(), "{}", config::write(&new));
    let mut same = switch();
    merge(&mut same, &mut imported).unwrap();
    assert_eq!((same, imported.notes), (switch(), Vec::new()));
}

#[test]
fn streams_keep_their_names_and_others_are_called_by_their_handle() {
    let mut switch = switch();
    switch.streams[0].name = "axis1".into();
    switch.streams[1].name = "stream2".into();
    let mut document = export(&switch).unwrap().document;
    let identities = &mut document["ieee802-dot1cb-stream-identification:stream-identity"];
    // The lowest that is free, and the one in the name.
    assert_eq!((identities[0]["handle"].clone(), identities[1]["handle"].clone()), (json!(1), json!(2)));
    identities[1]["null-stream-identification"]["destination-mac"] = json!("02-00-00-00-01-03");
    let mut after = switch.clone();
    merge(&mut after, &mut import(&document.to_string()).unwrap()).unwrap();
    let names: Vec<&str> = after.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!((names, after.streams[1].to[5]), (vec!["axis1", "stream2"], 3));

    // A name that a kept one has is not given twice.
    switch.streams[0].name = "stream2".into();
    switch.streams[1].name = "axis2".into();
    let mut after = switch.clone();
    merge(&mut after, &mut import(&document.to_string()).unwrap()).unwrap();
    let names: Vec<&str> = after.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["stream2", "stream2-2"]);

    // With the ports of others, it is another stream; without any left, none is.
    let none = json!({ "ieee802-dot1cb-stream-identification:stream-identity": [] });
    merge(&mut after, &mut import(&none.to_string()).unwrap()).unwrap();
    assert_eq!(after, Switch { streams: Vec::new(), ..switch });
}

/// The handle and the address of each stream.
fn identities(document: &Value) -> Vec<(Value, Value)> {
    let of = |one: &Value| (one["handle"].clone(), one["null-stream-identification"]["destination-mac"].clone());
    document["ieee802-dot1cb-stream-identification:stream-identity"].as_array().unwrap().iter().map(of).collect()
}

/// The document without a stream, and what is left of it afterwards.
fn without(document: &mut Value, handle: u32) {
    let kept = |list: &mut Value, key: &str| list.as_array_mut().unwrap().retain(|one| one[key] != json!(handle));
    kept(&mut document["ieee802-dot1cb-stream-identification:stream-identity"], "handle");
    kept(document.pointer_mut(&place("psfp:stream-filters/stream-filter-instance-table")).unwrap(), "stream-handle");
}

#[test]
fn streams_that_stay_keep_their_handles_and_names() {
    let mut switch = switch();
    let stream = |name: &str, last: u8| Stream {
        name: name.into(),
        to: [2, 0, 0, 0, 2, last],
        meter: None,
        ..switch.streams[0].clone()
    };
    switch.streams = vec![stream("axis", 1), stream("bolt", 2), stream("chuck", 3)];
    let mut document = export(&switch).unwrap().document;
    without(&mut document, 1);
    let mut after = switch.clone();
    merge(&mut after, &mut import(&document.to_string()).unwrap()).unwrap();
    let names = |switch: &Switch| switch.streams.iter().map(|stream| stream.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&after), ["bolt", "chuck"]);
    let left = identities(&document);
    assert_eq!(left.iter().map(|(handle, _)| handle.clone()).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(identities(&export(&after).unwrap().document), left);
    // Also after a file.
    let kept = config::read(&config::write(&after)).unwrap().switch;
    assert_eq!(kept, after);
    assert_eq!(identities(&export(&kept).unwrap().document), left);

    // A new one has the handle that it is given, and is called by it if that is free.
    let identity = "ieee802-dot1cb-stream-identification:stream-identity";
    let mut more = export(&kept).unwrap().document;
    let (mut one, mut filter) = (
        more[identity][0].clone(),
        more.pointer(&place("psfp:stream-filters/stream-filter-instance-table/0")).unwrap().clone(),
    );
    (one["index"], one["handle"]) = (json!(9), json!(1));
    one["null-stream-identification"]["destination-mac"] = json!("02-00-00-00-02-09");
    (filter["stream-filter-instance-id"], filter["stream-handle"]) = (json!(1), json!(1));
    more[identity].as_array_mut().unwrap().push(one);
    more.pointer_mut(&place("psfp:stream-filters/stream-filter-instance-table"))
        .unwrap()
        .as_array_mut()
        .unwrap()
        .push(filter);
    merge(&mut after, &mut import(&more.to_string()).unwrap()).unwrap();
    assert_eq!(names(&after), ["bolt", "chuck", "stream1"]);
    assert_eq!(identities(&export(&after).unwrap().document), identities(&more));
}

#[test]
fn handles_that_change_places_stay_as_they_were_sent() {
    let mut switch = switch();
    (switch.streams[0].name, switch.streams[0].handle) = ("stream2".into(), Some(1));
    (switch.streams[1].name, switch.streams[1].handle) = ("axis".into(), Some(2));
    let document = export(&switch).unwrap().document;
    // The one that is found for the other is in its name.
    for (first, second) in [(None, None), (Some(2), None), (None, Some(1))] {
        let mut other = switch.clone();
        (other.streams[0].handle, other.streams[1].handle) = (first, second);
        merge(&mut other, &mut import(&document.to_string()).unwrap()).unwrap();
        assert_eq!(identities(&export(&other).unwrap().document), identities(&document));
    }
    let mut same = switch.clone();
    merge(&mut same, &mut import(&document.to_string()).unwrap()).unwrap();
    assert_eq!(same, switch);
}

#[test]
fn a_document_without_streams_leaves_them() {
    let mut document = export(&Switch { streams: Vec::new(), ..switch() }).unwrap().document;
    document["ietf-interfaces:interfaces"]["interface"][0]["ieee802-dot1q-bridge:bridge-port"]["ieee802-dot1q-sched-bridge:gate-parameter-table"]
        ["queue-max-sdu-table"] = json!([{ "traffic-class": 0, "queue-max-sdu": 900 }]);
    let mut after = switch();
    merge(&mut after, &mut import(&document.to_string()).unwrap()).unwrap();
    assert_eq!((&after.streams, after.ports[0].max_sdu[0]), (&switch().streams, Some(900)));
}

#[test]
fn streams_that_the_document_cannot_say_are_noted_and_stay_in_their_order() {
    let mut switch = switch();
    let other = Stream { name: "camera".into(), from: Some([2, 0, 0, 0, 0, 9]), ..switch.streams[1].clone() };
    switch.streams.insert(1, other);
    let exported = export(&switch).unwrap();
    assert_eq!(
        exported.notes,
        ["stream camera: no stream identification of IEEE 802.1CB-2017 has both `to` and `from`; it is left out"]
    );
    let mut after = switch.clone();
    merge(&mut after, &mut import(&exported.document.to_string()).unwrap()).unwrap();
    assert_eq!(after, switch);
    let mut first = switch.clone();
    first.streams.swap(0, 1);
    let mut after = first.clone();
    merge(&mut after, &mut import(&exported.document.to_string()).unwrap()).unwrap();
    assert_eq!(after, first);

    switch.clock = Clock::Realtime;
    let error = export(&switch).unwrap_err().to_string();
    assert!(error.starts_with("stream stream1: a base time of the realtime clock"), "{error}");
    let mut imported = import(&exported.document.to_string()).unwrap();
    merge(&mut switch, &mut imported).unwrap();
    assert_eq!(imported.notes, ["stream-handle 1: the base time is TAI, and the switch follows the realtime clock"]);
}

#[test]
fn what_a_switch_cannot_do_is_refused_with_its_path() {
    let gate = "psfp:stream-gates/stream-gate-instance-table/1";
    let entry = "psfp:stream-gates/stream-gate-instance-table/1/admin-control-list/gate-control-entry/0";
    let filter = "psfp:stream-filters/stream-filter-instance-table/0";
    let meter = "psfp:flow-meters/flow-meter-instance-table/0";
    let second = document().pointer(&place(meter)).unwrap().clone();
    let mut second = second;
    second["flow-meter-instance-id"] = json!(8);
    let in_meter = "flow-meter-instance-table[flow-meter-instance-id='7']";
    let in_filter = "stream-filter-instance-table[stream-filter-instance-id='7']";
    let in_gate = "stream-gate-instance-table[stream-gate-instance-id='1']";
    let in_stream = "stream-identity[index='1']";
    let cases = [
        (
            format!("{meter}/excess-information-rate"),
            json!("5"),
            format!("{in_meter}/excess-information-rate"),
            "no excess",
        ),
        (format!("{meter}/excess-burst-size"), json!(5), format!("{in_meter}/excess-burst-size"), "write 0"),
        (format!("{meter}/color-mode"), json!("color-aware"), format!("{in_meter}/color-mode"), "color-blind"),
        (format!("{meter}/mark-all-frames-red-enable"), json!(true), "red-enable".into(), "write false"),
        (format!("{meter}/burst"), json!(1), in_meter.into(), "`burst` is not supported"),
        (meter.replace("/0", "/1"), second, "[flow-meter-instance-id='8']".into(), "no stream filter refers"),
        (format!("{meter}/flow-meter-instance-id"), json!(8), format!("{in_filter}/flow-meter-ref"), "no flow meter 7"),
        (format!("{filter}/priority-spec"), json!("six"), format!("{in_filter}/priority-spec"), "\"wildcard\""),
        (format!("{filter}/stream-gate-ref"), json!(6), format!("{in_filter}/stream-gate-ref"), "no stream gate 6"),
        (
            format!("{filter}/stream-blocked-due-to-oversize-frame-enabled"),
            json!(true),
            in_filter.into(),
            "write false",
        ),
        (format!("{filter}/wildcard"), json!([null]), in_filter.into(), "`wildcard` is not supported"),
        (
            format!("{filter}/stream-handle"),
            json!(1),
            "[stream-filter-instance-id='7']".into(),
            "filter of the stream-handle 1",
        ),
        (format!("{filter}/stream-handle"), json!(5), in_stream.into(), "no stream filter has the stream-handle 7"),
        (
            format!("{filter}/stream-filter-instance-id"),
            json!(1),
            "stream-filter-instance-table[2]".into(),
            "two entries",
        ),
        (format!("{gate}/admin-ipv"), json!("five"), format!("{in_gate}/admin-ipv"), "no other priority"),
        (format!("{gate}/gate-enable"), json!(false), String::new(), ""),
        (format!("{gate}/gate-closed-due-to-invalid-rx-enable"), json!(true), in_gate.into(), "write false"),
        (format!("{gate}/gate-closed-due-octets-exceeded-enable"), json!(true), in_gate.into(), "write false"),
        (format!("{entry}/ipv-spec"), json!("one"), "[index='0']/ipv-spec".into(), "\"null\""),
        (format!("{entry}/gate-state-value"), json!("ajar"), "gate-state-value".into(), "neither open nor closed"),
        (
            format!("{entry}/interval-octet-max"),
            json!(9),
            "[index='0']".into(),
            "`interval-octet-max` is not supported",
        ),
        (
            format!("{entry}/operation-name"),
            json!("sched:set-gate-states"),
            "operation-name".into(),
            "set-gate-and-ipv",
        ),
        ("psfp:flow-meters/meters".into(), json!([]), "flow-meters".into(), "`meters` is not supported"),
        ("0/handle".into(), json!(1), "stream-identity[index='2']".into(), "two entries"),
        ("0/in-facing".into(), json!({}), format!("{in_stream}/in-facing"), "out-facing/input-port"),
        (
            "0/out-facing/output-port".into(),
            json!(["left"]),
            format!("{in_stream}/out-facing/output-port"),
            "goes with",
        ),
        ("0/out-facing/input-port".into(), json!([]), format!("{in_stream}/out-facing/input-port"), "has no port"),
        (
            "0/null-stream-identification/vlan".into(),
            json!(0),
            format!("{in_stream}/null-stream-identification/tagged"),
            "\"tagged\" with vlan 0",
        ),
        ("0/null-stream-identification/tagged".into(), json!("all"), "/tagged".into(), "\"all\" with vlan 10"),
        (
            "0/null-stream-identification/destination-mac".into(),
            json!("axis1"),
            "/destination-mac".into(),
            "MAC address",
        ),
        (
            "0/ip-stream-identification".into(),
            json!({}),
            format!("{in_stream}/ip-stream-identification"),
            "null-stream",
        ),
        (
            "2".into(),
            json!({ "index": 3, "handle": 3, "out-facing": { "input-port": ["top"] }, "null-stream-identification": { "destination-mac": "02-00-00-00-00-01", "tagged": "all" } }),
            "stream-identity[index='3']".into(),
            "no stream filter",
        ),
    ];
    for (at, to, path, words) in cases {
        let text = changed(&at, to);
        match import(&text) {
            // That one is open, and so is none.
            Ok(imported) => assert!(words.is_empty() && imported.streams.unwrap()[1].gate.is_none(), "{at} was taken"),
            Err(error) => {
                let fits = error.path.contains(&path) && error.what.contains(words) && !words.is_empty();
                assert!(fits, "{at}: expected …{path}…: …{words}\n{error}");
            }
        }
    }
    let closed = changed(&format!("{gate}/admin-gate-states"), json!("closed"));
    assert!(import(&closed).unwrap().otherwise[0].what.contains("before the base time the gate is open"));
    let shut = closed.replace("\"gate-enable\":true", "\"gate-enable\":false");
    assert!(import(&shut).unwrap_err().what.contains("no frame would ever pass"));

    let mut two = document();
    let component = two.pointer(COMPONENT).unwrap().clone();
    two["ieee802-dot1q-bridge:bridges"]["bridge"][0]["component"].as_array_mut().unwrap().push(component);
    assert!(import(&two.to_string()).unwrap_err().what.contains("a switch has one component"));
    let shaping = document().to_string().replace("psfp-bridge:", "stream-filters-gates-bridge:");
    assert!(import(&shaping).unwrap_err().what.contains("ieee802-dot1q-psfp-bridge"));
    let alone = json!({ "ieee802-dot1q-bridge:bridges": document()["ieee802-dot1q-bridge:bridges"] });
    assert!(import(&alone.to_string()).unwrap_err().what.contains("no entry of stream-identity has the handle 1"));
    let elsewhere = document().to_string().replace("\"top\"", "\"eth9\"");
    let streams = json!({
        "ieee802-dot1cb-stream-identification:stream-identity": serde_json::from_str::<Value>(&elsewhere).unwrap()["ieee802-dot1cb-stream-identification:stream-identity"],
        "ieee802-dot1q-bridge:bridges": document()["ieee802-dot1q-bridge:bridges"],
    });
    let mut after = switch();
    let error = merge(&mut after, &mut import(&streams.to_string()).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "the switch has no port eth9; its ports are left, right, top");
    assert_eq!(after, switch());
}

#[test]
fn gates_that_streams_share_become_one_each_and_meters_are_not_shared() {
    let shared = changed("psfp:stream-filters/stream-filter-instance-table/0/stream-gate-ref", json!(1));
    let streams = import(&shared).unwrap().streams.unwrap();
    assert!(streams[0].gate.is_some() && streams[0].gate == streams[1].gate);
    let filter = "psfp:stream-filters/stream-filter-instance-table/1/flow-meter";
    let mut document: Value = serde_json::from_str(&changed(&format!("{filter}-enable"), json!(true))).unwrap();
    document.pointer_mut(&place("psfp:stream-filters/stream-filter-instance-table/1")).unwrap()["flow-meter-ref"] =
        json!(7);
    assert!(import(&document.to_string()).unwrap_err().what.contains("that no other filter has"));
}

prop_compose! {
    fn gate()(
        base_ns in 946_684_800_000_000_000u64..3_000_000_000_000_000_000,
        list in prop::collection::vec((any::<bool>(), 1u64..1_000_000_000), 1..20),
        closed_ns in 1u64..1_000_000,
    ) -> StreamGate {
        let all = list.into_iter().chain([(false, closed_ns)]);
        let mut entries: Vec<StreamGateEntry> = all.map(|(open, for_ns)| StreamGateEntry { open, for_ns }).collect();
        // What 32-bit numbers can say.
        let mut left_ns = u64::from(u32::MAX);
        entries.reverse();
        entries.retain(|entry| match left_ns.checked_sub(entry.for_ns) {
            Some(left) => { left_ns = left; true }
            None => false,
        });
        StreamGate { base: Base::At(base_ns), cycle_ns: entries.iter().map(|entry| entry.for_ns).sum(), entries }
    }
}

prop_compose! {
    fn stream(number: u8)(
        has_handle in any::<bool>(),
        vlan in of(0u16..4095),
        from in of(any::<[u8; 5]>()),
        ingress in prop::sample::select(vec![None, Some(vec![1]), Some(vec![0, 2]), Some(vec![0, 1, 2])]),
        max_sdu in of(42u32..9_216),
        meter in of((1u64..=u64::MAX, any::<u32>())),
        gate in of(gate()),
        name in prop::sample::select(vec!["axis", "stream", "stream-"]),
        eliminate in of((2u32..=128, 1u64..=3_600_000, 2u32..=8)),
        replicate in prop::sample::select(vec![None, None, Some(vec![0, 1]), Some(vec![0, 1, 2])]),
    ) -> Stream {
        let is_idle = meter.is_none() && gate.is_none() && eliminate.is_none() && replicate.is_none();
        let elimination = |(history_length, timeout_ms, paths)| {
            Elimination { history_length, reset_timeout_ns: timeout_ms * 1_000_000, paths }
        };
        Stream {
            name: format!("{name}{number}"),
            handle: has_handle.then_some(u32::from(number) + 2),
            to: [2, 0, 0, 0, 1, number],
            vlan,
            from: from.map(|[a, b, c, d, e]| [2, a, b, c, d, e]),
            ingress,
            max_sdu: max_sdu.or(is_idle.then_some(100)),
            meter: meter.map(|(rate, burst)| Meter { rate, burst }),
            gate,
            eliminate: eliminate.map(elimination),
            replicate,
        }
    }
}

proptest! {
    #[test]
    fn streams_survive_the_way_out_and_back(
        streams in (0u8..6).prop_flat_map(|count| (0..count).map(stream).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let switch = Switch { streams, ..switch() };
        let exported = export(&switch).unwrap();
        let unsaid = switch.streams.iter().filter(|stream| stream.from.is_some()).count();
        prop_assert_eq!(exported.notes.len(), unsaid);
        if unsaid == switch.streams.len() {
            return Ok(());
        }
        let mut imported = import(&exported.document.to_string()).unwrap();
        prop_assert_eq!(&imported.notes, &Vec::<String>::new());
        let mut after = switch.clone();
        merge(&mut after, &mut imported).unwrap();
        prop_assert_eq!(&after, &switch);
        // By the document alone, they are called by their handles.
        let new = new_switch("press", &mut imported);
        let again = export(&new).unwrap().document;
        let bare = |mut document: Value| { document["ietf-interfaces:interfaces"] = Value::Null; document };
        prop_assert_eq!(bare(again), bare(exported.document));
    }
}
