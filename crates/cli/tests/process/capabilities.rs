//! Commands as a normal user with the capabilities that SECURITY.md names, and with each of them missing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use serde_json::Value;

use crate::namespace::namespace;
use crate::{has, ontick, stderr, stdout};

/// As the page's table has them.
const TIMED: [&str; 2] = ["CAP_SYS_NICE", "CAP_IPC_LOCK"];
const FRAMES: [&str; 3] = ["CAP_SYS_NICE", "CAP_IPC_LOCK", "CAP_NET_RAW"];
const NETWORK: &str = r#"
station = [{ name = "a" }, { name = "b" }]
switch = [{ name = "s" }]
link = [
  { between = ["a", "s"], ports = ["a0", "sa"] },
  { between = ["s", "b"], ports = ["sb", "b0"] },
]
stream = [{ name = "setpoint", from = "a", to = "b", size = 100, period = "10ms" }]
"#;

/// A folder where anybody may read, with the program in it: the folder of a build may be its owner's alone.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() || !has("setpriv") {
            ontick_skip::skipped!("only root may take capabilities away from a program");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_ontick"), folder.path().join("ontick")).unwrap();
        Some(Self(folder))
    }

    /// The program as the user nobody with these capabilities.
    fn command(&self, capabilities: &[&str], words: &[&str]) -> Command {
        crate::apart::beside_others(words);
        let names = capabilities.iter().map(|name| format!(",+{}", name.trim_start_matches("CAP_").to_lowercase()));
        let set = format!("-all{}", names.collect::<String>());
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]);
        command.args(["--inh-caps", &set, "--ambient-caps", &set, "--bounding-set", &set]);
        command.arg(self.0.path().join("ontick")).args(words).current_dir(&self.0);
        command
    }

    fn run(&self, capabilities: &[&str], words: &[&str]) -> Output {
        self.command(capabilities, words).output().unwrap()
    }
}

/// All of them but one, each in turn.
fn without_each<'c>(capabilities: &'c [&'c str]) -> impl Iterator<Item = (&'c str, Vec<&'c str>)> {
    capabilities
        .iter()
        .map(|left_out| (*left_out, capabilities.iter().copied().filter(|other| other != left_out).collect()))
}

/// What the system did not let the timed thread have, but for the device that a group has.
fn refused(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let refused = record["series"][0]["settings"]["refused"].as_array().cloned().unwrap_or_default();
    let texts = refused.iter().map(Value::to_string).filter(|text| !text.contains("cpu_dma_latency"));
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_page_has_them() {
    let page = include_str!("../../../../SECURITY.md");
    let row = |commands: &str| page.lines().find(|line| line.starts_with('|') && line.contains(commands)).unwrap();
    for (commands, needs) in [("`latency timer`", &TIMED[..]), ("`network talk`", &FRAMES)] {
        let named: Vec<&str> = row(commands).split('`').filter(|word| word.starts_with("CAP_")).collect();
        assert_eq!(named, needs, "{commands}");
    }
}

#[test]
fn a_timed_command_has_all_it_asks_for_and_names_what_is_missing() {
    let Some(place) = Place::new() else { return };
    for words in [
        &["latency", "timer", "--count", "20", "--json"][..],
        &["latency", "wakeup", "--count", "20", "--json"],
        &["sample", "--source", "wave:ramp", "--count", "20", "--to", "udp:127.0.0.1:9", "--json"],
    ] {
        assert_eq!(refused(&place.run(&TIMED, words)), "", "{words:?}");
        for (missing, rest) in without_each(&TIMED) {
            let said = refused(&place.run(&rest, words));
            let named = if missing == "CAP_SYS_NICE" { "CAP_SYS_NICE" } else { "memory lock" };
            assert!(said.contains(named) && said.lines().count() == 1, "{words:?} without {missing}: {said}");
        }
    }
}

#[test]
fn a_talker_of_frames_is_refused_without_raw_sockets_only() {
    let Some(place) = Place::new() else { return };
    let (Some(here), Some(far)) = (namespace(), namespace()) else { return };
    here.join("a0", &far, "sa").unwrap();
    let file = |name: &str| place.0.path().join(name).display().to_string();
    fs::write(file("network.toml"), NETWORK).unwrap();
    let plan = ["network", "plan", "network.toml", "--target", "user", "--forwarding", "1ms", "--out", "plan.json"];
    let planned = ontick(&plan).current_dir(&place.0).output().unwrap();
    assert!(planned.status.success(), "{}", stderr(&planned));
    fs::set_permissions(file("plan.json"), fs::Permissions::from_mode(0o644)).unwrap();
    let words = ["network", "talk", "network.toml", "plan.json", "--station", "a", "--interface", "a0", "--count", "5"];
    let talk = |capabilities: &[&str]| here.within(|| place.command(capabilities, &words).output()).unwrap().unwrap();
    let talked = talk(&FRAMES);
    let said = stdout(&talked) + &stderr(&talked);
    assert!(talked.status.success() && !said.contains("CAP_") && !said.contains("memory lock:"), "{said}");
    for (missing, rest) in without_each(&FRAMES) {
        let talked = talk(&rest);
        match missing {
            "CAP_NET_RAW" => {
                assert_eq!(talked.status.code(), Some(2));
                assert!(stderr(&talked).contains("raw frames need root or CAP_NET_RAW"), "{}", stderr(&talked));
            }
            _ => assert!(talked.status.success(), "without {missing}: {}", stderr(&talked)),
        }
    }
}
