//! One loop with several waits in each cycle: whether their worst cases add.

use serde_json::Value;

use crate::errors::fails;
use crate::{record, run, stdout};

const STOCK: [&str; 7] = ["--policy", "other", "--cpu", "any", "--stock", "--phase", "chance"];
const LOOP: [&str; 8] = ["latency", "timer", "--method", "clock_nanosleep", "--waits", "3", "--count", "40"];

fn figure(histogram: &Value, name: &str) -> f64 {
    histogram[name].as_f64().unwrap_or_else(|| panic!("no {name} in {histogram}"))
}

#[test]
fn the_sum_of_several_waits_is_measured_beside_each_of_them() {
    let record = record(&run(&[&LOOP[..], &STOCK, &["--json"]].concat()));
    let series = record["series"].as_array().unwrap();
    let names: Vec<&str> = series.iter().map(|s| s["name"].as_str().unwrap()).collect();
    let wait = |n: u32| format!("clock_nanosleep, wait {n}");
    assert_eq!(names, ["clock_nanosleep, sum of 3 waits", &wait(1), &wait(2), &wait(3)]);
    let [sum, waits @ ..] = &series[..] else { panic!("no series") };
    let mean = |s: &Value| figure(&s["latency"], "mean_ns");
    assert!((mean(sum) - waits.iter().map(mean).sum::<f64>()).abs() < 0.01, "{record}");
    let worst = waits.iter().map(|s| figure(&s["latency"], "max_ns")).fold(0.0, f64::max);
    assert_eq!(figure(&sum["waits"]["largest"], "max_ns"), worst);
    assert!(figure(&sum["waits"]["second"], "max_ns") <= worst);
    let most = figure(&sum["latency"], "max_ns");
    assert!(worst <= most && most <= 3.0 * worst, "{most} of three waits of {worst} at most");
    assert_eq!(sum["waits"]["gap_ns"], 166_666);
}

#[test]
fn the_table_has_the_sum_beside_so_many_times_one_wait() {
    let folder = tempfile::tempdir().unwrap();
    let [page, kept, svg] = ["waits.html", "waits.json", "waits.svg"].map(|name| folder.path().join(name));
    let [page_name, kept_name, svg_name] = [&page, &kept, &svg].map(|path| path.to_str().unwrap());
    let output = run(&[&LOOP[..], &STOCK, &["--html", page_name, "--record", kept_name]].concat());
    // A file alone is asked for here; the table is what a report of the record shows.
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&run(&["report", kept_name]));
    for words in ["act every 1ms, 3 waits in each cycle", "3 times one wait", "second largest", "if worst cases added"]
    {
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{words}: {text}");
    }
    assert!(std::fs::read_to_string(&page).unwrap().contains("Several waits: clock_nanosleep"));
    assert!(run(&["report", kept_name, "--plot", "waits", "--svg", svg_name]).status.success());
    assert!(std::fs::read_to_string(&svg).unwrap().contains("sum of 3 waits"));
}

#[test]
fn what_is_no_loop_of_several_waits_is_refused() {
    fails(&["latency", "timer", "--waits", "1"], &["--waits"]);
    fails(&["latency", "timer", "--waits", "17"], &["--waits"]);
    fails(&["latency", "timer", "--waits", "4", "--cpus", "1,all"], &["--waits", "--cpus"]);
    fails(&["latency", "timer", "--waits", "4", "--interval", "7us"], &["at least 8us for 4 waits"]);
    fails(&["latency", "timer", "--waits", "4", "--explain"], &["leave out --waits or --explain"]);
}
