//! `latency timer --split`: the parts of each latency, which sum up to it, and what is refused.

use std::process::Stdio;

use serde_json::Value;

use crate::errors::fails;
use crate::explain::{Tracing, untraced};
use crate::{ontick, record, run, samples, stderr, stdout};

fn count(histogram: &Value) -> u64 {
    histogram["buckets"].as_array().unwrap().iter().map(|bucket| bucket[2].as_u64().unwrap()).sum()
}

#[test]
fn parts_of_every_latency_that_was_split_sum_up_to_it() {
    let Some(tracing) = Tracing::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("run.json");
    for method in ["clock_nanosleep", "timerfd", "posix_timer"] {
        let words = ["latency", "timer", "--split", "--interval", "500us", "--count", "600", "--method", method];
        let more = ["--policy", "other", "--phase", "chance", "--record", kept.to_str().unwrap(), "--json"];
        let child =
            ontick(&[&words[..], &more].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        let run = record(&child.wait_with_output().unwrap());
        assert_eq!(tracing.of(pid), None, "nothing is left in tracing");
        let series = &run["series"][0];
        let split = &series["split"];
        let parts = ["interrupt", "wakeup", "run"].map(|part| &split[part]);
        let [counted, others @ ..] = parts.map(count);
        assert_eq!(others, [counted; 2]);
        assert_eq!(counted + split["unsplit"].as_u64().unwrap(), samples(series), "{method}");
        assert!(counted > 0, "{method}: {split}");
        // Each cycle has three events.
        assert!(series["tracing"]["events"].as_u64().unwrap() >= 3 * counted, "{}", series["tracing"]);
        let mean_ns = |of: &Value| of["mean_ns"].as_f64().unwrap();
        let sum_ns = parts.map(mean_ns).iter().sum::<f64>();
        match split["unsplit"].as_u64() {
            Some(0) => assert!((sum_ns - mean_ns(&series["latency"])).abs() < 1e-3, "{method}: {sum_ns}, {series}"),
            _ => assert!(sum_ns > 0.0),
        }
        let worst_ns = parts.map(|part| part["max_ns"].as_u64().unwrap()).into_iter().max().unwrap();
        assert!(worst_ns <= series["latency"]["max_ns"].as_u64().unwrap(), "no part is longer than the longest whole");
    }
    let shown = stdout(&run(&["report", kept.to_str().unwrap()]));
    for row in
        ["posix_timer, in parts", "\n  interrupt ", "\n  wake-up ", "\n  run ", "\n  the whole ", "Tracing recorded "]
    {
        assert!(shown.contains(row), "{row}: {shown}");
    }
    assert!(!shown.contains("No outlier above"), "no cause was looked for: {shown}");
}

#[test]
fn what_cannot_be_split_is_refused() {
    let refused = |more: &[&str], words: &[&str]| fails(&[&["latency", "timer", "--split"], more].concat(), words);
    refused(&[], &["hybrid is awake by then", "clock_nanosleep"]);
    refused(&["--method", "all"], &["--split is of methods that sleep"]);
    refused(&["--method", "futex", "--explain"], &["--explain"]);
    refused(&["--method", "futex", "--waits", "3"], &["--waits"]);
    let words = ["latency", "timer", "--split", "--method", "futex", "--count", "20", "--policy", "other"];
    let Some(output) = untraced(&words) else { return };
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("ontick: latencies cannot be split into parts: ") && said.contains("root"), "{said}");
    assert_eq!(stdout(&output), "", "nothing was measured");
}
