//! Pulses on simulated lines: how wide they were, measured at the line, and said to be simulated wherever it is shown.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::errors::fails;
use crate::gpio::{Chip, json};
use crate::{ontick, record, run, samples, send, stderr, stdout, wait_until};

fn widths(series: &Value) -> u64 {
    let buckets = series["pulse"]["width"]["buckets"].as_array().expect("widths");
    buckets.iter().map(|bucket| bucket[2].as_u64().expect("a count")).sum()
}

/// Level, direction and whether anybody has it.
fn state(line: &str) -> (Value, Value, Value) {
    let line = json(&["gpio", "list", line])[0]["lines"][0].clone();
    (line["level"].clone(), line["direction"].clone(), line["in_use"].clone())
}

#[test]
fn the_record_has_every_width_and_which_line_measured_it() {
    let chip = Chip::wired("pulse-record");
    let (four, seventeen) = (chip.line(4), chip.line(17));
    let by_itself =
        record(&run(&["pulse", "--output", &four, "--method", "all", "--width", "50us", "--count", "100", "--json"]));
    let seen = record(&run(&["pulse", "--output", &four, "--input", &seventeen, "--count", "100", "--json"]));
    assert_eq!(by_itself["series"].as_array().unwrap().len(), 3);
    for series in by_itself["series"].as_array().unwrap() {
        assert_eq!((samples(series), widths(series)), (100, 100), "{}", series["name"]);
        assert_eq!((&series["pulse"]["wanted_ns"], &series["pulse"]["gap_ns"]), (&50_000.into(), &1_000_000.into()));
        assert_eq!(series["pulse"]["measured_by"], "edges of the simulated line itself");
        assert_eq!(
            (&series["settings"]["line"], &series["settings"]["backend"]),
            (&four.clone().into(), &"simulated".into())
        );
        assert_eq!(series["settings"].get("watched_line"), None);
    }
    let series = &seen["series"][0];
    assert_eq!((samples(series), &series["settings"]["watched_line"]), (100, &seventeen.clone().into()));
    assert!(series["pulse"]["measured_by"].as_str().unwrap().contains(&seventeen));
    assert!(
        seen["simulated"].as_str().unwrap().contains(&four) && seen["simulated"].as_str().unwrap().contains(&seventeen)
    );
}

#[test]
fn every_output_says_that_it_is_simulated() {
    let chip = Chip::new("pulse-simulated");
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (record, html) = (file("run.json"), file("run.html"));
    let line = chip.line(4);
    let pictures = ["--svg", &file("own.svg"), "--png", &file("own.png")];
    let files = [&["--record", &record, "--html", &html], &pictures[..]].concat();
    let shown = run(&[&["pulse", "--output", &line, "--count", "50"], &files[..]].concat());
    assert!(stdout(&shown).starts_with(&format!("simulated line {line} in shared memory\n")), "{}", stderr(&shown));
    assert!(stdout(&shown).contains("shortest") && stdout(&shown).contains("Measured by edges of the simulated line"));
    let page = fs::read_to_string(html).unwrap();
    assert!(page.contains("<b>Simulated.</b>") && page.contains("Widths in µs (simulated line)"));
    for form in ["summary", "plot", "uncertainty", "rows", "cyclictest", "hlog", "openmetrics", "json"] {
        let output = run(&["report", &record, "--as", form]);
        assert!(output.status.success(), "{form}: {}", stderr(&output));
        assert!(stdout(&output).contains("simulated"), "{form}: {}", stdout(&output));
    }
    let svg = file("latency.svg");
    assert!(run(&["report", &record, "--svg", &svg]).status.success());
    assert!(fs::read_to_string(svg).unwrap().contains("simulated"));
    let waveform = run(&["report", &record, "--svg", &file("train.svg"), "--plot", "waveform"]);
    assert!(waveform.status.success(), "{}", stderr(&waveform));
    assert!(fs::read_to_string(file("train.svg")).unwrap().contains("data-name=\"falling edges\""));
    let persistence = run(&["report", &record, "--svg", &file("screen.svg"), "--plot", "persistence"]);
    assert!(persistence.status.success(), "{}", stderr(&persistence));
    assert_eq!(fs::read(file("own.svg")).unwrap(), fs::read(file("screen.svg")).unwrap());
    assert!(fs::read_to_string(file("own.svg")).unwrap().contains("data-traces=\"50\""));
    assert!(fs::read(file("own.png")).unwrap().starts_with(b"\x89PNG"));
    let metrics = stdout(&run(&["report", &record, "--as", "openmetrics"]));
    assert!(metrics.contains("backend=\"simulated\"") && metrics.contains("which=\"shortest\""), "{metrics}");
}

#[test]
fn calibration_is_reported_before_and_after() {
    let chip = Chip::new("pulse-calibrated");
    let arguments = ["pulse", "--output", &chip.line(4), "--method", "sleep", "--calibrate", "--count", "100"];
    let run_of = record(&run(&[&arguments[..], &["--json"]].concat()));
    let series = run_of["series"].as_array().unwrap();
    assert_eq!([&series[0]["name"], &series[1]["name"]], ["sleep, raw", "sleep, calibrated"]);
    let subtracted = series[1]["pulse"]["subtracted_ns"].as_i64().unwrap();
    assert!(subtracted > 0 && series[0]["pulse"].get("subtracted_ns").is_none(), "a sleep is never too short");
    let shown = stdout(&run(&arguments));
    assert!(shown.contains("sleep, raw") && shown.contains("subtracted from what was asked"), "{shown}");
}

#[test]
fn fewer_cpus_are_for_the_program_and_its_load() {
    let chip = Chip::new("pulse-cpus");
    let arguments =
        ["--output", &chip.line(4), "--method", "sleep", "--policy", "other", "--cpu", "any", "--count", "20"];
    let run_of = record(&run(&[&["pulse", "--cpus", "one,all", "--json"][..], &arguments].concat()));
    let names: Vec<&Value> = run_of["series"].as_array().unwrap().iter().map(|series| &series["name"]).collect();
    assert_eq!(names, ["sleep, 1 CPU", "sleep, all CPUs"]);
    let confined = |n: usize| run_of["series"][n]["settings"]["confined_to"].clone();
    assert!(confined(0).as_str().unwrap().parse::<u32>().is_ok(), "{}", confined(0));
    assert_eq!(confined(1), Value::Null);
}

#[test]
fn the_table_has_the_figures_of_the_source_beside_it() {
    let chip = Chip::new("pulse-table");
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("table.html").display().to_string();
    let arguments =
        ["pulse", "--table", "--output", &chip.line(4), "--load", "none", "--duration", "3s", "--html", &html];
    let output = run(&arguments);
    let shown = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for words in
        ["10 000 us", "sleep, stock", "hybrid, minimised", "source 003: usleep, stock (some > 20 000)", "udelay"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(fs::read_to_string(html).unwrap().contains("source 003: kernel module, udelay"));
}

/// Waits until the line is driven by the program.
fn when_driven(line: &str) {
    wait_until("the pulses", || state(line).2 == true);
}

#[test]
fn however_it_ends_the_line_is_left_as_asked() {
    let chip = Chip::wired("pulse-ends");
    let (four, lonely) = (chip.line(4), chip.line(30));
    for (on_exit, level, direction) in [("high", 1, "output"), ("low", 0, "output"), ("input", 0, "input")] {
        for signal in [Signal::INT, Signal::TERM] {
            let arguments = ["pulse", "--output", &four, "--duration", "1h", "--policy", "other", "--on-exit", on_exit];
            let child = ontick(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            when_driven(&four);
            let refused = run(&["pulse", "--output", &four, "--count", "1"]);
            assert!(stderr(&refused).contains(&format!("(process {})", child.id())), "{}", stderr(&refused));
            send(child.id(), signal);
            let output = child.wait_with_output().unwrap();
            // It may have been ended before the first pulse that counts.
            assert!([Some(0), Some(2)].contains(&output.status.code()), "{}", stderr(&output));
            assert_eq!(state(&four), (level.into(), direction.into(), false.into()), "{on_exit} {signal:?}");
        }
    }
    // An error after the line was taken.
    let unseen = run(&["pulse", "--output", &four, "--input", &lonely, "--on-exit", "high", "--count", "1"]);
    assert!(stderr(&unseen).contains("does not follow"), "{}", stderr(&unseen));
    assert_eq!(state(&four).0, 1);
}

#[test]
fn pulses_too_short_to_be_seen_end_the_run_with_a_sentence() {
    let chip = Chip::new("pulse-unseen");
    let (four, seventeen) = (chip.line(4), chip.line(17));
    assert!(run(&["gpio", "wire", &four, &seventeen, "--dead-time", "300ms"]).status.success());
    let output = run(&["pulse", "--output", &four, "--input", &seventeen, "--width", "20us", "--count", "5"]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stderr(&output).contains("too short") && stderr(&output).contains(&seventeen), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_is_one_sentence() {
    let cases: [(&[&str], &[&str]); 16] = [
        (&["--method", "doze"], &["hybrid", "pwm"]),
        (&["--width", "10"], &["unit"]),
        (&["--width", "2s"], &["1us to 1s"]),
        (&["--gap", "10ns"], &["gap", "1us to 1s"]),
        (&["--method", "spin", "--width", "1ms", "--gap", "10us"], &["112us at least"]),
        (&["--output", "sim:bench/99"], &["lines 0 to 53"]),
        (&["--output", "nonsense:0/x"], &["names no line"]),
        (&["--on-exit", "up"], &["keep, low, high or input"]),
        (&["--cpus", "0"], &["one or all"]),
        (&["--cpus", "4000"], &["4000 CPUs"]),
        (&["--method", "pwm"], &["--pwm pwmchip0:0"]),
        (&["--method", "spi"], &["--spi spidev0.0"]),
        (&["--method", "pwm", "--pwm", "pwmchip0:0"], &["--input"]),
        (&["--method", "pwm", "--pwm", "pwmchip250:0", "--input", "sim:bench/4"], &["pwmchip250:0", "no such chip"]),
        (&["--method", "spi", "--spi", "spidev250.0", "--input", "sim:bench/4"], &["spidev250.0", "no such device"]),
        (&["--table", "--duration", "1s"], &["too short"]),
    ];
    for (arguments, words) in cases {
        fails(&[&["pulse"], arguments].concat(), words);
    }
}
