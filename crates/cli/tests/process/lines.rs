//! Measurements with GPIO lines: simulated ones of each test's own.

use std::io::Read;
use std::process::Stdio;

use ontick_gpio::{Line, Name, Request, sim};
use rustix::process::Signal;

use crate::errors::fails;
use crate::{ontick, record, run, samples, send, stderr, stdout, wait_until};

/// A chip of a test's own, gone with it.
struct Chip(String);

impl Chip {
    fn new(test: &str) -> Self {
        Self(format!("test-{test}-{}", std::process::id()))
    }

    fn wired(self, wires: &[(u32, u32)]) -> Self {
        for (from, to) in wires {
            sim::wire(&self.name(*from), &self.name(*to), sim::Wire::default()).unwrap();
        }
        self
    }

    fn name(&self, line: u32) -> Name {
        Name::Sim { chip: self.0.clone(), line }
    }

    fn text(&self, line: u32) -> String {
        self.name(line).to_string()
    }

    fn is_high(&self, line: usize) -> bool {
        sim::line_states(&self.0).is_ok_and(|lines| lines[line].level)
    }
}

impl Drop for Chip {
    fn drop(&mut self) {
        let _ = sim::remove(&self.0);
    }
}

fn two_cpus() -> bool {
    let two = ontick_rt::cpus::allowed().len() > 1;
    if !two {
        ontick_skip::skipped!("it needs two CPUs");
    }
    two
}

#[test]
fn lines_that_cannot_be_had_are_named() {
    if !two_cpus() {
        return;
    }
    let chip = Chip::new("bad");
    let (four, seventeen) = (chip.text(4), chip.text(17));
    fails(&["latency", "edge", "--output", &chip.text(4000), "--input", &seventeen], &["/4000", "lines 0 to"]);
    fails(&["latency", "edge", "--output", "gpiochip4000:1", "--input", &seventeen], &["gpiochip4000"]);
    fails(&["latency", "edge", "--output", "sim:bench", "--input", &seventeen], &["sim:CHIP/NUMBER"]);
    fails(&["latency", "edge", "--output", &four], &["--input"]);
    fails(&["latency", "edge", "--method", "looking"], &["looking", "interrupt"]);
    fails(&["latency", "edge", "--interval", "1us"], &["10us"]);
    fails(&["latency", "edge", "--output", &four, "--input", &seventeen], &["does not follow", "simulated wire"]);
    let _taken = Line::open(&chip.name(4), &Request::output(false)).unwrap();
    let by = format!("process {}", std::process::id());
    fails(&["latency", "edge", "--output", &four, "--input", &seventeen], &[&four, "in use by", &by]);
}

#[test]
fn figures_of_simulated_lines_say_so() {
    if !two_cpus() {
        return;
    }
    let chip = Chip::new("said").wired(&[(4, 17)]);
    let (four, seventeen) = (chip.text(4), chip.text(17));
    let edge = ["latency", "edge", "--output", &four, "--input", &seventeen, "--count", "20", "--policy", "other"];
    let run_ = record(&run(&[&edge[..], &["--json"]].concat()));
    assert!(run_["simulated"].as_str().is_some_and(|what| what.contains(&four)), "{}", run_["simulated"]);
    let settings = &run_["series"][0]["settings"];
    assert_eq!(samples(&run_["series"][0]), 20);
    assert_eq!((settings["line"].as_str(), settings["backend"].as_str()), (Some(&*four), Some("simulated")));
    assert!(stdout(&run(&edge)).starts_with("simulated lines"));
}

/// Ends it by Ctrl-C when `begun`; what it printed.
fn interrupted(arguments: &[&str], begun: impl FnMut() -> bool) -> String {
    let mut child = ontick(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the line's first change", begun);
    send(child.id(), Signal::INT);
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    said
}

#[test]
fn ctrl_c_leaves_lines_low() {
    if !two_cpus() {
        return;
    }
    let chip = Chip::new("low").wired(&[(4, 17), (5, 6), (7, 8)]);
    let names = [4, 17, 5, 6, 7, 8].map(|line| chip.text(line));
    let [four, seventeen, five, six, seven, eight] = names.each_ref().map(String::as_str);
    let common = ["--policy", "other", "--interval", "100ms"];

    let edge = ["latency", "edge", "--output", four, "--input", seventeen, "--duration", "1h"];
    let mut changes = 0;
    let said = interrupted(&[&edge[..], &common].concat(), || {
        changes += u32::from(chip.is_high(4) == (changes % 2 == 0));
        // Past its trial of the wire and its practice.
        changes > 12
    });
    assert!(said.contains("interrupted after") && !chip.is_high(4), "{said}");

    let answer = ["latency", "response", "--respond-only", "--input", six, "--output", seven];
    let mut stimulus = Line::open(&chip.name(5), &Request::output(true)).unwrap();
    let said = interrupted(&[&answer[..], &common].concat(), || chip.is_high(8));
    assert!(said.contains(seven) && said.contains("Nothing was measured here"), "{said}");
    assert!(!chip.is_high(7), "left low although the input is high");
    stimulus.write(false).unwrap();
    drop(stimulus);

    let observe = [
        "--return-output",
        five,
        "--return-input",
        eight,
        "--input",
        six,
        "--output",
        seven,
        "--count",
        "10",
        "--json",
    ];
    let run_ = record(&run(&[&["latency", "response"], &observe[..], &common].concat()));
    assert_eq!((samples(&run_["series"][0]), chip.is_high(5), chip.is_high(7)), (10, false, false));
}

#[test]
fn responses_ask_for_what_belongs_together() {
    fails(&["latency", "response", "--input", "sim:x/1", "--output", "sim:x/2"], &["--respond-only"]);
    fails(&["latency", "response", "--input", "sim:x/1"], &["--output"]);
    fails(&["latency", "response", "--return-output", "sim:x/1"], &["--return-input"]);
    fails(&["latency", "response", "--respond-only", "--json"], &["--json"]);
    fails(&["latency", "response", "--respond-only", "--method", "all"], &["--method"]);
    fails(&["latency", "response", "--table", "--method", "poll"], &["--method"]);
    fails(&["latency", "response", "--observer", "http://x"], &["http://x", "latmon://"]);
    if two_cpus() {
        fails(&["latency", "response", "--interval", "10us"], &["200us"]);
        fails(&["latency", "response", "--cpu", "any"], &["name its CPU"]);
    }
}

#[test]
fn source_001s_table_is_one_command() {
    if !two_cpus() {
        return;
    }
    let chip = Chip::new("table").wired(&[(5, 6), (7, 8)]);
    let names = [5, 6, 7, 8].map(|line| chip.text(line));
    let [five, six, seven, eight] = names.each_ref().map(String::as_str);
    let lines = ["--return-output", five, "--input", six, "--output", seven, "--return-input", eight];
    let table = ["latency", "response", "--table", "--count", "4", "--load", "cmd:sleep 1000", "--json"];
    let output = run(&[&table[..], &lines].concat());
    let run_ = record(&output);
    let series = run_["series"].as_array().expect("series");
    assert_eq!(series.len(), 14, "{}", stderr(&output));
    for one in series {
        assert_eq!((samples(one), one["blocks"].as_array().map(Vec::len)), (4, Some(2)), "{}", one["name"]);
    }
    let stressed = series.iter().find(|one| one["name"] == "poll, fifo:99, stress").expect("the case");
    assert_eq!(stressed["published"]["figure"], "< 50us");
    assert_eq!(stressed["settings"]["load"], "cmd:sleep 1000");
    assert!(run_["facts"].to_string().contains("Pigeon RB100-CM3"));
    assert!(run_["facts"].to_string().contains("its priority has no row"), "a simulated line has no interrupt");
}
