//! A real Prometheus scrapes `ontick watch`; its rules and the queries of the dashboard are those in `deploy`.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::always_on::Service;
use crate::{Running, has};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

#[test]
fn the_rules_keep_what_their_tests_say() {
    if !has("promtool") {
        return;
    }
    let rules = Command::new("promtool")
        .args(["test", "rules"])
        .arg(deploy().join("prometheus/ontick.rules.test.yml"))
        .output();
    let rules = rules.unwrap();
    assert!(
        rules.status.success(),
        "{}{}",
        String::from_utf8_lossy(&rules.stdout),
        String::from_utf8_lossy(&rules.stderr)
    );
}

/// Every query of the dashboard, with all machines.
fn queries() -> Vec<String> {
    let text = fs::read_to_string(deploy().join("grafana/ontick.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().replace("$instance", ".*")).collect()
}

/// Prometheus' answer to a query, now.
fn asked(port: u16, query: &str) -> Option<Value> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    write!(stream, "GET /api/v1/query?query={encoded} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
}

#[test]
fn prometheus_scrapes_it_and_answers_every_query_of_the_dashboard() {
    if !has("prometheus") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&folder.path().join("state"), &["--policy", "other"]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    fs::copy(deploy().join("prometheus/ontick.rules.yml"), folder.path().join("ontick.rules.yml")).unwrap();
    let config = fs::read_to_string(deploy().join("prometheus/prometheus.yml")).unwrap();
    let config = config.replace("127.0.0.1:9119", &service.address).replace("15s", "1s");
    fs::write(folder.path().join("prometheus.yml"), config).unwrap();
    let log = fs::File::create(folder.path().join("log")).unwrap();
    let mut prometheus = Command::new("prometheus");
    prometheus
        .arg(format!("--config.file={}", folder.path().join("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .args(["--web.console.templates=.", "--web.console.libraries=."])
        .stdout(Stdio::null())
        .stderr(log);
    let _prometheus = Running(prometheus.spawn().unwrap());
    let until = Instant::now() + Duration::from_secs(60);
    let found = |query: &str| Some(asked(port, query)?["data"]["result"].as_array()?.len());
    while found("up{job=\"ontick\"} == 1").unwrap_or(0) == 0 {
        let said = || fs::read_to_string(folder.path().join("log")).unwrap();
        assert!(Instant::now() < until, "{}", said());
        std::thread::sleep(Duration::from_millis(100));
    }
    for query in queries() {
        let answer = asked(port, &query).unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
    }
    assert_eq!(found("ontick_environment_info"), Some(1));
    assert_eq!(found("ontick_watch_findings"), Some(2));
    let wrong = asked(port, "ontick_watch_findings{").unwrap();
    assert_eq!(wrong["status"], "error", "a query that is wrong is found out");
}
