//! A real Prometheus scrapes `ontick watch`; its rules and the queries of the dashboard are those in `deploy`.

use std::fs;
use std::process::Command;

use ontick_record::{Histogram, Run};
use serde_json::Value;

use crate::alone_on_this_machine;
use crate::always_on::Service;
use crate::judges::said;
use crate::prometheus::{Mode, Prometheus, Release, deploy};
use crate::watched_round_trips::{nobodys, responds};

#[test]
fn the_rules_keep_what_their_tests_say() {
    let Some(release) = Release::distribution() else { return };
    let output = release.tests_rules("ontick.rules.test.yml");
    assert!(output.status.success(), "{}", said(&output));
}

/// It reads series of native histograms, too.
#[test]
fn the_rules_keep_what_their_tests_say_also_to_the_present_promtool() {
    let Some(release) = Release::current() else { return };
    for file in ["ontick.rules.test.yml", "ontick.native.rules.test.yml"] {
        let output = release.tests_rules(file);
        assert!(output.status.success(), "{file}: {}", said(&output));
    }
}

/// Every query of the dashboard, with all machines.
fn queries() -> Vec<String> {
    let text = fs::read_to_string(deploy().join("grafana/ontick.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().replace("$instance", ".*")).collect()
}

/// One server fetches classic buckets, one native histograms: each panel has something to show from either.
fn every_panel_shows_something(release: &Release) {
    let folder = tempfile::tempdir().unwrap();
    let to = nobodys();
    let _responder = responds(&to);
    let service = Service::start(&folder.path().join("state"), &["--policy", "other", "--roundtrip", &to]);
    let start = |mode, name| Prometheus::start(release, mode, &folder.path().join(name), &[&service.address]);
    let servers = [start(Mode::Classic, "classic"), start(Mode::Native, "native")];
    for prometheus in &servers {
        queries().iter().for_each(|query| prometheus.has(query, 1));
        prometheus.has("ontick:round_trips_missed:ratio_15m", 1);
        assert_eq!(prometheus.found("ontick_environment_info"), Some(1));
        assert_eq!(prometheus.found("ontick_watch_findings"), Some(2));
        let wrong = prometheus.asked("ontick_watch_findings{").unwrap();
        assert_eq!(wrong["status"], "error", "a query that is wrong is found out");
    }
    let [classic, native] = servers;
    assert_eq!(classic.found("ontick_latency_seconds"), Some(0));
    assert_eq!(native.found("ontick_latency_seconds_bucket"), Some(0));
}

#[test]
fn prometheus_scrapes_it_and_every_panel_of_the_dashboard_shows_something() {
    Release::distribution().iter().for_each(every_panel_shows_something);
}

#[test]
fn the_present_prometheus_scrapes_it_and_every_panel_of_the_dashboard_shows_something() {
    Release::current().iter().for_each(every_panel_shows_something);
}

/// An hour's length that is far from now.
pub fn another_time_of_day() -> String {
    let now = Command::new("date").arg("+%H").output().unwrap();
    let hour: u32 = String::from_utf8_lossy(&now.stdout).trim().parse().unwrap();
    format!("{:02}:00-{:02}:00", (hour + 11) % 24, (hour + 12) % 24)
}

/// Between two samples of any count below 10 000. Where q times the count is whole, Prometheus 3 takes the sample of that rank or
/// the next one, as it counts from above.
pub const QUANTILES: [f64; 3] = [0.1003, 0.5003, 0.9003];

/// The upper edge of a percentile's bucket in a record, which counts for what is exported, in seconds. The record itself says
/// less where its largest sample is in that bucket, as that is known.
pub fn edge_s(record: &Histogram, quantile: f64) -> f64 {
    let buckets = Histogram::from_buckets(record.buckets().iter().copied());
    buckets.quantile(quantile).unwrap() as f64 / 1e9
}

/// Whether one percentile of many machines is what the merge of their records has.
fn native_histograms_of_two_services_merge_as_their_records_do(release: &Release) {
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
    let prometheus = Prometheus::start(release, Mode::Native, &folder.path().join("native"), &addresses);
    prometheus.has("up{job=\"ontick\"} == 1", 2);
    let mut all = Histogram::default();
    for service in &services {
        let run: Run = serde_json::from_value(service.json("/api/record")).unwrap();
        run.series.iter().for_each(|series| all.merge(&series.latency));
    }
    assert_eq!(prometheus.number("histogram_count(sum(ontick_latency_seconds))"), all.count() as f64);
    for quantile in QUANTILES {
        let seen = prometheus.number(&format!("histogram_quantile({quantile}, sum(ontick_latency_seconds))"));
        let merged = edge_s(&all, quantile);
        // Prometheus looks for it within its bucket, which is 2.2 % wide and has the record's value in it.
        assert!((0.978..1.0225).contains(&(seen / merged)), "{quantile}: {seen} s, merged {merged} s");
    }
    assert_eq!(prometheus.found("ontick_watch_started_seconds"), Some(2));
    assert_eq!(prometheus.found("ontick_environment_info"), Some(2));
    assert!(prometheus.number("sum(ontick_missed_cycles_total)") >= 0.0);
}

#[test]
fn prometheus_merges_native_histograms_as_records_are_merged() {
    Release::distribution().iter().for_each(native_histograms_of_two_services_merge_as_their_records_do);
}

#[test]
fn the_present_prometheus_merges_native_histograms_as_records_are_merged() {
    Release::current().iter().for_each(native_histograms_of_two_services_merge_as_their_records_do);
}
