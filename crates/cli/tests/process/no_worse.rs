//! Whether a run is no worse than the one before, for other programs: three outcomes, and what would settle it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{run, stderr, stdout};

/// A record of `count` cycles whose latencies lie evenly from `low_ns` on, 1 us wide.
fn record(folder: &Path, name: &str, low_ns: u64, count: u64) -> PathBuf {
    let mut run = ontick_record::Run::new("ontick 0.1.0", "timer");
    let mut series = ontick_record::Series { name: "hybrid".into(), ..Default::default() };
    (0..count).for_each(|i| series.latency.add(low_ns + i * 1_000 / count, 1, 1));
    run.series.push(series);
    let path = folder.join(name);
    fs::write(&path, ontick_record::store::text(&run)).unwrap();
    path
}

fn compared(base: &Path, new: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let files = [base, new].map(|path| path.to_str().unwrap());
    let output = run(&[&["compare"], &files[..], more].concat());
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn a_comparison_has_three_outcomes() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name, low_ns, count| record(folder.path(), name, low_ns, count);
    let (base, new, slow) = (file("base", 10_000, 10_000), file("new", 10_100, 10_000), file("slow", 15_000, 10_000));
    let require = ["--require", "p99 <= 1.2x"];

    let (status, text, _) = compared(&base, &new, &require);
    assert!(status == Some(0) && text.contains("met      p99 <= 1.2x — hybrid: "), "{text}");
    let (status, text, _) = compared(&base, &slow, &require);
    assert!(status == Some(1) && text.contains("not met  p99 <= 1.2x"), "{text}");

    let few = file("few", 10_100, 50);
    let (status, text, _) = compared(&base, &few, &require);
    assert!(status == Some(3) && text.contains("cannot tell  p99 <= 1.2x"), "{text}");
    assert!(text.contains("368 samples of each run"), "{text}");
}

#[test]
fn a_series_of_one_run_alone_is_not_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let base = record(folder.path(), "base", 10_000, 10_000);
    let mut more = ontick_record::store::read(&base).unwrap();
    more.series.push(ontick_record::Series { name: "spin".into(), ..more.series[0].clone() });
    let both = folder.path().join("both");
    fs::write(&both, ontick_record::store::text(&more)).unwrap();
    more.series.swap(0, 1);
    more.series[1].name = "sleep".into();
    let other = folder.path().join("other");
    fs::write(&other, ontick_record::store::text(&more)).unwrap();

    let require = ["--require", "p99 <= 1.2x"];
    let (status, text, said) = compared(&both, &other, &require);
    assert!(status == Some(2) && text.is_empty(), "{text}");
    assert!(said.contains("\"hybrid\" in the first alone; \"sleep\" in the second alone"), "{said}");
    assert_eq!(compared(&both, &both, &require).0, Some(0));
    assert_eq!(compared(&both, &other, &[]).0, Some(0), "a table may have them");
}

/// While a thread is held up it takes no samples, so that those there are look as good as before.
#[test]
fn missed_cycles_are_seen_and_not_met() {
    let folder = tempfile::tempdir().unwrap();
    let base = record(folder.path(), "base.json", 10_000, 10_000);
    let mut with = ontick_record::store::read(&base).unwrap();
    with.series[0].missed = 90_000;
    let stalled = folder.path().join("stalled.json");
    fs::write(&stalled, ontick_record::store::text(&with)).unwrap();

    let require = ["--require", "p99 <= 1.2x"];
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (status, text, _) = compared(&base, &stalled, &require);
    let text = words(text);
    assert!(status == Some(1) && text.contains("not met p99 <= 1.2x") && text.contains("< 3us missed"), "{text}");
    assert!(text.contains("cycles missed 90 000 of 100 000, before 0 of 10 000: more than this"), "{text}");
    let (status, text, _) = compared(&stalled, &stalled, &require);
    assert!(status == Some(3) && words(text).contains("more than this percentile leaves out"));

    let kept = folder.path().join("kept");
    let [kept, base, stalled] = [&kept, &base, &stalled].map(|path| path.to_str().unwrap());
    run(&["baseline", "save", kept, base]);
    let output = run(&["baseline", "check", kept, stalled, require[0], require[1]]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
}

#[test]
fn summaries_decide_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, max: u32| {
        let path = folder.path().join(name);
        let line = format!("T: 0 ( 1234) P:80 I:1000 C: 100000 Min:      3 Act:    5 Avg:    5 Max:     {max}\n");
        fs::write(&path, line).unwrap();
        path
    };
    let (status, text, _) = compared(&of("base", 95), &of("new", 100), &["--require", "p50 <= 1.2x"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(status == Some(3) && text.contains("not every record holds this percentile"), "{text}");
}

#[test]
fn a_comparison_is_a_junit_file_and_json_too() {
    let folder = tempfile::tempdir().unwrap();
    let (base, slow) = (record(folder.path(), "base", 10_000, 5_000), record(folder.path(), "slow", 15_000, 5_000));
    let junit = folder.path().join("junit.xml");
    let more = ["--require", "p50 <= 2x", "--require", "p50 <= 1x", "--json", "--junit", junit.to_str().unwrap()];
    let (status, text, _) = compared(&base, &slow, &more);
    assert_eq!(status, Some(1));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&json["requirements"][0]["verdict"], &json["requirements"][1]["verdict"]),
        (&"met".into(), &"broken".into())
    );
    let junit = fs::read_to_string(junit).unwrap();
    assert!(junit.contains(r#"tests="2" failures="1" errors="0""#), "{junit}");
}

#[test]
fn a_requirement_of_a_maximum_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let base = record(folder.path(), "base", 10_000, 10);
    let (status, _, said) = compared(&base, &base, &["--require", "max <= 1.2x"]);
    assert!(status == Some(2) && said.contains("a maximum is one sample"), "{said}");
    let output = run(&[
        "compare",
        "--require",
        "p50 <= 1x",
        base.to_str().unwrap(),
        base.to_str().unwrap(),
        base.to_str().unwrap(),
    ]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("is for two runs"), "{}", stderr(&output));
}
