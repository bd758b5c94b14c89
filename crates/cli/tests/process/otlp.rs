//! `ontick watch --otlp`: receivers of others take what it sends.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ontick_record::{Histogram, Run};
use serde_json::Value;

use crate::always_on::Service;
use crate::judges::python_with;
use crate::prometheus::{Mode, Prometheus, Release};
use crate::scraped::{QUANTILES, another_time_of_day, edge_s};
use crate::{Running, alone_on_this_machine, run, stderr};

/// A service that has measured and measures no more: what it sends stays as it is.
fn measured(state: &Path, endpoint: &str) -> Service {
    let alone = alone_on_this_machine();
    let mut service = Service::start(state, &["--policy", "other"]);
    service.has_measured(200);
    assert_eq!(service.ends_on(rustix::process::Signal::TERM), Some(0));
    drop(alone);
    let hours = another_time_of_day();
    Service::start(state, &["--policy", "other", "--hours", &hours, "--otlp", endpoint, "--otlp-every", "1s"])
}

fn events(service: &Service) -> Vec<String> {
    let all = service.json("/api/events?from=1");
    let of_sending = all.as_array().unwrap().iter().filter(|event| event["kind"] == "export");
    of_sending.map(|event| event["text"].as_str().unwrap().to_owned()).rev().collect()
}

/// Waits for so many events of sending.
fn events_once(service: &Service, count: usize) -> Vec<String> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let seen = events(service);
        if seen.len() >= count {
            return seen;
        }
        assert!(Instant::now() < until, "{seen:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What was measured on all CPUs.
fn record(service: &Service) -> Histogram {
    let run: Run = serde_json::from_value(service.json("/api/record")).unwrap();
    let mut all = Histogram::default();
    run.series.iter().for_each(|series| all.merge(&series.latency));
    all
}

fn number(value: &Value) -> u64 {
    // JSON of protobuf writes 64 bits as text.
    value.as_str().map_or_else(|| value.as_u64(), |text| text.parse().ok()).unwrap_or_else(|| panic!("{value}"))
}

/// Upper edges of the buckets with their counts, of all points of an exponential histogram.
fn buckets(points: &[Value]) -> Vec<(f64, u64)> {
    let of = |point: &Value| {
        let base = 2f64.powf(2f64.powi(-(point["scale"].as_i64().unwrap() as i32)));
        let offset = point["positive"]["offset"].as_i64().unwrap_or(0) as i32;
        let counts = point["positive"]["bucketCounts"].as_array().cloned().unwrap_or_default();
        let edges = counts.into_iter().zip(offset + 1..).map(move |(count, edge)| (base.powi(edge), number(&count)));
        std::iter::once((0.0, number(&point["zeroCount"]))).chain(edges).collect::<Vec<_>>()
    };
    let mut all: Vec<(f64, u64)> = points.iter().flat_map(of).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

#[test]
fn a_receiver_that_was_away_gets_all_of_it_as_exponential_histograms() {
    let module = "opentelemetry.proto.collector.metrics.v1.metrics_service_pb2";
    let Some(python) = python_with(module) else { return };
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let service = measured(&folder.path().join("state"), &format!("http://127.0.0.1:{port}"));
    let seen = events_once(&service, 1);
    assert!(seen[0].contains("/v1/metrics does not take figures: ") && seen[0].contains("refused"), "{seen:?}");

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/process/otlp_receiver.py");
    let mut receiver = Command::new(python);
    let receiver = receiver.arg(script).arg(port.to_string()).stdout(Stdio::piped()).spawn().unwrap();
    let mut receiver = Running(receiver);
    let line = BufReader::new(receiver.0.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let seen: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&seen["path"], &seen["type"]), (&"/v1/metrics".into(), &"application/x-protobuf".into()));
    assert_eq!(seen["known"], true, "fields of ours that the protocol does not have");
    let resource = &seen["request"]["resourceMetrics"][0];
    let attributes = resource["resource"]["attributes"].to_string();
    assert!(attributes.contains("service.instance.id") && attributes.contains("host.name"), "{attributes}");
    let metrics = resource["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let metric = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap_or_else(|| panic!("{name}"));

    let latency = &metric("ontick.latency")["exponentialHistogram"];
    assert_eq!(latency["aggregationTemporality"], "AGGREGATION_TEMPORALITY_CUMULATIVE");
    let points = latency["dataPoints"].as_array().unwrap();
    let (all, buckets) = (record(&service), buckets(points));
    let sum = |buckets: &[(f64, u64)]| buckets.iter().map(|(_, count)| count).sum::<u64>();
    assert_eq!(points.iter().map(|point| number(&point["count"])).sum::<u64>(), all.count());
    assert_eq!(sum(&buckets), all.count());
    for quantile in QUANTILES {
        let rank = (quantile * all.count() as f64).ceil() as u64;
        let edge = (1..=buckets.len()).find(|n| sum(&buckets[..*n]) >= rank).map(|n| buckets[n - 1].0).unwrap();
        let recorded = edge_s(&all, quantile);
        // Never better than what was measured, and worse by the width of a bucket at most.
        assert!((0.9999..1.0225).contains(&(edge / recorded)), "{quantile}: {edge} s, recorded {recorded} s");
    }
    let now = number(&points[0]["timeUnixNano"]);
    let since = number(&points[0]["startTimeUnixNano"]);
    assert!(since > 1_700_000_000_000_000_000 && since < now, "{since} to {now}");
    assert_eq!(metric("ontick.missed_cycles")["sum"]["isMonotonic"], true);
    assert_eq!(metric("ontick.watch.recent_max")["unit"], "s");
    assert_eq!(metric("ontick.watch.findings")["gauge"]["dataPoints"].as_array().map(Vec::len), Some(2));

    let seen = events_once(&service, 2);
    assert!(seen.len() == 2 && seen[1].ends_with("takes all figures again"), "{seen:?}");
}

#[test]
fn the_present_prometheus_takes_it_under_the_names_that_it_scrapes() {
    let Some(release) = Release::current() else { return };
    let folder = tempfile::tempdir().unwrap();
    // Its port must be known to the service, and the service's to it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://127.0.0.1:{}/api/v1/otlp", listener.local_addr().unwrap().port());
    drop(listener);
    let service = measured(&folder.path().join("state"), &endpoint);
    let (port, _) = endpoint["http://127.0.0.1:".len()..].split_once('/').unwrap();
    let folder = folder.path().join("prometheus");
    let prometheus = Prometheus::start_on(port.parse().unwrap(), &release, Mode::Otlp, &folder, &[&service.address]);
    let scraped = format!("{{job=\"ontick\", instance=\"{}\"}}", service.address);
    let sent = format!("{{job=\"ontick\", instance!=\"{}\"}}", service.address);
    prometheus.has(&format!("ontick_environment_info{scraped}"), 1);
    prometheus.has(&format!("ontick_environment_info{sent}"), 1);
    // What is scraped and not sent, but for the classic buckets and what Prometheus adds.
    let only = format!(
        "count by (__name__) ({}) unless count by (__name__) ({})",
        scraped.replace('{', "{__name__=~\"ontick_.*\", __name__!~\"ontick_latency_seconds_(bucket|count|sum)\", "),
        sent.replace('{', "{__name__=~\"ontick_.*\", ")
    );
    let missing = prometheus.asked(&only).unwrap();
    assert_eq!(missing["data"]["result"].as_array().map(Vec::len), Some(0), "{missing}");
    let latency = format!("sum(ontick_latency_seconds{sent})");
    let all = record(&service);
    assert_eq!(prometheus.number(&format!("histogram_count({latency})")), all.count() as f64);
    for quantile in QUANTILES {
        let seen = prometheus.number(&format!("histogram_quantile({quantile}, {latency})"));
        let recorded = edge_s(&all, quantile);
        assert!((0.978..1.0225).contains(&(seen / recorded)), "{quantile}: {seen} s, recorded {recorded} s");
    }
    // The rules are those of scraped machines.
    prometheus.has(&format!("ontick:latency_seconds:p99_15m{}", sent.replace("job=\"ontick\", ", "")), 1);
}

#[test]
fn an_endpoint_that_is_none_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state").display().to_string();
    for (words, wanted) in [
        (&["--otlp", "https://a:4318"][..], "only http is spoken; send to a collector or a proxy on this machine"),
        (&["--otlp", "127.0.0.1:4318"], "is no endpoint of OTLP: write it as http://127.0.0.1:4318"),
        (&["--otlp", "http://a:1", "--otlp-every", "0s"], "figures are sent once a second at most"),
    ] {
        let output = run(&[&["watch", "--state", &state, "--duration", "1s"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(wanted), "{words:?}: {}", stderr(&output));
    }
}
