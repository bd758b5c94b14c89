//! What no switch could be, or would do otherwise.

use super::*;

#[test]
fn a_name_that_no_interface_has_is_refused_at_its_place() {
    let name = "p2\"\n\n[[forward]]\nto = \"02:00:00:00:00:09\"\nports = [\"swp0\"]\n\n[[port]]\nname = \"p3";
    let text = changed("/ietf-interfaces:interfaces/interface/1/name", json!(name));
    let mut imported = import(&text).unwrap();
    let switch = new_switch("br0", &mut imported);
    let fault = config::check_at(&switch, 0).unwrap_err();
    assert!(fault.what.contains("an interface's name") && fault.others == 0, "{fault:?}");
    let path = format!("/ietf-interfaces:interfaces/interface[name='{name}']");
    assert_eq!(place(&fault.part, &switch, &imported), path);
}

#[test]
fn what_is_done_otherwise_is_told_from_notes() {
    let said = |text: &str| import(text).unwrap().otherwise.iter().map(|said| said.to_string()).collect::<Vec<_>>();
    assert_eq!(said(&document().to_string()), [""; 0]);
    let table = format!("/ietf-interfaces:interfaces/interface[name='swp1']/ieee802-dot1q-bridge:bridge-port{TABLE}");
    let entry = "admin-control-list/gate-control-entry";
    for (at, to, path, what) in [
        ("admin-gate-states", json!(0), "admin-gate-states", "before the base time all gates are open here; write 255"),
        (
            "admin-cycle-time-extension",
            json!(5),
            "admin-cycle-time-extension",
            "a new schedule begins with a whole cycle here; write 0",
        ),
        (
            &format!("{entry}/1/operation-name"),
            json!("ieee802-dot1q-sched:set-and-release-mac"),
            &format!("{entry}[index='0']/operation-name"),
            "gates are set, and no frame is held here; write ieee802-dot1q-sched:set-gate-states",
        ),
    ] {
        assert_eq!(said(&in_table(at, to)), [format!("{table}/{path}: {what}")]);
    }
}

#[test]
fn what_stands_twice_is_refused() {
    let swp1 = "/ietf-interfaces:interfaces/interface[name='swp1']/ieee802-dot1q-bridge:bridge-port";
    let class = |class: u8, more: &str, value: u32| json!({ "traffic-class": class, more: value });
    let algorithm = json!({ "traffic-class": 2, "transmission-selection-algorithm": "strict-priority" });
    let sizes = json!([class(1, "queue-max-sdu", 300), class(1, "queue-max-sdu", 400)]);
    let slopes =
        json!([class(2, "admin-idle-slope", 5), class(0, "admin-idle-slope", 5), class(2, "admin-idle-slope", 6)]);
    let map = "transmission-selection-algorithm-table/transmission-selection-algorithm-map";
    let cases = [
        (in_table("queue-max-sdu-table", sizes), format!("{swp1}{TABLE}/queue-max-sdu-table"), 1),
        (
            changed(&format!("{PORT}/ieee802-dot1q-cbsa-bridge:cbsa"), json!({ "cbsa-parameter-table": slopes })),
            format!("{swp1}/ieee802-dot1q-cbsa-bridge:cbsa/cbsa-parameter-table"),
            2,
        ),
        (
            changed(
                &format!("{PORT}/transmission-selection-algorithm-table"),
                json!({ "transmission-selection-algorithm-map": [algorithm, algorithm] }),
            ),
            format!("{swp1}/{map}"),
            2,
        ),
    ];
    for (text, list, class) in cases {
        let error = import(&text).unwrap_err();
        assert_eq!(error.path, format!("{list}[traffic-class='{class}']/traffic-class"));
        assert_eq!(error.what, format!("there are two entries with traffic-class {class}"));
    }
    let twice = import("{\n\"ietf-interfaces:interfaces\": 1, \"ietf-interfaces:interfaces\": 2 }").unwrap_err();
    assert_eq!((&twice.path[..7], &*twice.what), ("line 2 ", "`ietf-interfaces:interfaces` is there twice"));
    let both = in_table("ieee802-dot1q-sched-bridge:gate-enabled", json!(true));
    let error = import(&both).unwrap_err();
    assert_eq!((error.path, error.what.contains("`gate-enabled` twice")), (format!("{swp1}{TABLE}"), true));
}

#[test]
fn a_frame_size_of_a_class_that_is_not_there_is_refused() {
    let sizes = |of: &[u8]| {
        let entry = |class: &u8| json!({ "traffic-class": class, "queue-max-sdu": if *class == 7 { 0 } else { 300 } });
        in_table("queue-max-sdu-table", of.iter().map(entry).collect())
    };
    let switch = || new_switch("br0", &mut import(&document().to_string()).unwrap());
    let mut after = switch();
    let error = merge(&mut after, &mut import(&sizes(&[1, 7, 5])).unwrap()).unwrap_err();
    assert!(error.path().ends_with("/queue-max-sdu-table[traffic-class='5']"), "{}", error.path());
    assert_eq!(error.to_string(), "the switch has no traffic class 5; it has 0, 1, 2");
    assert_eq!(after, switch());
    // None is what every class has.
    merge(&mut after, &mut import(&sizes(&[1, 7])).unwrap()).unwrap();
    assert_eq!(after, switch());
    let mut imported = import(&sizes(&[5])).unwrap();
    assert_eq!(new_switch("new", &mut imported).ports[1].max_sdu, [None; 3]);
    assert_eq!(imported.notes, ["swp1: no priority belongs to traffic class 5, whose frames keep their size"]);
}
