//! `kernel evaluate --load ping`: pings from a second host, which a network namespace stands for.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use super::{alone_on_this_machine, has, ontick, run, stderr, wait_until};

/// The pinging process that a program started, by its ancestors.
fn ping_of(ontick: u32) -> Option<u32> {
    let field = |pid: u32, at: usize| -> Option<String> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(at).map(String::from)
    };
    let pids = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_below = |pid: u32| {
        let parents = std::iter::successors(Some(pid), |pid| field(*pid, 1)?.parse().ok().filter(|parent| *parent > 1));
        parents.take(16).any(|parent| parent == ontick)
    };
    let name = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "ping");
    pids.filter(name).find(|pid| is_below(*pid))
}

/// Answers to pings that came to the host of this process, as its kernel counts them.
fn answers(pid: u32) -> u64 {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/net/snmp")) else { return 0 };
    let mut lines = text.lines().filter(|line| line.starts_with("Icmp: "));
    let (Some(names), Some(counts)) = (lines.next(), lines.next()) else { return 0 };
    let counts = names.split(' ').zip(counts.split(' ')).find(|(name, _)| *name == "InEchoReps");
    counts.and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
}

#[test]
fn a_second_host_pings_while_the_kernel_is_evaluated() {
    let root = rustix::process::geteuid().is_root();
    if !root || !["ip", "ping", "nsenter"].into_iter().all(has) {
        ontick_skip::skipped!("network namespaces need root, and ping");
        return;
    }
    let _alone = alone_on_this_machine();
    let interfaces = || fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    let before = interfaces();
    let words = ["kernel", "evaluate", "--only", "--loops", "4000", "--load", "ping", "--json", "--policy", "other"];
    let child = ontick(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut answered = 0;
    wait_until("answers to pings", || {
        answered = ping_of(child.id()).map_or(0, answers);
        answered > 20
    });
    // All of it is in namespaces of their own.
    assert_eq!(interfaces(), before);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let load = record["series"][0]["settings"]["load"].as_str().unwrap();
    assert!(load.starts_with("ping: pings every 10 ms from a second host") && load.contains("simulated"), "{load}");
}

#[test]
fn a_load_that_nobody_knows_is_refused_with_all_names() {
    let output = run(&["kernel", "evaluate", "--load", "pings"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("ping, source-004+ping, or cmd:COMMAND"), "{}", stderr(&output));
}
