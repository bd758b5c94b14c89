//! `report --tail`: bounds for what was not observed, from a file to text, JSON and picture.

use std::path::PathBuf;

use ontick_record::tail::simulation::{DISTRIBUTIONS, MIXTURES, Random, mixed, peaks};
use ontick_record::{Run, Series, store};

use crate::{run as ontick, stderr, stdout};

/// A record of a million cycles at 1 kHz with these peaks, in 10 ps of the simulation's nanoseconds.
fn record(folder: &std::path::Path, peaks: &[(f64, f64)]) -> PathBuf {
    let mut series = Series { name: "hybrid".into(), ..Series::default() };
    series.settings.interval_ns = 1_000_000;
    series.peaks = peaks.iter().map(|(at, ns)| ((at * 1e6) as u64, (ns / 1e5) as u64).into()).collect();
    series.peaks.iter().for_each(|peak| series.latency.add(peak.latency_ns, 1, 1));
    series.latency.add(900, 1, 1_000_000 - peaks.len() as u64);
    series.maxima.step_ns = 1_000_000_000_000;
    series.maxima.max_ns = vec![1];
    let mut run = Run::new("ontick 0.1.0", "timer");
    run.series.push(series);
    let path = folder.join("run.json");
    store::write_whole(&path, store::text(&run).as_bytes()).unwrap();
    path
}

#[test]
fn a_tail_of_one_law_has_a_bound_and_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let run = record(folder.path(), &peaks(&mut Random(8), DISTRIBUTIONS[0].1, 1e6, 1000));
    let out = ontick(&["report", run.to_str().unwrap(), "--tail"]);
    let text = stdout(&out);
    assert!(out.status.success() && text.contains("less than once in 10^9 cycles (95 % sure"), "{text}");
    // Without being asked nothing is said of it.
    assert!(!stdout(&ontick(&["report", run.to_str().unwrap()])).contains("less than once"));

    let json = stdout(&ontick(&["report", run.to_str().unwrap(), "--tail=1e7", "--as", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let tail = &json["series"][0]["tail"];
    assert_eq!((tail["once_in"].as_u64(), tail["bound"]["peaks"].as_u64()), (Some(10_000_000), Some(400)));

    let svg = folder.path().join("tail.svg");
    let out = ontick(&["report", run.to_str().unwrap(), "--plot", "tail", "--svg", svg.to_str().unwrap()]);
    assert!(out.status.success(), "{}", stderr(&out));
    assert!(std::fs::read_to_string(svg).unwrap().contains("Return levels"));
}

#[test]
fn a_mixture_has_no_bound_and_no_picture() {
    let folder = tempfile::tempdir().unwrap();
    let run = record(folder.path(), &mixed(&mut Random(4), MIXTURES[0].1, 1e6, 1000));
    let text = stdout(&ontick(&["report", run.to_str().unwrap(), "--tail"]));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("No bound can be given: the tail is a mixture") && flat.contains("Measure for at least"),
        "{text}"
    );
    let svg = folder.path().join("tail.svg");
    let out = ontick(&["report", run.to_str().unwrap(), "--plot", "tail", "--svg", svg.to_str().unwrap()]);
    assert_eq!((out.status.code(), svg.exists()), (Some(2), false));
    assert!(stderr(&out).contains("no bound of a tail could be given"), "{}", stderr(&out));
}

#[test]
fn what_is_no_number_of_cycles_is_refused() {
    for wrong in ["--tail=often", "--tail=10", "--tail=1e18"] {
        let out = ontick(&["report", "run.json", wrong]);
        assert_eq!(out.status.code(), Some(2));
        assert!(stderr(&out).contains("is not a number of cycles"), "{}", stderr(&out));
    }
}
