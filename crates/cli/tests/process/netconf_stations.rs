//! An end station that is managed by NETCONF.

use super::netconf::Talk;
use super::stderr;
use super::switch_user::{Bench, bench};

const GATES: &str = "<gate-parameter-table xmlns=\"urn:ieee:std:802.1Q:yang:ieee802-dot1dc-sched-if\">";

/// A station with one port, whose frames a dedicated core sends.
fn station() -> Option<Bench> {
    let bench = bench()?;
    let text = std::fs::read_to_string(bench.file()).unwrap();
    let text = text.replace("plane = \"user\"", "role = \"station\"\nplane = \"user\"");
    std::fs::write(bench.file(), text.replace("[[port]]\nname = \"port0\"\nrate = \"1Gbit\"\n\n", "")).unwrap();
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    Some(bench)
}

#[test]
fn a_station_stays_one_in_all_that_is_said_and_kept() {
    let Some(bench) = station() else { return };
    let startup = bench.folder.path().join("startup");
    let file = startup.join("cell.toml");
    let mut talk = Talk::with(&bench, &["--startup", &startup.display().to_string()]);
    let get = |talk: &mut Talk, of: &str| talk.answer(&format!("<get-config><source><{of}/></source></get-config>"));
    let running = get(&mut talk, "running");
    assert!(running.contains(GATES), "{running}");
    let state = talk.answer("<get/>");
    assert!(state.contains(GATES) && state.contains("<oper-status>up<") && state.contains("<out-octets>"), "{state}");
    for said in [&running, &state] {
        assert!(!said.contains("cell-core") && !said.contains("bridge-port") && !said.contains("<bridges"), "{said}");
    }

    let copy = "<copy-config><target><startup/></target><source><running/></source></copy-config>";
    talk.ask(copy);
    assert_eq!(get(&mut talk, "startup"), running);
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("role = \"station\"") && !kept.contains("cell-core"), "{kept}");

    // What is a bridge's is said to be.
    let stream = "<stream-identity xmlns='urn:ieee:std:802.1Q:yang:ieee802-dot1cb-stream-identification'><index>1</index>\
                  <handle>1</handle></stream-identity>";
    let bridge =
        "<bridges xmlns='urn:ieee:std:802.1Q:yang:ieee802-dot1q-bridge'><bridge><name>cell</name></bridge></bridges>";
    for (config, path, what) in [
        (
            stream,
            "ieee802-dot1cb-stream-identification:stream-identity",
            "streams are a bridge's, and this switch is an end station",
        ),
        (bridge, "ieee802-dot1q-bridge:bridges", "this switch is an end station, and has no bridge"),
    ] {
        let edit = format!("<edit-config><target><candidate/></target><config>{config}</config></edit-config>");
        let refused = talk.answer(&edit);
        assert!(refused.contains("<error-tag>operation-not-supported<"), "{refused}");
        assert!(refused.contains(&format!(">/{path}</error-path>")) && refused.contains(what), "{refused}");
    }

    // Its gates change as a bridge's do.
    let entry = |index: u32, ns: u32| {
        format!(
            "<gate-control-entry><index>{index}</index><time-interval-value>{ns}</time-interval-value></gate-control-entry>"
        )
    };
    talk.ask(&format!(
        "<edit-config><target><candidate/></target><config><interfaces xmlns='urn:ietf:params:xml:ns:yang:ietf-interfaces'>\
         <interface><name>port1</name>{GATES}<admin-control-list>{}{}</admin-control-list></gate-parameter-table>\
         </interface></interfaces></config></edit-config>",
        entry(0, 700_000),
        entry(1, 300_000)
    ));
    talk.ask("<commit/>");
    assert!(bench.status()["report"]["configuration"].as_str().unwrap().contains("700us"), "{}", bench.status());
    talk.ask(copy);
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("role = \"station\"") && kept.contains("700us"), "{kept}");
    let applied = bench.switch(&["apply", &file.display().to_string()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
}
