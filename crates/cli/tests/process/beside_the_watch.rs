//! What `ontick watch` shows beside its own measurements: switches at work, samplers, and what made its samples late.

use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use super::always_on::{Service, visited};
use super::explain::{Tracing, untraced};
use super::switch_path::with_frames;
use super::{Running, alone_on_this_machine, judges, ontick, send, stderr, wait_until};

#[test]
fn a_switch_at_work_is_on_the_page_and_in_the_metrics() {
    let Some(bench) = with_frames() else { return };
    let (state, switches) = (bench.folder.path().join("watch"), bench.folder.path().join("state"));
    // Whoever is in another network namespace has nothing to do with the switch.
    let here = &bench.here;
    here.ip(&["link", "set", "dev", "lo", "up"]).unwrap();
    let words = ["--switch-state", switches.to_str().unwrap(), "--policy", "other"];
    let service = here.within(|| Service::start(&state, &words)).unwrap();
    let json = |path: &str| here.within(|| service.json(path)).unwrap();
    // Its process writes its counters down each second.
    let cell = || json("/api/switches")["switches"][0].clone();
    wait_until("its counters", || cell()["path"]["ports"][1]["classes"][0]["egress"]["out"] == 20);
    let found = cell();
    assert_eq!(
        (&found["name"], &found["plane"], &found["fine"]),
        (&serde_json::json!("cell"), &serde_json::json!("user"), &serde_json::json!(true))
    );
    let [came, left] = [0, 1].map(|port| found["path"]["ports"][port].clone());
    assert_eq!(
        (&came["ingress"]["into"], &came["ingress"]["dropped"]),
        (&serde_json::json!(47), &serde_json::json!([["malformed", 7]]))
    );
    assert_eq!(left["cycle_ns"], 1_000_000);
    assert_eq!(left["classes"][1]["windows"], serde_json::json!([[800_000, 200_000]]));
    assert_eq!(left["classes"][0]["egress"]["dropped"], serde_json::json!([["refused by the interface", 20]]));

    let (_, metrics) = here.within(|| service.ask("/metrics")).unwrap();
    judges::openmetrics(&metrics);
    for line in [
        "ontick_switch_working{switch=\"cell\",plane=\"user\"} 1",
        "ontick_switch_frames_total{switch=\"cell\",port=\"port0\",stage=\"ingress\"} 40",
        "ontick_switch_frames_total{switch=\"cell\",port=\"port1\",class=\"blue\",stage=\"egress\"} 20",
        "ontick_switch_dropped_frames_total{switch=\"cell\",port=\"port1\",class=\"blue\",stage=\"egress\"} 20",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    if let Some((dom, console)) = here.within(|| visited(&format!("http://{}/?still", service.address))).unwrap() {
        assert_eq!(console, "");
        for part in [
            "data-switches=\"1\"",
            "cell · user data plane",
            "blue may send from 0 ns to 800 µs",
            "20 refused by the interface",
        ] {
            assert!(dom.contains(part), "{part}: {dom}");
        }
    }
    assert!(bench.switch(&["revert"]).status.success());
    wait_until("it to be gone", || json("/api/switches")["switches"] == serde_json::json!([]));
}

fn sampler(socket: &Path, format: &str) -> Running {
    let to = format!("unix:{},format={format}", socket.display());
    let words = ["sample", "--rate", "200Hz", "--source", "wave:sine,5Hz", "--policy", "other", "--to", &to];
    let child = ontick(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    Running(child)
}

#[test]
fn a_sampler_is_shown_and_again_when_it_comes_back() {
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let words = ["--policy", "other", "--sample", &format!("unix:{}", socket.display())];
    let service = Service::start(&folder.path().join("state"), &words);
    let now = || service.json("/api/signals?span=10000")[0].clone();
    let begins =
        |now: &Value| now["up"] == true && now["channels"][0]["columns"].as_array().is_some_and(|c| c.len() > 20);
    wait_until("that there is none", || now()["state"].as_str().unwrap().starts_with("no sampler: "));
    for (turn, format) in ["binary", "ndjson"].into_iter().enumerate() {
        let mut running = sampler(&socket, format);
        wait_until("its signal", || begins(&now()));
        let found = now();
        assert_eq!(found["channels"][0]["name"], "sine");
        let values = found["channels"][0]["columns"].as_array().unwrap();
        let sound = |column: &Value| {
            let (least, largest) = (column[1].as_f64().unwrap(), column[2].as_f64().unwrap());
            (-1.0..=1.0).contains(&least) && (least..=1.0).contains(&largest)
        };
        assert!(values.iter().all(sound), "{found}");
        // Late samples are left out, and so the rate is no larger than it was asked for.
        assert!(found["rate"].as_f64().is_some_and(|rate| rate > 0.0 && rate < 210.0), "{found}");
        if turn == 0 {
            if let Some((dom, console)) = visited(&format!("http://{}/?still", service.address)) {
                assert_eq!(console, "");
                assert!(dom.contains("data-channels=\"1\"") && dom.contains("samples a second"), "{dom}");
            }
        }
        send(running.0.id(), Signal::INT);
        // Nobody waits for those who only look.
        assert_eq!(running.0.wait().unwrap().code(), Some(0));
        wait_until("its end", || now()["up"] == false);
    }
    assert!(service.ask("/api/signals?span=7").0.starts_with("HTTP/1.1 400"));
}

#[test]
fn outliers_have_causes_and_nothing_is_left_in_the_kernels_tracing() {
    let Some(tracing) = Tracing::find() else { return };
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mut service = Service::start(&state, &["--explain", "--outlier", "1ns"]);
    service.has_measured(60);
    let pid = service.child().id();
    assert!(tracing.of(pid).is_some(), "it traces");
    let causes = service.json("/api/now")["causes"].clone();
    let count =
        |found: &Value| found.as_array().unwrap().iter().map(|cause| cause["count"].as_u64().unwrap()).sum::<u64>();
    assert!(count(&causes) >= 60, "{causes}");
    // A thread that sleeps is late by the kernel's own way at least.
    assert!(causes.as_array().unwrap().iter().any(|cause| cause["cause"] != "unknown"), "{causes}");
    let (_, metrics) = service.ask("/metrics");
    judges::openmetrics(&metrics);
    let of_cause = format!("ontick_watch_outliers_total{{cause={}}}", causes[0]["cause"]);
    assert!(metrics.contains(&of_cause), "{of_cause}: {metrics}");
    let event = service.json("/api/events?from=1")[0]["text"].as_str().unwrap().to_owned();
    assert!(event.contains(" outliers: "), "{event}");
    assert_eq!(service.ends_on(Signal::TERM), Some(0));
    assert!(tracing.of(pid).is_none(), "its instance is gone");
    // They are counted on.
    let service = Service::start(&state, &["--outlier", "10s"]);
    assert!(count(&service.json("/api/now")["causes"]) >= count(&causes));
}

#[test]
fn that_nothing_can_be_traced_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state").display().to_string();
    let words = ["watch", "--explain", "--state", &state, "--policy", "other", "--every", "10ms", "--duty", "100%"];
    let Some(output) = untraced(&[&words[..], &["--cycles", "10", "--duration", "1s", "--quiet"]].concat()) else {
        return;
    };
    let said = stderr(&output);
    assert_eq!((output.status.code(), said.matches("outliers are not explained").count()), (Some(0), 1), "{said}");
    assert!(said.contains("root and tracefs"), "{said}");
    let events = std::fs::read_to_string(folder.path().join("state/events.jsonl")).unwrap();
    assert_eq!(events.matches("outliers are not explained").count(), 1, "{events}");
}

#[test]
fn a_sink_that_nobody_can_read_is_no_sampler() {
    let output = super::run(&["watch", "--listen", "127.0.0.1:0", "--sample", "udp:127.0.0.1:5000"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("write it as its sink is, unix:/path or tcp:127.0.0.1:5000"),
        "{}",
        stderr(&output)
    );
}
