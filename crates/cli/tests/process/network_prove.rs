//! `ontick network prove`: the guide's network in simulated time.

use std::fs;
use std::process::{Output, Stdio};

use ontick_network::namespaces::Emulation;
use ontick_tsn::egress::DataPlane;
use serde_json::Value;
use tempfile::TempDir;

use crate::switch_plan::network;
use crate::{ontick, stderr, stdout};

fn prove(folder: &TempDir, more: &[&str]) -> Output {
    let words = ["network", "prove", "network.toml"].iter().chain(more);
    ontick(&[]).current_dir(folder).args(words).output().unwrap()
}

fn guide() -> TempDir {
    let (folder, text) = network();
    fs::write(folder.path().join("network.toml"), text).unwrap();
    folder
}

#[test]
fn the_network_of_the_guide_keeps_its_promises_and_is_drawn() {
    let folder = guide();
    let files = ["--record", "run.json", "--html", "proof.html", "--svg", "frames.svg", "--junit", "proof.xml"];
    let more = [&["--in", "simulation", "--duration", "200ms", "--load", "30%"][..], &files].concat();
    let proven = prove(&folder, &more);
    assert_eq!(proven.status.code(), Some(0), "{}{}", stdout(&proven), stderr(&proven));
    let said = stdout(&proven);
    assert!(said.contains("simulated") && said.contains("messages came within their promise"), "{said}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("All 1 800 messages came") && words.contains("of 1 800 sent 0 were lost"), "{said}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let record: Value = serde_json::from_str(&read("run.json")).unwrap();
    let streams = record["network"]["streams"].as_array().unwrap();
    // video to one listener, setpoint to two: 200 messages of four frames, and 800 of one.
    assert_eq!(streams.iter().map(|of| of["sent"].as_u64().unwrap()).collect::<Vec<_>>(), [200, 800, 800]);
    assert_eq!(record["network"]["frames"], 1600);
    for of in streams {
        let [least, most] = ["min_ns", "max_ns"].map(|name| of[name].as_u64().unwrap());
        assert!(least > 0 && most <= of["planned_ns"].as_u64().unwrap(), "{of}");
    }
    assert!(!record["series"][0]["latency"]["buckets"].as_array().unwrap().is_empty());
    assert!(record["network"]["best_effort"].as_u64().unwrap() > 100, "{record}");
    let drawn = read("frames.svg");
    assert!(drawn.contains("data-name=\"s1&gt;controller\"") && drawn.contains("setpoint: "), "{drawn}");
    assert!(read("proof.html").contains("Frames on links") && read("proof.xml").contains("failures=\"0\""));
    // A record is shown as the run was.
    let again = ontick(&["report", "run.json"]).current_dir(&folder).output().unwrap();
    assert_eq!(stdout(&again), said);
    let words = ["report", "run.json", "--plot", "links", "--svg", "again.svg"];
    let again = ontick(&words).current_dir(&folder).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert_eq!(read("again.svg"), drawn);
}

#[test]
fn a_given_plan_is_run_and_the_same_seed_is_the_same_run() {
    let folder = guide();
    let words = ["network", "plan", "network.toml", "--target", "user", "--out", "plan.json"];
    assert_eq!(ontick(&words).current_dir(&folder).output().unwrap().status.code(), Some(0));
    let record = |more: &[&str]| -> Value {
        let output = prove(&folder, &[&["--duration", "20ms", "--load", "20%", "--json"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let record: Value = serde_json::from_str(&stdout(&output)).unwrap();
        record["network"].clone()
    };
    let given = record(&["plan.json"]);
    assert_eq!(given, record(&["plan.json"]));
    assert_eq!(given, record(&[]), "the planner's seed is the same, too");
    assert_ne!(given, record(&["plan.json", "--seed", "2"]));
}

#[test]
fn a_promise_that_is_not_kept_is_status_1_and_says_by_whom() {
    let folder = guide();
    for fault in ["link-down=camera-s1@5ms..10ms", "clock-step=controller:40us@5ms"] {
        let broken = prove(&folder, &["--duration", "20ms", "--fault", fault]);
        let said = stdout(&broken);
        assert_eq!(broken.status.code(), Some(1), "{fault}: {said}");
        assert!(said.contains("not keep") && said.contains(fault), "{said}");
    }
    let required = prove(&folder, &["--duration", "20ms", "--require", "max < 1us"]);
    assert_eq!(required.status.code(), Some(1), "{}", stdout(&required));
    // A plan for gates that are exactly on time is none for this data plane: every frame is dropped, and that is said.
    let words = ["network", "plan", "network.toml", "--out", "exact.json"];
    assert_eq!(ontick(&words).current_dir(&folder).output().unwrap().status.code(), Some(0));
    let exact = prove(&folder, &["exact.json", "--duration", "20ms"]);
    assert_eq!(exact.status.code(), Some(1), "{}", stdout(&exact));
    assert!(stdout(&exact).contains("no window long enough"), "{}", stdout(&exact));
    let said = stdout(&exact).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("does not suit: it is for another target than user"), "{said}");
}

#[test]
fn what_cannot_be_proven_is_said_in_a_sentence() {
    let folder = guide();
    for (more, words) in [
        (&["--fault", "flood=camera"][..], "is no fault: write link-down="),
        (&["--fault", "babble=drive"], "drive talks in no stream"),
        (&["--fault", "link-down=camera-drive"], "no such cable between"),
        (&["--load", "200%"], "from 0% to 95%"),
        (&["--duration", "0s"], "for some time"),
        (&["--target", "hardware"], "runs the code of the user data plane"),
        (&["nowhere.json"], "nowhere.json"),
        (&["--forwarding", "100us"], "so there is nothing to run: stream setpoint takes "),
        (&["--fault", "clock-step=s1:0ms"], "a step of zero changes no clock"),
        (
            &["--duration", "300ms", "--fault", "clock-step=s1:1ms@10s"],
            "it begins at 10s, and messages are sent for 300ms",
        ),
    ] {
        let refused = prove(&folder, more);
        assert_eq!(refused.status.code(), Some(2), "{more:?}: {}", stdout(&refused));
        assert!(stderr(&refused).contains(words), "{more:?}: {}", stderr(&refused));
    }
}

#[test]
fn in_namespaces_every_frame_comes_or_is_counted() {
    let Some(_turn) = crate::switch_proof::turn() else { return };
    let folder = guide();
    let mut said = String::new();
    let mut run_for = |duration_ms: u64| -> Value {
        let duration = format!("{duration_ms}ms");
        let more =
            ["--in", "namespaces", "--duration", &duration, "--without-gates", "100ms", "--allow-outside", "100%"];
        let proven = prove(&folder, &[&more[..], &["--guard", "2us", "--record", "run.json"]].concat());
        // Whether it is in time is the machine's affair.
        assert!(matches!(proven.status.code(), Some(0 | 1)), "{}", stderr(&proven));
        said = stdout(&proven);
        serde_json::from_slice(&fs::read(folder.path().join("run.json")).unwrap()).unwrap()
    };
    let sum = |record: &Value, of: &str| -> u64 {
        record["network"]["streams"].as_array().unwrap().iter().map(|stream| stream[of].as_u64().unwrap()).sum()
    };
    // A busy machine may not come to send anything in a while.
    let mut runs = [300, 3_000, 15_000].into_iter().map(|ms| (ms, run_for(ms)));
    let (duration_ms, record) = runs.find(|(_, record)| sum(record, "sent") > 0).expect("nothing was sent");
    let network = &record["network"];
    assert_eq!(network["streams"].as_array().unwrap().len(), 3);
    // Each millisecond one message of video, and four of setpoint to two listeners, where every message was sent.
    let (sent, planned) = (sum(&record, "sent"), 9 * duration_ms);
    let not_sent = network["emulation"]["not_sent"].as_u64().unwrap();
    assert!(sent <= planned && sent + 2 * not_sent >= planned, "{network}");
    assert_eq!(["duplicates", "out_of_order", "early"].map(|of| sum(&record, of)), [0, 0, 0], "{network}");
    let judged = record["requirements"].as_array().unwrap();
    let counted = judged.iter().find(|judged| judged["requirement"] == "every lost frame is counted").unwrap();
    assert_eq!(counted["met"], true, "{counted}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("namespaces") && words.contains("one core for 1 switch"), "{said}");
    assert!(words.contains("for a switch with all gates open"), "{said}");
    // Where the machine needs more than a core of its own is assumed to, the planner finds whether there is room for it. One
    // that hardly gets a CPU forwards nothing in time to see even that.
    let per_switch = serde_json::from_value(network["emulation"]["per_switch"].clone()).unwrap();
    let is_slower = Emulation { per_switch, frames: 0 }.timings(DataPlane::User.defaults()).next().is_some();
    let room = [
        "planned for switches as slow as the emulation makes them",
        "no plan was found that has more room",
        "what the emulation adds is not known",
    ];
    assert!(!is_slower || room.iter().any(|room| words.contains(room)), "{said}");
    // A record is shown as the run was.
    let again = ontick(&["report", "run.json"]).current_dir(&folder).output().unwrap();
    assert_eq!(stdout(&again), said);
}

/// Gates that are as long as their messages let none through here.
#[test]
fn a_plan_that_does_not_suit_is_held_against_every_stream() {
    let Some(_turn) = crate::switch_proof::turn() else { return };
    let folder = guide();
    let words = ["network", "plan", "network.toml", "--out", "exact.json"];
    assert_eq!(ontick(&words).current_dir(&folder).output().unwrap().status.code(), Some(0));
    let more = ["exact.json", "--in", "namespaces", "--duration", "100ms", "--without-gates", "50ms", "--json"];
    let proven = prove(&folder, &more);
    assert_eq!(proven.status.code(), Some(1), "{}", stderr(&proven));
    let record: Value = serde_json::from_slice(&proven.stdout).unwrap();
    let streams = record["network"]["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 3);
    let sum = |of: &str| streams.iter().map(|stream| stream[of].as_u64().unwrap()).sum::<u64>();
    assert!(sum("received") < sum("sent"), "{record}");
}

/// It allows switches a tenth of a microsecond, which no emulation is as fast as.
#[test]
fn a_plan_for_faster_switches_is_run_with_a_note_that_says_what_to_leave_out() {
    let Some(_turn) = crate::switch_proof::turn() else { return };
    let folder = guide();
    let timing = ["--forwarding", "100ns"];
    let words = [&["network", "plan", "network.toml", "--target", "user", "--out", "plan.json"][..], &timing].concat();
    let planned = ontick(&words).current_dir(&folder).output().unwrap();
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    let more = ["plan.json", "--in", "namespaces", "--duration", "100ms", "--without-gates", "1s", "--json"];
    let notes = |more: &[&str]| -> (Value, String) {
        let proven = prove(&folder, &[more, &timing].concat());
        assert!(matches!(proven.status.code(), Some(0 | 1 | 3)), "{}", stderr(&proven));
        let record: Value = serde_json::from_slice(&proven.stdout).unwrap();
        (record["network"]["emulation"]["per_switch"].clone(), record["notes"].to_string())
    };
    let (per_switch, said) = notes(&more);
    if per_switch["buckets"].as_array().is_none_or(Vec::is_empty) {
        return ontick_skip::skipped!("this machine is too busy to pass a frame");
    }
    assert!(said.contains("the plan allows 100ns to forward and the emulation takes "), "{said}");
    assert!(said.contains(": leave PLAN out, and it is planned for that"), "{said}");
    // Without a plan it is what was asked for.
    let (_, said) = notes(&more[1..]);
    assert!(!said.contains("leave PLAN out"), "{said}");
}

/// The namespaces are the process's own: none has a name that stays, and no interface is the machine's.
#[test]
fn killed_in_namespaces_it_leaves_nothing_behind() {
    let Some(_turn) = crate::switch_proof::turn() else { return };
    let folder = guide();
    let names = |path: &str| -> Vec<_> {
        let all = fs::read_dir(path).into_iter().flatten();
        let mut names: Vec<_> = all.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let here = || (names("/run/netns"), names("/sys/class/net"));
    let before = here();
    let mut command = ontick(&[]);
    command.current_dir(&folder).args(["network", "prove", "network.toml", "--in", "namespaces", "--duration", "60s"]);
    let mut child = crate::Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let pid = child.0.id();
    let is_namespace = |link: std::path::PathBuf| link.to_string_lossy().starts_with("net:[");
    let held = || {
        let fds = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
        fds.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok()).filter(|link| is_namespace(link.clone())).count()
    };
    // Three stations, and one for the switch.
    crate::wait_until("the namespaces are there", || held() >= 4);
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    assert_eq!(here(), before);
}

#[test]
fn what_is_simulated_alone_is_refused_in_namespaces() {
    let folder = guide();
    for (more, words) in [
        (&["--load", "10%"][..], "--load and --fault are simulated"),
        (&["--target", "hardware"], "the user data plane or the kernel serves the switches"),
        (&["--target", "kernel", "--cpu", "0"], "--cpu is the CPU of the user data plane's core"),
        (&["--cpu", "4000"], "CPU 4000 is not online"),
    ] {
        let refused = prove(&folder, &[&["--in", "namespaces"], more].concat());
        let said = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{more:?}: {said}");
        let needs_root = !rustix::process::geteuid().is_root() && said.contains("need root");
        assert!(said.contains(words) || needs_root, "{more:?}: {said}");
    }
}
