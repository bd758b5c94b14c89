//! The same job with fewer CPUs and with all.

use crate::errors::fails;
use crate::{run, stdout};

#[test]
fn a_timer_with_one_cpu_is_measured_beside_one_with_all() {
    let stock = ["--policy", "other", "--cpu", "any", "--stock", "--phase", "chance"];
    let short = ["latency", "timer", "--method", "nanosleep", "--count", "20", "--cpus", "1,all", "--json"];
    let output = run(&[&short[..], &stock[..]].concat());
    let record: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let of = |i: usize| (record["series"][i]["name"].clone(), record["series"][i]["settings"]["confined_to"].clone());
    assert_eq!(of(0).0, "nanosleep, 1 CPU");
    assert!(of(0).1.as_str().is_some_and(|list| list.parse::<u32>().is_ok()), "{record}");
    assert_eq!(of(1), ("nanosleep, all CPUs".into(), serde_json::Value::Null));
    assert_eq!(record["series"][1]["latency"]["buckets"].as_array().map(|b| b.is_empty()), Some(false), "{record}");

    fails(&["latency", "timer", "--cpus", "0"], &["is no number of CPUs"]);
    fails(&["latency", "timer", "--cpus", "4000", "--count", "1"], &["4000 CPUs were asked for"]);
}

/// One sentence: nothing was announced, so nothing was begun.
#[test]
fn more_cpus_than_there_are_are_refused_before_anything_is_measured() {
    fails(&["latency", "timer", "--cpus", "1,4096", "--duration", "1h"], &["4096 CPUs were asked for"]);
}
