//! What a command says that it will take is what it takes on the clock.

use std::fs::{self, File};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::{Running, catches_interrupt, has, ontick, run, send, stderr, wait_until};

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

/// What it has said, with the time that it states if it is to state one, by when it is ended.
fn said_before_it_is_ended(arguments: &[&str], states: bool) -> String {
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    let to = Stdio::from(File::create(&said).unwrap());
    let mut child = ontick(arguments);
    child.current_dir(folder.path()).stdout(Stdio::null()).stderr(to);
    let mut running = Running(child.spawn().unwrap());
    let read = || fs::read_to_string(&said).unwrap();
    wait_until("a handler of SIGINT", || catches_interrupt(running.0.id()));
    if states {
        wait_until("its time", || stated(&read()).is_some());
    } else {
        std::thread::sleep(Duration::from_secs(1));
    }
    send(running.0.id(), Signal::INT);
    let status = running.0.wait().unwrap();
    assert!(status.success(), "{arguments:?}: {}", read());
    read()
}

#[test]
fn what_goes_on_until_it_is_ended_states_no_time() {
    let sample = ["sample", "--policy", "other", "--source", "wave:sine,50Hz", "--to", "file:samples.csv"];
    let said = said_before_it_is_ended(&sample, false);
    assert_eq!(stated(&said), None, "{said}");
    let said = said_before_it_is_ended(&[&sample[..], &["--duration", "1min"]].concat(), true);
    assert_eq!(stated(&said), Some(61), "{said}");
}

/// Nine delays by five methods, each for a fifth of a second and what it needs besides.
#[test]
fn delays_state_the_time_of_their_own_length() {
    let said = said_before_it_is_ended(&["latency", "delay", "--policy", "other"], true);
    assert_eq!(stated(&said), Some(15), "{said}");
}
