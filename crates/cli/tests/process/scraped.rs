//! A real Prometheus scrapes `ontick watch`; its rules and the queries of the dashboard are those in `deploy`.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ontick_record::{Histogram, Run};
use serde_json::Value;

use crate::always_on::Service;
use crate::{Running, alone_on_this_machine, has};

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

/// A Prometheus that scrapes services every second.
struct Prometheus {
    _process: Running,
    port: u16,
    log: PathBuf,
}

impl Prometheus {
    /// With the rules and the configuration of `deploy`, but for the addresses.
    fn start(folder: &Path, addresses: &[&str], more: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        fs::copy(deploy().join("prometheus/ontick.rules.yml"), folder.join("ontick.rules.yml")).unwrap();
        let config = fs::read_to_string(deploy().join("prometheus/prometheus.yml")).unwrap();
        let config = config.replace("127.0.0.1:9119", &addresses.join("\", \"")).replace("15s", "1s");
        fs::write(folder.join("prometheus.yml"), config).unwrap();
        let log = folder.join("log");
        let mut prometheus = Command::new("prometheus");
        prometheus
            .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .args(["--web.console.templates=.", "--web.console.libraries=."])
            .args(more)
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap());
        Self { _process: Running(prometheus.spawn().unwrap()), port, log }
    }

    /// The answer to a query, now.
    fn asked(&self, query: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        write!(stream, "GET /api/v1/query?query={encoded} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    fn found(&self, query: &str) -> Option<usize> {
        Some(self.asked(query)?["data"]["result"].as_array()?.len())
    }

    /// The number that a query comes to.
    fn number(&self, query: &str) -> f64 {
        let answer = self.asked(query).unwrap();
        let value = answer["data"]["result"][0]["value"][1].as_str();
        value.unwrap_or_else(|| panic!("{query}: {answer}")).parse().unwrap()
    }

    /// Waits until so many services were scraped.
    fn has_scraped(&self, services: usize) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.found("up{job=\"ontick\"} == 1").unwrap_or(0) < services {
            assert!(Instant::now() < until, "{}", fs::read_to_string(&self.log).unwrap());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

#[test]
fn prometheus_scrapes_it_and_answers_every_query_of_the_dashboard() {
    if !has("prometheus") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&folder.path().join("state"), &["--policy", "other"]);
    let prometheus = Prometheus::start(folder.path(), &[&service.address], &[]);
    prometheus.has_scraped(1);
    for query in queries() {
        let answer = prometheus.asked(&query).unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
    }
    assert_eq!(prometheus.found("ontick_environment_info"), Some(1));
    assert_eq!(prometheus.found("ontick_watch_findings"), Some(2));
    let wrong = prometheus.asked("ontick_watch_findings{").unwrap();
    assert_eq!(wrong["status"], "error", "a query that is wrong is found out");
}

/// An hour's length that is far from now.
fn another_time_of_day() -> String {
    let now = Command::new("date").arg("+%H").output().unwrap();
    let hour: u32 = String::from_utf8_lossy(&now.stdout).trim().parse().unwrap();
    format!("{:02}:00-{:02}:00", (hour + 11) % 24, (hour + 12) % 24)
}

/// Whether one percentile of many machines is what the merge of their records has.
#[test]
fn native_histograms_of_two_services_merge_as_their_records_do() {
    if !has("prometheus") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Measured, then only shown: what is scraped stays as it is.
    let alone = alone_on_this_machine();
    let services = ["a", "b"].map(|name| {
        let state = folder.path().join(name);
        let mut service = Service::start(&state, &["--policy", "other"]);
        service.has_measured(200);
        assert_eq!(service.ends_on(rustix::process::Signal::TERM), Some(0));
        Service::start(&state, &["--policy", "other", "--hours", &another_time_of_day()])
    });
    drop(alone);
    let addresses = services.each_ref().map(|service| service.address.as_str());
    let prometheus = Prometheus::start(folder.path(), &addresses, &["--enable-feature=native-histograms"]);
    prometheus.has_scraped(2);
    let mut all = Histogram::default();
    for service in &services {
        let run: Run = serde_json::from_value(service.json("/api/record")).unwrap();
        run.series.iter().for_each(|series| all.merge(&series.latency));
    }
    assert_eq!(prometheus.number("histogram_count(sum(ontick_latency_seconds))"), all.count() as f64);
    for quantile in [0.1, 0.5, 0.9] {
        let seen = prometheus.number(&format!("histogram_quantile({quantile}, sum(ontick_latency_seconds))"));
        let merged = all.quantile(quantile).unwrap() as f64 / 1e9;
        // Prometheus looks for it within its bucket, which is 2.2 % wide and has the record's value in it.
        assert!((0.978..1.0225).contains(&(seen / merged)), "{quantile}: {seen} s, merged {merged} s");
    }
    assert_eq!(prometheus.found("ontick_watch_started_seconds"), Some(2));
    assert_eq!(prometheus.found("ontick_environment_info"), Some(2));
    assert!(prometheus.number("sum(ontick_missed_cycles_total)") >= 0.0);
}
