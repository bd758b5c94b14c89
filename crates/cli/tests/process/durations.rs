//! What a command says that it will take is what it takes on the clock.

use std::time::{Duration, Instant};

use crate::{has, run, stderr};

/// The seconds that are stated before it starts.
pub fn stated(text: &str) -> Option<u64> {
    let words = text.split("This takes ").nth(1)?.split(';').next()?.split_whitespace().collect::<Vec<_>>();
    words.chunks(2).map(|pair| Some(pair[0].parse::<u64>().ok()? * if pair[1] == "min" { 60 } else { 1 })).sum()
}

#[test]
fn the_stated_time_is_the_time_on_the_clock() {
    if !has("stress-ng") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("report.html").display().to_string();
    for (arguments, seconds) in [
        (&["prove", "--duration", "10s", "--load", "cpu", "--html", &html][..], 10),
        (&["latency", "timer", "--method", "all", "--duration", "500ms"], 8),
    ] {
        let began = Instant::now();
        let output = run(arguments);
        let took = began.elapsed();
        let stated = stated(&stderr(&output)).unwrap_or_else(|| panic!("{arguments:?}: {}", stderr(&output)));
        assert_eq!(stated, seconds, "{arguments:?}");
        // A factor that other work beside the tests does not use up.
        let (least, most) = (Duration::from_secs(stated) * 2 / 3, Duration::from_secs(stated) * 2);
        assert!((least..most).contains(&took), "{arguments:?}: {took:?} instead of {stated} s");
    }
    let short = run(&["latency", "timer", "--duration", "200ms"]);
    assert_eq!(stated(&stderr(&short)), None, "what is over at once needs no announcement");
}
