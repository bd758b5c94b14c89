//! Holds the crates of this workspace to the floors of the house: arrows run down only, and each wing uses no more than
//! what it is allowed to.

use std::process::Command;

use serde_json::Value;

/// One wing: its crate, its floor, and the crates of the house that it may use.
struct Wing {
    name: &'static str,
    floor: u8,
    may_use: &'static [&'static str],
}

const UNITS: &str = "ontick-units";
const ARROW: &str = "ontick-arrow";
const PICO: &str = "ontick-pico";
const RT: &str = "ontick-rt";
const RECORD: &str = "ontick-record";
const UNDO: &str = "ontick-undo";
const BPF: &str = "ontick-bpf";
const NETLINK: &str = "ontick-netlink";
const ETHTOOL: &str = "ontick-ethtool";
const GPIO: &str = "ontick-gpio";
const MACHINE: &str = "ontick-machine";
const KERNEL: &str = "ontick-kernel";
const MEASURE: &str = "ontick-measure";
const ACQUIRE: &str = "ontick-acquire";
const LINK: &str = "ontick-link";
const SWITCH: &str = "ontick-switch";
const TSN: &str = "ontick-tsn";
const NETWORK: &str = "ontick-network";
const REPORT: &str = "ontick-report";
const WATCH: &str = "ontick-watch";
const CLI: &str = "ontick";
const C: &str = "ontick-c";
const PYTHON: &str = "ontick-python";

const HOUSE: [Wing; 25] = [
    Wing { name: "ontick-skip", floor: 0, may_use: &[] },
    Wing { name: UNITS, floor: 0, may_use: &[] },
    Wing { name: ARROW, floor: 0, may_use: &[] },
    Wing { name: PICO, floor: 0, may_use: &[] },
    Wing { name: RT, floor: 1, may_use: &[UNITS, BPF] },
    Wing { name: RECORD, floor: 1, may_use: &[UNITS] },
    Wing { name: UNDO, floor: 1, may_use: &[] },
    Wing { name: BPF, floor: 0, may_use: &[] },
    Wing { name: NETLINK, floor: 0, may_use: &[] },
    Wing { name: ETHTOOL, floor: 1, may_use: &[NETLINK] },
    Wing { name: TSN, floor: 1, may_use: &[UNITS] },
    Wing { name: GPIO, floor: 2, may_use: &[RT] },
    Wing { name: MACHINE, floor: 2, may_use: &[UNITS, RT, RECORD, UNDO, ETHTOOL] },
    Wing { name: KERNEL, floor: 3, may_use: &[UNITS, RECORD, UNDO, MACHINE] },
    Wing { name: MEASURE, floor: 3, may_use: &[UNITS, ARROW, PICO, RT, UNDO, BPF, GPIO, MACHINE, RECORD] },
    Wing { name: ACQUIRE, floor: 3, may_use: &[UNITS, ARROW, RT, GPIO, RECORD] },
    Wing { name: LINK, floor: 3, may_use: &[RT, UNDO, GPIO, RECORD] },
    Wing { name: SWITCH, floor: 3, may_use: &[UNITS, RT, RECORD, UNDO, BPF, NETLINK, ETHTOOL, TSN] },
    Wing { name: REPORT, floor: 4, may_use: &[UNITS, ARROW, RECORD, TSN] },
    Wing { name: NETWORK, floor: 4, may_use: &[UNITS, RT, RECORD, UNDO, TSN, SWITCH] },
    Wing { name: WATCH, floor: 5, may_use: &[UNITS, RT, RECORD, MACHINE, MEASURE, ACQUIRE, REPORT] },
    Wing {
        name: CLI,
        floor: 6,
        may_use: &[
            UNITS, RT, RECORD, UNDO, TSN, GPIO, MACHINE, KERNEL, MEASURE, ACQUIRE, LINK, SWITCH, REPORT, NETWORK, WATCH,
        ],
    },
    Wing { name: C, floor: 5, may_use: &[RT, RECORD, GPIO, MACHINE, NETWORK] },
    Wing {
        name: PYTHON,
        floor: 5,
        may_use: &[UNITS, RT, RECORD, TSN, GPIO, MACHINE, MEASURE, ACQUIRE, REPORT, NETWORK],
    },
    Wing {
        name: "ontick-bench",
        floor: 7,
        may_use: &[
            UNITS, RT, RECORD, UNDO, TSN, GPIO, MACHINE, KERNEL, MEASURE, ACQUIRE, LINK, SWITCH, REPORT, WATCH,
            NETWORK, CLI,
        ],
    },
];

/// A crate of the workspace and those crates of the workspace that it is built from (what only its tests use is free).
#[derive(Debug, Clone, PartialEq)]
struct Crate {
    name: String,
    uses: Vec<String>,
}

fn wing(name: &str) -> Option<&'static Wing> {
    HOUSE.iter().find(|wing| wing.name == name)
}

/// What is wrong with a crate graph, one sentence each; nothing when it fits the house.
fn faults(crates: &[Crate]) -> Vec<String> {
    crates.iter().flat_map(faults_of).collect()
}

fn faults_of(this: &Crate) -> Vec<String> {
    let Some(own) = wing(&this.name) else {
        return vec![format!("{} has no floor: give it one in HOUSE and in the architecture page", this.name)];
    };
    let judge = |used: &String| match wing(used) {
        None => Some(format!("{} uses {used}, which has no floor", own.name)),
        Some(other) if other.floor >= own.floor => Some(format!(
            "{} (floor {}) uses {used} (floor {}): arrows run down only",
            own.name, own.floor, other.floor
        )),
        Some(_) if !own.may_use.contains(&used.as_str()) => Some(format!("{} may not use {used}", own.name)),
        Some(_) => None,
    };
    this.uses.iter().filter_map(judge).collect()
}

/// The crates out of `cargo metadata --no-deps`: there, a crate of the workspace is a dependency with a path.
fn crates_in(metadata: &Value) -> Vec<Crate> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name = |value: &Value| value["name"].as_str().expect("a package and a dependency have a name").to_owned();
    let is_of_the_house = |dependency: &Value| dependency["path"].is_string() && dependency["kind"] != "dev";
    list(&metadata["packages"])
        .iter()
        .map(|package| Crate {
            name: name(package),
            uses: list(&package["dependencies"]).iter().filter(|dep| is_of_the_house(dep)).map(name).collect(),
        })
        .collect()
}

fn workspace() -> Vec<Crate> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    crates_in(&serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON"))
}

fn made_up(name: &str, uses: &[&str]) -> Crate {
    Crate { name: name.to_owned(), uses: uses.iter().map(|used| (*used).to_owned()).collect() }
}

#[test]
fn the_workspace_keeps_to_its_floors() {
    let crates = workspace();
    let cli = crates.iter().find(|this| this.name == CLI).expect("the workspace has the command");
    assert!(cli.uses.iter().any(|used| used == RT), "dependencies were not recognised: {cli:?}");
    assert_eq!(faults(&crates), [""; 0]);
}

#[test]
fn the_house_itself_is_sound() {
    for own in &HOUSE {
        for used in own.may_use {
            let other = wing(used).unwrap_or_else(|| panic!("{} may use {used}, which has no floor", own.name));
            assert!(other.floor < own.floor, "{} may use {used}, which is not below it", own.name);
        }
    }
}

#[test]
fn the_architecture_page_has_the_same_floors() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/architecture.md")).unwrap();
    let rows: Vec<Vec<&str>> = page.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    for own in HOUSE.iter().filter(|own| own.name != "ontick-bench") {
        let row = rows.iter().find(|row| row.len() == 7 && row[2] == format!("`{}`", own.name));
        let row = row.unwrap_or_else(|| panic!("docs/architecture.md has a row for {}", own.name));
        let uses: Vec<String> = own.may_use.iter().map(|used| format!("`{used}`")).collect();
        let uses = match own.name {
            CLI => "all above".into(),
            _ if uses.is_empty() => "–".into(),
            _ => uses.join(", "),
        };
        assert_eq!((row[1], row[5]), (own.floor.to_string().as_str(), uses.as_str()), "{}", own.name);
    }
}

#[test]
fn a_bad_graph_is_found() {
    let cases = [
        (made_up(RT, &[MEASURE]), "ontick-rt (floor 1) uses ontick-measure (floor 3): arrows run down only"),
        (made_up(RECORD, &[RT]), "ontick-record (floor 1) uses ontick-rt (floor 1): arrows run down only"),
        (made_up(LINK, &[ACQUIRE]), "ontick-link (floor 3) uses ontick-acquire (floor 3): arrows run down only"),
        (made_up(REPORT, &[RECORD, MEASURE]), "ontick-report may not use ontick-measure"),
        (made_up(SWITCH, &["ontick-shared"]), "ontick-switch uses ontick-shared, which has no floor"),
        (
            made_up("ontick-shared", &[]),
            "ontick-shared has no floor: give it one in HOUSE and in the architecture page",
        ),
    ];
    for (bad, sentence) in cases {
        assert_eq!(faults(&[made_up(CLI, &[RT]), bad]), [sentence]);
    }
}

#[test]
fn only_what_a_crate_is_built_from_counts() {
    let metadata = serde_json::json!({ "packages": [{ "name": REPORT, "dependencies": [
        { "name": "serde_json", "kind": null },
        { "name": RECORD, "kind": null, "path": "/house/record" },
        { "name": RT, "kind": "build", "path": "/house/rt" },
        { "name": MEASURE, "kind": "dev", "path": "/house/measure" },
    ]}]});
    assert_eq!(crates_in(&metadata), [made_up(REPORT, &[RECORD, RT])]);
}
