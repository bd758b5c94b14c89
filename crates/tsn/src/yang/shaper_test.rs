//! Idle slopes in documents, and the messages that wrong ones get.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::config;
use crate::model::Switch;

const SWITCH: &str = r#"
[switch]
name = "cell4"

[[class]]
name = "audio"
queue = 3
match = [{ pcp = 3 }]

[[class]]
name = "video"
queue = 2
match = [{ pcp = 2 }]

[[class]]
name = "others"
queue = 0

[[port]]
name = "left"

[[port]]
name = "right"
rate = "1Gbit"
max-sdu = { others = 1000 }
idle-slope = { audio = "20Mbit", video = "300Mbit" }
"#;
/// The second port of the bridge.
const PORT: &str = "/ietf-interfaces:interfaces/interface/1/ieee802-dot1q-bridge:bridge-port";
const CBSA: &str = "ieee802-dot1q-cbsa-bridge:cbsa";
const PATH: &str = "/ietf-interfaces:interfaces/interface[name='right']/ieee802-dot1q-bridge:bridge-port";

fn switch() -> Switch {
    config::read(SWITCH).unwrap_or_else(|errors| panic!("{errors}")).switch
}

fn slopes(switch: &Switch) -> &[Option<u64>] {
    &switch.ports[1].idle_slopes
}

/// What a manager asks of a port of a bridge.
fn asked(algorithms: Value, table: Value) -> String {
    json!({ "ietf-interfaces:interfaces": { "interface": [
        { "name": "left", "ieee802-dot1q-bridge:bridge-port": {} },
        { "name": "right", "ieee802-dot1q-bridge:bridge-port": {
            "transmission-selection-algorithm-table": { "transmission-selection-algorithm-map": algorithms },
            CBSA: { "cbsa-parameter-table": table },
        } },
    ] } })
    .to_string()
}

fn algorithm(class: u8, name: &str) -> Value {
    json!({ "traffic-class": class, "transmission-selection-algorithm": format!("ieee802-dot1q-types:{name}") })
}

#[test]
fn idle_slopes_go_out_and_come_back() {
    let switch = switch();
    let exported = export(&switch).unwrap();
    assert_eq!(exported.notes, [""; 0]);
    assert_eq!(
        exported.document.pointer(&format!("{PORT}/{CBSA}")),
        Some(&json!({ "cbsa-parameter-table": [
            { "traffic-class": 3, "admin-idle-slope": "20000000" },
            { "traffic-class": 2, "admin-idle-slope": "300000000" },
        ] }))
    );
    assert_eq!(
        exported.document.pointer(&format!("{PORT}/transmission-selection-algorithm-table")),
        Some(&json!({ "transmission-selection-algorithm-map": [
            algorithm(3, "credit-based-shaper"), algorithm(2, "credit-based-shaper"),
        ] }))
    );
    assert_eq!(exported.document.to_string().matches(CBSA).count(), 1, "the other port is not shaped");
    let text = exported.document.to_string();
    let new = new_switch("cell4", &mut import(&text).unwrap());
    assert_eq!(slopes(&new), [Some(20_000_000), Some(300_000_000), None]);
    let mut after = switch.clone();
    after.ports[1].idle_slopes = vec![Some(1_000), None, Some(2_000)];
    merge(&mut after, &mut import(&text).unwrap()).unwrap();
    assert_eq!(after, switch);

    // A port of which it says nothing keeps its own; one whose table is empty has none.
    let silent = text.replace(CBSA, "x:cbsa").replace("transmission-selection-algorithm-table", "x:table");
    merge(&mut after, &mut import(&silent).unwrap()).unwrap();
    assert_eq!(after, switch);
    merge(&mut after, &mut import(&asked(json!([]), json!([]))).unwrap()).unwrap();
    assert!(!after.ports[1].is_shaped());
    assert_eq!(after.ports[1].idle_slopes, []);
}

#[test]
fn a_station_s_idle_slopes_stand_at_the_interface() {
    let text = SWITCH.replace("[[port]]\nname = \"left\"\n", "").replace("cell4\"\n", "cell4\"\nrole = \"station\"\n");
    let switch = config::read(&text).unwrap().switch;
    let document = export(&switch).unwrap().document;
    assert_eq!(
        document.pointer("/ietf-interfaces:interfaces/interface/0/ieee802-dot1dc-cbsa-if:cbsa/cbsa-parameter-table/0"),
        Some(&json!({ "traffic-class": 3, "admin-idle-slope": "20000000" }))
    );
    let mut after = switch.clone();
    after.ports[0].idle_slopes = Vec::new();
    merge(&mut after, &mut import(&document.to_string()).unwrap()).unwrap();
    assert_eq!(after, switch);
    // Too much for the link.
    let mut imported = import(&document.to_string().replace("300000000", "990000000")).unwrap();
    merge(&mut after, &mut imported).unwrap();
    let fault = config::check_at(&after, 0).unwrap_err();
    assert_eq!(
        place(&fault.part, &after, &imported),
        "/ietf-interfaces:interfaces/interface[name='right']/ieee802-dot1dc-cbsa-if:cbsa/cbsa-parameter-table"
    );
}

#[test]
fn the_algorithm_decides_whether_a_class_is_shaped() {
    let read = |algorithms: Value| {
        let table = json!([
            { "traffic-class": 2, "admin-idle-slope": 300_000_000, "oper-idle-slope": "0" },
            { "traffic-class": 3, "admin-idle-slope": "20000000" },
            { "traffic-class": 1, "admin-idle-slope": "0" },
            { "traffic-class": 0 },
        ]);
        let mut imported = import(&asked(algorithms, table)).unwrap();
        let mut after = switch();
        merge(&mut after, &mut imported).unwrap();
        let otherwise = imported.otherwise.iter().map(|otherwise| otherwise.to_string());
        (slopes(&after).to_vec(), imported.notes.into_iter().chain(otherwise).collect::<Vec<String>>())
    };
    let both = vec![Some(20_000_000), Some(300_000_000), None];
    assert_eq!(read(json!([])), (both.clone(), Vec::new()));
    assert_eq!(read(json!([algorithm(3, "credit-based-shaper"), algorithm(0, "strict-priority")])), (both, Vec::new()));
    let at = format!(
        "{PATH}/transmission-selection-algorithm-table/transmission-selection-algorithm-map[traffic-class='3']\
         /transmission-selection-algorithm"
    );
    for (name, note) in [
        ("strict-priority", "strict-priority shapes nothing; the class's admin-idle-slope is left out"),
        (
            "enhanced-transmission-selection",
            "enhanced-transmission-selection is not supported; strict-priority is written",
        ),
    ] {
        let (slopes, notes) = read(json!([algorithm(3, name)]));
        assert_eq!((slopes, notes), (vec![None, Some(300_000_000), None], vec![format!("{at}: {note}")]));
    }
}

#[test]
fn what_cannot_be_shaped_is_named_by_its_path() {
    let entry = |class: u8, slope: Value| json!([{ "traffic-class": class, "admin-idle-slope": slope }]);
    let list = format!("{PATH}/{CBSA}/cbsa-parameter-table");
    let map = format!("{PATH}/transmission-selection-algorithm-table/transmission-selection-algorithm-map");
    let shaper = algorithm(3, "credit-based-shaper");
    for (algorithms, table, path, words) in [
        (json!([]), entry(8, json!("1")), format!("{list}[traffic-class='8']/traffic-class"), "from 0 to 7 but 8"),
        (
            json!([]),
            entry(3, json!("20Mbit")),
            format!("{list}[traffic-class='3']/admin-idle-slope"),
            "from 0 to 10000000000000 but \"20Mbit\"; it counts bits per second",
        ),
        (json!([]), entry(3, json!(0.75)), format!("{list}[traffic-class='3']/admin-idle-slope"), "but 0.75"),
        (json!([]), json!([{ "admin-idle-slope": "1" }]), format!("{list}[1]"), "lacks `traffic-class`"),
        (
            json!([]),
            json!([{ "traffic-class": 3, "send-slope": "1" }]),
            format!("{list}[traffic-class='3']"),
            "`send-slope` is not supported",
        ),
        (json!([algorithm(9, "x")]), json!([]), format!("{map}[traffic-class='9']/traffic-class"), "from 0 to 7 but 9"),
        (
            json!([shaper]),
            entry(3, json!("0")),
            format!("{map}[traffic-class='3']/transmission-selection-algorithm"),
            "no frame of traffic class 3 passes without an admin-idle-slope above 0",
        ),
    ] {
        let error = import(&asked(algorithms, table)).unwrap_err();
        assert!(error.path == path && error.what.contains(words), "expected {path}: … {words}\n{error}");
    }

    // What this switch lacks changes nothing of it.
    let (before, mut after) = (switch(), switch());
    let text = asked(
        json!([]),
        json!([{ "traffic-class": 3, "admin-idle-slope": "1" }, { "traffic-class": 5, "admin-idle-slope": "2" }]),
    );
    let error = merge(&mut after, &mut import(&text).unwrap()).unwrap_err();
    let said = "the switch has no traffic class 5; it has 0, 2, 3";
    assert_eq!((error.path(), error.to_string().as_str()), (format!("{list}[traffic-class='5']").as_str(), said));
    assert_eq!(after, before);
    let mut imported = import(&text).unwrap();
    assert_eq!(slopes(&new_switch("new", &mut imported)).iter().flatten().count(), 2, "as many classes as are named");
    let few = text.replace(
        "\"transmission",
        "\"traffic-class\":{\"traffic-class-table\":{\"number-of-traffic-classes\":4}},\"transmission",
    );
    let mut imported = import(&few).unwrap();
    assert_eq!(slopes(&new_switch("new", &mut imported)), [Some(1), None, None, None]);
    assert_eq!(imported.notes, ["right: no priority belongs to traffic class 5, which is not shaped"]);

    // What its link cannot keep is found at the list.
    let mut imported = import(&asked(json!([]), entry(3, json!("1500000000")))).unwrap();
    merge(&mut after, &mut imported).unwrap();
    let fault = config::check_at(&after, 0).unwrap_err();
    assert_eq!(place(&fault.part, &after, &imported), list);
    assert_eq!(fault.what, "the idle slopes sum up to 1.5Gbit, and the link has 1Gbit: lower them");
    // With those of the switch, new gates are wrong.
    let gates = json!({ "ietf-interfaces:interfaces": { "interface": [{ "name": "right", "ieee802-dot1q-bridge:bridge-port": {
        "ieee802-dot1q-sched-bridge:gate-parameter-table": { "gate-enabled": true,
            "admin-cycle-time": { "numerator": 1, "denominator": 1000 },
            "admin-control-list": { "gate-control-entry": [
                { "index": 0, "operation-name": "ieee802-dot1q-sched:set-gate-states", "time-interval-value": 100_000, "gate-states-value": 4 },
                { "index": 1, "operation-name": "ieee802-dot1q-sched:set-gate-states", "time-interval-value": 900_000, "gate-states-value": 9 },
            ] } },
    } }] } });
    let (mut after, mut imported) = (switch(), import(&gates.to_string()).unwrap());
    merge(&mut after, &mut imported).unwrap();
    let fault = config::check_at(&after, 0).unwrap_err();
    assert_eq!(
        place(&fault.part, &after, &imported),
        format!("{PATH}/ieee802-dot1q-sched-bridge:gate-parameter-table")
    );
    assert!(
        fault.what.starts_with("`video` is open for 100us of 1ms, where an idle slope of 300Mbit needs"),
        "{fault}"
    );
}

proptest! {
    #[test]
    fn idle_slopes_survive_the_way_out_and_back(own in prop::collection::vec(prop::option::of(1u64..300_000_000), 3)) {
        let mut switch = switch();
        switch.ports[1].idle_slopes = if own.iter().any(Option::is_some) { own } else { Vec::new() };
        let text = export(&switch).unwrap().document.to_string();
        let mut after = switch.clone();
        merge(&mut after, &mut import(&text).unwrap()).unwrap();
        prop_assert_eq!(&after, &switch);
        let new = new_switch("new", &mut import(&text).unwrap());
        prop_assert_eq!(slopes(&new), slopes(&switch));
    }
}
