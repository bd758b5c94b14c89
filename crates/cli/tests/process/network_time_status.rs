//! `ontick network time status`, held against linuxptp's own `pmc`; and what it says where there is nobody to ask.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output, Stdio};

use ontick_switch::verify::namespace::Namespace;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::judges::{python_runs, python_with, said};
use crate::neighbours::VALIDATE;
use crate::network_time::{Cable, NETWORK, cable};
use crate::{Running, copy_of_ontick, has, ontick, run, send, stderr, stdout, wait_until};

const QUESTIONS: [&str; 6] = [
    "GET DEFAULT_DATA_SET",
    "GET CURRENT_DATA_SET",
    "GET PARENT_DATA_SET",
    "GET TIME_STATUS_NP",
    "GET PORT_DATA_SET",
    "GET PORT_PROPERTIES_NP",
];

/// What pmc says of the only ptp4l in the folder, value by name.
fn pmc(cable: &Cable, namespace: &Namespace, socket: &str, questions: &[&str]) -> BTreeMap<String, String> {
    let mut pmc = Command::new("pmc");
    pmc.args(["-u", "-b", "0", "-t", "1", "-i", "pmc", "-s", socket]).args(questions).current_dir(&cable.folder);
    let text = stdout(&namespace.within(|| pmc.output()).unwrap().unwrap());
    let pair =
        |line: &str| line.trim().split_once(char::is_whitespace).map(|(n, v)| (n.to_owned(), v.trim().to_owned()));
    text.lines().filter_map(pair).collect()
}

/// The socket of the node's ptp4l, from the folder.
fn socket(cable: &Cable, node: &str) -> String {
    let entries = fs::read_dir(cable.folder.path().join("sockets")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_one = |name: &String| {
        name.strip_prefix(node).and_then(|rest| rest.strip_prefix('.')).is_some_and(|pid| pid.parse::<u32>().is_ok())
    };
    format!("sockets/{}", names.filter(is_one).max().unwrap())
}

fn status(cable: &Cable, namespace: &Namespace, words: &[&str]) -> Output {
    let all = [&["network", "time", "status", "network.toml", "--sockets", "sockets"], words].concat();
    namespace.within(|| ontick(&all).current_dir(&cable.folder).output()).unwrap().unwrap()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

/// Holds a document against what pmc said of the same ptp4l, but for what each Sync changes.
fn agrees(document: &Value, pmc: &BTreeMap<String, String>) {
    let said = |name: &str| pmc.get(name).unwrap_or_else(|| panic!("{name} is not in {pmc:?}"));
    let number = |name: &str| json!(said(name).parse::<u64>().unwrap());
    assert_eq!(document["clock"], **said("clockIdentity"));
    assert_eq!(document["domain"], number("domainNumber"));
    assert_eq!(document["grandmaster"]["clock"], **said("grandmasterIdentity"));
    assert_eq!(document["grandmaster"]["priority1"], number("grandmasterPriority1"));
    assert_eq!(document["grandmaster"]["steps_removed"], number("stepsRemoved"));
    let port = &document["ports"][0];
    assert_eq!((&port["state"], &port["interface"]), (&json!(said("portState")), &json!(said("interface"))));
    assert_eq!(port["stamps"], said("timestamping").to_lowercase());
    assert_eq!(document["ports"].as_array().unwrap().len() as u64, number("numberPorts"));
}

#[test]
fn the_status_of_master_and_follower_is_what_pmc_says() {
    // Long enough for three programs between two Sync messages.
    let network = NETWORK.replace("sync-interval = \"500ms\"", "sync-interval = \"2s\"");
    let Some(cable) = cable(&network) else { return };
    if !has("pmc") {
        return;
    }
    let mut a = cable.start("a", "network.toml");
    a.event("grandmaster");
    let mut b = cable.start("b", "network.toml");
    b.until("an offset", |document| document["offset_ns"].is_i64() && document["path_delay_ns"].is_i64());
    // The process reports when that has come.
    wait_until("the time to be good", || status(&cable, &cable.b, &["--node", "b"]).status.code() == Some(0));

    let master = document(&status(&cable, &cable.a, &["--node", "a", "--json"]));
    agrees(&master, &pmc(&cable, &cable.a, &socket(&cable, "a"), &QUESTIONS));
    assert_eq!((&master["role"], &master["good"]), (&json!("grandmaster"), &json!(true)), "{master}");
    assert_eq!((&master["grandmaster"]["node"], &master["offset_ns"]), (&json!("a"), &Value::Null), "{master}");

    let socket = socket(&cable, "b");
    let follower = document(&status(&cable, &cable.b, &["--node", "b", "--json"]));
    agrees(&follower, &pmc(&cable, &cable.b, &socket, &QUESTIONS));
    assert_eq!((&follower["role"], &follower["grandmaster"]["node"]), (&json!("follower"), &json!("a")), "{follower}");
    assert_eq!(follower["steering"], json!({ "system": null, "cards": null, "free_running": true }));
    let since = |of: &Value| (of["for_ns"].as_u64().unwrap(), of["watch"]["for_ns"].as_u64().unwrap());
    let (good_ns, watched_ns) = since(&follower);
    assert!(0 < good_ns && good_ns < watched_ns, "{follower}");
    // Between two answers of pmc that are the same no Sync came.
    wait_until("three looks between two Sync messages", || {
        let before = pmc(&cable, &cable.b, &socket, &QUESTIONS[3..5]);
        let between = document(&status(&cable, &cable.b, &["--node", "b", "--json"]));
        let after = pmc(&cable, &cable.b, &socket, &QUESTIONS[3..5]);
        let same = ["ingress_time", "peerMeanPathDelay"].iter().all(|name| before[*name] == after[*name]);
        if same {
            assert_eq!(between["offset_ns"], json!(before["master_offset"].parse::<i64>().unwrap()));
            assert_eq!(between["path_delay_ns"], json!(before["peerMeanPathDelay"].parse::<i64>().unwrap()));
        }
        same
    });
    let text = stdout(&status(&cable, &cable.b, &["--node", "b"]));
    for part in
        ["b  gPTP, domain 0 · follows a\n", "\ntime         good for ", "nobody: ptp4l only measures", "\nport portb  "]
    {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    if let Some(python) = python_with("jsonschema, tomllib") {
        let file = |name: &str| cable.folder.path().join(name).to_str().unwrap().to_owned();
        let [schema, good, wrong] = ["schema.json", "status.json", "wrong.json"].map(file);
        fs::write(&schema, run(&["schema", "network-time"]).stdout).unwrap();
        fs::write(&good, follower.to_string()).unwrap();
        let mut other = follower.clone();
        other["role"] = json!("leader");
        fs::write(&wrong, other.to_string()).unwrap();
        let judge = |document: &str| {
            let output = python_runs(&python, VALIDATE, &[&schema, document], "");
            assert!(output.status.success(), "{}", said(&output));
            stdout(&output)
        };
        assert_eq!(judge(&good), "");
        assert!(judge(&wrong).contains("leader"));
    }

    // By a file that has a bound which no software's stamp keeps.
    let bounded = network.replace("[time]\n", "[time]\noffset-bound = \"1ns\"\n");
    fs::write(cable.folder.path().join("network.toml"), bounded).unwrap();
    wait_until("an offset beyond 1 ns", || {
        let output = status(&cable, &cable.b, &["--node", "b"]);
        let says = ": the offset, ";
        output.status.code() == Some(1) && stdout(&output).contains(says)
    });
    fs::write(cable.folder.path().join("network.toml"), &network).unwrap();

    a.child.0.kill().unwrap();
    a.child.0.wait().unwrap();
    b.event("grandmaster");
    let lost = status(&cable, &cable.b, &["--node", "b", "--json"]);
    let reason = "it gives the time itself, as it hears none of those that the file names";
    assert_eq!((lost.status.code(), &document(&lost)["reason"]), (Some(1), &json!(reason)));
    wait_until("the process to report it", || {
        let lost = document(&status(&cable, &cable.b, &["--node", "b", "--json"]));
        lost["for_ns"].is_u64() && since(&lost).0 < since(&lost).1 && lost["watch"]["losses"].as_u64() >= Some(1)
    });

    // Killed, it leaves nothing that another look would take for its word, and the next removes what is left.
    let pid = b.child.0.id();
    b.child.0.kill().unwrap();
    b.child.0.wait().unwrap();
    wait_until("its program to end", || cable.programs().is_empty());
    let gone = status(&cable, &cable.b, &["--node", "b"]);
    let says = "ontick: nothing keeps node b in time here: `sudo ontick network time run network.toml --node b` does";
    assert!(gone.status.code() == Some(2) && stderr(&gone).starts_with(says), "{}", stderr(&gone));
    let left = || {
        let entries = fs::read_dir(cable.folder.path().join("sockets")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains(&pid.to_string())).collect::<Vec<_>>()
    };
    // ptp4l ends with it and removes its socket; the report nobody removes.
    assert_eq!(left(), [format!("b.{pid}.json")]);
    cable.start("b", "network.toml").event("grandmaster");
    assert_eq!(left(), [""; 0]);
}

/// A ptp4l of another program's.
fn foreign(cable: &Cable, socket: &str) -> Running {
    let words = ["network", "time", "config", "network.toml", "--node", "b", "--out", "files"];
    let written = cable.b.within(|| ontick(&words).current_dir(&cable.folder).output()).unwrap().unwrap();
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    let mut ptp4l = Command::new("ptp4l");
    ptp4l.args(["-f", "files/ptp4l.conf", "--free_running", "1", "--uds_address", socket, "-q"]);
    ptp4l.current_dir(&cable.folder).stdout(Stdio::null()).stderr(Stdio::null());
    Running(cable.b.within(|| ptp4l.spawn()).unwrap().unwrap())
}

#[test]
fn a_ptp4l_of_another_program_is_asked_by_its_socket() {
    let Some(cable) = cable(NETWORK) else { return };
    if !has("pmc") {
        return;
    }
    let mut a = cable.start("a", "network.toml");
    a.event("grandmaster");
    let mut ptp4l = foreign(&cable, "uds");
    let words = ["--node", "b", "--socket", "uds", "--json"];
    wait_until("it to hear the grandmaster", || {
        let output = status(&cable, &cable.b, &words);
        // Until it listens there is nobody to ask.
        output.status.code() != Some(2) && document(&output)["grandmaster"]["node"] == "a"
    });
    let found = document(&status(&cable, &cable.b, &words));
    agrees(&found, &pmc(&cable, &cable.b, "uds", &QUESTIONS));
    // It sets no clock, so it is never in step; and nobody knows for how long.
    assert_eq!((&found["role"], &found["good"]), (&json!("unsynchronized"), &json!(false)), "{found}");
    assert_eq!((&found["watch"], &found["for_ns"]), (&Value::Null, &Value::Null), "{found}");

    // Its interface is not that of the file.
    let other = NETWORK.replace("\"portb\"", "\"portc\"");
    fs::write(cable.folder.path().join("network.toml"), other).unwrap();
    let noted = document(&status(&cable, &cable.b, &words));
    let says = "ptp4l's ports are portb, and those of node b in the file are portc";
    assert!(noted["notes"].as_array().unwrap().contains(&json!(says)), "{noted}");

    let fails = |socket: &str, says: &str| {
        let output = status(&cable, &cable.b, &["--node", "b", "--socket", socket]);
        let said = stderr(&output);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(says), "{says:?} is not in {said}");
    };
    let silent = |domain: u8| {
        format!(
            "the ptp4l of uds does not answer for gPTP in domain {domain}, as the file has it: it has another profile"
        )
    };
    fs::write(cable.folder.path().join("network.toml"), NETWORK.replace("[time]\n", "[time]\ndomain = 3\n")).unwrap();
    fails("uds", &silent(3));
    fs::write(cable.folder.path().join("network.toml"), NETWORK).unwrap();
    send(ptp4l.0.id(), Signal::STOP);
    fails("uds", &silent(0));
    send(ptp4l.0.id(), Signal::KILL);
    ptp4l.0.wait().unwrap();
    fails("uds", "nobody answers at uds: the ptp4l that opened it has ended");
    fails("none", "there is no socket none");
    fails("network.toml", "network.toml is no socket");
    std::os::unix::fs::chown(cable.folder.path().join("uds"), Some(4_711), None).unwrap();
    fails("uds", "the socket uds belongs to another user (uid 4711), who could forge what it answers");
}

#[test]
fn a_user_without_rights_is_told_so() {
    let Some(cable) = cable(NETWORK) else { return };
    if !has("setpriv") {
        return;
    }
    let mut a = cable.start("a", "network.toml");
    a.event("grandmaster");
    fs::set_permissions(cable.folder.path().join("sockets"), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    fs::set_permissions(&cable.folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let program = copy_of_ontick(cable.folder.path());
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--clear-groups"]).arg(&program);
    command.args(["network", "time", "status", "network.toml", "--node", "a", "--sockets", "sockets"]);
    let output = cable.a.within(|| command.current_dir(&cable.folder).output()).unwrap().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "ontick: sockets: Permission denied (os error 13): run it with sudo\n");
}
