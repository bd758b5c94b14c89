//! Programs of others judge what ontick writes: Prometheus its metrics, pyarrow and polars its recordings, libyang its
//! gates, a validator of JSON Schema its records and files.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::examples::files;
use crate::judges::{python_runs, python_with, said};
use crate::{has, judges, run, stderr, stdout};

#[test]
fn prometheus_reads_the_metrics_of_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let path = path.to_str().unwrap();
    assert!(run(&["latency", "timer", "--count", "100", "--record", path]).status.success());
    judges::openmetrics(&stdout(&run(&["report", path, "--as", "openmetrics"])));
    // Imported, without a mean.
    let imported = Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/fixtures/cyclictest-summary.txt");
    judges::openmetrics(&stdout(&run(&["report", imported.to_str().unwrap(), "--as", "openmetrics"])));
}

/// Rows, then the first and last number, then the sums of a channel and of what is missing.
#[cfg(feature = "arrow")]
const WITH_PYARROW: &str = "
import sys, pyarrow.ipc
with pyarrow.ipc.open_file(sys.argv[1]) as file: table = file.read_all()
with open(sys.argv[1], 'rb') as file:
    file.seek(8)
    assert pyarrow.ipc.open_stream(file).read_all().equals(table)
assert str(table.schema.field('time').type) == 'timestamp[ns, tz=UTC]', table.schema
assert table.schema.field('ramp').metadata[b'unit'] == b'', table.schema
table.validate(full=True)
rows = table.drop_columns(['time']).to_pydict()
assert rows['tai_ns'] == sorted(rows['tai_ns'])
missed = sum(sum(rows[name][1:]) for name in rows if name.startswith('missed_'))
print(len(rows['number']), rows['number'][0], rows['number'][-1], missed, repr(sum(rows['ramp'])))
";
#[cfg(feature = "arrow")]
const WITH_POLARS: &str = "
import sys, polars
frame = polars.read_ipc(sys.argv[1])
assert frame.equals(polars.scan_ipc(sys.argv[1]).collect())
assert frame['time'].dtype == polars.Datetime('ns', 'UTC'), frame.schema
missed = sum(frame[name][1:].sum() for name in frame.columns if name.startswith('missed_'))
print(frame.height, frame['number'][0], frame['number'][-1], missed, repr(sum(frame['ramp'].to_list())))
";

#[cfg(feature = "arrow")]
#[test]
fn pyarrow_and_polars_open_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.arrow");
    let sink = format!("file:{}", path.display());
    let words = ["sample", "--rate", "1kHz", "--source", "wave:sine,50Hz", "--source", "wave:ramp", "--count", "2500"];
    let output = run(&[words.as_slice(), &["--to", &sink]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let path = path.to_str().unwrap();
    let (mut rows, mut sum, mut first, mut last) = (0u64, 0.0, None, 0);
    for line in stdout(&run(&["sample", "--read", path])).lines().filter(|line| !line.starts_with(['#', 'n'])) {
        let mut words = line.split(',');
        last = words.next().unwrap().parse::<u64>().unwrap();
        first = first.or(Some(last));
        sum += words.next_back().unwrap().parse::<f64>().unwrap();
        rows += 1;
    }
    for (module, program) in [("pyarrow", WITH_PYARROW), ("polars", WITH_POLARS)] {
        let Some(python) = python_with(module) else { continue };
        let output = python_runs(&python, program, &[path], "");
        assert!(output.status.success(), "{module}: {}", said(&output));
        let found: Vec<f64> = stdout(&output).split_whitespace().map(|word| word.parse().unwrap()).collect();
        let missed = last + 1 - first.unwrap() - rows;
        let wanted = [rows as f64, first.unwrap() as f64, last as f64, missed as f64];
        assert_eq!(found[..4], wanted, "{module}");
        assert!((found[4] - sum).abs() <= 1e-6 * rows as f64, "{module}: {} {sum}", found[4]);
    }
}

const CELL: &str = r#"[switch]
name = "cell4"

[[class]]
name = "red"
queue = 1
match = [{ pcp = 7 }]

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
"#;

const STREAMS: &str = r#"
[[stream]]
name = "axis1"
to = "02:00:00:00:01:0a"
vlan = 10
ingress = ["left"]
max-sdu = 100
meter = { rate = "976kbit", burst = 244 }

[[stream]]
name = "axis2"
to = "02:00:00:00:01:02"
vlan = 0
max-sdu = 100

[[stream]]
name = "camera"
to = "02:00:00:00:01:03"

[stream.gate]
base-time = 1700000000000000001
entries = [{ open = true, for = "300us" }, { open = false, for = "700us" }]

[[stream]]
name = "talker"
to = "02:00:00:00:01:04"
ingress = ["left"]
replicate = ["left", "right"]

[[stream]]
name = "listener"
to = "02:00:00:00:01:05"
max-sdu = 100
eliminate = { history-length = 20 }
"#;

/// The table of an interface's gates, in a bridge or in an end station.
fn gate_table(interface: &mut Value) -> Option<&mut serde_json::Map<String, Value>> {
    let places = [
        "/ieee802-dot1q-bridge:bridge-port/ieee802-dot1q-sched-bridge:gate-parameter-table",
        "/ieee802-dot1dc-sched-if:gate-parameter-table",
    ];
    let found = places.into_iter().find(|place| interface.pointer(place).is_some())?;
    interface.pointer_mut(found)?.as_object_mut()
}

/// What the bridge itself reports beside what is configured: the model's conditions look at both.
fn with_state(mut document: Value) -> Value {
    let cycle = json!({ "numerator": 1, "denominator": 1000 });
    for interface in document["ietf-interfaces:interfaces"]["interface"].as_array_mut().unwrap() {
        let table = gate_table(interface).expect("each port has its table");
        table.entry("admin-cycle-time").or_insert_with(|| cycle.clone());
        table.insert("oper-cycle-time".into(), cycle.clone());
        table.insert("supported-cycle-max".into(), json!({ "numerator": 1, "denominator": 1 }));
        table.insert("supported-interval-max".into(), json!(1_000_000_000));
        table.insert("supported-list-max".into(), json!(16));
        for (key, value) in [("admin-status", json!("up")), ("oper-status", json!("up")), ("if-index", json!(1))] {
            interface[key] = value;
        }
        interface["statistics"] = json!({ "discontinuity-time": "2026-01-01T00:00:00Z" });
    }
    let gates = "/ieee802-dot1q-bridge:bridges/bridge/0/component/0/ieee802-dot1q-psfp-bridge:stream-gates/stream-gate-instance-table";
    for gate in document.pointer_mut(gates).and_then(Value::as_array_mut).into_iter().flatten() {
        gate["oper-cycle-time"] = cycle.clone();
    }
    document
}

/// Modules of ports' gates.
pub(super) const OF_GATES: [&str; 6] = [
    "ieee802-dot1q-sched",
    "ieee802-dot1q-sched-bridge",
    "iana-if-type",
    "ieee802-dot1q-preemption-bridge",
    "ieee802-dot1q-cbsa-bridge",
    "ieee802-dot1q-types",
];
/// Those of an end station.
const OF_STATIONS: [&str; 4] =
    ["ieee802-dot1q-sched", "ieee802-dot1dc-sched-if", "iana-if-type", "ieee802-dot1dc-cbsa-if"];
/// Modules of streams beside them.
pub(super) const OF_STREAMS: [&str; 4] =
    ["ieee802-dot1q-psfp", "ieee802-dot1q-psfp-bridge", "ieee802-dot1cb-stream-identification", "ieee802-dot1cb-frer"];

/// libyang with these modules, to judge data of this type, where it and they are here. The modules are IEEE's and IETF's and
/// come with neither: a folder that has them is named in the environment. One that is only imported has no identities.
pub(super) fn yanglint(kind: &str, modules: &[&str]) -> Option<Command> {
    if !has("yanglint") {
        return None;
    }
    let file = |folder: &Path, name: &str| folder.join(format!("{name}.yang"));
    let folder = std::env::var_os("ONTICK_YANG_MODULES").map(std::path::PathBuf::from).unwrap_or_default();
    if let Some(missing) = modules.iter().find(|name| !file(&folder, name).exists()) {
        ontick_skip::skipped!("ONTICK_YANG_MODULES names no folder with {missing}.yang and its imports");
        return None;
    }
    let mut yanglint = Command::new("yanglint");
    yanglint.args(["-t", kind, "-p"]).arg(&folder);
    yanglint.args(modules.iter().map(|name| file(&folder, name)));
    Some(yanglint)
}

#[test]
fn libyang_accepts_gates_that_are_exported() {
    let folder = tempfile::tempdir().unwrap();
    let judge = |modules: &[&str], document: &Value| {
        let file = folder.path().join("gates.json");
        fs::write(&file, document.to_string()).unwrap();
        Some(yanglint("data", modules)?.arg(file).output().unwrap())
    };
    let station =
        CELL.replace("[[port]]\nname = \"left\"\n\n", "").replace("\"cell4\"\n", "\"cell4\"\nrole = \"station\"\n");
    let preempting = CELL
        .replace("[port.gates]", "offload = \"full\"\n\n[port.preemption]\npreemptible = [\"blue\"]\n\n[port.gates]");
    let shaped = |text: &str| text.replace("max-sdu", "idle-slope = { red = \"20Mbit\" }\nmax-sdu");
    for (text, modules) in [
        (CELL, &OF_GATES[..]),
        (&station, &OF_STATIONS),
        (&preempting, &OF_GATES),
        (&shaped(CELL), &OF_GATES),
        (&shaped(&station), &OF_STATIONS),
    ] {
        let path = folder.path().join("cell4.toml");
        fs::write(&path, text).unwrap();
        let exported = run(&["switch", "export", "--yang", path.to_str().unwrap()]);
        assert!(exported.status.success(), "{}", stderr(&exported));
        let mut document = with_state(serde_json::from_slice(&exported.stdout).unwrap());
        let Some(accepted) = judge(modules, &document) else { return };
        assert!(accepted.status.success(), "{}{document:#}", said(&accepted));
        assert_eq!(document.to_string().contains("\"priority7\":\"express\""), text == preempting);
        let right = document.to_string();
        // It would have refused what is wrong.
        let interfaces = document["ietf-interfaces:interfaces"]["interface"].as_array_mut().unwrap();
        let table = gate_table(interfaces.last_mut().unwrap()).unwrap();
        table["admin-control-list"]["gate-control-entry"][0]["time-interval-value"] = json!("800000");
        assert!(!judge(modules, &document).unwrap().status.success(), "a number in quotes");
        let is_shaped = text.contains("idle-slope");
        assert_eq!(right.contains("\"admin-idle-slope\":\"20000000\""), is_shaped, "{right}");
        for (own, wrong) in [("\"20000000\"", "20000000"), ("types:credit-based-shaper", "types:credit")] {
            let changed = right.replace(own, wrong);
            let accepted = judge(modules, &serde_json::from_str(&changed).unwrap()).unwrap();
            assert_eq!(accepted.status.success(), changed == right, "{wrong}: {changed}");
        }
    }
}

#[test]
fn libyang_accepts_streams_that_are_exported() {
    let folder = tempfile::tempdir().unwrap();
    let judge = |document: &Value| {
        let file = folder.path().join("streams.json");
        fs::write(&file, document.to_string()).unwrap();
        let modules: Vec<&str> = OF_GATES.into_iter().chain(OF_STREAMS).collect();
        Some(yanglint("data", &modules)?.arg(file).output().unwrap())
    };
    let path = folder.path().join("press.toml");
    fs::write(&path, CELL.to_owned() + STREAMS).unwrap();
    let exported = run(&["switch", "export", "--yang", path.to_str().unwrap()]);
    assert!(exported.status.success(), "{}", stderr(&exported));
    let document = with_state(serde_json::from_slice(&exported.stdout).unwrap());
    let Some(accepted) = judge(&document) else { return };
    assert!(accepted.status.success(), "{}{document:#}", said(&accepted));
    // It would have refused what is wrong: a reference to nothing, a condition of the model, a value.
    let psfp = "/ieee802-dot1q-bridge:bridges/bridge/0/component/0/ieee802-dot1q-psfp-bridge:";
    let frer = "/ieee802-dot1cb-frer:frer/";
    for (of, at, to) in [
        (psfp, "stream-filters/stream-filter-instance-table/0/stream-gate-ref", json!(9)),
        (psfp, "stream-gates/supported-list-max", json!(1)),
        (psfp, "flow-meters/max-flow-meter-instances", json!(0)),
        (psfp, "stream-gates/stream-gate-instance-table/0/admin-gate-states", json!("ajar")),
        (frer, "sequence-generation/0/stream/0", json!(9)),
        (frer, "sequence-recovery/0/history-length", json!(1)),
        (frer, "sequence-recovery/0/algorithm/vector", json!(true)),
        (frer, "sequence-identification/0/direction-out-facing", json!("out")),
    ] {
        let mut wrong = document.clone();
        *wrong.pointer_mut(&format!("{of}{at}")).unwrap_or_else(|| panic!("{at}")) = to;
        assert!(!judge(&wrong).unwrap().status.success(), "{at}");
    }
}

/// Schema, document: whether it is refused, and why. TOML is read as Python reads it.
pub const VALIDATE: &str = "
import json, jsonschema, sys, tomllib
schema = json.load(open(sys.argv[1]))
validator = jsonschema.validators.validator_for(schema, default=None)
assert validator, schema.get('$schema')
validator.check_schema(schema)
for path in sys.argv[2:]:
    text = open(path).read()
    document = tomllib.loads(text) if path.endswith('.toml') else json.loads(text)
    for error in validator(schema).iter_errors(document):
        print(path, list(error.absolute_path), error.message[:200])
";

#[test]
fn a_validator_accepts_records_and_files() {
    let Some(python) = python_with("jsonschema, tomllib") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let judge = |of: &str, documents: &[String]| {
        fs::write(file("schema.json"), run(&["schema", of]).stdout).unwrap();
        let schema = file("schema.json");
        let arguments: Vec<&str> = std::iter::once(&schema).chain(documents).map(String::as_str).collect();
        let output = python_runs(&python, VALIDATE, &arguments, "");
        assert!(output.status.success(), "{of}: {}", said(&output));
        stdout(&output)
    };

    let record = file("run.json");
    let words = ["latency", "timer", "--count", "100", "--require", "max < 10s", "--record", &record];
    assert!(run(&words).status.success());
    assert_eq!(judge("run", &[record]), "");

    let inspection = file("inspect.json");
    let words = ["inspect", "--all-threads", "--duration", "200ms", "--after", "0ms", "--record", &inspection];
    let inspected = run(&[&words[..], &["--", "sleep", "1"]].concat());
    assert!(inspected.status.success(), "{}", stderr(&inspected));
    assert_eq!(judge("inspect", &[inspection]), "");

    let page =
        |name: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap();
    let (planning, configuration) = (page("switch-planning.md"), page("switch-configuration.md"));
    let (_, network) = files(&planning).into_iter().find(|(name, _)| *name == "network.toml").unwrap();
    fs::write(file("network.toml"), network).unwrap();
    assert_eq!(judge("network", &[file("network.toml")]), "");
    let nodes = file("nodes");
    let words = ["network", "plan", &file("network.toml"), "--out", &file("plan.json"), "--nodes", &nodes];
    let planned = run(&words);
    assert!(planned.status.success(), "{}", stderr(&planned));
    assert_eq!(judge("plan", &[file("plan.json")]), "");

    let mut switches: Vec<String> =
        fs::read_dir(&nodes).unwrap().map(|entry| entry.unwrap().path().to_str().unwrap().to_owned()).collect();
    fs::write(file("cell4.toml"), CELL).unwrap();
    switches.push(file("cell4.toml"));
    for (name, text) in files(&configuration) {
        fs::write(file(name), text).unwrap();
        switches.push(file(name));
    }
    assert!(switches.len() > 3, "{switches:?}");
    assert_eq!(judge("switch", &switches), "");

    // It would have refused what is wrong.
    fs::write(file("wrong.toml"), CELL.replace("queue = 1", "queue = 17")).unwrap();
    assert!(judge("switch", &[file("wrong.toml")]).contains("17"));
}
