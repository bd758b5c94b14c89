//! Streams that take several paths, as ontick and as managers write them.

use serde_json::{Value, json};

use super::super::super::*;
use crate::config;
use crate::model::*;

/// A station's switch in a ring: it numbers one stream and drops the copies of another.
const FILE: &str = r#"
[switch]
name = "ring"
plane = "user"

[[class]]
name = "tc0"
queue = 0

[[port]]
name = "station"

[[port]]
name = "ring1"

[[port]]
name = "ring2"

[[stream]]
name = "stream1"
to = "02:00:00:00:01:01"
ingress = ["station"]
max-sdu = 1494
replicate = ["ring1", "ring2"]

[[stream]]
name = "stream2"
to = "02:00:00:00:01:02"
vlan = 10
ingress = ["ring1", "ring2"]
eliminate = { history-length = 20, reset-timeout = "500ms", paths = 3 }
"#;

fn switch() -> Switch {
    config::read(FILE).unwrap().switch
}

fn document() -> Value {
    export(&switch()).unwrap().document
}

fn comes_back(text: &str) {
    let switch = config::read(text).unwrap().switch;
    let exported = export(&switch).unwrap();
    assert_eq!(exported.notes, [""; 0]);
    let mut imported = import(&exported.document.to_string()).unwrap();
    assert_eq!(imported.notes, [""; 0]);
    let mut same = switch.clone();
    merge(&mut same, &mut imported).unwrap();
    assert_eq!(same, switch);
    assert_eq!(new_switch("ring", &mut imported).streams, switch.streams);
}

#[test]
fn functions_go_out_and_come_back() {
    let document = document();
    assert_eq!(
        document["ieee802-dot1cb-stream-identification:stream-identity"][0]["out-facing"],
        json!({ "input-port": ["station"], "output-port": ["ring1", "ring2"] })
    );
    assert_eq!(
        document["ieee802-dot1cb-frer:frer"],
        json!({
            "sequence-generation": [{ "index": 1, "stream": [1], "direction-out-facing": false }],
            "sequence-recovery": [{
                "index": 2,
                "stream": [2],
                "port": ["ring1", "ring2"],
                "direction-out-facing": true,
                "algorithm": { "vector": {} },
                "history-length": 20,
                "reset-timeout": 500,
                "take-no-sequence": false,
                "individual-recovery": false,
                "latent-error-detection": true,
                "latent-error-detection-parameters": {
                    "difference": 16, "period": 2000, "paths": 3, "reset-period": 30000,
                },
            }],
            "sequence-identification": [
                { "port": "station", "direction-out-facing": false, "stream": [1], "active": true, "encapsulation": { "r-tag": {} } },
                { "port": "ring1", "direction-out-facing": true, "stream": [2], "active": false, "encapsulation": { "r-tag": {} } },
                { "port": "ring2", "direction-out-facing": true, "stream": [2], "active": false, "encapsulation": { "r-tag": {} } },
            ],
        })
    );
    comes_back(FILE);
    // By any port; and from one ring into another, with the numbers that frames have.
    comes_back(&FILE.replace("ingress = [\"station\"]\n", ""));
    comes_back(&FILE.replace("paths = 3 }", "paths = 3 }\nreplicate = [\"station\", \"ring1\"]"));
}

#[test]
fn a_manager_s_tables_become_keys() {
    let port = |name: &str| json!({ "name": name });
    let identity = |index: u32, handle: u32, ports: &[&str], last: u32| {
        json!({
            "index": index, "handle": handle, "out-facing": { "input-port": ports },
            "null-stream-identification": { "destination-mac": format!("02-00-00-00-02-0{last}"), "tagged": "tagged", "vlan": 7 },
        })
    };
    let mut talker = identity(10, 40, &["eth2"], 1);
    talker["out-facing"]["output-port"] = json!(["eth1", "eth0"]);
    let tag = json!({ "r-tag": { "type-number": "r-tag", "oui-cid": "00-80-C2" } });
    let tags = |port: &str, is_out_facing: bool, streams: &[u32]| json!({ "port": port, "direction-out-facing": is_out_facing, "active": !is_out_facing, "stream": streams, "encapsulation": tag });
    // With names of modules, in another order, with state, and without what has a default.
    let document = json!({
        "ieee802-dot1cb-frer:frer": {
            "ieee802-dot1cb-frer:sequence-recovery": [
                { "index": 7, "stream": ["41"], "port": ["eth1", "eth0"], "direction-out-facing": "true" },
                {
                    "index": 3, "stream": [42], "port": ["eth1"], "direction-out-facing": true, "invalid-sequence-value": 65536,
                    "algorithm": { "vector": { "type-number": "vector" } }, "history-length": 100, "reset-timeout": 40,
                    "latent-error-detection": false, "latent-error-detection-parameters": { "paths": 4 },
                },
            ],
            "sequence-identification": [tags("eth1", true, &[41, 42]), tags("eth2", false, &[40]), tags("eth0", true, &[41])],
            "sequence-generation": [{ "index": 0, "stream": [40], "direction-out-facing": false, "reset": false }],
        },
        "ieee802-dot1cb-stream-identification:stream-identity":
            [identity(11, 41, &["eth0", "eth1"], 2), talker, identity(12, 42, &["eth1"], 3)],
        "ietf-interfaces:interfaces": { "interface": [port("eth0"), port("eth1"), port("eth2")] },
    });
    let mut imported = import(&document.to_string()).unwrap();
    let switch = new_switch("br0", &mut imported);
    let text = config::write(&switch);
    let (_, streams) = text.split_once("[[stream]]").unwrap();
    assert_eq!(
        streams,
        r#"
name = "stream40"
to = "02:00:00:00:02:01"
vlan = 7
ingress = ["eth2"]
replicate = ["eth1", "eth0"]

[[stream]]
name = "stream41"
to = "02:00:00:00:02:02"
vlan = 7
ingress = ["eth1", "eth0"]
eliminate = { history-length = 2, reset-timeout = "2s", paths = 2 }

[[stream]]
name = "stream42"
to = "02:00:00:00:02:03"
vlan = 7
ingress = ["eth1"]
eliminate = { history-length = 100, reset-timeout = "40ms", paths = 4 }
"#
    );
    let recovery = "/ieee802-dot1cb-frer:frer/ieee802-dot1cb-frer:sequence-recovery";
    let [otherwise] = imported.otherwise.as_slice() else { panic!("{:?}", imported.otherwise) };
    assert_eq!(otherwise.path, format!("{recovery}[index='3']/latent-error-detection"));
    assert_eq!(otherwise.what, "latent errors are looked for all the same; write true");
    assert_eq!(imported.notes[..1], [format!("{recovery}[index='7']: no reset-timeout; it is 2000 ms")]);
}

#[test]
fn a_timeout_between_two_milliseconds_is_left_out() {
    let switch = config::read(&FILE.replace("500ms", "1500us")).unwrap().switch;
    let exported = export(&switch).unwrap();
    assert_eq!(exported.notes, ["stream stream2: `reset-timeout` is no whole number of milliseconds; it is left out"]);
    let mut after = switch.clone();
    merge(&mut after, &mut import(&exported.document.to_string()).unwrap()).unwrap();
    assert_eq!(after, switch);
}

#[test]
fn what_a_switch_cannot_do_is_refused_with_its_path() {
    let frer = |at: &str| format!("/ieee802-dot1cb-frer:frer/{at}");
    let facing = |at: &str| format!("/ieee802-dot1cb-stream-identification:stream-identity/{at}");
    let generation = "sequence-generation[index='1']";
    let recovery = "sequence-recovery[index='2']";
    let tags = |port: &str, is_out_facing: bool| {
        format!("sequence-identification[port='{port}'][direction-out-facing='{is_out_facing}']")
    };
    let mut second = document().pointer(&frer("sequence-recovery/0")).unwrap().clone();
    second["index"] = json!(5);
    let cases = [
        (frer("stream-split"), json!([]), "stream-split".into(), "output-port"),
        (frer("autoconfiguration"), json!({}), "frer:frer".into(), "`autoconfiguration` is not supported"),
        (
            frer("sequence-generation/0/stream"),
            json!([9]),
            tags("station", false) + "/stream[.='1']",
            "no sequence-generation gives it numbers",
        ),
        (frer("sequence-generation/0/stream"), json!([1, 2]), format!("{generation}/stream"), "several streams"),
        (frer("sequence-generation/0/stream"), json!([]), format!("{generation}/stream"), "names no stream"),
        (
            frer("sequence-generation/0/direction-out-facing"),
            json!(true),
            format!("{generation}/direction-out-facing"),
            "write false",
        ),
        (frer("sequence-generation/0/reset"), json!(true), format!("{generation}/reset"), "write false"),
        (
            frer("sequence-generation/1"),
            json!({ "index": 2, "stream": [2], "direction-out-facing": false }),
            "sequence-generation[index='2']/stream[.='2']".into(),
            "keep their numbers",
        ),
        (
            frer("sequence-generation/1"),
            json!({ "index": 2, "stream": [1], "direction-out-facing": false }),
            "sequence-generation[index='2']".into(),
            "an entry of the stream 1 already",
        ),
        (
            frer("sequence-recovery/0/stream"),
            json!([9]),
            tags("ring1", true) + "/stream[.='2']",
            "no sequence-recovery looks",
        ),
        (frer("sequence-recovery/1"), second, "sequence-recovery[index='5']".into(), "stream 2 already"),
        (
            frer("sequence-recovery/1"),
            json!({ "index": 5, "stream": [9], "port": ["ring1"], "direction-out-facing": true }),
            "sequence-recovery[index='5']/stream[.='9']".into(),
            "no entry of stream-identity has the handle 9",
        ),
        (frer("sequence-recovery/0/port"), json!(["ring1"]), format!("{recovery}/port"), "out-facing/input-port"),
        (
            frer("sequence-recovery/0/direction-out-facing"),
            json!(false),
            format!("{recovery}/direction-out-facing"),
            "write true",
        ),
        (
            frer("sequence-recovery/0/algorithm"),
            json!({ "match": {} }),
            format!("{recovery}/algorithm"),
            "`match` is not supported; numbers are recovered by the vector algorithm: write `vector`",
        ),
        (frer("sequence-recovery/0/algorithm"), json!({}), format!("{recovery}/algorithm"), "lacks `vector`"),
        (frer("sequence-recovery/0/history-length"), json!(129), format!("{recovery}/history-length"), "from 2 to 128"),
        (
            frer("sequence-recovery/0/reset-timeout"),
            json!(0),
            format!("{recovery}/reset-timeout"),
            "from 1 to 3600000 but 0",
        ),
        (
            frer("sequence-recovery/0/take-no-sequence"),
            json!(true),
            format!("{recovery}/take-no-sequence"),
            "write false",
        ),
        (
            frer("sequence-recovery/0/individual-recovery"),
            json!(true),
            format!("{recovery}/individual-recovery"),
            "write false",
        ),
        (
            frer("sequence-recovery/0/latent-error-detection-parameters/difference"),
            json!(20),
            "/difference".into(),
            "write 16",
        ),
        (frer("sequence-recovery/0/latent-error-detection-parameters/paths"), json!(1), "/paths".into(), "from 2 to 8"),
        (
            frer("sequence-identification/0/active"),
            json!(false),
            tags("station", false) + "/active",
            "in-facing, with active true",
        ),
        (frer("sequence-identification/1/active"), json!(true), tags("ring1", true) + "/active", "active false"),
        (
            frer("sequence-identification/1/port"),
            json!("ring2"),
            "sequence-identification[3]".into(),
            "two entries with this port",
        ),
        (
            frer("sequence-identification/1/port"),
            json!("station"),
            recovery.into(),
            "no out-facing sequence-identification reads its numbers at port ring1",
        ),
        (
            frer("sequence-identification/0/port"),
            json!("ring1"),
            generation.into(),
            "no in-facing sequence-identification writes its numbers at port station",
        ),
        (
            frer("sequence-identification/3"),
            json!({ "port": "ring1", "direction-out-facing": false, "stream": [1], "active": true, "encapsulation": { "r-tag": {} } }),
            tags("ring1", false) + "/stream[.='1']",
            "does not come in by ring1",
        ),
        (
            frer("sequence-identification/0/encapsulation"),
            json!({ "hsr-sequence-tag": {} }),
            tags("station", false) + "/encapsulation",
            "`hsr-sequence-tag` is not supported",
        ),
        (
            frer("sequence-identification/0/path-id-lan-id"),
            json!(1),
            tags("station", false),
            "`path-id-lan-id` is not supported",
        ),
        (
            facing("0/out-facing/output-port"),
            json!(["ring1"]),
            "[index='1']/out-facing/output-port".into(),
            "less than two ports",
        ),
        (
            facing("1/out-facing/output-port"),
            json!(["ring1", "station"]),
            "[index='2']/out-facing/output-port".into(),
            "goes with an in-facing sequence-identification",
        ),
        (facing("0/out-facing"), json!({ "input-port": ["station"] }), "/out-facing".into(), "lacks `output-port`"),
    ];
    for (at, to, path, words) in cases {
        let mut document = document();
        let (parent, key) = at.rsplit_once('/').unwrap();
        match document.pointer_mut(parent).unwrap_or_else(|| panic!("{at}")) {
            Value::Array(list) => match key.parse::<usize>().unwrap() {
                new if new == list.len() => list.push(to),
                old => list[old] = to,
            },
            parent => parent[key] = to,
        }
        match import(&document.to_string()) {
            Ok(_) => panic!("{at} was taken"),
            Err(error) => {
                let fits = error.path.ends_with(&path) && error.what.contains(words);
                assert!(fits, "{at}: expected …{path}: …{words}\n{error}");
            }
        }
    }
    // Functions of streams that are none.
    let alone = json!({ "ieee802-dot1cb-frer:frer": document()["ieee802-dot1cb-frer:frer"] });
    let error = import(&alone.to_string()).unwrap_err();
    assert!(error.what.contains("no entry of stream-identity has the handle 1"), "{error}");
    // Ports that the switch does not have.
    let elsewhere = document().to_string().replace("\"output-port\":[\"ring1\"", "\"output-port\":[\"eth9\"");
    let mut elsewhere: Value = serde_json::from_str(&elsewhere).unwrap();
    elsewhere.as_object_mut().unwrap().remove("ietf-interfaces:interfaces");
    let mut after = switch();
    let error = merge(&mut after, &mut import(&elsewhere.to_string()).unwrap()).unwrap_err();
    assert!(error.path().ends_with("[index='1']/out-facing/output-port[.='eth9']"), "{}", error.path());
    assert_eq!(after, switch());
}
