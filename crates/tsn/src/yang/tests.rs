//! Documents as managers write them, and the messages that they get.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::config;
use crate::model::*;

mod guards;
mod refused;

/// Two ports of a bridge; the second has three classes and gates, as a manager of 802.1Qcw writes them.
fn document() -> Value {
    let entry = |index: u32, open: u8, ns: u32| {
        json!({
            "index": index,
            "operation-name": "ieee802-dot1q-sched:set-gate-states",
            "time-interval-value": ns,
            "gate-states-value": open,
        })
    };
    json!({ "ietf-interfaces:interfaces": { "interface": [
        { "name": "lo", "type": "iana-if-type:softwareLoopback" },
        { "name": "swp0", "ieee802-dot1q-bridge:bridge-port": { "bridge-name": "br0" } },
        { "name": "swp1", "ieee802-dot1q-bridge:bridge-port": {
            "traffic-class": { "traffic-class-table": {
                "number-of-traffic-classes": 3,
                "priority0": 2, "priority1": 2, "priority2": 1, "priority3": 0,
                "priority4": 2, "priority5": 2, "priority6": 2, "priority7": 2,
            } },
            "ieee802-dot1q-sched-bridge:gate-parameter-table": {
                "gate-enabled": true,
                "admin-gate-states": 255,
                "admin-cycle-time": { "numerator": 1, "denominator": 1000 },
                "admin-base-time": { "seconds": "1700000000", "nanoseconds": 250_000 },
                // The order of a list in JSON is none: the index tells.
                "admin-control-list": { "gate-control-entry": [
                    entry(2, 4, 400_000), entry(0, 1, 300_000), entry(1, 3, 300_000),
                ] },
                "queue-max-sdu-table": [
                    { "traffic-class": 1, "queue-max-sdu": 300 },
                    { "traffic-class": 0, "queue-max-sdu": 0 },
                ],
                "config-change": true,
            },
        } },
    ] } })
}

const PORT: &str = "/ietf-interfaces:interfaces/interface/2/ieee802-dot1q-bridge:bridge-port";
const TABLE: &str = "/ieee802-dot1q-sched-bridge:gate-parameter-table";

/// The document with one value replaced, or added.
fn changed(at: &str, to: Value) -> String {
    let mut document = document();
    let (parent, key) = at.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap_or_else(|| panic!("{at}")) {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = to,
        parent => parent[key] = to,
    }
    document.to_string()
}

fn in_table(at: &str, to: Value) -> String {
    changed(&format!("{PORT}{TABLE}/{at}"), to)
}

fn gates(text: &str) -> (Gates, Vec<String>) {
    let imported = import(text).unwrap();
    (imported.interfaces[1].gates.clone().unwrap(), imported.notes)
}

#[test]
fn a_manager_s_document_becomes_a_file() {
    let mut imported = import(&document().to_string()).unwrap();
    let switch = new_switch("br0", &mut imported);
    let text = config::write(&switch);
    assert_eq!(
        text,
        r#"[switch]
name = "br0"

[[class]]
name = "tc2"
queue = 2

[[class]]
name = "tc1"
queue = 1
match = [{ pcp = 2 }]

[[class]]
name = "tc0"
queue = 0
match = [{ pcp = 3 }]

[[port]]
name = "swp0"

[[port]]
name = "swp1"
max-sdu = { tc1 = 300 }

[port.gates]
cycle = "1ms"
base-time = 1700000000000250000
entries = [
    { open = ["tc0"], for = "300us" },
    { open = ["tc1", "tc0"], for = "300us" },
    { open = ["tc2"], for = "400us" },
]
"#
    );
    let parsed = config::read(&text).unwrap();
    assert_eq!((parsed.switch, parsed.warnings.len()), (switch.clone(), 0));
    assert_eq!(imported.notes, [""; 0]);

    // And back.
    let again = export(&switch).unwrap();
    assert_eq!(again.notes, [""; 0]);
    let mut imported = import(&again.document.to_string()).unwrap();
    assert_eq!(new_switch("br0", &mut imported), switch);
    assert_eq!(
        again
            .document
            .pointer(&format!("/ietf-interfaces:interfaces/interface/1/ieee802-dot1q-bridge:bridge-port{TABLE}")),
        Some(&json!({
            "queue-max-sdu-table": [{ "traffic-class": 1, "queue-max-sdu": 300 }],
            "gate-enabled": true,
            "admin-gate-states": 255,
            "admin-control-list": { "gate-control-entry": [
                { "index": 0, "operation-name": "ieee802-dot1q-sched:set-gate-states", "time-interval-value": 300_000, "gate-states-value": 1 },
                { "index": 1, "operation-name": "ieee802-dot1q-sched:set-gate-states", "time-interval-value": 300_000, "gate-states-value": 3 },
                { "index": 2, "operation-name": "ieee802-dot1q-sched:set-gate-states", "time-interval-value": 400_000, "gate-states-value": 4 },
            ] },
            "admin-cycle-time": { "numerator": 1_000_000, "denominator": 1_000_000_000 },
            "admin-cycle-time-extension": 0,
            "admin-base-time": { "seconds": "1700000000", "nanoseconds": 250_000 },
            "config-change": true,
        }))
    );
}

#[test]
fn a_station_s_gates_stand_at_the_interface() {
    let text = json!({ "ietf-interfaces:interfaces": { "interface": [{ "name": "eth1",
        "ieee802-dot1dc-sched-if:gate-parameter-table": {
            "gate-enabled": "true",
            "admin-control-list": { "gate-control-entry": [
                { "index": 0, "operation-name": "sched:set-gate-states", "time-interval-value": 500_000, "gate-states-value": 255 },
                { "index": 1, "operation-name": "sched:set-and-hold-mac", "time-interval-value": 500_000, "gate-states-value": 128 },
            ] },
        },
    }] } });
    let mut imported = import(&text.to_string()).unwrap();
    let switch = new_switch("station", &mut imported);
    assert_eq!((switch.role, switch.classes.len()), (Role::Station, 8));
    assert!(config::read(&config::write(&switch)).is_ok(), "{}", config::write(&switch));
    let [held] = imported.otherwise.as_slice() else { panic!("{:?}", imported.otherwise) };
    assert!(imported.notes.len() == 1 && held.what.contains("no frame is held"), "{:?} {held}", imported.notes);
    let document = export(&switch).unwrap().document;
    let table = "/ietf-interfaces:interfaces/interface/0/ieee802-dot1dc-sched-if:gate-parameter-table/gate-enabled";
    assert_eq!(document.pointer(table), Some(&json!(true)));
}

#[test]
fn what_is_wrong_is_said_with_its_path() {
    let swp1 = "/ietf-interfaces:interfaces/interface[name='swp1']/ieee802-dot1q-bridge:bridge-port";
    let table = format!("{swp1}{TABLE}");
    let entry = format!("{table}/admin-control-list/gate-control-entry");
    let cases = [
        ("{".to_owned(), "line 1 column 1".to_owned(), "not JSON"),
        ("\n".to_owned(), "line 2 column 0".to_owned(), "the file is empty"),
        ("{}".into(), "/".into(), "lacks `interfaces`"),
        (
            json!({ "ietf-interface:interfaces": {} }).to_string(),
            "/".into(),
            "did you mean `ietf-interface:interfaces`",
        ),
        (
            json!({ "ietf-interfaces:interfaces": [] }).to_string(),
            "/ietf-interfaces:interfaces".into(),
            "not an object",
        ),
        (
            changed("/ietf-interfaces:interfaces/interface/1/name", json!("swp1")),
            "/ietf-interfaces:interfaces/interface[3]/name".into(),
            "two interfaces",
        ),
        (
            changed(&format!("{PORT}{TABLE}"), json!({ "gate-enabled": false })),
            "/ietf-interfaces:interfaces/interface".into(),
            "no interface has gates",
        ),
        (in_table("gate-enabled", json!("yes")), format!("{table}/gate-enabled"), "true or false"),
        (
            in_table("admin-cycle-time", json!({ "numerator": 1 })),
            format!("{table}/admin-cycle-time"),
            "lacks `denominator`",
        ),
        (
            in_table("admin-cycle-time/denominator", json!(0)),
            format!("{table}/admin-cycle-time/denominator"),
            "from 1 to",
        ),
        (
            in_table("admin-cycle-time/denominator", json!(3000)),
            format!("{table}/admin-cycle-time"),
            "not a whole number of nanoseconds",
        ),
        (
            in_table("admin-base-time/nanoseconds", json!(1_000_000_000)),
            format!("{table}/admin-base-time/nanoseconds"),
            "999999999",
        ),
        (in_table("admin-base-time/seconds", json!("-5")), format!("{table}/admin-base-time/seconds"), "\"-5\""),
        (
            in_table("admin-base-time/seconds", json!("99999999999999999999")),
            format!("{table}/admin-base-time/seconds"),
            "whole number",
        ),
        (in_table("admin-control-list/gate-control-entry", json!([])), entry.clone(), "0 entries"),
        (
            in_table("admin-control-list/gate-control-entry/1/index", json!(2)),
            format!("{entry}[2]/index"),
            "two entries",
        ),
        (
            in_table("admin-control-list/gate-control-entry/1/operation-name", json!("set-gates")),
            format!("{entry}[index='0']/operation-name"),
            "set-gate-states",
        ),
        (
            in_table("admin-control-list/gate-control-entry/1/gate-states-value", json!(256)),
            format!("{entry}[index='0']/gate-states-value"),
            "from 0 to 255 but 256",
        ),
        (
            in_table("admin-control-list/gate-control-entry/1/time-interval-value", json!(1.5)),
            format!("{entry}[index='0']/time-interval-value"),
            "1.5",
        ),
        (
            in_table("queue-max-sdu-table/0/traffic-class", json!(8)),
            format!("{table}/queue-max-sdu-table[traffic-class='8']/traffic-class"),
            "from 0 to 7",
        ),
        (
            changed(&format!("{PORT}/traffic-class/traffic-class-table/priority3"), json!(3)),
            format!("{swp1}/traffic-class/traffic-class-table/priority3"),
            "from 0 to 2",
        ),
    ];
    for (text, path, words) in cases {
        match import(&text) {
            Ok(imported) => panic!("{path}: it was taken: {imported:?}"),
            Err(error) => {
                let fits = error.path == path && error.what.contains(words);
                assert!(fits, "expected {path}: … {words}\n{error}\n{text}");
            }
        }
    }
}

#[test]
fn a_cycle_that_differs_from_its_list_is_filled_or_cut() {
    let times = |gates: &Gates| gates.entries.iter().map(|entry| (entry.open, entry.for_ns)).collect::<Vec<_>>();
    let cycle = |numerator: u64, denominator: u64| {
        in_table("admin-cycle-time", json!({ "numerator": numerator, "denominator": denominator }))
    };
    let (longer, notes) = gates(&cycle(2, 1000));
    assert_eq!(times(&longer), [(1, 300_000), (3, 300_000), (4, 1_400_000)]);
    assert!(notes[0].contains("entries last 1ms and the cycle 2ms"), "{notes:?}");
    let (shorter, notes) = gates(&cycle(500, 1_000_000));
    assert_eq!(times(&shorter), [(1, 300_000), (3, 200_000)]);
    assert_eq!(notes.len(), 1);
    let (much_longer, _) = gates(&cycle(10, 1));
    assert_eq!(much_longer.entries.iter().map(|entry| entry.for_ns).sum::<u64>(), 10_000_000_000);
    assert!(much_longer.entries.iter().all(|entry| entry.for_ns <= u32::MAX.into()));
}

/// It took a thousand million entries.
#[test]
fn a_cycle_that_no_list_can_fill_is_an_error() {
    let cycle = |seconds: u64| {
        let document = in_table("admin-cycle-time", json!({ "numerator": seconds, "denominator": 1 }));
        import(&document.to_string()).map_err(|error| error.to_string())
    };
    // The last of three entries is followed by 1 021 more at most.
    assert!(cycle(4_389).is_ok());
    for seconds in [4_390, u32::MAX.into()] {
        let error = cycle(seconds).unwrap_err();
        assert!(error.contains("admin-cycle-time") && error.contains("1024 can be"), "{error}");
    }
}

#[test]
fn a_base_time_long_ago_counts_the_same_cycles() {
    let base = |seconds: u64, ns: u64| {
        gates(&in_table("admin-base-time", json!({ "seconds": seconds.to_string(), "nanoseconds": ns }))).0.base
    };
    assert_eq!(base(0, 0), Base::NextSecond);
    let Base::At(ns) = base(1, 123) else { panic!("a time") };
    assert_eq!((ns - 1_000_000_123) % 1_000_000, 0);
    assert!((946_684_800_000_000_000..946_684_800_001_000_000).contains(&ns), "{ns}");
}

#[test]
fn gates_are_brought_into_a_switch_with_its_own_classes() {
    let file = "[switch]\nname = \"cell4\"\n[[class]]\nname = \"red\"\nqueue = 1\nmatch = [{ udp-port = 7777 }]\n[[class]]\nname = \"blue\"\nqueue = 0\n[[port]]\nname = \"swp0\"\n[[port]]\nname = \"swp1\"\n";
    let mut switch = config::read(file).unwrap().switch;
    // Of the first port the document says nothing.
    switch.ports[0].max_sdu[0] = Some(100);
    let mut imported = import(&document().to_string()).unwrap();
    merge(&mut switch, &mut imported).unwrap();
    assert_eq!(switch.ports[0].max_sdu, [Some(100), None]);
    let port = &switch.ports[1];
    let open: Vec<u16> = port.gates.as_ref().unwrap().entries.iter().map(|entry| entry.open).collect();
    assert_eq!((open, &port.max_sdu), (vec![1, 3, 0], &vec![Some(300), None]));
    assert_eq!(imported.notes, ["swp1: no class has queue 2, whose gates are left out"]);
    switch.clock = crate::model::Clock::Realtime;
    merge(&mut switch, &mut imported).unwrap();
    assert!(imported.notes.last().unwrap().contains("realtime clock"), "{:?}", imported.notes);
    switch.ports[1].name = "eth9".into();
    let error = merge(&mut switch, &mut imported).unwrap_err().to_string();
    assert_eq!(error, "the switch has no port swp1; its ports are swp0, eth9");
}

#[test]
fn what_the_document_cannot_say_is_refused_or_noted() {
    let mut switch = new_switch("br0", &mut import(&document().to_string()).unwrap());
    let gates = |switch: &mut Switch, change: &dyn Fn(&mut Gates)| change(switch.ports[1].gates.as_mut().unwrap());
    gates(&mut switch, &|gates| gates.guard = Guard::LargestFrame);
    assert!(matches!(export(&switch), Err(ExportError::Rate { .. })));
    switch.ports[1].rate = Some(1_000_000_000);
    let exported = export(&switch).unwrap();
    assert_eq!(exported.notes, ["swp1: the guard band is written as gates that close earlier"]);
    // Class 0 is open for 600 us and class 2 for 400 us; each closes one frame of 1500 octets earlier.
    let list = import(&exported.document.to_string()).unwrap().interfaces[1].gates.clone().unwrap();
    let open_ns =
        |bit: u16| list.entries.iter().filter(|entry| entry.open & bit != 0).map(|entry| entry.for_ns).sum::<u64>();
    assert_eq!((open_ns(1), open_ns(4)), (600_000 - 12_336, 400_000 - 12_336));
    switch.clock = crate::model::Clock::Realtime;
    assert!(matches!(export(&switch), Err(ExportError::NotTai { .. })));
    switch.clock = crate::model::Clock::Tai;
    gates(&mut switch, &|gates| (gates.guard, gates.cycle_ns) = (Guard::None, 5_000_000_001));
    assert!(matches!(export(&switch), Err(ExportError::Cycle { .. })));
}

const PREEMPTION: &str = "ieee802-dot1q-preemption-bridge:frame-preemption-parameters";

/// The switch with these classes preemptible at its second port.
fn preempting(preemptible: &[usize]) -> Switch {
    let mut switch = new_switch("br0", &mut import(&document().to_string()).unwrap());
    switch.ports[1].offload = Offload::Full;
    switch.ports[1].preemption = Some(config::preemption_of(preemptible.to_vec()));
    switch
}

#[test]
fn preemption_goes_out_and_comes_back() {
    let switch = preempting(&[1, 2]);
    let exported = export(&switch).unwrap();
    assert_eq!(exported.notes, [""; 0]);
    let port = "/ietf-interfaces:interfaces/interface/1/ieee802-dot1q-bridge:bridge-port";
    assert_eq!(
        exported.document.pointer(&format!("{port}/{PREEMPTION}")),
        Some(&json!({ "frame-preemption-status-table": {
            "priority0": "express", "priority1": "express", "priority2": "preemptable", "priority3": "preemptable",
            "priority4": "express", "priority5": "express", "priority6": "express", "priority7": "express",
        } }))
    );
    let mut imported = import(&exported.document.to_string()).unwrap();
    let new = new_switch("br0", &mut imported);
    assert_eq!(new, switch);
    assert_eq!(imported.notes, ["swp1: offload = \"full\" is written, which frame preemption beside gates needs"]);
    assert!(config::read(&config::write(&new)).is_ok(), "{}", config::write(&new));

    // What the document lacks stays, and what has no table does.
    let mut own = switch.clone();
    own.ports[1].preemption.as_mut().unwrap().verify = false;
    let exported = export(&own).unwrap();
    assert!(exported.notes[0].contains("of IEEE 802.3"), "{:?}", exported.notes);
    let mut after = own.clone();
    merge(&mut after, &mut import(&exported.document.to_string()).unwrap()).unwrap();
    assert_eq!(after, own);
    merge(&mut after, &mut import(&document().to_string()).unwrap()).unwrap();
    assert_eq!(after, own);
}

#[test]
fn preemption_of_what_is_no_class_is_noted() {
    let table =
        |value: Value| changed(&format!("{PORT}/{PREEMPTION}"), json!({ "frame-preemption-status-table": value }));
    let read = |value: Value| {
        let mut imported = import(&table(value)).unwrap();
        let switch = new_switch("br0", &mut imported);
        (switch.ports[1].preemption.clone().map(|preemption| preemption.preemptible), imported.notes)
    };
    assert_eq!(read(json!({})), (None, Vec::new()));
    let (none, notes) = read(json!({ "priority0": "preemptable" }));
    assert!(none.is_none() && notes[0].contains("the class is express"), "{notes:?}");
    let all: serde_json::Map<String, Value> = (0..8).map(|n| (format!("priority{n}"), json!("preemptable"))).collect();
    let (none, notes) = read(all.into());
    assert!(none.is_none() && notes[0].contains("no frame preempts another"), "{notes:?}");
    // It alone is enough of a document; by other rules than the tag's priority it cannot be said.
    let mut alone: Value = serde_json::from_str(&table(json!({}))).unwrap();
    alone.pointer_mut(PORT).unwrap().as_object_mut().unwrap().remove(&TABLE[1..]);
    let mut other = preempting(&[1, 2]);
    other.classes[1].rules[0].to_port = Some(7777);
    let mut after = other.clone();
    let mut imported = import(&alone.to_string()).unwrap();
    merge(&mut after, &mut imported).unwrap();
    assert_eq!((&after, imported.notes.len()), (&other, 1));
    assert!(export(&other).unwrap().notes.iter().any(|note| note.contains("it is left out")));
    other.role = Role::Station;
    assert!(export(&other).unwrap().notes.iter().any(|note| note.contains("an end station's document says nothing")));
    after.classes[1].rules[0].to_port = None;
    merge(&mut after, &mut imported).unwrap();
    assert_eq!(after.ports[1].preemption, None);

    for (value, path, words) in [
        (json!({ "priority9": "express" }), "frame-preemption-status-table", "`priority9` is not supported"),
        (json!({ "priority3": "fast" }), "frame-preemption-status-table/priority3", "neither express nor preemptable"),
    ] {
        let error = import(&table(value)).unwrap_err();
        assert!(error.path.ends_with(path) && error.what.contains(words), "{error}");
    }
}

proptest! {
    #[test]
    fn gates_survive_the_way_out_and_back(
        base_ns in 946_684_800_000_000_000u64..3_000_000_000_000_000_000,
        list in prop::collection::vec((0u16..8, 1u64..1_000_000_000), 1..20),
        sizes in prop::collection::vec(prop::option::of(42u32..9_000), 3),
    ) {
        let mut switch = new_switch("br0", &mut import(&document().to_string()).unwrap());
        let entries: Vec<Entry> = list.iter().map(|(open, for_ns)| Entry { open: *open, for_ns: *for_ns }).collect();
        // What 32-bit numbers can say.
        prop_assume!(entries.iter().map(|entry| entry.for_ns).sum::<u64>() <= u32::MAX.into());
        let cycle_ns = entries.iter().map(|entry| entry.for_ns).sum();
        switch.ports[1].gates = Some(Gates { base: Base::At(base_ns), cycle_ns, guard: Guard::None, entries });
        switch.ports[1].max_sdu = sizes;
        let document = export(&switch).unwrap().document.to_string();
        let mut imported = import(&document).unwrap();
        prop_assert_eq!(new_switch("br0", &mut imported), switch.clone());
        let mut other = switch.clone();
        other.ports[1].gates = None;
        merge(&mut other, &mut imported).unwrap();
        prop_assert_eq!(other, switch);
    }

    #[test]
    fn no_document_ends_the_program(text in "[\\[\\]{}:,\"a-z0-9 -]{0,200}") {
        let _ = import(&text);
    }
}

#[test]
fn a_class_beyond_the_eighth_keeps_its_frame_size() {
    let mut switch = new_switch("br0", &mut import(&document().to_string()).unwrap());
    (switch.classes[0].queue, switch.ports[1].max_sdu[0]) = (15, Some(100));
    merge(&mut switch, &mut import(&document().to_string()).unwrap()).unwrap();
    assert_eq!(switch.ports[1].max_sdu, [Some(100), Some(300), None]);
}

#[test]
fn a_class_beyond_the_eighth_is_refused_by_name() {
    let mut switch = new_switch("br0", &mut import(&document().to_string()).unwrap());
    switch.classes[0].queue = 8;
    let name = switch.classes[0].name.clone();
    let said = format!("class {name}: queue 8 is beyond the eight traffic classes of IEEE 802.1Q");
    assert_eq!(export(&switch).unwrap_err().to_string(), said);
}
