//! The file that describes a switch, and what this machine says of it: `ontick switch check`, `export` and `import`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::errors::fails;
use crate::{run, stderr, stdout};

/// Source 004's switch.
const CELL: &str = r#"[switch]
name = "cell4"

[[class]]
name = "red"
queue = 1
match = [{ udp-port = 7777 }]

[[class]]
name = "blue"
queue = 0

[[port]]
name = "left"

[[port]]
name = "right"
rate = "1Gbit"

[port.gates]
cycle = "1ms"
entries = [{ open = ["blue"], for = "800us" }, { open = ["red"], for = "200us" }]
"#;

/// Gates as a manager writes them.
const GATES: &str = r#"{ "ietf-interfaces:interfaces": { "interface": [ { "name": "right",
    "ieee802-dot1q-bridge:bridge-port": { "ieee802-dot1q-sched-bridge:gate-parameter-table": {
        "gate-enabled": true,
        "admin-cycle-time": { "numerator": 1, "denominator": 500 },
        "admin-base-time": { "seconds": "1700000000", "nanoseconds": 0 },
        "admin-control-list": { "gate-control-entry": [
            { "index": 0, "operation-name": "ieee802-dot1q-sched:set-gate-states",
              "time-interval-value": 1500000, "gate-states-value": 1 },
            { "index": 1, "operation-name": "ieee802-dot1q-sched:set-gate-states",
              "time-interval-value": 500000, "gate-states-value": 2 } ] } } } } ] } }"#;

/// A folder that everybody may read, with a file in it.
fn file(name: &str, text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn cell(change: impl Fn(&str) -> String) -> (TempDir, PathBuf) {
    file("cell4.toml", &change(CELL))
}

fn switch(words: &[&str], path: &std::path::Path) -> Output {
    run(&[&["switch"], words, &[path.to_str().unwrap()]].concat())
}

#[test]
fn everything_wrong_is_said_at_once_with_file_and_line() {
    let (_folder, path) =
        cell(|text| text.replace("queue = 1", "queue = 19").replace("1Gbit", "1Gb").replace("\"red\"]", "\"rde\"]"));
    for command in [["check"].as_slice(), &["export"], &["export", "--yang"]] {
        let output = switch(command, &path);
        let said = stderr(&output);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{said}");
        let name = path.display();
        let expected = [
            format!("ontick: {name}:6:9: `queue` is from 0 to 15, not 19"),
            format!("{name}:18:8: `rate`: \"1Gb\" is not a rate such as 100Mbit, 1Gbit or 2.5Gbit"),
            format!("{name}:22:58: there is no class `rde`; did you mean `red`?"),
        ];
        assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn files_that_are_no_switch() {
    fails(&["switch", "check", "/no/such/file.toml"], &["/no/such/file.toml", "No such file"]);
    fails(&["switch", "check", "/tmp"], &["/tmp", "directory"]);
    fails(&["switch", "check", "/dev/zero"], &["/dev/zero", "1 MiB"]);
    let (_folder, path) = file("cell4.toml", "");
    fs::write(&path, b"name = \xff").unwrap();
    fails(&["switch", "check", path.to_str().unwrap()], &["UTF-8"]);
    fs::write(&path, "[[[").unwrap();
    fails(&["switch", "check", path.to_str().unwrap()], &["cell4.toml:1:"]);
    fails(&["switch", "export"], &["FILE"]);
    fails(&["schema", "house"], &["house", "switch"]);
    let (_network, network) = file("network.toml", include_str!("../../../../fuzz/seeds/switch_network/network.toml"));
    fails(&["switch", "check", network.to_str().unwrap()], &["describes a network", "network plan"]);
    fails(&["switch", "plan", network.to_str().unwrap()], &["describes a network", "use `ontick network plan"]);
    let ports = "[switch]\nname = \"s\"\n[[class]]\nname = \"c\"\nqueue = 0\n[[port]]\nname = \"nowhere0\"\n[[port]]\nname = \"nowhere1\"\n";
    let (_ports, ports) = file("ports.toml", ports);
    fails(&["switch", "plan", ports.to_str().unwrap()], &["ontick: there is no port nowhere0"]);
    let (_record, record) = file("run.json", "{\"schema\":\"ontick-run/1\"}");
    fails(&["switch", "plan", record.to_str().unwrap()], &["run.json:1:"]);
}

#[test]
fn a_name_that_no_switch_has_is_shown_with_those_that_there_are() {
    let state = tempfile::tempdir().unwrap();
    let status = |more: &[&str]| {
        let output = run(&[&["switch", "status", "--state", state.path().to_str().unwrap()], more].concat());
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(status(&[]), "No switch is set up here.\n");
    assert_eq!(status(&["cell5"]), "No switch cell5 is set up here.\n");
    fs::create_dir(state.path().join("cell4")).unwrap();
    assert_eq!(status(&["cell5"]), "No switch cell5 is set up here (there is cell4).\n");
}

#[test]
fn a_switch_goes_out_and_comes_back() {
    let (folder, path) = cell(str::to_owned);
    let plain = switch(&["export"], &path);
    assert_eq!(plain.status.code(), Some(0));
    let again = folder.path().join("again.toml");
    fs::write(&again, &plain.stdout).unwrap();
    assert_eq!(stdout(&switch(&["export"], &again)), stdout(&plain));

    let exported = switch(&["export", "--yang"], &path);
    assert_eq!(exported.status.code(), Some(0));
    assert!(stderr(&exported).contains("more than the priority"), "{}", stderr(&exported));
    let gates = folder.path().join("gates.json");
    fs::write(&gates, &exported.stdout).unwrap();
    let (gates, path) = (gates.to_str().unwrap(), path.to_str().unwrap());
    let merged = run(&["switch", "import", gates, "--into", path]);
    assert_eq!(stdout(&merged), stdout(&plain), "{}", stderr(&merged));
}

#[test]
fn a_manager_s_gates_come_in() {
    let (folder, path) = cell(str::to_owned);
    let gates = folder.path().join("gates.json");
    fs::write(&gates, GATES).unwrap();
    let (gates, to) = (gates.to_str().unwrap(), folder.path().join("new.toml"));
    let merged = run(&["switch", "import", gates, "--into", path.to_str().unwrap(), "--to", to.to_str().unwrap()]);
    assert_eq!((merged.status.code(), stdout(&merged).as_str()), (Some(0), ""), "{}", stderr(&merged));
    let text = fs::read_to_string(&to).unwrap();
    let gates_of =
        "cycle = \"2ms\"\nbase-time = 1700000000000000000\nentries = [\n    { open = [\"blue\"], for = \"1.5ms\" },";
    assert!(text.contains(gates_of) && text.contains("udp-port = 7777"), "{text}");
    assert_eq!(fs::read_to_string(&path).unwrap(), CELL, "what it was brought into stays");

    // One port makes no bridge.
    let alone = run(&["switch", "import", gates, "--name", "cell5"]);
    assert_eq!(alone.status.code(), Some(0), "{}", stderr(&alone));
    let words = ["name = \"cell5\"", "role = \"station\"", "name = \"tc1\"", "name = \"right\""];
    assert!(words.iter().all(|word| stdout(&alone).contains(word)), "{}", stdout(&alone));

    fs::write(folder.path().join("wrong.json"), GATES.replace("\"index\": 1", "\"index\": 0")).unwrap();
    let wrong = folder.path().join("wrong.json");
    let entry = "gate-parameter-table/admin-control-list/gate-control-entry[2]/index";
    fails(&["switch", "import", wrong.to_str().unwrap()], &["wrong.json", entry, "two entries"]);
    fs::write(&wrong, GATES.replace("\"right\"", "\"eth7\"")).unwrap();
    fails(
        &["switch", "import", wrong.to_str().unwrap(), "--into", path.to_str().unwrap()],
        &["no port eth7", "left, right"],
    );
    // What no file may say.
    fs::write(&wrong, GATES.replace("\"right\"", "\"a name with blanks\"")).unwrap();
    let refused = run(&["switch", "import", wrong.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("makes no switch") && stderr(&refused).contains("a name with blanks"));
}

#[test]
fn idle_slopes_that_make_no_switch_are_named_by_their_path() {
    let (folder, path) = cell(str::to_owned);
    let (document, to) = (folder.path().join("slopes.json"), folder.path().join("new.toml"));
    let import = |class: u8, slope: &str| {
        let text = serde_json::json!({ "ietf-interfaces:interfaces": { "interface": [{
            "name": "right",
            "ieee802-dot1q-bridge:bridge-port": { "ieee802-dot1q-cbsa-bridge:cbsa": { "cbsa-parameter-table": [
                { "traffic-class": class, "admin-idle-slope": slope },
            ] } },
        }] } });
        fs::write(&document, text.to_string()).unwrap();
        let (document, path) = (document.to_str().unwrap(), path.to_str().unwrap());
        run(&["switch", "import", document, "--into", path, "--to", to.to_str().unwrap()])
    };
    let list = "/ietf-interfaces:interfaces/interface[name='right']/ieee802-dot1q-bridge:bridge-port\
                /ieee802-dot1q-cbsa-bridge:cbsa/cbsa-parameter-table";
    for (class, slope, said) in [
        (1, "2000000000", format!("{list}: the idle slopes sum up to 2Gbit, and the link has 1Gbit: lower them")),
        (7, "20000000", format!("{list}[traffic-class='7']: the switch has no traffic class 7; it has 0, 1")),
        (1, "20M", format!("{list}[traffic-class='1']/admin-idle-slope: is not a whole number from 0 to")),
    ] {
        let refused = import(class, slope);
        assert_eq!(refused.status.code(), Some(2));
        // It is wrapped at the end of a line.
        let sentence = stderr(&refused).replace("\n  ", " ");
        assert!(sentence.contains(&said), "expected {said}\n{sentence}");
        assert!(!to.exists());
    }
    let merged = import(1, "20000000");
    assert!(merged.status.success(), "{}", stderr(&merged));
    let text = fs::read_to_string(&to).unwrap();
    assert!(text.contains("idle-slope = { red = \"20Mbit\" }") && text.contains("udp-port = 7777"), "{text}");
}

#[test]
fn the_schema_is_printed() {
    let schema: Value = serde_json::from_slice(&run(&["schema", "switch"]).stdout).unwrap();
    assert_eq!(schema["required"], serde_json::json!(["switch", "class", "port"]));
    assert_eq!(schema["$defs"]["Gates"]["additionalProperties"], false);
    let record: Value = serde_json::from_slice(&run(&["schema"]).stdout).unwrap();
    assert_eq!(record, serde_json::from_slice::<Value>(&run(&["schema", "run"]).stdout).unwrap());
}

/// `ontick switch check …` in a network namespace with two cables, one end of each in the switch; nothing without root.
fn check_among_cables(arguments: &[&str]) -> Option<Output> {
    let cables = "ip link add left numtxqueues 2 type veth peer name far-left && \
                  ip link add right numtxqueues 2 type veth peer name far-right && \
                  for port in left right far-left far-right; do ip link set dev $port up; done && exec \"$@\"";
    let ontick = env!("CARGO_BIN_EXE_ontick");
    let mut command = Command::new("unshare");
    command.args(["--net", "--", "sh", "-c", cables, "sh", ontick, "switch", "check"]).args(arguments);
    let output = command.output().expect("unshare runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("unshare failed") || said.contains("Operation not permitted") {
        ontick_skip::skipped!("network namespaces need root");
        return None;
    }
    Some(output)
}

#[test]
fn ports_that_are_there_are_enough_for_the_user_data_plane() {
    let (_folder, path) = cell(|text| text.replace("name = \"cell4\"", "name = \"cell4\"\nplane = \"user\""));
    let Some(output) = check_among_cables(&["--json", path.to_str().unwrap()]) else { return };
    let checked: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    assert_eq!(output.status.code(), Some(0), "{checked:#}");
    assert_eq!(checked["plane"]["plane"], "user");
    let ports = checked["ports"].as_array().unwrap();
    let facts = |port: &Value| {
        (
            port["name"].clone(),
            port["kind"].clone(),
            port["carrier"].clone(),
            port["mtu"].clone(),
            port["user"]["fits"].clone(),
        )
    };
    let veth = |name: &str| (name.into(), "veth".into(), true.into(), 1500.into(), true.into());
    assert_eq!(ports.iter().map(facts).collect::<Vec<_>>(), [veth("left"), veth("right")]);
    // Both ends of a pair merge frames until that is switched off.
    assert!(!ports[0]["joins_frames"].as_array().unwrap().is_empty());
    assert!(checked["machine"]["tools"]["ip"]["version"].as_str().is_some_and(|version| !version.is_empty()));
    let severities: Vec<&str> =
        checked["findings"].as_array().unwrap().iter().map(|finding| finding["severity"].as_str().unwrap()).collect();
    let order = ["bad", "warn", "unknown", "ok"];
    assert!(severities.is_sorted_by_key(|severity| order.iter().position(|o| o == severity)), "{severities:?}");
}

#[test]
fn what_cannot_be_had_ends_with_status_1() {
    let (_folder, path) = cell(|text| text.replace("\"right\"\n", "\"rihgt\"\n"));
    let Some(output) = check_among_cables(&[path.to_str().unwrap()]) else { return };
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    let words = ["there is no interface rihgt", "did you mean", "`right`", " bad "];
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (_folder, path) = cell(|text| text.replace("rate = \"1Gbit\"", "rate = \"1Gbit\"\noffload = \"full\""));
    let Some(output) = check_among_cables(&[path.to_str().unwrap()]) else { return };
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let flowing = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flowing.contains("right offload veth is not known to open gates by itself"), "{flowing}");
}

#[test]
fn looking_needs_no_root_and_changes_nothing() {
    let everybody = |arguments: &[&str]| {
        let ontick = env!("CARGO_BIN_EXE_ontick");
        let folder = tempfile::tempdir().unwrap();
        // The build may stand where others have no way to.
        let copy = folder.path().join("ontick");
        // Another process copies: one that is forked here meanwhile would hold the copy open for writing.
        assert!(Command::new("cp").arg(ontick).arg(&copy).status().unwrap().success());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", "-all"]);
        command.arg(&copy).args(["switch", "check"]).args(arguments).output().expect("setpriv runs")
    };
    if !rustix::process::geteuid().is_root() {
        ontick_skip::skipped!("only root can be somebody else");
        return;
    }
    let modules = || fs::read_to_string("/proc/modules").unwrap_or_default().lines().count();
    let before = modules();
    let (as_root, as_nobody) = (run(&["switch", "check", "--json"]), everybody(&["--json"]));
    let read = |output: &Output| {
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(output)))
    };
    let (as_root, as_nobody) = (read(&as_root), read(&as_nobody));
    assert_eq!(
        (&as_root["machine"]["may_change_network"], &as_nobody["machine"]["may_change_network"]),
        (&true.into(), &false.into())
    );
    for same in ["parts", "tools", "kernel", "cpus"] {
        assert_eq!(as_root["machine"][same], as_nobody["machine"][same], "{same}");
    }
    let names = |document: &Value| {
        document["ports"].as_array().unwrap().iter().map(|port| port["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&as_root), names(&as_nobody));
    let (_folder, path) = cell(|text| text.replace("rate", "rat"));
    assert_eq!(everybody(&[path.to_str().unwrap()]).status.code(), Some(2));
    assert_eq!(modules(), before, "no module was loaded");
}

#[test]
fn the_guide_s_file_is_a_switch_without_doubt() {
    let guide = include_str!("../../../../docs/switch-configuration.md");
    let files = crate::examples::files(guide);
    assert_eq!(files.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["cell4.toml"]);
    let (_folder, path) = file("cell4.toml", files[0].1);
    let output = switch(&["export"], &path);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}
