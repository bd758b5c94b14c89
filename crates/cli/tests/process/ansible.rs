//! The Ansible collection of `deploy/ansible`, over SSH, against machines that are namespaces of this one (`lab/machines`).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::machines::{Fleet, top};
use super::{apart, has, stderr, stdout};

pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_ontick");
pub(super) const STAT_INTERVAL: &str = "/proc/sys/vm/stat_interval";

impl Fleet {
    /// Machines that Ansible manages with the collection. Nothing where there is no Ansible, or where namespaces are not to be
    /// had.
    pub(super) fn managed(names: &[&str]) -> Option<Self> {
        let fleet = has("ansible-playbook").then(|| Self::start(names))??;
        let collections = fleet.path("collections/ansible_collections/ontick");
        fs::create_dir_all(&collections).unwrap();
        symlink(top().join("deploy/ansible"), collections.join("fleet")).unwrap();
        fs::write(fleet.path("ansible.cfg"), "").unwrap();
        Some(fleet)
    }

    /// Variables of all machines (`group_vars/all`) or of one (`host_vars/NAME`).
    pub(super) fn set(&self, of: &str, variables: Value) {
        let file = self.path(&format!("{of}.json"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, variables.to_string()).unwrap();
    }

    /// Runs a playbook of the collection.
    pub(super) fn play(&self, book: &str, more: &[&str]) -> Played {
        Played::of(self.playbook(book, more))
    }

    /// What runs it.
    pub(super) fn playbook(&self, book: &str, more: &[&str]) -> Command {
        let mut command = self.beside("ansible-playbook");
        command
            .arg("-i")
            .arg(self.path("inventory"))
            .args([&format!("ontick.fleet.{book}")])
            .args(more)
            .current_dir(self.path(""))
            .env("ANSIBLE_CONFIG", self.path("ansible.cfg"))
            .env("ANSIBLE_COLLECTIONS_PATH", self.path("collections"))
            .env("ANSIBLE_HOME", self.path("home"))
            .env("ANSIBLE_LOCAL_TEMP", self.path("home/tmp"))
            .env("ANSIBLE_SSH_CONTROL_PATH_DIR", self.path("control"))
            // On a busy machine an SSH server takes its time, which is no fault of the machines'.
            .env("ANSIBLE_TIMEOUT", "600")
            .envs([("ANSIBLE_PIPELINING", "1"), ("ANSIBLE_NOCOLOR", "1"), ("LC_ALL", "C.UTF-8")]);
        command
    }
}

/// How a playbook ended.
pub(super) struct Played(pub(super) Output);

impl Played {
    pub(super) fn of(mut command: Command) -> Self {
        Self(command.output().unwrap())
    }

    fn text(&self) -> String {
        stdout(&self.0) + &stderr(&self.0)
    }

    /// A number of a machine's line in the recap; nothing where the play did not reach it.
    fn counted(&self, name: &str, what: &str) -> Option<u32> {
        let text = stdout(&self.0);
        let recap = text.split_once("PLAY RECAP").map(|(_, recap)| recap.to_owned()).unwrap_or_default();
        let line = recap.lines().find(|line| line.split_whitespace().next() == Some(name))?.to_owned();
        let value = line.split_whitespace().find_map(|word| word.strip_prefix(&format!("{what}=")))?.to_owned();
        Some(value.parse().unwrap())
    }

    #[track_caller]
    pub(super) fn ends(&self, name: &str, [changed, failed]: [u32; 2]) {
        let found = [self.counted(name, "changed"), self.counted(name, "failed")];
        assert_eq!(found, [Some(changed), Some(failed)], "{name}: {}", self.text());
    }

    #[track_caller]
    pub(super) fn says(&self, words: &str) {
        // Ansible shows a message as JSON.
        let text = self.text().replace("\\\"", "\"");
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// The package of this program in `dist`, and the program as the file that needs nothing.
fn lay_out(dist: &Path) {
    fs::create_dir_all(dist).unwrap();
    let (program, pages) = (dist.join("stripped"), dist.join("pages"));
    assert!(Command::new("strip").arg("-o").arg(&program).arg(PROGRAM).status().unwrap().success());
    for page in [
        "man/man1/ontick.1",
        "bash-completion/completions/ontick",
        "fish/vendor_completions.d/ontick.fish",
        "zsh/vendor-completions/_ontick",
    ] {
        fs::create_dir_all(pages.join(page).parent().unwrap()).unwrap();
        fs::write(pages.join(page), "").unwrap();
    }
    let mut packages = Command::new(top().join("packaging/packages"));
    let output = packages.arg("--of").args([&program, &pages, &dist.to_owned()]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let name = format!("ontick-{}-{}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    fs::rename(program, dist.join(name)).unwrap();
}

#[test]
fn machines_are_tuned_in_waves_and_one_that_fails_its_gate_is_put_back() {
    if !["dpkg-deb", "strip", "setfacl"].iter().all(|tool| has(tool)) {
        return;
    }
    if !Path::new("/usr/lib/python3/dist-packages/apt").exists() {
        return ontick_skip::skipped!("python3-apt is not installed");
    }
    let Some(fleet) = Fleet::managed(&["pi-1", "pi-2", "pi-3", "pi-4"]) else { return };
    lay_out(&fleet.path("dist"));
    // Whether a gate is passed is none of this machine's doing.
    fleet.set(
        "group_vars/all",
        serde_json::json!({
            "ontick_install_folder": fleet.path("dist"),
            "ontick_install_method": "static",
            "ontick_program": "/usr/local/bin/ontick",
            "ontick_tune_knobs": ["stat-interval", "timer-migration"],
            "ontick_tune_gate": "prove",
            "ontick_tune_gate_duration": "900ms",
            "ontick_tune_gate_arguments": ["--load", "none"],
            "ontick_tune_require": ["p50 < 1000s"],
            "ontick_tune_records": fleet.path("records"),
            "ontick_drift_folder": fleet.path("baselines"),
        }),
    );
    fleet.set(
        "host_vars/pi-1",
        serde_json::json!({"ontick_install_method": "package", "ontick_program": "/usr/bin/ontick"}),
    );
    // One setting is read-only there.
    let knobs = ["stat-interval", "timer-migration", "compaction"];
    let timer = serde_json::json!({
        "ontick_tune_gate": "timer", "ontick_tune_gate_duration": "100ms", "ontick_tune_gate_arguments": ["--policy", "other"],
        "ontick_tune_knobs": knobs, "ontick_tune_allow_refused": true,
    });
    fleet.set("host_vars/pi-2", timer);
    fleet.set("host_vars/pi-3", serde_json::json!({"ontick_tune_require": ["p50 < 1000s", "p50 < 1ns"]}));
    // A file keeps what a shorter value does not overwrite, which the kernel's does not.
    let settings = |name| fleet.on(name, "head -qn 1 /proc/sys/vm/stat_interval /proc/sys/kernel/timer_migration");
    let before = settings("pi-3");
    assert_eq!(before, "1\n1", "the settings of a stock machine");

    // Nothing is changed by a look at what would be.
    let would = fleet.play("rollout", &["--check", "--limit", "pi-1"]);
    assert_eq!(would.counted("pi-1", "failed"), Some(0), "{}", would.text());
    assert!(would.counted("pi-1", "changed") >= Some(2), "{}", would.text());
    assert_eq!(fleet.on("pi-1", "ls /usr/bin/ontick /var/cache/ontick /var/lib/ontick-fleet 2>/dev/null"), "");

    let waves = ["-e", r#"{"ontick_waves": [1, 2, 1]}"#];
    // A gate measures on a CPU that nobody may keep meanwhile.
    let rolled = apart::part(|| fleet.play("rollout", &waves));
    assert_eq!(rolled.0.status.code(), Some(2), "{}", rolled.text());
    for name in ["pi-1", "pi-2"] {
        assert_eq!(rolled.counted(name, "failed"), Some(0), "{}", rolled.text());
        assert!(rolled.counted(name, "changed") >= Some(3), "{}", rolled.text());
        assert_eq!(settings(name), "10\n0", "{name}");
    }
    let gate: Value = serde_json::from_str(&fleet.on("pi-2", "cat /var/lib/ontick-fleet/gate.json")).unwrap();
    assert_eq!(gate["refused"], serde_json::json!(["/proc/sys/vm/compaction_proactiveness"]), "{gate}");
    assert_eq!(fleet.on("pi-1", "dpkg-query --show --showformat='${Status}' ontick"), "install ok installed");
    assert_eq!(rolled.counted("pi-3", "failed"), Some(1), "{}", rolled.text());
    rolled.says("pi-3: the gate is not passed (not met  p50 < 1ns — p50 ");
    rolled.says("all settings are as before.");
    assert_eq!(settings("pi-3"), before);
    let status: Value = serde_json::from_str(&fleet.on("pi-3", "/usr/local/bin/ontick tune status --json")).unwrap();
    assert_eq!(status["changes"], serde_json::json!([]));
    rolled.says("pi-3 failed: no further wave is begun. Not reached: pi-4.");
    assert!(rolled.counted("pi-4", "changed").unwrap_or(0) == 0, "{}", rolled.text());
    assert_eq!(fleet.on("pi-4", "ls /usr/local/bin/ontick /var/lib/ontick-fleet 2>/dev/null"), "");
    // The gates' records are what `report --fleet` reads.
    let report = super::run(&["report", "--fleet", fleet.path("records").to_str().unwrap(), "--as", "json"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!((&report["machines"], &report["refused"]["files"]), (&3.into(), &0.into()), "{report}");
    for (name, measured) in [("pi-1", "prove"), ("pi-2", "timer"), ("pi-3", "prove")] {
        let mut records = fs::read_dir(fleet.path("records").join(name)).unwrap();
        let record = fs::read_to_string(records.next().unwrap().unwrap().path()).unwrap();
        let record: Value = serde_json::from_str(&record).unwrap();
        assert_eq!((&record["measurement"], records.count()), (&measured.into(), 0), "{name}");
    }
    assert_eq!(fleet.on("pi-1", "head -c 15 /var/lib/ontick-fleet/gate.html"), "<!DOCTYPE html>");

    let pair = ["--limit", "pi-1,pi-2,localhost", "-e", r#"{"ontick_waves": ["100%"]}"#];
    let again = fleet.play("rollout", &pair);
    again.ends("pi-1", [0, 0]);
    again.ends("pi-2", [0, 0]);

    let report = format!("ontick_report={}", fleet.path("drift.json").display());
    let (stored, drifted) = apart::part(|| {
        let stored = fleet.play("drift", &[&pair[..], &["-e", "ontick_drift_store=true"]].concat());
        // By hand, after the baseline.
        fleet.on("pi-2", &format!("echo 7 >{STAT_INTERVAL}"));
        (stored, fleet.play("drift", &[&pair[..], &["-e", &report]].concat()))
    });
    assert!(stored.0.status.success(), "{}", stored.text());
    drifted.ends("pi-1", [0, 0]);
    drifted.ends("pi-2", [0, 1]);
    let sentence = format!("setting {STAT_INTERVAL}: another program set 7; ontick had set 10");
    drifted.says(&sentence);
    let found: Value = serde_json::from_str(&fs::read_to_string(fleet.path("drift.json")).unwrap()).unwrap();
    assert_eq!((&found["pi-1"], &found["pi-3"]), (&serde_json::json!([]), &"not reached".into()), "{found}");
    // What it does to the machine is a finding, too.
    assert_eq!(found["pi-2"][0], sentence, "{found}");
    assert!(found["pi-2"][1].as_str().unwrap().starts_with("finding memory-statistics: warn"), "{found}");

    // What differs is named and left by a look, and each machine has its own mistake.
    let would = fleet.play("rollout", &["--check", "--limit", "pi-2"]);
    would.ends("pi-2", [1, 0]);
    would.says(&format!("pi-2: {STAT_INTERVAL} would be changed"));
    assert_eq!(settings("pi-2"), "7\n0");
    fleet.set(
        "host_vars/pi-1",
        serde_json::json!({"ontick_program": "/usr/bin/ontick", "ontick_install_method": "package",
        "ontick_tune_require": ["p50 under 3us"]}),
    );
    fleet.set("host_vars/pi-2", serde_json::json!({"ontick_tune_profile": "quickest"}));
    fleet.set("host_vars/pi-3", serde_json::json!({"ontick_install_folder": "/nowhere"}));
    fleet.set("host_vars/pi-4", serde_json::json!({"ansible_user": "guest"}));
    let refused = fleet.play("rollout", &["-e", r#"{"ontick_waves": ["100%"]}"#]);
    for name in ["pi-1", "pi-2", "pi-3", "pi-4"] {
        refused.ends(name, [0, 1]);
    }
    refused.says("pi-1: a requirement of ontick_tune_require cannot be read: ");
    refused.says(
        "value of ontick_tune_profile must be one of: dedicated-core, low-latency, throughput-safe, got: quickest",
    );
    refused.says(&format!("pi-3: there is no file ontick-[0-9]*-{0} for {0} in /nowhere", std::env::consts::ARCH));
    refused.says("pi-4: guest cannot become root by sudo");

    fs::remove_dir_all(fleet.path("host_vars")).unwrap();
    fleet.set("host_vars/pi-1", serde_json::json!({"ontick_program": "/usr/bin/ontick"}));
    let reverted = fleet.play("revert", &["--limit", "pi-1"]);
    reverted.ends("pi-1", [2, 0]);
    assert_eq!(settings("pi-1"), before);
    fleet.play("revert", &["--limit", "pi-1"]).ends("pi-1", [0, 0]);
}

/// As Raspberry Pi OS of 32 bits has it, whose kernel is one of 64.
#[test]
fn a_package_is_of_the_architecture_that_dpkg_says() {
    let Some(fleet) = Fleet::managed(&["pi-1"]) else { return };
    fleet.on("pi-1", "printf '#!/bin/sh\\necho armhf\\n' >/usr/local/bin/dpkg; chmod 755 /usr/local/bin/dpkg");
    let variables = |method| serde_json::json!({"ontick_install_folder": "/nowhere", "ontick_install_method": method});
    for (method, file) in
        [("package", "ontick_*_armhf.deb".to_owned()), ("static", format!("ontick-[0-9]*-{}", std::env::consts::ARCH))]
    {
        fleet.set("group_vars/all", variables(method));
        let refused = fleet.play("rollout", &[]);
        refused.ends("pi-1", [0, 1]);
        refused.says(&format!("pi-1: there is no file {file} for "));
    }
}

/// A switch of two ports, with gates at the second.
pub(super) fn switch(port: &str) -> String {
    format!(
        "[switch]\nname = \"cell\"\nplane = \"user\"\n\n[[class]]\nname = \"blue\"\nqueue = 0\n\n[[class]]\nname = \"red\"\n\
         queue = 1\nmatch = [{{ udp-port = 7777 }}]\n\n[[port]]\nname = \"port0\"\nrate = \"1Gbit\"\n\n[[port]]\nname = \
         \"{port}\"\nrate = \"1Gbit\"\n\n[port.gates]\nbase-time = \"next second\"\nentries = [{{ open = [\"blue\"], for = \
         \"800us\" }}, {{ open = [\"red\"], for = \"200us\" }}]\n"
    )
}

#[test]
fn switches_have_one_base_time_and_those_that_are_not_confirmed_go() {
    let Some(fleet) = Fleet::managed(&["s-1", "s-2", "s-3"]) else { return };
    apart::beside_others(&["switch"]);
    let nodes = fleet.path("nodes");
    fs::create_dir_all(&nodes).unwrap();
    for (name, port) in [("s-1", "port1"), ("s-2", "port1"), ("s-3", "port9")] {
        fs::write(nodes.join(format!("{name}.toml")), switch(port)).unwrap();
    }
    // The machines have this one's files.
    fleet.set(
        "group_vars/all",
        serde_json::json!({
            "ontick_program": PROGRAM,
            "ontick_switch_file": format!("{}/{{{{ inventory_hostname }}}}.toml", nodes.display()),
            "ontick_switch_confirm": "1h",
            "ontick_switch_arguments": ["--keep-throttling"],
        }),
    );
    let status = |name| -> Value {
        serde_json::from_str(&fleet.on(name, &format!("{PROGRAM} switch status cell --json"))).unwrap()
    };

    let failed = fleet.play("switch", &[]);
    failed.says("s-3: switch cell could not be set up: ");
    failed.says("s-1: s-3 could not be set up, so switch cell is not confirmed and goes within 1h.");
    for name in ["s-1", "s-2"] {
        assert_eq!(failed.counted(name, "failed"), Some(1), "{}", failed.text());
        assert_eq!(fleet.on(name, "ls /etc/ontick"), "", "{name}");
        // Nobody waits for an hour here: that it goes when its time is over is what other tests are for.
        assert!(status(name)["goes_in_ns"].as_u64() <= Some(3_600_000_000_000), "{}", status(name));
        assert!(status(name)["goes_in_ns"].is_u64(), "{}", status(name));
        fleet.on(name, &format!("{PROGRAM} switch revert cell"));
        assert_eq!(status(name), Value::Null);
    }

    let pair = ["--limit", "s-1,s-2"];
    let would = fleet.play("switch", &[&pair[..], &["--check"]].concat());
    would.ends("s-1", [1, 0]);
    assert_eq!(status("s-1"), Value::Null);
    let now_s = || std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let began_s = now_s();
    let applied = fleet.play("switch", &pair);
    let ended_s = now_s();
    assert!(applied.0.status.success(), "{}", applied.text());
    let base_s = |name| {
        let kept = fleet.on(name, "cat /etc/ontick/cell.toml");
        assert!(status(name)["goes_in_ns"].is_null(), "{name} is confirmed");
        assert_eq!(status(name)["differences"], serde_json::json!([]));
        let base_ns = kept.lines().find_map(|line| line.strip_prefix("base-time = ")).unwrap().to_owned();
        assert!(status(name)["report"]["configuration"].to_string().contains(&base_ns), "{}", status(name));
        base_ns.parse::<u64>().unwrap() / 1_000_000_000
    };
    assert_eq!(base_s("s-1"), base_s("s-2"));
    // TAI is some seconds before UTC where it is known.
    let base_s = base_s("s-1");
    assert!((began_s + 30..ended_s + 100).contains(&base_s), "{base_s} {began_s} {ended_s}");

    let again = fleet.play("switch", &pair);
    again.ends("s-1", [0, 0]);
    again.ends("s-2", [0, 0]);

    // New gates that one node applies and then cannot confirm: all have those of before again.
    let gates = |name| status(name)["report"]["configuration"].clone();
    let before = [gates("s-1"), gates("s-2")];
    let fails_once = format!(
        "printf '#!/bin/sh\\nif [ \"$2\" = apply ] && [ ! -e /tmp/applied ]; then touch /tmp/applied /tmp/mute; fi\\n\
         if [ \"$2\" = status ] && [ -e /tmp/mute ]; then rm /tmp/mute; echo no answer >&2; exit 2; fi\\n\
         exec {PROGRAM} \"$@\"\\n' >/usr/local/bin/fails-once; chmod 755 /usr/local/bin/fails-once"
    );
    fleet.on("s-2", &fails_once);
    fleet.set("host_vars/s-2", serde_json::json!({"ontick_program": "/usr/local/bin/fails-once"}));
    for name in ["s-1", "s-2"] {
        fs::write(nodes.join(format!("{name}.toml")), switch("port1").replace("800us", "700us")).unwrap();
    }
    let failed = fleet.play("switch", &pair);
    failed.says("s-2: switch cell could not be set up: no answer; it has its gates of before again");
    failed.says("s-1: s-2 could not be set up, so switch cell has its gates of before again.");
    assert_eq!([gates("s-1"), gates("s-2")], before);
    // As set up by hand, of which no file is kept.
    fleet.on("s-1", "rm /etc/ontick/cell.toml");
    fleet.on("s-2", "rm /etc/ontick/cell.toml /tmp/applied");
    let failed = fleet.play("switch", &pair);
    failed.says("no answer; it keeps the new gates, as there is no file of those of before");
    failed.says(
        "s-1: s-2 could not be set up, so switch cell keeps the new gates, as there is no file of those of before.",
    );
    assert!(gates("s-1") != before[0] && gates("s-2") != before[1]);

    let gone = fleet.play("switch", &[&pair[..], &["-e", "ontick_switch_state=reverted"]].concat());
    assert!(gone.0.status.success(), "{}", gone.text());
    assert_eq!((status("s-1"), status("s-2")), (Value::Null, Value::Null));
}
