//! What a wire carries: source 002's own method, and the table that has its figures beside.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::apart::beside_others;
use crate::durations::stated;
use crate::link::Chip;
use crate::{ontick, run, stderr, stdout};

/// 4 kb/s in the article; here what this machine gives. No latency of it decides: bits are counted, none is invented.
#[test]
fn source_002_sends_4_kb_per_s_by_its_own_method() {
    let chip = Chip::new("bare", &[]);
    let (from, to) = (chip.line(4), chip.line(17));
    let arguments = ["link", "test", "--source-002", "--frames", "2", "--output", &from, "--input", &to];
    let output = run(&[&arguments[..], &["--json"]].concat());
    let row: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let [short, long, gap, bits, missed, wrong] =
        ["short_ns", "long_ns", "gap_ns", "bits", "missed_bits", "wrong_bits"].map(|key| row[key].as_u64().unwrap());
    assert_eq!((short, long, gap, bits), (100_000, 200_000, 100_000, 800), "{row}");
    assert_eq!((&row["method"], &row["source_002_bits_per_s"]), (&"usleep, interrupts".into(), &4_000.0.into()));
    assert_eq!(row["bit_error_rate"].as_f64().unwrap(), (missed + wrong) as f64 / 800.0);
    // What is subtracted is the median of what is too much, so that no train is much faster than it should be.
    let rate = row["bits_per_s"].as_f64().unwrap();
    assert!(rate > 0.0 && rate < 6_000.0, "{row}");
    assert!(row["subtracted_ns"].as_u64().unwrap() > 0 && missed + wrong < 800, "{row}");
    assert_eq!(output.status.code(), Some(i32::from(missed + wrong > 0)), "{row}");

    let output = run(&arguments);
    let text = stdout(&output);
    for words in ["usleep, interrupts, normal scheduling, two processes", "(simulated)", "(source 002: 4.0 kb/s)"] {
        assert!(text.contains(words), "{words}: {text}{}", stderr(&output));
    }
    let refused = run(&[&arguments[..], &["--policy", "fifo:99"]].concat());
    assert_eq!(refused.status.code(), Some(2), "its threads are of normal scheduling");
}

#[test]
fn a_receiver_prints_the_widths_of_the_pulses_of_another_process() {
    let chip = Chip::new("widths", &[]);
    let (from, to) = (chip.line(4), chip.line(17));
    let mut receiver = ontick(&["link", "recv", "--widths", "--input", &to, "--timeout", "300ms", "--policy", "other"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(receiver.stdout.take().unwrap());
    let (mut head, mut text) = (String::new(), String::new());
    out.read_line(&mut head).unwrap();
    assert_eq!(head, "# rise_ns width_ns\n", "it listens");
    let pulses = ["pulse", "--output", &from, "--width", "2ms", "--count", "10", "--method", "sleep"];
    let driven = run(&[&pulses[..], &["--policy", "other"]].concat());
    assert!(driven.status.success(), "{}", stderr(&driven));
    out.read_to_string(&mut text).unwrap();
    assert_eq!(receiver.wait().unwrap().code(), Some(0));
    let lines = text.lines();
    let pulses: Vec<(u64, u64)> = lines
        .map(|line| {
            line.split_once(' ').and_then(|(rise, width)| Some((rise.parse().ok()?, width.parse().ok()?))).unwrap()
        })
        .collect();
    assert!(pulses.len() >= 10 && pulses.windows(2).all(|pair| pair[0].0 < pair[1].0), "{text}");
    assert!(pulses.iter().any(|(_, width)| *width >= 2_000_000), "{text}");
}

#[test]
fn the_table_says_how_long_it_takes_and_has_the_figures_of_source_002_beside() {
    let chip = Chip::new("table", &[]);
    let (from, to) = (chip.line(4), chip.line(17));
    let table = ["link", "test", "--table", "--method", "interrupt", "--output", &from, "--input", &to];
    // The first of a test's timed commands waits for those that are alone, which is not the command's time.
    beside_others(&table);
    let began = Instant::now();
    // As short as its trials allow.
    let output = run(&[&table[..], &["--duration", "1s", "--json"]].concat());
    let (took, said) = (began.elapsed(), stderr(&output));
    let seconds = stated(&said).unwrap_or_else(|| panic!("{said}"));
    assert_eq!(seconds, 22, "{said}");
    // A factor that other work beside the tests does not use up.
    let (least, most) = (Duration::from_secs(seconds) * 2 / 3, Duration::from_secs(seconds) * 4);
    assert!((least..most).contains(&took), "{took:?} instead of {seconds} s");
    let table: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let own = table["source_002_method"].as_array().unwrap();
    assert_eq!(own.iter().map(|row| row["cpus"].as_str().unwrap()).collect::<Vec<_>>(), ["1 CPU", "all CPUs"]);
    // On a busy machine no bit may have come through in the time that such a trial has.
    assert!(own.iter().all(|row| row["source_002_bits_per_s"] == 4_000.0 && row["bits"].is_u64()), "{table}");
    assert!(table["rows"].as_array().unwrap().len() >= 2, "{table}");
}

/// Left without, right with load, as source 002 shows it.
#[test]
fn pulses_received_are_drawn_with_and_without_load_side_by_side() {
    let chip = Chip::new("drawn", &[]);
    let (from, to) = (chip.line(4), chip.line(17));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let ends = ["link", "test", "--frames", "2", "--output", &from, "--input", &to];
    let load = ["--load", "cmd:sleep 60"];
    for method in [&["--source-002"][..], &["--short", "200us", "--payload", "32"]] {
        let (svg, html, png) = (file("pulses.svg"), file("pulses.html"), file("pulses.png"));
        let files = ["--svg", &svg, "--html", &html, "--png", &png, "--json"];
        let output = run(&[&ends[..], method, &load, &files].concat());
        let document: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
        assert_eq!(document["cpus"], document["loaded"]["cpus"], "{document}");
        let drawn = std::fs::read_to_string(&svg).unwrap();
        let (without, with) = (drawn.find("without load"), drawn.find("under load: cmd:sleep 60"));
        assert!(without.is_some() && without < with, "{drawn}");
        assert!(drawn.contains("simulated") && drawn.contains("sent "), "{drawn}");
        let page = std::fs::read_to_string(&html).unwrap();
        assert!(page.contains("Pulses received, by width") && page.contains("Simulated."), "{page}");
        assert!(!page.contains("All figures"), "there are no latencies");
        assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG"));
    }
    let text = stdout(&run(&[&ends[..], &["--short", "200us", "--payload", "32"], &load].concat()));
    assert_eq!(text.matches("load: ").count(), 2, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let nowhere = run(&[&ends[..], &["--html", "/nonexistent/pulses.html"]].concat());
    assert_eq!((nowhere.status.code(), stdout(&nowhere)), (Some(2), String::new()), "found out before");
}
