//! Gates that Ansible changes by NETCONF, with the playbook of `deploy/ansible`.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::ansible::Played;
use super::machines::{Fleet, top};
use super::netconf::set_up;
use super::{stderr, stdout, wait_until};

/// A folder of collections that has ansible.netcommon.
fn netcommon() -> Option<String> {
    let output = Command::new(top().join("packaging/netcommon")).output().unwrap();
    if !output.status.success() {
        eprint!("{}", stderr(&output));
        ontick_skip::skipped!("ansible.netcommon is not installed");
        return None;
    }
    let imported = Command::new("/usr/bin/python3").args(["-c", "import ncclient.manager"]).output().unwrap();
    if !imported.status.success() {
        ontick_skip::skipped!("Debian's Python has no ncclient");
        return None;
    }
    Some(stdout(&output).trim().to_owned())
}

/// The inventory of docs/netconf.md, with the addresses of these machines.
fn inventory() -> String {
    let page = fs::read_to_string(top().join("docs/netconf.md")).unwrap();
    let (_, rest) = page.split_once("```yaml\nswitches:\n").unwrap();
    let (hosts, _) = rest.split_once("```").unwrap();
    assert_eq!(hosts.matches("ansible_host: 192.0.2.").count(), 2, "{hosts}");
    format!("switches:\n{hosts}").replace("192.0.2.11", "10.77.0.2").replace("192.0.2.12", "10.77.0.3")
}

fn has_window(fleet: &Fleet, name: &str, window: &str) -> bool {
    let status = fleet.on(name, "ontick switch status cell --json");
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    status["report"]["configuration"].as_str().unwrap().contains(&format!("for = \"{window}\""))
}

#[test]
fn ansible_changes_gates_and_those_that_are_not_confirmed_go() {
    let Some(netcommon) = netcommon() else { return };
    let Some(fleet) = Fleet::managed(&["cell-1", "cell-2"]) else { return };
    for name in ["cell-1", "cell-2"] {
        set_up(&fleet, name);
    }
    fs::write(fleet.path("inventory.yaml"), inventory()).unwrap();
    fs::create_dir_all(fleet.path("home/.ssh")).unwrap();
    fs::copy(fleet.path("known_hosts"), fleet.path("home/.ssh/known_hosts")).unwrap();
    let collections = format!("{}:{netcommon}", fleet.path("collections").display());
    let play = |more: &[&str]| {
        let mut command = fleet.playbook("gates", more);
        command.arg("-i").arg(fleet.path("inventory.yaml"));
        command.env("ANSIBLE_COLLECTIONS_PATH", &collections).env("HOME", fleet.path("home"));
        Played::of(command)
    };

    // The switch itself says whether it could have them.
    let short = json!({"ontick_gates": [{"states": 1, "interval": 999_000}, {"states": 2, "interval": 1_000}]});
    fleet.set("host_vars/cell-2", short);
    let would = play(&["--check"]);
    would.ends("cell-1", [1, 0]);
    would.ends("cell-2", [0, 1]);
    would.says("interface port1, gate-control-entry 1: `red` (traffic class 1) is open for 1us");
    assert!(has_window(&fleet, "cell-1", "800us"));

    // Where one of them fails, none is confirmed.
    let check = fleet.path("check.yml");
    fs::write(&check, "- name: Look\n  ansible.builtin.fail:\n    msg: the line stands still\n").unwrap();
    fleet.set("host_vars/cell-2", json!({ "ontick_gates_check": check }));
    let refused = play(&[]);
    refused.says("the line stands still");
    refused.says("cell-1: cell-2 failed, so nothing is confirmed and the gates of before come back.");
    for name in ["cell-1", "cell-2"] {
        refused.ends(name, [1, 1]);
        wait_until("the gates from before", || has_window(&fleet, name, "800us"));
    }

    // With time enough to confirm them, however busy this machine is.
    let changed = play(&["--limit", "cell-1", "-e", "ontick_gates_keep=true", "-e", "ontick_gates_timeout=3600"]);
    changed.ends("cell-1", [1, 0]);
    assert!(has_window(&fleet, "cell-1", "600us") && has_window(&fleet, "cell-1", "300us"));
    assert!(fleet.on("cell-1", "cat /etc/ontick/cell.toml").contains("600us"));
    play(&["--limit", "cell-1"]).ends("cell-1", [0, 0]);
}
