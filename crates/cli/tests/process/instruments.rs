//! Captures of logic analysers, imported by the program: what sigrok writes, and what is no capture.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{has, record, run, stderr, stdout};

fn capture(name: &str) -> String {
    format!("{}/../record/tests/captures/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn imported(arguments: &[&str]) -> Value {
    record(&run(&[&["import"], arguments, &["--json"]].concat()))
}

/// The error of an import that is refused.
fn refused(arguments: &[&str]) -> String {
    let output = run(&[&["import"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stdout(&output));
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let text = stderr(&output);
    assert!(text.trim_end().lines().count() == 1, "{arguments:?}: {text}");
    text
}

#[test]
fn a_capture_is_shown_judged_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("pulses.json");
    let (file, to) = (capture("pulses.sr"), to.to_str().unwrap());
    let asked = ["import", &file, "--channel", "D0", "--asked", "100us", "--period", "1ms"];
    let output = run(&[&asked[..], &["--require", "max < 5us", "--to", to]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    for words in [
        "instrument 24 MHz, ±41.7 ns · sigrok session · 398 edges",
        "pulses of 100us on line D0, 900us apart",
        "D0 high",
        "Measured by sigrok 0.5.2 (±41.7 ns).",
        "The machine measured keeps the width of a pulse within 3 us in",
        "not met  max < 5us",
        "pulses shorter than 41.7 ns can be missing",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let run_of = |arguments: &[&str]| run(arguments);
    let again = run_of(&["report", to]);
    assert_eq!((stdout(&again), again.status.code()), (text, Some(1)));
    for plot in ["widths", "waveform", "persistence", "latency", "maxima"] {
        let svg = folder.path().join(plot);
        let output = run_of(&["report", to, "--plot", plot, "--svg", svg.to_str().unwrap()]);
        assert!(fs::read_to_string(&svg).unwrap().starts_with("<svg"), "{plot}: {}", stderr(&output));
    }
    let html = folder.path().join("html");
    run_of(&["report", to, "--html", html.to_str().unwrap()]);
    assert!(fs::read_to_string(&html).unwrap().contains("±41.7"));
}

#[test]
fn periods_and_times_that_were_not_asked_for_are_shown() {
    let file = capture("pulses.sr");
    let text = stdout(&run(&["import", &file, "--channel", "0"]));
    for words in ["times between edges", "D0 high", "D0 low", "D0 period", "shortest", "D0 high: 199 times, "] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("within 3 us"), "{text}");
    let period = run(&["import", &file, "--channel", "D0", "--period", "1kHz", "--require", "99% < 1us"]);
    let text = stdout(&period);
    assert!(text.contains("edges every 1ms on line D0") && text.contains("period, us"), "{text}");
    assert!(text.contains("met      99% < 1us"), "{text}");
    assert_eq!(period.status.code(), Some(0));
    let record = imported(&[&file, "--channel", "D0", "--period", "1ms", "--inverse"]);
    assert_eq!((&record["measurement"], &record["series"][0]["name"]), (&"period".into(), &"D0 period".into()));
}

#[test]
fn an_answer_is_timed_between_two_channels() {
    let file = capture("pulses.sr");
    let of = |edges: &str| imported(&[&file, "--input", "D0", "--output", "D1", "--edges", edges]);
    let (rising, both) = (of("rising"), of("both"));
    assert_eq!((&rising["measurement"], &rising["series"][0]["name"]), (&"response".into(), &"D0 to D1".into()));
    assert_eq!((crate::samples(&rising["series"][0]), crate::samples(&both["series"][0])), (199, 398));
    assert_eq!(rising["series"][0]["latency"]["max_ns"], 31_000);
    assert!(of("falling")["series"][0]["latency"]["max_ns"].as_u64().unwrap() < 10_000);
    let text = stdout(&run(&["import", &file, "--input", "0", "--output", "1"]));
    assert!(text.contains("The machine measured answers within 3 us in"), "{text}");
    let error = refused(&[&file, "--input", "D0", "--output", "D1", "--inverse", "--edges", "rising"]);
    assert!(error.contains("no change of the input is followed by its answer"), "{error}");
}

#[test]
fn a_rate_is_named_where_the_file_has_none() {
    let file = capture("logic2.csv");
    let known = imported(&[&file, "--channel", "Channel 0", "--samplerate", "8MHz"]);
    assert_eq!(
        (&known["instrument"]["rate_hz"], &known["instrument"]["resolution_ps"]),
        (&8_000_000.into(), &125_000.into())
    );
    let text = stdout(&run(&["import", &file, "--channel", "0"]));
    assert!(text.contains("rate not known, ±1 ns at best"), "{text}");
    assert!(text.contains("warning: The file does not say at which rate"), "{text}");
}

#[test]
fn what_cannot_be_imported_is_said_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let file = capture("pulses.sr");
    let written = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let whole = fs::read(&file).unwrap();
    let cut = written("cut.sr", &whole[..whole.len() / 2]);
    let dump = written("late.vcd", b"$timescale 1us $end $var wire 1 ! D0 $end $enddefinitions $end\n#5 1!\n#4 0!\n");
    let bare = written("bare.csv", b"; Channels (1/1): D0\nlogic\n0\n1\n");
    let level = written("level.csv", b"; Samplerate: 1 MHz\nlogic\n0\n7\n");
    let diary = written("diary.txt", b"Dear diary\n");
    let empty = written("empty.vcd", b"");
    let blank = written("blank.vcd", b"\n\n\n");
    let none = folder.path().join("none.sr");
    for (arguments, words) in [
        (
            &[file.as_str()][..],
            "pulses.sr: it has the channels D0, D1: name one (--channel D0, or --input D0 --output D1)",
        ),
        (&[&file, "--channel", "D7"], "there is no channel \"D7\" (there are D0, D1)"),
        (&[&file, "--input", "D0", "--output", "0"], "both input and output"),
        (&[&file, "--channel", "D0", "--asked", "1ms", "--period", "1ms"], "--period must be longer than --asked"),
        (&[&file, "--channel", "D0", "--inverse"], "--inverse says what a pulse or an answer is"),
        (&[&file, "--channel", "D0", "--asked", "0us"], "wider than 0"),
        (&[&file, "--channel", "D0", "--require", "lost = 0"], "no frames go through a switch here"),
        (&[&file, "--channel", "D0", "--format", "vcd"], "line 1: "),
        (&[&cut, "--channel", "D0"], "the archive has no directory at its end"),
        (&[&dump], "line 3: the time #4 is before #5"),
        (&[&bare], "name the rate (--samplerate 24MHz)"),
        (&[&level], "line 4: \"7\" of channel logic is no level: 0 or 1"),
        (&[&diary, "--channel", "D0"], "--channel is for captures of instruments, and this is none"),
        (&[&empty, "--channel", "D0"], "empty.vcd: the file is empty"),
        (&[&blank, "--channel", "D0"], "blank.vcd: the file is empty"),
        (&[&diary, "--format", "sr"], "the archive has no directory"),
        (&[none.to_str().unwrap(), "--channel", "D0"], "none.sr: No such file"),
        (&[folder.path().to_str().unwrap()], "s a directory"),
    ] {
        let error = refused(arguments);
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
    for file in [&file, &dump] {
        let output = run(&["report", file]);
        assert!(stderr(&output).contains("must be imported first"), "{}", stderr(&output));
        assert_eq!(output.status.code(), Some(2));
    }
    for arguments in [&["--samplerate", "24"][..], &["--format", "sal"], &["--input", "D0"], &["--edges", "both"]] {
        let output = run(&[&["import", &file], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

fn sigrok(arguments: &[&str], folder: &Path) -> Vec<u8> {
    let output = Command::new("sigrok-cli").args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    output.stdout
}

/// Lengths in samples and how often each came, in bytes that each are a sample; what is cut off is left out.
fn lengths(samples: &[u8], bit: u8, high: bool) -> Vec<(u64, u64)> {
    let mut counts = std::collections::BTreeMap::new();
    let runs: Vec<&[u8]> = samples.chunk_by(|a, b| (a ^ b) & bit == 0).collect();
    for run in runs.get(1..runs.len() - 1).unwrap_or_default().iter().filter(|run| (run[0] & bit != 0) == high) {
        *counts.entry(run.len() as u64).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// sigrok makes a capture, gives its samples byte by byte, and converts it.
#[test]
fn what_sigrok_captures_and_converts_has_the_same_pulses() {
    if !has("sigrok-cli") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let demo = ["--driver", "demo:analog_channels=0:logic_channels=8", "--samples", "50000"];
    sigrok(&[&demo[..], &["--config", "samplerate=24m", "--output-file", "demo.sr"]].concat(), folder);
    let samples = sigrok(&["-i", "demo.sr", "-O", "binary"], folder);
    assert!(samples.len() >= 50_000, "{}", samples.len());
    let mut files = vec!["demo.sr".to_owned()];
    for (name, format) in [("demo.vcd", "vcd"), ("demo.csv", "csv"), ("times.csv", "csv:time=true:dedup=true")] {
        fs::write(folder.join(name), sigrok(&["-i", "demo.sr", "-O", format], folder)).unwrap();
        files.push(name.into());
    }
    // Of samples alone it names the channels by their numbers, and says the rate in a line of its own.
    fs::write(folder.join("samples"), &samples).unwrap();
    for (name, format) in [("raw.vcd", "vcd"), ("raw.csv", "csv")] {
        let raw = ["-I", "binary:numchannels=8:samplerate=24000000", "-i", "samples", "-O", format];
        let text = sigrok(&raw, folder);
        assert!(String::from_utf8_lossy(&text).contains("META samplerate: 24000000\n"), "{format}");
        fs::write(folder.join(name), text).unwrap();
        files.push(name.into());
    }
    let path = |name: &String| -> PathBuf { folder.join(name) };
    for (channel, bit) in [("D0", 1u8), ("D2", 4), ("D5", 32)] {
        for file in &files {
            let channel = if file.starts_with("raw") { &channel[1..] } else { channel };
            let record = imported(&[path(file).to_str().unwrap(), "--channel", channel]);
            let mut compared = 0;
            for (i, high) in [(0, true), (1, false)] {
                let series = &record["series"][i];
                let buckets = series["latency"]["buckets"].as_array().unwrap().iter();
                let found: Vec<(u64, u64)> =
                    buckets.map(|b| (b[0].as_u64().unwrap(), b[2].as_u64().unwrap())).collect();
                let expected: Vec<(u64, u64)> =
                    lengths(&samples, bit, high).into_iter().map(|(n, count)| ((n * 1_000 + 12) / 24, count)).collect();
                assert_eq!(found, expected, "{file}, {channel}, {high}");
                compared += found.len();
            }
            assert!(compared > 2, "{file}, {channel}");
        }
    }
}

/// The page's commands, run on the file that it names, print what it shows.
#[test]
fn the_example_of_the_documentation_is_what_is_printed() {
    let page = include_str!("../../../../docs/instruments.md");
    let folder = tempfile::tempdir().unwrap();
    fs::copy(capture("pulses.sr"), folder.path().join("pulses.sr")).unwrap();
    let blocks: Vec<&str> =
        page.split("```text\n$ ontick ").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 2, "the page shows what is printed");
    for block in blocks {
        let (command, shown) = block.split_once('\n').unwrap();
        let words = shlex::split(command).unwrap();
        let mut ontick = Command::new(env!("CARGO_BIN_EXE_ontick"));
        let output = ontick.args(words).current_dir(folder.path()).env("COLUMNS", "80").output().unwrap();
        assert_eq!(stdout(&output), shown, "{command}: {}", stderr(&output));
    }
}
