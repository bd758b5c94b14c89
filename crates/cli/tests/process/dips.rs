//! `latency dip`: the shortest dip of an input that is still detected.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::durations::stated;
use crate::link::Chip;
use crate::{run, stderr, stdout};

/// A simulated line notifies of no edge within its dead time of another, which no latency of this machine changes.
#[test]
fn the_shortest_dip_is_the_dead_time_of_the_line_idle_and_beside_a_load() {
    let chip = Chip::new("dip", &["--dead-time", "250us"]);
    let (from, to) = (chip.line(4), chip.line(17));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (html, svg, record) = (file("dips.html"), file("dips.svg"), file("dips.json"));
    let search = ["--from", "100us", "--to", "600us", "--step", "100us", "--dips", "50", "--share", "80"];
    let dip = ["latency", "dip", "--output", &from, "--input", &to, "--method", "interrupt", "--policy", "other"];
    let files = ["--html", &html, "--svg", &svg, "--record", &record];
    let measure = [&dip[..], &search, &files, &["--load", "cmd:sleep 60", "--from-cpu", "0", "--cpu", "1"]].concat();
    // Other work may keep the output's thread away so often that too short dips become long ones: then once more.
    for last in [false, false, true] {
        let began = Instant::now();
        let output = run(&measure);
        let took = began.elapsed();
        if stderr(&output).contains("CPU 1 is not online") {
            return ontick_skip::skipped!("it needs two CPUs");
        }
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
        for words in ["simulated", "interrupt, idle", "interrupt, loaded", "both edges", "80 % are detected"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        // Two searches for each series, and a load's start; on a busy machine they take longer.
        let seconds = stated(&stderr(&output)).unwrap_or_else(|| panic!("{}", stderr(&output)));
        let stated = Duration::from_secs(seconds);
        assert!(seconds == 6 && took > stated * 2 / 3, "{took:?} instead of {seconds} s");
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap();
        let series = kept["series"].as_array().unwrap();
        assert_eq!((&kept["measurement"], series.len()), (&"dip".into(), 2));
        assert!(series.iter().all(|series| series["dip"]["share"] == 0.8), "{kept}");
        // Of a dip that is too short the fall is notified.
        let found = |series: &Value| series["dip"]["both_ns"] == 300_000 && series["dip"]["one_ns"] == 100_000;
        if took < stated * 2 && series.iter().all(found) {
            break;
        }
        assert!(!last, "{took:?} for {seconds} s: {}, {}", series[0]["dip"], series[1]["dip"]);
    }
    assert!(std::fs::read_to_string(&svg).unwrap().contains("width of a dip"));
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("The shortest dip detected") && page.contains("Simulated."), "{page}");
    let drawn = run(&["report", &record, "--plot", "dips", "--svg", &svg]);
    assert!(drawn.status.success(), "{}", stderr(&drawn));
}

#[test]
fn dips_that_cannot_be_are_refused() {
    let chip = Chip::new("no-dip", &[]);
    let (from, to) = (chip.line(4), chip.line(17));
    let dip = ["latency", "dip", "--output", &from, "--input", &to, "--policy", "other"];
    for (arguments, words) in [
        (&["--from", "20us", "--to", "10us"][..], "the shortest first"),
        (&["--step", "0us"], "the step between widths of dips must be above 0"),
        (&["--to", "1s"], "from 100ns to 10ms"),
        (&["--share", "0"], "above 0 and up to 100 percent"),
        (&["--on-exit", "sideways"], "sideways"),
    ] {
        let output = run(&[&dip[..], arguments].concat());
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains(words), "{arguments:?}: {said}");
        assert_eq!(stdout(&output), "");
    }
}
