//! What a command says that it will take is what it takes on the clock.

use std::time::Instant;

use crate::{has, run, stderr};

/// The seconds that are stated before it starts.
pub fn stated(text: &str) -> Option<u64> {
    let words = text.split("This takes ").nth(1)?.split(';').next()?.split_whitespace().collect::<Vec<_>>();
    words.chunks(2).map(|pair| Some(pair[0].parse::<u64>().ok()? * if pair[1] == "min" { 60 } else { 1 })).sum()
}

/// Runs a command that must state so many seconds; how many times that it took.
fn taken_of_stated(arguments: &[&str], seconds: u64) -> f64 {
    let began = Instant::now();
    let output = run(arguments);
    let took = began.elapsed();
    let stated = stated(&stderr(&output)).unwrap_or_else(|| panic!("{arguments:?}: {}", stderr(&output)));
    assert_eq!(stated, seconds, "{arguments:?}");
    took.as_secs_f64() / stated as f64
}

#[test]
fn the_stated_time_is_the_time_on_the_clock() {
    if !has("stress-ng") {
        return;
    }
    // The first of a test's timed commands waits for those that are alone.
    let short = run(&["latency", "timer", "--duration", "200ms"]);
    assert_eq!(stated(&stderr(&short)), None, "what is over at once needs no announcement");
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("report.html").display().to_string();
    for (arguments, seconds) in [
        (&["prove", "--duration", "10s", "--load", "cpu", "--html", &html][..], 10),
        (&["latency", "timer", "--method", "all", "--duration", "500ms"], 8),
    ] {
        // Other work beside the tests may keep one run from its time, and not each of three.
        let mut ratios = (0..3).map(|_| taken_of_stated(arguments, seconds));
        let kept = ratios.any(|ratio| (0.67..2.0).contains(&ratio));
        assert!(kept, "{arguments:?}: three times far from the stated {seconds} s");
    }
}
