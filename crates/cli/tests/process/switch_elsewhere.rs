//! `ontick switch plan --for-another-machine`: commands for ports and a kernel that are not here.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use super::{has, ontick, stderr, stdout};

const FILE: &str = r#"
[switch]
name = "br7"
plane = "auto"

[[class]]
name = "control"
queue = 7
match = [{ pcp = 6 }, { udp-port = 6666 }]

[[class]]
name = "rest"
queue = 0

[[port]]
name = "swp1"
rate = "1Gbit"

[[port]]
name = "swp2"
rate = "1Gbit"
max-sdu = { control = 200 }

[port.gates]
cycle = "1ms"
entries = [{ open = ["control"], for = "200us" }, { open = ["rest"], for = "800us" }]
"#;

fn plan(more: &[&str]) -> Output {
    plan_of(FILE, more)
}

/// Of a program that finds neither a tool nor a port.
fn plan_of(file: &str, more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("switch.toml");
    fs::write(&path, file).unwrap();
    let all = [&["switch", "plan", path.to_str().unwrap()], more].concat();
    ontick(&all).env("PATH", folder.path()).env("COLUMNS", "80").output().unwrap()
}

#[test]
fn the_commands_for_another_machine_need_nothing_of_this_one() {
    let output = plan(&["--for-another-machine"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = stdout(&output);
    // What nobody said is assumed, in words.
    assert!(shown.starts_with("# For another machine, which has:\n#   - Linux 6.12 "), "{shown}");
    for part in
        ["2 transmit queues on each port with gates (assumed)", "ports swp1, swp2", "igb and igc", "--queues, with"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let notes = shown.lines().filter(|line| line.starts_with('#'));
    assert!(notes.clone().all(|line| line.chars().count() <= 80), "{shown}");
    for command in [
        "ip link add name br7 type bridge ",
        "ip link set dev swp2 master br7",
        "queues 1@0 1@1 ",
        "sched-entry S 02 200000 sched-entry S 01 800000",
        "max-sdu 0 200",
        "ip link set dev br7 up",
    ] {
        assert!(shown.contains(command), "{command}: {shown}");
    }
}

#[test]
fn what_is_said_of_another_machine_decides_what_its_commands_are() {
    // Before Linux 6.3 the lowest queue goes first, so classes are numbered the other way round; and there is no max-sdu.
    let old = stdout(&plan(&["--for-another-machine", "--kernel-version", "5.10.0-32-amd64", "--queues=4"]));
    assert!(old.contains("sched-entry S 01 200000 sched-entry S 02 800000") && !old.contains("max-sdu"), "{old}");
    assert!(old.contains("4 transmit queues on each port with gates (as said)"), "{old}");
    assert!(old.contains("what is assumed can be given: --driver") && !old.contains("--kernel-version"), "{old}");
    let igc = stdout(&plan(&["--for-another-machine", "--driver", "igc"]));
    assert!(igc.contains("sched-entry S 01 200000") && igc.contains("driver igc (as said)"), "{igc}");
    let json = plan(&["--for-another-machine", "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["plane"], "kernel");
    assert!(json["assumptions"].as_array().unwrap().len() > 4, "{json}");
    for (more, says) in [
        (&["--for-another-machine", "--kernel-version", "4.14"][..], "Linux 4.14 does not have it, Linux 4.20 does"),
        (&["--for-another-machine", "--kernel-version", "new"], "not a release of the kernel"),
        (&["--for-another-machine", "--queues", "1"], "has one transmit queue"),
        (&["--for-another-machine", "--plane", "user"], "add --plane kernel"),
        (&["--queues", "4"], "--for-another-machine"),
    ] {
        let output = plan(more);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", stdout(&output));
        assert!(
            stderr(&output).contains(says) && stderr(&output).lines().count() == 1,
            "{more:?}: {}",
            stderr(&output)
        );
    }
}

/// tc and ip themselves read the commands; what this kernel lacks is another matter than what they do not understand.
#[test]
fn ip_and_tc_understand_the_commands_for_another_machine() {
    if !rustix::process::geteuid().is_root() || !has("tc") {
        ontick_skip::skipped!("network namespaces need root, and tc");
        return;
    }
    // This machine's tc(8) may know no max-sdu, so the kernel is one that has none.
    let commands = stdout(&plan(&["--for-another-machine", "--kernel-version=6.0"]));
    assert!(!commands.contains("by rtnetlink"), "{commands}");
    let limited = stdout(&plan(&["--for-another-machine", "--kernel-version=6.12"]));
    assert!(limited.contains("max-sdu") && limited.contains("may lack max-sdu"), "{limited}");
    let mut script = String::from(
        "for n in 1 2; do ip link add name swp$n numtxqueues 8 type veth peer name far$n || exit 9; ip link set far$n up; done\n",
    );
    for line in commands.lines().filter(|line| line.starts_with("ip ") || line.starts_with("tc ")) {
        script += &format!("{line} || echo 'FAILED {line}' >&2\n");
    }
    let output = Command::new("unshare").args(["--net", "sh", "-c", &script]).output().unwrap();
    let said = stderr(&output);
    assert!(!said.contains("FAILED ip "), "{said}");
    let fault = |line: &&str| !(line.starts_with("FAILED") || line.contains("qdisc kind is unknown"));
    // A kernel without a qdisc has no parent for those below it, and no class for filters.
    let understood = ["Failed to find", "Parent", "not found", "No such", "unknown", "We have an error talking"];
    let not: Vec<&str> =
        said.lines().filter(fault).filter(|line| !understood.iter().any(|words| line.contains(words))).collect();
    assert!(not.is_empty(), "{not:?}: {said}");
}

#[test]
fn a_shaped_class_has_cbs_there_unless_its_gate_closes_or_its_kernel_is_older() {
    let slope = "max-sdu = { control = 200 }\nidle-slope = { control = \"20Mbit\" }";
    let shaped = FILE.replace("max-sdu = { control = 200 }", slope);
    let refused = |output: Output, status: i32, part: &str| {
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    };
    refused(plan_of(&shaped, &["--for-another-machine"]), 2, "`control` has an idle slope and a gate that closes");
    let gates = shaped.find("[port.gates]").unwrap();
    let kernel = ["--for-another-machine", "--plane", "kernel", "--kernel-version"];
    let of = |release: &str| plan_of(&shaped[..gates], &[&kernel[..], &[release]].concat());
    // The largest frame of others is 12336 bits, of which 20 / 1000 are 247, and 20 Mbit/s gain 2000 bits in 100 us.
    // 242 octets on the wire are 1936 bits, and 1936 x 980 / 1000 of them 1898.
    let shown = stdout(&of("6.12"));
    assert!(shown.contains("cbs idleslope 20000 sendslope -980000 hicredit 281 locredit -238 offload 0"), "{shown}");
    refused(of("4.14"), 2, "cbs (CONFIG_NET_SCH_CBS)");
}

#[test]
fn streams_are_policed_there_where_the_kernel_has_gates_for_them() {
    let stream = "[[stream]]\nname = \"camera\"\nto = \"02:00:00:00:01:02\"\nvlan = 0\n[stream.gate]\nbase-time = \
                  1600000000000000000\nentries = [{ open = true, for = \"1ms\" }, { open = false, for = \"1ms\" }]\n";
    let of = |release: &str| {
        let kernel = ["--for-another-machine", "--plane", "kernel", "--kernel-version", release];
        plan_of(&format!("{FILE}{stream}"), &kernel)
    };
    let shown = stdout(&of("6.12"));
    let filter = "tc filter add dev swp1 ingress pref 40000 protocol all flower num_of_vlans 0 dst_mac 02:00:00:00:01:02 action \
                  gate index 40000 clockid CLOCK_TAI base-time 1600000000000000000 sched-entry open 1000000 -1 -1";
    assert!(shown.contains(filter) && shown.contains(", police, gate"), "{shown}");
    for (release, since) in [("5.4", "5.8"), ("5.10", "5.19")] {
        let refused = of(release);
        assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
        let why = format!("Linux {release} does not have it, Linux {since} does");
        assert!(stderr(&refused).contains(&why), "{}", stderr(&refused));
    }
}
