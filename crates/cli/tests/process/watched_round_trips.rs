//! `ontick watch --roundtrip`: round trips beside the wake-ups, whether the responder is there, goes or comes back.

use std::net::UdpSocket;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::always_on::{Service, visited};
use crate::round_trips::{Cable, cable};
use crate::{Running, alone_on_this_machine, judges, ontick, run, stderr, stdout, wait_until};

/// A service in the namespace of the cable's requesters.
fn service(cable: &Cable, state: &Path, to: &str) -> Service {
    let way = format!("{to},interface=out,wait=block");
    cable.asks.within(|| Service::start(state, &["--policy", "other", "--roundtrip", &way])).unwrap()
}

fn json(cable: &Cable, service: &Service, path: &str) -> Value {
    cable.asks.within(|| service.json(path)).unwrap()
}

fn now(cable: &Cable, service: &Service) -> Value {
    json(cable, service, "/api/now")["round_trips"][0].clone()
}

fn answered(now: &Value) -> u64 {
    now["total"]["samples"].as_u64().unwrap()
}

fn metrics(cable: &Cable, service: &Service) -> String {
    cable.asks.within(|| service.ask("/metrics").1).unwrap()
}

/// What happened to what is measured, the oldest first.
fn pauses(events: &Value) -> Vec<String> {
    let all = events.as_array().unwrap().iter().rev();
    all.filter(|event| event["kind"] == "pause" && event["cpu"].is_null())
        .map(|event| event["text"].as_str().unwrap().to_owned())
        .collect()
}

/// An address of this machine where nobody answers yet.
pub fn nobodys() -> String {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// A responder to datagrams at an address of this machine.
pub fn responds(to: &str) -> Running {
    let mut responder = ontick(&["latency", "roundtrip", "--respond", "--udp", to, "--policy", "other"]);
    Running(responder.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

#[test]
fn round_trips_go_on_whether_their_responder_stays_goes_or_comes_back() {
    let Some(cable) = cable() else { return };
    cable.asks.ip(&["link", "set", "dev", "lo", "up"]).unwrap();
    let (mut responder, to) = cable.respond(&["--wait", "block", "--policy", "other"]);
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mut watched = service(&cable, &state, &to);
    wait_until("round trips", || answered(&now(&cable, &watched)) >= 40);
    let (name, labels) = (format!("round trip out to {to}"), format!("link=\"out\",responder=\"{to}\""));
    assert_eq!(now(&cable, &watched)["name"], name.as_str());
    let text = metrics(&cable, &watched);
    judges::openmetrics(&text);
    for line in [
        format!("ontick_watch_round_trip_up{{{labels}}} 1\n"),
        format!("ontick_watch_round_trip_recent_max_seconds{{{labels}}} 0."),
        format!("ontick_round_trip_seconds_count{{{labels}}} "),
        format!("ontick_round_trip_missed_total{{{labels},reason=\"lost\"}} "),
    ] {
        assert!(text.contains(&line), "{line}: {text}");
    }
    // Wake-ups of CPUs alone are among the latencies.
    assert!(!text.contains("series=\"round trip"), "{text}");

    responder.0.kill().unwrap();
    responder.0.wait().unwrap();
    wait_until("it is missed", || now(&cable, &watched)["paused"].is_string());
    let gone = now(&cable, &watched);
    let why = gone["paused"].as_str().unwrap();
    assert!(why.starts_with("nobody answered within 250ms: run `ontick latency roundtrip"), "{why}");
    assert!(metrics(&cable, &watched).contains(&format!("ontick_watch_round_trip_up{{{labels}}} 0\n")));
    // What has no answer does not keep the CPUs from being measured.
    let wake_ups = || json(&cable, &watched, "/api/now")["cpus"].as_array().unwrap().iter().map(answered).sum::<u64>();
    let before = wake_ups();
    wait_until("CPUs are measured", || wake_ups() > before);

    let (_responder, same) = cable.respond(&["--wait", "block", "--policy", "other"]);
    assert_eq!(same, to);
    wait_until("it is back", || now(&cable, &watched)["paused"].is_null());
    wait_until("it is measured", || answered(&now(&cable, &watched)) > answered(&gone));
    let said = pauses(&json(&cable, &watched, "/api/events?from=1"));
    // On a machine that is busy it may be missed more than once, and each time it is said.
    assert!(said.windows(2).all(|two| two[0] != two[1]), "{said:?}");
    assert!(said[0].starts_with(&format!("{name} is not measured: nobody answered")), "{said:?}");
    assert_eq!(said.last(), Some(&format!("{name} is measured again")));

    let before = now(&cable, &watched);
    assert_eq!(watched.ends_on(rustix::process::Signal::KILL), None);
    let mut watched = service(&cable, &state, &to);
    wait_until("it goes on", || answered(&now(&cable, &watched)) > answered(&before));
    let rows = json(&cable, &watched, "/api/history?points=5000");
    let own = rows.as_array().unwrap().iter().filter(|row| row[1] == name.as_str());
    let of_rows: u64 = own.map(|row| row[2].as_u64().unwrap()).sum();
    assert!(of_rows > answered(&before), "{of_rows} in rows, {before} before");
    assert_eq!(watched.ends_on(rustix::process::Signal::TERM), Some(0));
    let record = run(&["report", state.join("totals.json.journal").to_str().unwrap(), "--as", "json"]);
    let record: Value = serde_json::from_str(&stdout(&record)).unwrap();
    let series = record["series"].as_array().unwrap().iter().find(|series| series["name"] == name.as_str()).unwrap();
    let (sent, missed) = (&series["round_trips"]["sent"], series["missed"].as_u64().unwrap());
    assert_eq!(series["round_trips"]["answered"].as_u64().unwrap(), crate::samples(series));
    assert!(sent.as_u64().unwrap() <= crate::samples(series) + missed, "{series}");
}

#[test]
fn nobody_and_no_interface_are_a_sentence_each_and_somebody_who_comes_is_measured() {
    let _alone = alone_on_this_machine();
    let to = nobodys();
    let port = to.rsplit_once(':').unwrap().1;
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let more = ["--policy", "other", "--roundtrip", &to, "--roundtrip", "02:00:00:00:00:01,interface=nowhere"];
    let watched = Service::start(&state, &more);
    let paused = |n: usize| watched.json("/api/now")["round_trips"][n]["paused"].as_str().map(str::to_owned);
    wait_until("both are tried", || paused(0).is_some() && paused(1).is_some());
    let nobody =
        format!("nobody answered within 250ms: the machine there says that nobody is at port {port}: run `ontick");
    assert!(paused(0).unwrap().starts_with(&nobody), "{:?}", paused(0));
    let interface = paused(1).unwrap();
    assert!(interface.contains("nowhere"), "{interface}");

    let _responder = responds(&to);
    wait_until("it is measured", || answered(&watched.json("/api/now")["round_trips"][0]) >= 20);
    assert_eq!(paused(1), Some(interface));
    let said = pauses(&watched.json("/api/events?from=1"));
    let (first, second) = (format!("round trip UDP to {to}"), "round trip nowhere to 02:00:00:00:00:01");
    // Each says it once, however often it is tried.
    let of_first: Vec<&String> = said.iter().filter(|text| text.starts_with(&first)).collect();
    assert!(of_first.windows(2).all(|two| two[0] != two[1]), "{said:?}");
    assert_eq!(said.iter().filter(|text| text.starts_with(second)).count(), 1, "{said:?}");

    let Some((dom, console)) = visited(&format!("http://{}/?still", watched.address)) else {
        return ontick_skip::skipped!("chromium is not installed");
    };
    assert_eq!(console, "");
    // In the table, and as the name of its line.
    let name = format!("UDP to {to}");
    assert!(dom.contains(&format!("<td>{name}</td>")) && dom.contains(&format!(">{name}</text>")), "{dom}");
    assert!(dom.contains(&format!("<td>{}</td>", &second["round trip ".len()..])), "{dom}");
    assert!(said.contains(&format!("{first} is measured again")), "{said:?}");
}

#[test]
fn a_way_that_cannot_be_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state").display().to_string();
    let refused = |more: &[&str], words: &str| {
        let output = run(&[&["watch", "--state", &state, "--duration", "1s"], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        let said = stderr(&output);
        assert!(said.lines().count() == 1 && said.contains(words), "{more:?}: {said}");
    };
    refused(&["--roundtrip", "eth1"], "\"eth1\" is no address of a station");
    refused(&["--roundtrip", "eth1"], "such as 192.0.2.7:5000 (see --help)\n");
    refused(&["--roundtrip", "02:00:00:00:00:01"], "name the interface that frames to a station leave by");
    refused(&["--roundtrip", "192.0.2.7:5000,respond"], "unexpected argument '--respond'");
    refused(&["--roundtrip", "192.0.2.7:5000,period=1s"], "takes 200s: ask for a minute or less");
    refused(
        &["--roundtrip", "192.0.2.7:5000", "--roundtrip", "192.0.2.7:5000"],
        "UDP to 192.0.2.7:5000 is named twice",
    );
}
